"""Games in JSON, as web sites give them: reads only.

    {"players": [{"name": "ann"}, {"name": "bob"}],
     "position": {"moves": [{"m": "f5"}, {"m": "d6"}, {"m": "-"}]}}

is a game of Othello Quest; `-` is a pass. A game is any object with moves, wherever it stands. Its
moves are a text, or a list of moves, of objects that name them, or of pairs of a colour and a move.
The players, a start position and the rules may be named beside them. Other fields are ignored.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pydantic_core

from azo.formats import ggf
from azo.games import notation, variant
from azo.storage import files

_MOVES = ("moves", "transcript", "kifu", "game_moves", "record", "actions")
_OF_MOVE = ("m", "move", "square", "pos", "position", "coord", "action")
_STARTS = ("initialPosition", "start", "initial_position", "startPosition")
_PLAYERS = ("players", "playerNames", "names")
_NAMES = ("name", "id", "username", "user", "displayName", "login")
_RULES = re.compile(r"othello(\d+)(-reversed)?")
_PASSES = ("", "-", "--", "pass", "pa", "ps", "none", "null")
_COLOURS = ("b", "w", "black", "white")
_MAX_GAMES = 200_000


def parse(text: str, chosen: variant.Variant) -> list[ggf.Record] | None:
    """Returns the games of a JSON text, None if it is not JSON.

    One value per line is read too, and of a text that is cut short the beginning. The `chosen`
    rules hold for games that name no others.
    """
    if not re.match(r"\s*(?:\{|\[\s*[\[{\"])", text):
        return None
    values = _values(text)
    if values is None:
        return None
    return [_record(found, chosen) for value in values for found in _games(value)]


def _values(text: str) -> list[Any] | None:
    try:
        return [pydantic_core.from_json(text)]
    except ValueError:
        pass
    values = []
    try:
        for line in filter(str.strip, text.splitlines()):
            values.append(pydantic_core.from_json(line))
        return values
    except ValueError:
        pass
    try:
        value = pydantic_core.from_json(text, allow_partial=True)
    except ValueError:
        return values or None
    return [value] if value else None


def _games(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the objects with moves, outer ones first; those inside a game belong to it."""
    waiting = [value]
    number = 0
    while waiting and number < _MAX_GAMES:
        value = waiting.pop()
        if isinstance(value, dict):
            if _moves_of(value) is not None:
                number += 1
                yield value
            else:
                waiting += reversed(list(value.values()))
        elif isinstance(value, list):
            if value and all(_is_move(x) for x in value):
                number += 1
                yield {"moves": value}
            elif value and all(isinstance(x, str) for x in value):  # transcripts, or names
                if not any(notation.read_moves(text, max(variant.SIZES))[0] for text in value):
                    continue
                for text in value:
                    number += 1
                    yield {"moves": text}
            else:
                waiting += reversed(value)


def _moves_of(value: Mapping[str, Any]) -> Any:
    """Returns the moves of an object, None if it is not a game."""
    inner = value.get("position")
    for holder in (value, inner if isinstance(inner, dict) else {}):
        for name in _MOVES:
            moves = holder.get(name)
            if isinstance(moves, str) or (isinstance(moves, list) and not _are_games(moves)):
                return moves
    return None


def _are_games(values: list[Any]) -> bool:
    return any(isinstance(x, dict) and _moves_of(x) is not None for x in values)


def _is_move(value: Any) -> bool:
    text = _text_of(value)
    return text is not None and re.fullmatch(r"\s*[A-Ha-h][1-8]\s*|-+|pa(ss)?", text) is not None


def _text_of(move: Any) -> str | None:
    """Returns a move as text, None if there is none in a value."""
    if isinstance(move, str):
        return move
    if isinstance(move, dict):
        return next((_text_of(move[name]) for name in _OF_MOVE if name in move), None)
    if isinstance(move, list) and len(move) == 2 and str(move[0]).lower() in _COLOURS:
        return move[1] if isinstance(move[1], str) else None
    return "" if move is None else None


def _record(value: Mapping[str, Any], chosen: variant.Variant) -> ggf.Record:
    inner = value.get("position")
    holder = {**(inner if isinstance(inner, dict) else {}), **value}
    try:
        rules = _rules(holder, chosen)
        start = _start(holder, rules)
        actions, unread = _actions(_moves_of(value), rules.size)
    except ValueError as error:
        return ggf.UnreadableGame(str(error))
    black, white = _players(holder)
    return ggf.GgfGame(
        rules.size, start, actions, black, white, is_reversed=rules.is_reversed, unread=unread
    )


def _rules(value: Mapping[str, Any], chosen: variant.Variant) -> variant.Variant:
    match = _RULES.fullmatch(str(value.get("game", "")).lower())
    size = int(match[1]) if match else value.get("boardSize", value.get("size"))
    if isinstance(size, bool) or not isinstance(size, int):
        return chosen
    if size not in variant.SIZES:
        raise ValueError(ggf.other_board(size))
    return variant.Variant(size, bool(match[2]) if match else chosen.is_reversed)


def _start(value: Mapping[str, Any], rules: variant.Variant) -> notation.Board:
    text = next((value[name] for name in _STARTS if isinstance(value.get(name), str)), "")
    if not text.strip():
        return ggf.usual_start(rules)
    return notation.parse_board(text.partition(";")[0], rules.size)


def _actions(moves: Any, size: int) -> tuple[tuple[int, ...], str]:
    if isinstance(moves, str):
        actions, unread = notation.read_moves(moves, size)
        return tuple(actions), unread
    actions = []
    for number, move in enumerate(moves, start=1):
        text = _text_of(move)
        if text is None:
            return tuple(actions), f"move {number} is {files.one_line(move, 40)}, not a square"
        if text.strip().lower() in _PASSES:
            actions.append(size * size)
            continue
        try:
            actions.append(notation.parse_action(text, size))
        except ValueError as error:
            return tuple(actions), f"move {number}: {error}"
    return tuple(actions), ""


def _players(value: Mapping[str, Any]) -> tuple[str, str]:
    named: Any = next((value[x] for x in _PLAYERS if isinstance(value.get(x), list | dict)), [])
    if isinstance(named, dict):
        value, named = {**named, **value}, []
    texts = [_name(player) for player in named[:2]] + ["", ""]
    black, white = (
        _name(value.get(x)) or y for x, y in zip(("black", "white"), texts, strict=False)
    )
    return black, white


def _name(player: Any) -> str:
    if isinstance(player, dict):
        player = next((player[x] for x in _NAMES if isinstance(player.get(x), str)), "")
    return files.one_line(player, ggf.MAX_NAME) if isinstance(player, str) else ""
