"""trtmc-build as the build graph's actions call it: the builder with one family on its path."""

from trtmc.cli.main import main

if __name__ == "__main__":
    main()
