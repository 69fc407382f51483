"""Games as people keep them: transcripts, GGF, WTHOR; read from texts and files, and written.

A text is one transcript (`f5d6c3`), several with one a line, GGF games `(; ... ;)`, or lines such
as `black: name` among them one that begins with `moves:`. Where there are several games, a number
chooses.
"""

import dataclasses
import pathlib
import re

from azo.formats import archives, ggf
from azo.games import notation, othello

GGF_SUFFIX = ".ggf"
WTHOR_SUFFIX = ".wtb"

_MOST_BYTES = 64 * 2**20  # the largest year of WTHOR has less than half a megabyte
_FIELD = re.compile(r"\s*(\w+)\s*:\s*(.*)")


@dataclasses.dataclass(frozen=True)
class GameRecord:
    """A game that was played by the rules."""

    board: notation.Board  # where it began
    actions: tuple[int, ...]  # passes included
    black: str = ""  # who played black, if known
    white: str = ""


def parse(text: str, game: othello.Othello, *, number: int | None = None) -> GameRecord:
    """Returns the game of a text.

    Args:
      text: see above.
      game: whose rules it is replayed by.
      number: which game, from 1; may be left out where there is one.

    Raises:
      ValueError: there is no such game, it is none of these rules, or a move is illegal.
    """
    fields = _fields(text)
    if text.lstrip().startswith("(;"):
        games = [part + ";)" for part in text.split(";)") if part.strip()]
        return _of_ggf(ggf.parse(_choose(games, number).strip()), game)
    if "moves" in fields:
        record = _of_transcript(_choose([fields["moves"]], number), game)
        black, white = fields.get("black", ""), fields.get("white", "")
        return dataclasses.replace(record, black=black, white=white)
    lines = [line for line in text.splitlines() if line.strip()]
    if number is None and len(lines) > 1:
        try:
            return _of_transcript(text, game)  # one game on several lines
        except ValueError as error:
            if not _is_transcript(lines[1], game):
                raise error from None
    return _of_transcript(_choose(lines, number), game)


def read(path: pathlib.Path, game: othello.Othello, *, number: int | None = None) -> GameRecord:
    """Returns the game of a file; see `parse`. A name that ends in .wtb means WTHOR.

    Raises:
      ValueError: one line that begins with the path.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{path}: too large for a record of games")
    if path.suffix.lower() == WTHOR_SUFFIX:
        return _of_wthor(content, str(path), game, number)
    try:
        return parse(content.decode("utf-8-sig"), game, number=number)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: no game: it is not text, nor named .wtb as WTHOR is") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def to_text(record: GameRecord, game: othello.Othello, *, is_ggf: bool) -> str:
    """Returns a line of GGF, or a transcript.

    Raises:
      ValueError: a transcript was asked for, but the game did not begin at the usual start.
    """
    if is_ggf:
        return ggf.to_text(
            ggf.GgfGame(
                size=game.size,
                board=record.board,
                moves=record.actions,
                black=record.black,
                white=record.white,
                is_reversed=game.is_reversed,
            )
        )
    if record.board != notation.board_of(game.start(), is_black_to_move=True):
        raise ValueError("a transcript has no start position: save as .ggf")
    return notation.transcript(record.actions, game.size)


def _choose(games: list[str], number: int | None) -> str:
    if not games:
        raise ValueError("no game in it")
    if number is None and len(games) > 1:
        raise ValueError(f"{len(games)} games in it: choose one by its number, from 1")
    if number is not None and not 1 <= number <= len(games):
        raise ValueError(f"no game {number}: there are 1 to {len(games)}")
    return games[(number or 1) - 1]


def _fields(text: str) -> dict[str, str]:
    matches = (_FIELD.fullmatch(line) for line in text.splitlines())
    return {match[1].lower(): match[2].strip() for match in matches if match is not None}


def _is_transcript(text: str, game: othello.Othello) -> bool:
    try:
        notation.replay(text, game)
    except ValueError:
        return False
    return True


def _of_transcript(text: str, game: othello.Othello) -> GameRecord:
    actions = notation.replay(text, game).actions
    if not actions:
        raise ValueError("no move in it")
    return GameRecord(notation.board_of(game.start(), is_black_to_move=True), actions)


def _of_ggf(found: ggf.GgfGame, game: othello.Othello) -> GameRecord:
    start = found.board.player, found.board.opponent
    rules = othello.Othello(found.size, found.is_reversed, start)
    if rules.name != game.name:
        raise ValueError(f"a game of {rules.name}, but the network plays {game.name}")
    actions = notation.replay_actions(found.moves, game, start=found.board).actions
    return GameRecord(found.board, actions, found.black, found.white)


def _of_wthor(content: bytes, place: str, game: othello.Othello, number: int | None) -> GameRecord:
    if game.name != "othello8":
        raise ValueError(f"{place}: games of othello8, but the network plays {game.name}")
    num_games = max(len(content) - archives.WTHOR_HEADER_BYTES, 0) // archives.WTHOR_RECORD_BYTES
    if number is None or not 1 <= number <= num_games:
        raise ValueError(f"{place}: {num_games} games in it: choose one by its number, from 1")
    first = archives.WTHOR_HEADER_BYTES + (number - 1) * archives.WTHOR_RECORD_BYTES
    # A file of this game alone, so that the others are not replayed.
    header = content[:4] + (1).to_bytes(4, "little") + content[8 : archives.WTHOR_HEADER_BYTES]
    try:
        games = archives.read_wthor(
            header + content[first : first + archives.WTHOR_RECORD_BYTES], place
        )
    except ValueError as error:
        raise ValueError(str(error).replace("record 1:", f"record {number}:")) from None
    actions = games.action[0]
    board = notation.board_of(game.start(), is_black_to_move=True)
    return GameRecord(board, tuple(int(a) for a in actions if a != archives.NO_ACTION))
