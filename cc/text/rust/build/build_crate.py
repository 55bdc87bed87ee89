"""The program of the build action: cargo_build with the workspace that prepare lays out."""

from cc.text.rust.build import prepare
from third_party.rust import cargo_build

if __name__ == "__main__":
    cargo_build.main(prepare.prepare)
