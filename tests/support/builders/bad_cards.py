"""Cards that no deck takes, as JSON, for the terminal and the page."""

import json

CARD = {
    "game": "othello8", "start": None, "moves": ["f5"], "mover": "white", "best": "d6",
    "losses": {"d6": 0, "f4": 0.6, "f6": 6.5}, "isEnding": False, "memory": None,
}  # fmt: skip
MEMORY = {"stability": 1.5, "difficulty": 5, "last": 1_770_000_000_000, "due": 1_770_100_000_000}
OTHER = CARD | {"moves": ["f5", "d6"], "mover": "black", "best": "c3", "losses": {"c3": 0}}
NEWEST = 1_772_442_000_000  # the time of the tests
_FAR = 4_000_000_000_000
_START = "---------------------------OX------XO--------------------------- X"


def _raw(field, text):
    """The card with a field of any text."""
    return json.dumps(CARD | {field: "@"}).replace('"@"', text)


def _losses(text):
    return _raw("losses", f'{{"d6": 0, "f4": {text}}}')


def _memory(**changes):
    return json.dumps(CARD | {"memory": MEMORY | changes})


def _changed(**changes):
    return json.dumps(CARD | changes)


BAD = {
    "a loss of 1e400": _losses("1e400"),
    "a loss of -1e400": _losses("-1e400"),
    "a negative loss": _losses("-3"),
    "a loss of more than the board": _losses("129"),
    "a huge integer": _losses("1" + 400 * "0"),
    "a loss that is true": _losses("true"),
    "a loss that is a text": _losses('"0.6"'),
    "a loss that is null": _losses("null"),
    "a loss that is a list": _losses("[0.6]"),
    "a loss that is an object": _losses('{"f4": 0.6}'),
    "losses that are a list": _raw("losses", "[0, 1]"),
    "losses without moves": _raw("losses", "{}"),
    "losses without the best move": _raw("losses", '{"f4": 0}'),
    "a best move that loses": _raw("losses", '{"d6": 2, "f4": 0}'),
    "a loss of an illegal move": _raw("losses", '{"d6": 0, "a1": 3}'),
    "a loss of no move": _raw("losses", '{"d6": 0, "zz": 3}'),
    "a best move that is illegal": _changed(best="a1"),
    "a best move with an escape": _changed(best="\x1b[2J"),
    "a best move that is a pass": _changed(best="pass"),
    "a best move in capitals": _changed(best="D6"),
    "a lone surrogate": _raw("best", '"\\ud800"'),
    "another side to move": _changed(mover="black"),
    "a side that is a number": _changed(mover=1),
    "moves that are a text": _changed(moves="f5"),
    "a move that is illegal": _changed(moves=["a1"]),
    "a move that is null": _changed(moves=[None]),
    "a move beyond the board": _changed(game="othello6", moves=["h8"]),
    "too many moves": _changed(moves=["f5"] * 1000),
    "a pass that is not forced": _changed(moves=["f5", "pass"], mover="black", best="d3"),
    "a game that azo does not have": _changed(game="evil:G"),
    "a board of another size": _changed(game="othello10"),
    "a game that is null": _changed(game=None),
    "a start of another size": _changed(start="X"),
    "a start with other signs": _changed(start=_START.replace("-", "?")),
    "a start without a side": _changed(start=_START[:-2]),
    "a start that is a number": _changed(start=0),
    "a start without moves": _changed(start=64 * "-" + " X", moves=[]),
    "a start that is over": _changed(start=64 * "X" + " O", moves=[], mover="white"),
    "an ending that is a text": _changed(isEnding="yes"),
    "an ending that is a number": _changed(isEnding=1),
    "a memory that is a number": _changed(memory=3),
    "a memory that is empty": _changed(memory={}),
    "a stability of 0": _memory(stability=0),
    "a stability of 1e300": _memory(stability=1e300),
    "a stability that is a text": _memory(stability="1"),
    "a difficulty of 11": _memory(difficulty=11),
    "a difficulty that is null": _memory(difficulty=None),
    "a review before 1970": _memory(last=-1),
    "a review in the future": _memory(last=_FAR, due=_FAR),
    "a review of the year 30,000": _memory(last=1e15),
    "a due date of 1e300": _memory(due=1e300),
    "a due date that is a text": _memory(due="2026-01-01"),
    "a due date that is false": _memory(due=False),
    "a number": "3",
    "a text": '"f5"',
    "null": "null",
    "a list": "[]",
    "an empty object": "{}",
    "a deep object": '{"a":' * 50 + "1" + "}" * 50,
}
"""Each is refused alone: the others of its deck are sound."""

NO_DECKS = {
    "nothing": "",
    "no JSON": "[",
    "half a deck": json.dumps([CARD])[:-9],
    "an object": json.dumps({"cards": [CARD]}),
    "a number": "1",
    "a very deep list": "[" * 100_000,
    "null": "null",
}
"""No card of these is taken."""

ODD_BUT_SOUND = {
    "a loss of -0.0": _losses("-0.0"),
    "an unknown field": _changed(colour="red", nested={"a": [1]}),
    "a field that is twice there": json.dumps(CARD)[:-1] + ', "best": "d6"}',
    "without a start, an ending and a memory": json.dumps(
        {k: CARD[k] for k in ("game", "moves", "mover", "best", "losses")}
    ),
    "a position of an ending": _changed(start=_START, moves=["f5"]),
}
"""Old decks, and those of other writers; all are taken."""
