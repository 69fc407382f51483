"""JSON messages between the page and the server.

Moves are text ("f5", "pass"), boards `size * size` characters row by row (`X` black, `O` white, `-`
empty). Values and scores of a report are for the side to move.
"""

import base64
import binascii
from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import pydantic

from azo.engine import engine_settings, search_report
from azo.formats import decoding, game_files, game_texts, ggf
from azo.games import notation, variant
from azo.games.host import live_game
from azo.settings import setting_types
from azo.storage import files

MAX_TEXT = 60_000
_Discs = Annotated[float, pydantic.Field(ge=-64, le=64)]
MAX_FILE = 1 << 19  # bytes of a file that are sent, from its beginning
MAX_FILE_TEXT = 100_000  # characters of its text that are read
MAX_READ_BODY = 1 << 20  # bytes
_MAX_TRIED = 1000  # games of a text, to find one that can be opened
FORMATS = "transcripts, GGF, SGF, PGN, OBF, CSV, JSON, boards and WTHOR (.wtb), also packed"
MAX_SIMULATIONS, MAX_SECONDS = 20_000, 30.0  # of one search


class ReadRequest(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Pasted text, or a file, to be read as a game."""

    game: Annotated[str, pydantic.Field(max_length=40)]
    """Name of the game, unless the text says it."""
    text: Annotated[str, pydantic.Field(max_length=MAX_TEXT)] = ""
    name: Annotated[str, pydantic.Field(max_length=300)] | None = None
    """Name of the file; None for a text."""
    content: Annotated[str, pydantic.Field(max_length=(MAX_FILE + 3) // 3 * 4)] = ""
    """The beginning of the file, in Base64."""
    number: setting_types.PositiveInt | None = None
    """Which game of the text; None: the first that can be opened."""


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
        "start": notation.board_text(ggf.usual_start(game), game.size),
        "is_reversed": game.is_reversed,
        "network": network,
    }


def game_json(
    game: live_game.LiveGame, note: str = "", players: tuple[str, str] = ("", "")
) -> dict[str, Any]:
    """Returns a game: its moves with the passes, and its start unless it is that of the rules.

    `players` are the names of black and white, "" if unknown.
    """
    size, has_usual_start = game.game.size, game.start == ggf.usual_start(game.game)
    return {
        "game": game.game.name,
        "start": None if has_usual_start else notation.board_text(game.start, size),
        "moves": [notation.action_text(action, size) for action in game.actions],
        "note": note,
        "players": dict(zip(("black", "white"), players, strict=True)),
    }


def read_json(
    request: ReadRequest, chosen: variant.Variant, offered: Collection[variant.Variant]
) -> dict[str, Any]:
    """Returns the game of a request for JSON, see `text_json`; `is_beginning` if a file is cut."""
    if request.name is None:
        return text_json(request.text, chosen, offered, request.number)
    try:
        content = base64.b64decode(request.content, validate=True)
    except binascii.Error as error:
        raise ValueError(f"content: {error}") from None
    name = files.one_line(request.name, 80)
    unpacked = files.unpacked_beginning(request.name, content, 4 * MAX_FILE_TEXT)
    is_beginning = len(content) == MAX_FILE or len(unpacked) == 4 * MAX_FILE_TEXT
    if files.unpacked_name(request.name).endswith(".wtb"):
        written = game_files.parse_content(request.name, unpacked, chosen)
        return _answer(written, offered, request.number) | {"is_beginning": is_beginning}
    text = decoding.decode(unpacked)
    if any(ord(x) < 9 or 13 < ord(x) < 26 for x in text):
        raise ValueError(f"{name} is not a game: azo reads {FORMATS}")
    if len(text) > MAX_FILE_TEXT:
        is_beginning = True
        text = text[:MAX_FILE_TEXT]
        text = text[: text.rfind("\n") + 1] or text
    return text_json(text, chosen, offered, request.number) | {"is_beginning": is_beginning}


def text_json(
    text: str,
    chosen: variant.Variant,
    offered: Collection[variant.Variant],
    number: int | None = None,
) -> dict[str, Any]:
    """Returns the game of a `number`, from 1, of a text in any format of `game_texts`, for JSON.

    Without a number it is the first that can be opened. To `game_json` it adds the titles and
    numbers of all games that can be read, and a line on those that cannot. A game ends before its
    first illegal or unreadable move; the note then says why. The `chosen` rules hold unless the
    text names others. ValueError if no game can be opened: the text is not a game, its first move
    is illegal, or its rules are not among the `offered` ones, which have networks.
    """
    return _answer(game_texts.parse(text, chosen), offered, number)


def _answer(
    written: Sequence[ggf.Record], offered: Collection[variant.Variant], number: int | None
) -> dict[str, Any]:
    if not written:
        raise ValueError("nothing to read: paste moves such as f5d6c3, a game, or a board")
    if number is not None and number > len(written):
        raise ValueError(f"no game {number}: there are 1 to {len(written)}")
    records = [_offered(record, offered) for record in written]
    tried = range(1, min(len(records), _MAX_TRIED) + 1)
    numbers = tried if number is None else [number]
    for chosen in numbers:
        record = records[chosen - 1]
        if isinstance(record, ggf.UnreadableGame):
            continue
        try:
            game, stop = _opened(record, offered)
            break
        except ValueError as error:
            records[chosen - 1] = ggf.UnreadableGame(str(error))
    else:
        if len(numbers) == 1 and isinstance(last := records[numbers[0] - 1], ggf.UnreadableGame):
            raise ValueError(last.reason)
        raise ValueError(
            f"none of the {len(records)} games can be opened: {game_texts.left_out(records)}"
        )
    left_out = game_texts.left_out(records)
    place = f"game {chosen} of {len(written)}" if len(written) > 1 else ""
    missing = f"left out: {left_out}" if left_out else ""
    note = "; ".join(filter(None, (stop, place, record.note, missing)))
    titles = {
        number: files.one_line(game_texts.title(one), ggf.MAX_NAME)
        for number, one in enumerate(records, start=1)
        if isinstance(one, ggf.GgfGame)
    }
    return game_json(game, note, (record.black, record.white)) | {
        "titles": list(titles.values()),
        "numbers": list(titles),
        "left_out": left_out,
    }


def _offered(record: ggf.Record, offered: Collection[variant.Variant]) -> ggf.Record:
    """Returns a game, `Unreadable` if there is no network for its rules."""
    if isinstance(record, ggf.UnreadableGame) or _rules_of(record, offered) is not None:
        return record
    name = f"{'reversed ' * record.is_reversed}{record.size}x{record.size}"
    names = ", ".join(game.name for game in offered)
    return ggf.UnreadableGame(f"no network for {name}; there are networks for {names}")


def _rules_of(record: ggf.GgfGame, offered: Collection[variant.Variant]) -> variant.Variant | None:
    kind = record.size, record.is_reversed
    return next((game for game in offered if (game.size, game.is_reversed) == kind), None)


def _opened(
    record: ggf.GgfGame, offered: Collection[variant.Variant]
) -> tuple[live_game.LiveGame, str]:
    """Returns a game up to its first bad move, and why it stopped there, "" if it is whole."""
    rules = _rules_of(record, offered)
    assert rules is not None
    game, problem = _play(rules, record.moves, record.board)
    stop = f"stopped at {problem}" if problem else record.unread and f"stopped: {record.unread}"
    if stop and not game.actions:
        raise ValueError(problem or record.unread)
    return game, stop


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

    Passes after the last move are skipped if they are illegal.
    """
    game = live_game.LiveGame(rules)
    game.new_game(start)
    for ply, action in enumerate(moves):
        is_pass = game.legal_actions == (rules.pass_action,)
        if not is_pass and all(later == rules.pass_action for later in moves[ply:]):
            break
        try:
            if game.legal_actions == (rules.pass_action,) != (action,):
                game.play(rules.pass_action)
            game.play(action)
        except ValueError as error:
            return game, f"move {len(game.actions) + 1}: {error}"
    return game, ""
