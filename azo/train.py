"""`python -m azo.train` is `azo train`."""

import sys

from azo import __main__

if __name__ == "__main__":
    sys.exit(__main__.main(["train", *sys.argv[1:]]))
