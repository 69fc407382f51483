"""Queries of `azo json`: one JSON object per line, checked field by field.

The names are those of KataGo's analysis engine, where Othello has the same thing
(https://github.com/lightvector/KataGo/blob/master/docs/Analysis_Engine.md). Its moves with colours,
`[["B", "f5"], ["W", "d6"]]`, are read too.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

import pydantic
import pydantic_core
from pydantic import alias_generators

from azo.formats import obf
from azo.games import notation, variant
from azo.games.host import live_game
from azo.settings import setting_types
from azo.storage import files

_MAX_SHOWN = 60  # characters of a wrong value

_Turns = Annotated[  # no game has more than 129
    list[Annotated[int, pydantic.Field(ge=0)]], pydantic.Field(min_length=1, max_length=129)
]


_Colour = Literal["B", "W", "b", "w"]
_Coloured = Annotated[list[str], pydantic.Field(min_length=2, max_length=2)]  # ["B", "f5"]


class QueryError(ValueError):
    """A wrong query, with its field at fault and its id, if they are known."""

    def __init__(self, message: str, field: str | None = None, name: object = None):
        super().__init__(message)
        answer = {"error": message, "field": field, "id": name if isinstance(name, str) else None}
        self.json = {key: text for key, text in answer.items() if text is not None}


class Restriction(
    pydantic.BaseModel, strict=True, extra="forbid", alias_generator=alias_generators.to_camel
):
    """Moves that a player may make, or not, in a search."""

    player: _Colour
    moves: Annotated[list[str], pydantic.Field(min_length=1, max_length=65)]
    until_depth: Literal[1] = 1
    """Plies from the query's position to which it applies; deeper plies are searched without it."""


_Restrictions = Annotated[list[Restriction], pydantic.Field(max_length=2)]


class AskedPositions(NamedTuple):
    """The positions that a query asks for."""

    game: live_game.LiveGame  # after all moves
    plies: dict[int, int]  # before each turn to analyse
    only: dict[int, frozenset[int]]  # actions to search in the turns that have a restriction


