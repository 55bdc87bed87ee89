"""``make bench``: prepares the peers, measures speed and build time, and prints the tables.

The build graph passes in our side (runtime, bundles, checkpoint, builder); the peers install themselves under the bench
cache. Results: ``results.md``, ``results.json``, ``build_time.md``, ``build_time.json`` in the bench cache.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import build_time, peers_setup, run


def main() -> int:
    """Command line face; every option has its value from the build graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--runtime-files", nargs="+", required=True, help="the files of the runtime root")
    parser.add_argument("--trtmc-build", type=Path, required=True)
    parser.add_argument("--bundle", action="append", default=[], metavar="PRECISION=FILE")
    parser.add_argument("--rounds", default="3")
    parser.add_argument("--prompts", default="4", help="how many of the prompts; the first is the cold one")
    parser.add_argument("--only", default="", help="contestants whose name contains this; skips the build-time part")
    arguments = parser.parse_args()
    checkpoint = arguments.checkpoint.resolve()
    program = next(Path(file) for file in arguments.runtime_files if file.endswith("/bin/trtmc"))
    root = program.resolve().parent.parent
    peers_setup.setup(checkpoint)
    ours = ["--checkpoint", str(checkpoint), "--runtime-root", str(root), "--rounds", arguments.rounds]
    bundles = [part for bundle in arguments.bundle for part in ("--bundle", bundle)]
    status = run.main([*ours, *bundles, "--prompts", arguments.prompts, "--only", arguments.only])
    if status == 0 and not arguments.only:
        status = build_time.main([*ours, "--trtmc-build", str(arguments.trtmc_build.absolute())])
    print(f"bench: results are in {peers_setup.bench_dir() / 'results'}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
