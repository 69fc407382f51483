"""A shell with the commands of azo in one process: it runs a line, and shows the exit code."""

import shlex
import traceback

from azo import __main__
from azo.process import interruption

PROMPT = "azo$"


def _run(words):
    try:
        return __main__.main(words)
    except SystemExit as stop:  # --help
        return stop.code
    except BaseException:
        traceback.print_exc()
        return 1


def main():
    with interruption.signals_end_computations():
        while True:
            try:
                line = input(f"{PROMPT} ")
            except EOFError:
                return
            code = _run(shlex.split(line))
            interruption.acknowledge()
            print(f"\n[exit code {code}]", flush=True)  # the terminal may have shown ^C


if __name__ == "__main__":
    main()