class Query(
    pydantic.BaseModel, strict=True, extra="allow", alias_generator=alias_generators.to_camel
):
    """A game and its turns to analyse, or an action. Unknown fields are extra ones."""

    id: Annotated[str, pydantic.Field(min_length=1, max_length=1000)]
    game: str | None = None
    initial_position: str | None = None
    initial_player: _Colour | None = None
    initial_stones: list[_Coloured] | None = None
    board_x_size: int | None = None
    board_y_size: int | None = None
    moves: str | list[str] | list[_Coloured] = ""
    allow_moves: _Restrictions | None = None
    avoid_moves: _Restrictions | None = None
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

    def positions(self, games: Mapping[str, variant.Variant]) -> AskedPositions:
        """Returns the positions to analyse.

        Turn 0 is the initial position, and each move as written begins the next one. Forced passes
        that were left out are plies, but not turns. `games` are the offered ones by name, the usual
        one first. QueryError if the game is not one of them, or a field does not fit its rules.
        """
        field = "game"
        try:
            field, rules = self._rules(games)
            field = "initialPosition"
            start = self._start(rules)
            field = "moves"
            words = [x if isinstance(x, str) else x[1] for x in self.moves]
            text = self.moves if isinstance(self.moves, str) else " ".join(words)
            game, plies = live_game.replay(text, rules, start), [0]
            for move in notation.parse_moves(text, rules.size):
                plies.append(game.actions.index(move, plies[-1]) + 1)
            self._check_colours(game, plies)
            field, last = "analyzeTurns", len(plies) - 1
            turns = self.analyze_turns or [last]
            if max(turns) > last:
                raise ValueError(f"turn {max(turns)}, but the last one is {last}")
            asked = {turn: plies[turn] for turn in turns}
            return AskedPositions(game, asked, self._only(game, asked))
        except QueryError as error:
            error.json["id"] = self.id
            raise
        except ValueError as error:
            raise QueryError(f"{field}: {error}", field, self.id) from None

    def _rules(self, games: Mapping[str, variant.Variant]) -> tuple[str, variant.Variant]:
        """Returns the field that names the game, and the game."""
        sizes = {self.board_x_size, self.board_y_size} - {None}
        if not sizes:
            if self.game is not None and self.game not in games:
                raise ValueError(f"no network for {self.game!r}; there are: {', '.join(games)}")
            return "game", games[self.game or next(iter(games))]
        name = self.game or next((x for x in games if {games[x].size} == sizes), "")
        if name not in games or {games[name].size} != sizes:
            columns, rows = self.board_x_size, self.board_y_size
            there = ", ".join(f"{x} ({games[x].size})" for x in games)
            raise QueryError(
                f"boardXSize: no network for {self.game or 'a board'} with {columns} columns and"
                f" {rows} rows; there are: {there}",
                "boardXSize",
            )
        return "boardXSize", games[name]

    def _start(self, rules: variant.Variant) -> notation.Board | None:
        """Returns the initial position, None for the usual one."""
        start = None
        if self.initial_position is not None:
            start = notation.parse_board(self.initial_position.partition(";")[0], rules.size)
            obf.parse_line(self.initial_position)  # refuses impossible boards
        if self.initial_stones:
            if start is not None:
                raise _wrong("initialStones", "there is an initialPosition too: leave one out")
            try:
                start = _with_stones(self.initial_stones, rules.size)
            except ValueError as error:
                raise _wrong("initialStones", str(error)) from None
        first = next((x[0] for x in self.moves if not isinstance(x, str)), None)
        has_side = self.initial_position is not None and self.initial_player is None
        side = self.initial_player or (None if has_side else first)
        if side is None or side not in "BWbw":
            return start
        if start is None:
            start = live_game.LiveGame(rules).board
        return notation.Board(start.black, start.white, side in "Bb")

    def _check_colours(self, game: live_game.LiveGame, plies: list[int]) -> None:
        """Raises ValueError if a move is by another colour than it says."""
        for number, (item, ply) in enumerate(zip(self.moves, plies[1:], strict=False), 1):
            if isinstance(item, str):
                return
            is_black = game.boards[ply - 1].is_black_to_move
            if item[0] not in "BWbw" or not item[0]:
                raise ValueError(f"move {number}: {item[0]!r} should be 'B' or 'W'")
            if (item[0] in "Bb") != is_black:
                mover = "black" if is_black else "white"
                raise ValueError(f"move {number}, {item[1]}: {mover} is to move")

    def _only(
        self, game: live_game.LiveGame, plies: Mapping[int, int]
    ) -> dict[int, frozenset[int]]:
        """Returns the actions to search, by turn, where a restriction is for the side to move."""
        only: dict[int, frozenset[int]] = {}
        for field, restrictions in (
            ("allowMoves", self.allow_moves),
            ("avoidMoves", self.avoid_moves),
        ):
            players = [one.player.upper() for one in restrictions or ()]
            if len(set(players)) < len(players):
                raise _wrong(field, f"{players[0]} has two entries: put the moves into one")
            for one in restrictions or ():
                try:
                    actions = {notation.parse_action(move, game.game.size) for move in one.moves}
                except ValueError as error:
                    raise _wrong(field, str(error)) from None
                for turn, ply in plies.items():
                    board = game.boards[ply]
                    legal = frozenset(game.legal_actions_at(board))
                    is_mover = board.is_black_to_move == (one.player in "Bb")
                    if not is_mover or len(legal) < 2:
                        continue
                    before = only.get(turn, legal)
                    left = before & actions if field == "allowMoves" else before - actions
                    if not left:
                        names = " ".join(
                            notation.action_text(x, game.game.size) for x in sorted(legal)
                        )
                        raise _wrong(
                            field, f"no move is left at turn {turn}, where {names} are legal"
                        )
                    only[turn] = left
        return only


def _with_stones(stones: list[list[str]], size: int) -> notation.Board:
    """Returns the board with some discs, black to move."""
    sides = {"B": 0, "W": 0}
    for colour, square in stones:
        if colour.upper() not in sides:
            raise ValueError(f"{colour!r} should be 'B' or 'W'")
        action = notation.parse_action(square, size)
        if action == size * size:
            raise ValueError(f"{square!r} is not a square")
        bit = 1 << (8 * (action // size) + action % size)
        if bit & (sides["B"] | sides["W"]):
            raise ValueError(f"two discs at {square}")
        sides[colour.upper()] |= bit
    board = notation.Board(sides["B"], sides["W"], is_black_to_move=True)
    obf.parse_line(notation.board_text(board, size))  # refuses impossible boards
    return board


def _wrong(field: str, message: str) -> QueryError:
    return QueryError(f"{field}: {message}", field)


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
