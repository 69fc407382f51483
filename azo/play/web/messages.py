"""JSON messages between the page and the server.

Moves are text ("f5", "pass"), boards `size * size` characters row by row (`X` black, `O` white, `-`
empty). Values and scores of a report are for the side to move; margins are black's discs minus
white's.
"""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import pydantic

from azo.formats import game_texts, ggf
from azo.games import notation, setting_types, variant
from azo.games.host import live_game
from azo.play.engine import engine_settings, search_report
from azo.storage import files

MAX_TEXT = 60_000
_Discs = Annotated[float, pydantic.Field(ge=-64, le=64)]
MAX_SIMULATIONS, MAX_SECONDS = 20_000, 30.0  # of one search


class ReadRequest(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Pasted text, to be read as a game."""

    game: Annotated[str, pydantic.Field(max_length=40)]
    """Name of the game, unless the text says it."""
    text: Annotated[str, pydantic.Field(max_length=MAX_TEXT)]
    number: setting_types.PositiveInt = 1
    """Which game of the text."""


class GameRequest(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A game and its moves."""

    game: Annotated[str, pydantic.Field(max_length=40)]
    start: Annotated[str, pydantic.Field(max_length=80)] | None = None
    """The start position and the side to move; None: the usual start."""
    moves: Annotated[str, pydantic.Field(max_length=600)] = ""


class ReasonsRequest(GameRequest, frozen=True, extra="forbid"):
    """A game, and two lines from its last position: a mistake, and the better move."""

    refutation: Annotated[str, pydantic.Field(max_length=600)]
    better: Annotated[str, pydantic.Field(max_length=600)]
    leads: tuple[_Discs, _Discs] | None = None
    """Scores after the mistake and after the better move for the other side, None if unknown."""
    is_exact: bool = False
    """Whether the first is exact."""


class ThinkRequest(GameRequest, frozen=True, extra="forbid"):
    """A game, and the search of its last position."""

    session: Annotated[str, pydantic.Field(pattern="^[0-9a-f]{16,64}$")]
    """Random name of the page; a page has its own trees, and one search at a time."""
    role: Literal["play", "advise", "solve"]
    """Choose a move at a level, analyse at full strength, or solve; the last goes on where the
    request before has ended."""
    level: engine_settings.Level = 1
    """Level of "play"."""
    num_simulations: Annotated[int, pydantic.Field(ge=1, le=MAX_SIMULATIONS)] = 400
    """Simulations of "advise"."""
    seconds: Annotated[float, pydantic.Field(gt=0, le=MAX_SECONDS)] = 10.0
    is_deep: bool = False
    """Of "advise": search long enough for a mark, whatever the number of simulations."""


def offer_json(game: variant.Variant, network: str) -> dict[str, Any]:
    """Returns a game that the page offers, and the name of its network."""
    return {
        "name": game.name,
        "size": game.size,
        "is_reversed": game.is_reversed,
        "network": network,
    }


def game_json(
    game: live_game.LiveGame, note: str = "", players: tuple[str, str] = ("", "")
) -> dict[str, Any]:
    """Returns a game with the board and the legal moves at every ply.

    `players` are the names of black and white, "" if unknown.
    """
    size, has_usual_start = game.game.size, game.start == ggf.usual_start(game.game)

    def texts(actions: tuple[int, ...]) -> list[str]:
        return [notation.action_text(action, size) for action in actions]

    return {
        "game": game.game.name,
        "start": None if has_usual_start else notation.board_text(game.start, size),
        "moves": texts(game.actions),
        "plies": [
            {
                "board": notation.board_text(board, size).split()[0],
                "mover": "black" if board.is_black_to_move else "white",
                "legal": texts(game.legal_actions_at(board)),
            }
            for board in game.boards
        ],
        "is_over": game.is_over,
        "margin": game.final_score(),
        "note": note,
        "players": dict(zip(("black", "white"), players, strict=True)),
    }


def text_json(
    text: str, chosen: variant.Variant, offered: Collection[variant.Variant], number: int = 1
) -> dict[str, Any]:
    """Returns the game of a `number`, from 1, of a text in any format of `game_texts`, for JSON.

    To `game_json` it adds the titles of all games. A game ends before its first illegal or
    unreadable move; the note then says why. The `chosen` rules hold unless the text names others.
    ValueError if the text is not a game, its first move is illegal, or its rules are not among the
    `offered` ones, which have networks.
    """
    written = game_texts.parse(text, chosen)
    if not written:
        raise ValueError("nothing to read: paste moves such as f5d6c3, a game, or a board")
    if number > len(written):
        raise ValueError(f"no game {number}: there are 1 to {len(written)}")
    record = written[number - 1]
    kind = record.size, record.is_reversed
    rules = next((game for game in offered if (game.size, game.is_reversed) == kind), None)
    if rules is None:
        name = f"{'reversed ' * record.is_reversed}{record.size}x{record.size}"
        names = ", ".join(game.name for game in offered)
        raise ValueError(f"no network for {name}; there are networks for {names}")
    game, problem = _play(rules, record.moves, record.board)
    stop = f"stopped at {problem}" if problem else record.unread and f"stopped: {record.unread}"
    if stop and not game.actions:
        raise ValueError(problem or record.unread)
    place = f"game {number} of {len(written)}" if len(written) > 1 else ""
    note = "; ".join(filter(None, (stop, place, record.note)))
    titles = [files.one_line(game_texts.title(one), ggf.MAX_NAME) for one in written]
    return game_json(game, note, (record.black, record.white)) | {"titles": titles}


def report_json(report: search_report.SearchReport, size: int) -> dict[str, Any]:
    """Returns a search report with moves as text, and expected scores in whole discs."""
    report = search_report.whole(report)
    names = ("value", "raw_value", "discs", "score", "source", "num_simulations", "seconds")
    return {
        "move": notation.action_text(report.action, size),
        **{name: getattr(report, name) for name in names},
        "is_deep": report.is_deep,
        "moves": [search_report.move_json(move, size) for move in report.moves],
        "people": {
            notation.action_text(action, size): [round(chance, 3) for chance in chances]
            for action, chances in report.people.items()
        },
    }


def _play(
    rules: variant.Variant, moves: Sequence[int], start: notation.Board | None
) -> tuple[live_game.LiveGame, str]:
    """Plays moves up to the first illegal one, and returns what is wrong with it, "" if none.

    Passes after the end are skipped.
    """
    game = live_game.LiveGame(rules)
    game.new_game(start)
    for action in moves:
        if game.is_over and action == rules.pass_action:
            continue
        try:
            if game.legal_actions == (rules.pass_action,) != (action,):
                game.play(rules.pass_action)
            game.play(action)
        except ValueError as error:
            return game, f"move {len(game.actions) + 1}: {error}"
    return game, ""
