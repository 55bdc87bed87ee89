"""Writes v1/sample.bundle, the bundle that every later reader must still open.

    python -m tests.bundle_corpus.make_released FILE

It was made once, when version 1 was released; it is not to be made again for a change of the code.
"""

import sys
from pathlib import Path

from tests.bundle_corpus import sample

if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(sample.good())
