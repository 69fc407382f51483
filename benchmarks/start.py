"""How long does a front end take from its start to an answer?

    python -m benchmarks.start --repeats 10

Each case is a process of its own. Wall-clock time ends with the answer. Processor time is that of
the whole process: on an idle core, the time to the answer and to the exit after it. The first start
compiles, and is left out.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence

import pydantic

from benchmarks import command, measure

_MOVE = ("--engine.num-simulations", "100")
_CASES = {  # flags, input and the beginning of the line that answers
    "azo gtp, name": (("gtp",), "name\n", "= azo"),
    "azo gtp, a move of 100 simulations": (("gtp", *_MOVE), "genmove b\n", "= "),
    "azo nboard, a move of 100 simulations": (("nboard", *_MOVE), "nboard 2\ngo\n", "==="),
    "azo play, the prompt": (("play",), "\n", "black"),
}


class StartConfig(command.Settings):
    """How long does a front end take from its start to an answer?"""

    repeats: pydantic.PositiveInt = 5
    """Starts of each case."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.start", StartConfig, report, argv)


def report(config: StartConfig) -> list[str]:
    """Returns a table of seconds."""
    timings: dict[str, list[tuple[float, float]]] = {case: [] for case in _CASES}
    for turn in range(config.repeats + 1):
        for case in _CASES:
            seconds = _start(*_CASES[case])
            if turn > 0:
                timings[case].append(seconds)
    rows = [
        [case, *(str(measure.summary(seconds)) for seconds in zip(*timings[case], strict=True))]
        for case in _CASES
    ]
    return [measure.markdown_table(("case", "s to the answer", "s of processor time"), rows), ""]


def _start(flags: Sequence[str], text: str, answer: str) -> tuple[float, float]:
    """Returns the seconds to the answer, and the processor seconds until the process ended."""
    before, start = os.times(), time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "azo", *flags], stdin=pipe, stdout=pipe, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text)
        process.stdin.flush()
        is_answered = any(line.startswith(answer) for line in process.stdout)
        seconds = time.perf_counter() - start
        process.stdin.write("quit\n")
        process.stdin.close()
        process.stdout.read()
    if not is_answered:
        raise RuntimeError(f"azo {' '.join(flags)} ended without an answer to {text!r}")
    after = os.times()
    processor = after.children_user + after.children_system
    return seconds, processor - before.children_user - before.children_system


if __name__ == "__main__":
    sys.exit(main())
