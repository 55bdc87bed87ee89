"""`python -m trtmc.cli` is `trtmc-build`."""

from trtmc.cli.main import main

if __name__ == "__main__":
    main()
