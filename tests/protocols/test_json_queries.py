"""Broken queries of the JSON engine: each gets an error, and no other query is lost."""

import json

import pytest
from support.drivers.front_end import quick_engine

from azo.games import othello
from azo.protocols import json_server, line_reader

_TURNS = ["1", 1, 0.5, True, None, {}, [], [-1], [1.0], ["1"], [None], [10**40], [0] * 130]
_COUNTS = ["5", 0, -1, 1.5, True, [], {}, 10**400]
_NUMBERS = ["1", 0, -0.5, True, [], {}]
_TEXTS = [1, 1.5, False, [], {}, ["a"]]
WRONG = {  # values by field; null is like no value where a field has no default
    "id": [*_TEXTS, None, "", "x" * 1001],
    "game": [*_TEXTS, "", "othello", "othello7", "chess", "x" * 5000],
    "initialPosition": [*_TEXTS, "", "X", "-" * 64, "XO" * 8, "x" * 64 + " Z", "?" * 64],
    "moves": [
        5,
        True,
        None,
        {},
        [["B", "f5"], ["B", "d6"]],
        [["f5"]],
        [["X", "f5"]],
        [["B", "f5"], "d6"],
        [37],
        "f5d7",
        "z9",
        "f5 f5",
        ["f5", "i9"],
        "💥",
    ],
    "initialPlayer": [*_TEXTS, "", "X", "black"],
    "initialStones": [
        5,
        "d4",
        ["d4"],
        [["B"]],
        [["B", "d4"], ["W", "d4"]],
        [["X", "d4"]],
        [["B", "pass"]],
        [["B", "i9"]],
    ],
    "boardXSize": ["8", 7, 19, 1.5, []],
    "allowMoves": [
        5,
        "c4",
        ["c4"],
        [{}],
        [{"player": "W", "moves": []}],
        [{"player": "W", "moves": ["a1"]}],
        [{"player": "W", "moves": ["z9"]}],
        [{"player": "W", "moves": ["c4"], "untilDepth": 2}],
        [{"player": "W", "moves": ["c4"]}, {"player": "w", "moves": ["c6"]}],
    ],
    "avoidMoves": [
        5,
        [{"player": "X", "moves": ["c4"]}],
        [
            {
                "player": "W",
                "moves": [
                    "f4",
                    "f6",
                    "d3",
                    "b3",
                    "b4",
                    "c4",
                    "e3",
                    "c2",
                    "b2",
                    "g4",
                    "f3",
                    "e2",
                    "d2",
                    "c5",
                    "b5",
                    "b6",
                    "c7",
                    "d7",
                    "e7",
                    "f7",
                    "g6",
                    "g5",
                    "h5",
                    "h4",
                    "h6",
                    "c6",
                    "e6",
                ],
            }
        ],
    ],
    "analyzeTurns": [x for x in _TURNS if x is not None] + [[4], [0, 99]],
    "maxVisits": _COUNTS,
    "maxTime": _NUMBERS,
    "priority": ["5", 1.5, True, None, [], {}, 2**31, -(10**400)],
    "analysisPVLen": ["5", -1, 1.5, True, [], 10**400],
    "includePolicy": ["true", 1, 0, None, [], {}],
    "reportDuringSearchEvery": _NUMBERS,
    "action": [*_TEXTS, "", "stop", "query_models", "TERMINATE"],
}
_GOOD = {"id": "broken", "moves": "f5d6c3", "maxVisits": 1}
_ACTION = {"id": "broken", "action": "terminate"}
BROKEN_FIELDS = [
    *((_GOOD | {field: value}, field) for field, values in WRONG.items() for value in values),
    ({}, "id"),
    ({"moves": "f5"}, "id"),
    (_ACTION, "terminateId"),
    (_ACTION | {"terminateId": 5}, "terminateId"),
    (_ACTION | {"terminateId": "x", "turnNumbers": "all"}, "turnNumbers"),
    (_GOOD | {"id": "long"}, "id"),  # an earlier query has this id, and is not finished
    (_GOOD | {"initialPosition": "-" * 27 + "XO----XO" + "-" * 29}, "initialPosition"),
]
BROKEN_TEXTS = [  # lines that are no objects of JSON
    *("{", "[1]", "null", "1", '"id"', "id", "NaN", "\x00", "{}{}", "\ufeff{", "💥", "\ufffd"),
    *("[" * 60_000, '{"id": "\\ud8"}', "{'id': 'a'}", '{"id": "a",}', '{"id": "a\t"}'),
    *('{"id": "a", "maxTime": NaN}', f'{{"id": "a", "maxVisits": {"9" * 5000}}}'),
    f'{{"id": "a", "moves": "{" " * 70_000}"}}'[: line_reader.MAX_LINE_BYTES],
]
LINES = [*((json.dumps(fields), field, fields.get("id")) for fields, field in BROKEN_FIELDS),
         *((text, None, None) for text in BROKEN_TEXTS)]  # fmt: skip


def test_each_of_many_broken_lines_gets_an_error_with_its_field_and_id_and_nothing_is_lost():
    assert len(LINES) >= 100
    game, written, ids = othello.Othello(), [], []

    def lines():
        yield json.dumps({"id": "long", "maxVisits": 10**9})
        for number, (line, field, name) in enumerate(LINES):
            ids.append(str(number))
            yield json.dumps({"id": ids[-1], "maxVisits": 1}) + "\r"
            before = len(written)
            yield line
            complaints = [x for x in written[before:] if {"error", "warning"} & set(x)]
            assert len(complaints) == 1, line
            expected = {"field": field, "id": name if isinstance(name, str) else None}
            shown = {key: complaints[0].get(key) for key in expected}
            assert shown == expected, f"{line[:100]} {complaints[0]}"
            yield from ("", " \t\r")
        yield '{"id": "end", "action": "terminate", "terminateId": "long"}'

    server = json_server.JsonServer(
        {game: quick_engine}, lambda text: written.append(json.loads(text)), num_threads=2
    )
    server.run(lines())
    final = [x["id"] for x in written if x.get("isDuringSearch") is False]
    assert sorted(final) == sorted([*ids, "long"])


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ('\ufeff{"id": "a"}', None),
        ('{"id": "a"}\r', None),
        ('{"id": "a", "moves": []}', None),
        ('{"id": "a", "maxVisit": 5}', "maxVisit: unknown, so ignored. Did you mean 'maxVisits'?"),
    ],
)
def test_marks_of_other_systems_are_read_and_unknown_fields_are_warnings(line, warning):
    written = []
    server = json_server.JsonServer(
        {othello.Othello(): quick_engine}, written.append, num_threads=1
    )
    server.run([line])
    *warnings, answer = map(json.loads, written)
    assert (answer["id"], answer["isDuringSearch"]) == ("a", False)
    named = {"warning": warning, "field": "maxVisit", "id": "a"}
    assert warnings == ([named] if warning else [])
