"""Queries of `azo json`: one JSON object a line, checked field by field.

The names are those of KataGo's analysis engine, where Othello has the same thing
(https://github.com/lightvector/KataGo/blob/master/docs/Analysis_Engine.md).
"""

import json
from collections.abc import Mapping
from typing import Annotated, Literal

import pydantic
import pydantic_core
from pydantic import alias_generators

from azo.formats import obf
from azo.games import notation, setting_types, variant
from azo.games.host import live_game
from azo.storage import files

_MAX_SHOWN = 60  # characters of a wrong value

_Turns = Annotated[  # no game has more than 129
    list[Annotated[int, pydantic.Field(ge=0)]], pydantic.Field(min_length=1, max_length=129)
]


class QueryError(ValueError):
    """A wrong query, with its field at fault and its id, if they are known."""

    def __init__(self, message: str, field: str | None = None, name: object = None):
        super().__init__(message)
        answer = {"error": message, "field": field, "id": name if isinstance(name, str) else None}
        self.json = {key: text for key, text in answer.items() if text is not None}


class Query(
    pydantic.BaseModel, strict=True, extra="allow", alias_generator=alias_generators.to_camel
):
    """A game and its turns to analyse, or an action. Unknown fields are extra ones."""

    id: Annotated[str, pydantic.Field(min_length=1, max_length=1000)]
    game: str | None = None
    initial_position: str | None = None
    moves: str | list[str] = ""
    analyze_turns: _Turns | None = None
    max_visits: setting_types.PositiveInt | None = None
    max_time: setting_types.PositiveFloat | None = None
    priority: Annotated[int, pydantic.Field(ge=-(2**31), lt=2**31)] = 0
    analysis_pv_len: Annotated[
        setting_types.NonNegativeInt | None, pydantic.Field(alias="analysisPVLen")
    ] = None
    include_policy: bool = False
    report_during_search_every: setting_types.PositiveFloat | None = None
    action: Literal["query_version", "terminate", "terminate_all"] | None = None
    terminate_id: str | None = None
    turn_numbers: _Turns | None = None

    def positions(
        self, games: Mapping[str, variant.Variant]
    ) -> tuple[live_game.LiveGame, dict[int, int]]:
        """Returns the game after all moves, and the number of plies before each turn to analyse.

        Turn 0 is the initial position, and each move as written begins the next one. Forced passes
        that were left out are plies, but not turns. `games` are the offered ones by name, the usual
        one first. QueryError if the game is not one of them, or a field does not fit its rules.
        """
        field = "game"
        try:
            if self.game is not None and self.game not in games:
                raise ValueError(f"no network for {self.game!r}; there are: {', '.join(games)}")
            rules = games[self.game or next(iter(games))]
            field, start = "initialPosition", None
            if self.initial_position is not None:
                start = notation.parse_board(self.initial_position.partition(";")[0], rules.size)
                obf.parse_line(self.initial_position)  # refuses impossible boards
            field = "moves"
            moves = self.moves if isinstance(self.moves, str) else " ".join(self.moves)
            game, plies = live_game.replay(moves, rules, start), [0]
            for move in notation.parse_moves(moves, rules.size):
                plies.append(game.actions.index(move, plies[-1]) + 1)
            field, last = "analyzeTurns", len(plies) - 1
            turns = self.analyze_turns or [last]
            if max(turns) > last:
                raise ValueError(f"turn {max(turns)}, but the last one is {last}")
            return game, {turn: plies[turn] for turn in turns}
        except ValueError as error:
            raise QueryError(f"{field}: {error}", field, self.id) from None


FIELDS = tuple(field.alias or name for name, field in Query.model_fields.items())


def parse(line: str) -> Query:
    """Returns the query of a line; QueryError if it is not an object, or a field is wrong."""
    if "\ufffd" in line:  # see `LineReader`
        raise QueryError("not UTF-8")
    try:
        fields = pydantic_core.from_json(line.removeprefix("\ufeff"), allow_inf_nan=False)
    except ValueError as error:
        raise QueryError(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise QueryError('not an object such as {"id": "a", "moves": "f5d6"}')
    name = fields.get("id")
    try:
        query = Query.model_validate(fields)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        field, reason = str(first["loc"][0]), first["msg"].replace("Input should", "should", 1)
        if first["type"] != "missing":
            reason += f", not {files.one_line(json.dumps(first['input']), _MAX_SHOWN)}"
        raise QueryError(f"{field}: {reason}", field, name) from None
    if query.action == "terminate" and query.terminate_id is None:
        raise QueryError("terminateId: the id of a query is missing", "terminateId", name)
    return query
