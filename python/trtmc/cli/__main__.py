"""`python -m trtmc.cli` is `trtmc-build`."""

import sys

if __name__ == "__main__":
    try:
        from trtmc.cli.main import main
    except KeyboardInterrupt:  # while modules load, before anything can have been written
        print("error: interrupted; nothing was left half-written", file=sys.stderr)
        sys.exit(130)
    main()
