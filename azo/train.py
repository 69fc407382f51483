"""`python -m azo.train` is `azo train`."""

import sys

from azo.cli import train
from azo.run import config

if __name__ == "__main__":
    sys.exit(config.run_main(train.main))
