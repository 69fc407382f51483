"""Damaged bytes, and records with a sound grammar and wrong content, for readers within bounds.

Mutations of bytes seldom pass a parser. The records do, and so meet the code behind it.
"""

import contextlib
import io
import json
import math
import os
import random
import re
import resource
import signal
import string

import pytest

from azo.cli import command_line

CASES = int(os.environ.get("AZO_MUTATIONS", "15000"))  # of the fastest reader
SEED = int(os.environ.get("AZO_SEED", "0"))
SECONDS = 20  # of processor time of one case
MEGABYTES = 1024
few_and_many_cases = pytest.mark.parametrize(
    "number", [60, pytest.param(CASES, marks=pytest.mark.faults)]
)

_TOKENS = [
    b"\0", b"\xff", b"\xfe\xff", b"\xed\xa0\x80", b"\n", b"\r\n", b"\x1b[31m", b"\x85", b"nan",
    b"-1", b"1e400", b"9" * 30, b"9" * 5000, b"[" * 300, b"{", b"]", b'"', b"'", b"\\", b"%s%n",
    b"../../../etc/passwd", b"true", b"null", "٣é🙂".encode(), b"(;", b";)", b",", b";",
]  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")
# In a tree, each stands for a text that `json.dumps` would not write.
_RAW = {
    "\ue000deep": "[" * 600 + "]" * 600,
    "\ue000wide": '{"a":' * 600 + "1" + "}" * 600,
    "\ue000long": "9" * 5000,
    "\ue000large": "1e400",
}
VALUES = [
    *(None, True, 0, 1, -1, 2, 0.5, -0.5, -0.0, math.nan, math.inf, 1e308, 10**400),
    *(2**15, 2**31, 2**63, -(2**63), "", "x", "5", "nan", "f5", "\x1b[31m", "{a}{a}{a}"),
    *("../..", "/dev/null/x", "~nobody/x", "٣", "\n", "x\0", "\ud800", "x" * 140_000),
    *([], [1], ["x"], [[]], [{}], [None] * 5, [0] * 5, {}, {"a": 1}, {"": {"": 0}}, *_RAW),
]


def mutated(rng, content: bytes, others: list[bytes]) -> bytes:
    """Returns content with one to four changes; pieces may come from the `others`."""
    for _ in range(rng.randrange(1, 5)):
        place, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        before, between, after = content[:place], content[place:end], content[end:]
        kind = rng.randrange(7)
        if kind == 0 and between:
            between = bytes([between[0] ^ 1 << rng.randrange(8)]) + between[1:]
        elif kind == 1:
            after = b""
        elif kind == 2:
            between = b""
        elif kind == 3:
            between *= rng.randrange(2, 20)
        elif kind == 4:
            before += rng.choice([*_TOKENS, rng.randbytes(rng.randrange(1, 40))])
        elif kind == 5:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            between = other[start : start + rng.randrange(1, 200)]
        else:
            number = rng.choice([*_TOKENS, b"%d" % rng.randrange(-(2**40), 2**40)])
            after = _NUMBER.sub(lambda _, number=number: number, after, count=1)
        content = (before + between + after)[: 1 << 18]
    return content


def wrong_lines(rng, records) -> bytes:
    """Returns lines of JSON, of which one or two are wrong."""
    lines = [json.dumps(record).encode() for record in records]
    for _ in range(rng.choice([1, 1, 2])):
        place = rng.randrange(len(lines))
        lines[place] = wrong_json(rng, records[place])
    return b"\n".join(lines) + b"\n"


def wrong_json(rng, tree) -> bytes:
    """Returns a wrong tree as JSON, also with NaN and what Python cannot write."""
    text = json.dumps(wrong_tree(rng, tree))
    for mark, raw in _RAW.items():
        text = text.replace(json.dumps(mark), raw)
    return text.encode()


def wrong_tree(rng, tree):
    """Returns a tree with one to three changes."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        tree = _changed(rng, tree, rng.choice(list(_paths(tree))))
    return tree


def _paths(tree, path=()):
    yield path
    pairs = tree.items() if isinstance(tree, dict) else []
    pairs = enumerate(tree) if isinstance(tree, list) else pairs
    for name, value in pairs:
        yield from _paths(value, (*path, name))


def _changed(rng, tree, path):
    if not path:
        return _replaced(rng, tree)
    first, rest = path[0], path[1:]
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    kind = rng.randrange(5) if not rest else None
    if kind == 0:
        del copy[first]
    elif kind == 1 and isinstance(copy, dict):
        copy[_renamed(rng, first)] = copy.pop(first)
    elif kind == 2 and isinstance(copy, list):
        copy = copy[:first] + [copy[first]] * rng.randrange(4) + copy[first:]
    else:
        copy[first] = _changed(rng, copy[first], rest)
    return copy


def _replaced(rng, value):
    """Returns another value: a number that is near, a text with another letter, or any."""
    is_number = type(value) in (int, float) and abs(value) < 1e300
    if is_number and rng.random() < 0.4:
        return rng.choice([-value, value + 1, value - 1, value * 1000, value / 2, str(value)])
    if isinstance(value, str) and value and rng.random() < 0.4:
        return _renamed(rng, value)
    return rng.choice(VALUES)


def _renamed(rng, text):
    place = rng.randrange(len(text)) if text else 0
    letter = rng.choice(string.printable)
    return rng.choice([text[:place] + letter + text[place + 1 :], text + letter, text[:place]])


class TooSlowError(BaseException):
    """A case takes too long."""


def check(name, read, number):
    """Runs cases of a reader: each is read, or refused in one line, quickly, in little memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def too_slow(*_):
        raise TooSlowError

    previous = signal.signal(signal.SIGPROF, too_slow)
    try:
        for case in range(max(3, number)):
            rng = random.Random(f"{SEED} {name} {case}")
            try:
                _run_case(lambda _, rng=rng: read(rng))
            except BaseException as error:
                raise AssertionError(f"{name}, seed {SEED}, case {case}: {error!r}") from error
    finally:
        signal.signal(signal.SIGPROF, previous)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEGABYTES


def _run_case(read):
    shown = io.StringIO()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(io.StringIO()):
            code = command_line.run_main(read, [])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    *notes, message = shown.getvalue().removesuffix("\n").split("\n")
    assert code in (0, 2)
    assert code == 0 or 0 < len(message) < 1100, message
    assert all(line.isprintable() and len(line) < 3000 for line in (*notes, message)), notes
