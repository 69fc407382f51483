"""`python -m azo.train` is `azo train`."""

import sys

from azo import __main__
from azo.settings import import_paths

if __name__ == "__main__":
    import_paths.search_current_folder()
    sys.exit(__main__.main(["train", *sys.argv[1:]]))
