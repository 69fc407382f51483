"""`python -m azo.train` is `azo train`."""

import sys

from azo.cli import command_line, train

if __name__ == "__main__":
    sys.exit(command_line.run_main(train.main))
