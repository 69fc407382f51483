"""Archives of played games: WTHOR files, the CSV of eOthello, plain transcripts.

Contents come as bytes or text, and `place`, the file's name, is only for messages. Every game is
played again by the rules, all of them side by side on the device, so what is returned is legal,
its passes are written out, and its result is that of the board, not that of the record. What is
wrong raises ValueError with file, record (counted from 1) and reason; with `skip_bad` bad records
are counted by reason and left out, and all others are kept.

WTHOR (https://www.ffothello.org/informatique/la-base-wthor/) has a 16-byte header, then 68 bytes a
game: tournament and players (three int16), black's final discs, black's discs under perfect play
from a late position, and 60 squares as 10 * row + column, 0 after the last. Passes are not written.
"""

import collections
import dataclasses
import functools
from collections.abc import Sequence

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import bitboard, notation, othello

NO_ACTION = -1

_OTHELLO = othello.Othello()
WTHOR_HEADER_BYTES = 16
WTHOR_RECORD_BYTES = 68
_MOVES = slice(8, 68)
_CSV_COLUMNS = ("winner", "game_moves")
_SIDE_BY_SIDE = (8, 512, 8192)  # games that are replayed at once


@dataclasses.dataclass(frozen=True)
class GameArchive:
    """`G` legal games, on the host."""

    action: np.ndarray  # [G, L] int8, every ply, passes included; `NO_ACTION` after the last
    is_finished: np.ndarray  # [G] bool, played until neither side could move
    black_score: np.ndarray  # [G] int32, at the last position: discs, the empties to the winner
    black_value: np.ndarray  # [G] float32, result for the first player: see `read_wthor`
    num_skipped: dict[str, int]  # bad records by reason, none of them among these games

    @property
    def num_plies(self) -> np.ndarray:
        """`[G]` int, passes included."""
        return (self.action != NO_ACTION).sum(axis=1)


@dataclasses.dataclass(frozen=True)
class _Record:
    """A game as its archive has it."""

    number: int  # from 1
    moves: Sequence[int]  # squares as actions; passes may be left out
    black_value: float = np.nan  # as recorded
    black_discs: int | None = None  # as recorded, the empties to the winner


@dataclasses.dataclass
class _Problems:
    """What is wrong in one archive: raises at once, or counts."""

    place: str
    skip_bad: bool
    counts: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def note(self, record: int | None, reason: str, detail: str = "", count: int = 1) -> None:
        """Notes that a record, or (None) the file, is wrong; `detail` is for the message alone."""
        if not self.skip_bad:
            where = self.place if record is None else f"{self.place}: record {record}"
            raise ValueError(f"{where}: {detail or reason}")
        self.counts[reason] += count


def read_wthor(content: bytes, place: str, *, skip_bad: bool = False) -> GameArchive:
    """Returns the games of a WTHOR file (`.wtb`).

    `black_value` is the result on the board. Where a record stops before the end of the game, it
    is the one that the file has (the game was adjudicated, or lost on time).

    Raises:
      ValueError: a header cut short, for another board size or with another number of games
        than follow; a record cut short; a square, move or score that cannot be.
    """
    problems = _Problems(place, skip_bad)
    if len(content) < WTHOR_HEADER_BYTES:
        detail = f"{len(content)} bytes, but a WTHOR header has {WTHOR_HEADER_BYTES}"
        problems.note(None, "header cut short", detail)
        return _replayed(_OTHELLO, [], problems)
    num_games = int.from_bytes(content[4:8], "little", signed=True)
    size = content[12]
    if size not in (0, 8):  # 0 means 8 in old files
        problems.note(None, "wrong board size", f"games on {size}x{size}, not 8x8")
        return _replayed(_OTHELLO, [], problems)

    num_whole, rest = divmod(len(content) - WTHOR_HEADER_BYTES, WTHOR_RECORD_BYTES)
    if rest:
        detail = f"cut short, {rest} of {WTHOR_RECORD_BYTES} bytes"
        problems.note(num_whole + 1, "record cut short", detail)
    if num_games != num_whole + (rest > 0):
        detail = f"the header says {num_games} games, but {num_whole} follow"
        missing = max(num_games - num_whole - (rest > 0), 1)
        problems.note(None, "header says another number of games", detail, count=missing)

    whole = content[WTHOR_HEADER_BYTES : len(content) - rest]
    table = np.frombuffer(whole, np.uint8).reshape(num_whole, WTHOR_RECORD_BYTES)
    squares = table[:, _MOVES].astype(np.int64)
    row, column = np.divmod(squares, 10)
    is_square = (row >= 1) & (row <= 8) & (column >= 1) & (column <= 8)
    length = (squares != 0).sum(axis=1)
    is_played = np.arange(squares.shape[1]) < length[:, None]
    is_bad = np.where(is_played, ~is_square, squares != 0)
    actions = 8 * (row - 1) + column - 1

    records = []
    for index in range(num_whole):
        black_discs = int(table[index, 6])
        if is_bad[index].any():
            ply = int(np.argmax(is_bad[index]))
            detail = f"byte {squares[index, ply]} as move {ply + 1} is not a square"
            problems.note(index + 1, "not a square", detail)
        elif black_discs > 64:
            problems.note(index + 1, "bad score", f"bad score: black has {black_discs} discs")
        else:
            moves = actions[index, : length[index]].tolist()
            value = float(np.sign(black_discs - 32))
            records.append(_Record(index + 1, moves, value, black_discs))
    return _replayed(_OTHELLO, records, problems)


def read_eothello(text: str, place: str, *, skip_bad: bool = False) -> GameArchive:
    """Returns the games of a CSV with the columns `winner` and `game_moves`, as eOthello's has.

    `winner` is 1 (black), -1 (white) or 0, moves are squares such as "f5d6" without passes.
    `black_value` is as in `read_wthor`. Records are counted without the line of names.

    Raises:
      ValueError: no game at all, a column or a field is missing; a winner or move that cannot be.
    """
    problems = _Problems(place, skip_bad)
    lines = [line for line in text.splitlines() if line.strip()]
    names = [name.strip() for name in lines[0].split(",")] if lines else []
    missing = [name for name in _CSV_COLUMNS if name not in names]
    if not lines:
        problems.note(None, "empty file")
    elif missing:
        detail = f"no column {' and '.join(missing)}; there are: {', '.join(names)}"
        problems.note(None, "missing column", detail)
    elif len(lines) == 1:
        problems.note(None, "empty file", "no game after the line of names")
    records = []
    for number, line in enumerate([] if missing else lines[1:], start=1):
        fields = line.split(",")
        if len(fields) != len(names):
            detail = f"{len(fields)} fields, but there are {len(names)} columns"
            problems.note(number, "wrong number of fields", detail)
            continue
        winner, moves = (fields[names.index(name)].strip() for name in _CSV_COLUMNS)
        if winner not in ("-1", "0", "1"):
            detail = f"bad score: winner {winner!r} is none of 1 (black), -1 (white) and 0"
            problems.note(number, "bad score", detail)
            continue
        try:
            records.append(
                _Record(number, notation.parse_moves(moves, _OTHELLO.size), float(winner))
            )
        except ValueError as error:
            problems.note(number, "not a move", str(error))
    return _replayed(_OTHELLO, records, problems)


def read_transcripts(
    text: str, place: str, game: othello.Othello = _OTHELLO, *, skip_bad: bool = False
) -> GameArchive:
    """Returns the games of a text with one transcript a line, written as `notation` says.

    Empty lines are no games, but count as records, so that numbers are those of lines.
    `black_value` of an unfinished game is NaN.

    Raises:
      ValueError: no game at all, or one that cannot be read or is illegal.
    """
    problems = _Problems(place, skip_bad)
    records = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            moves = notation.parse_moves(line, game.size)
        except ValueError as error:
            problems.note(number, "not a move", str(error))
            continue
        if moves:
            records.append(_Record(number, moves))
    if not records and not problems.counts:
        problems.note(None, "empty file", "no game in it")
    return _replayed(game, records, problems)


def join(several: Sequence[GameArchive]) -> GameArchive:
    """Returns the games of all archives, in order; there is at least one archive."""
    length = max(games.action.shape[1] for games in several)
    padded = [
        np.pad(games.action, ((0, 0), (0, length - games.action.shape[1])), constant_values=-1)
        for games in several
    ]
    num_skipped: collections.Counter[str] = collections.Counter()
    for games in several:
        num_skipped.update(games.num_skipped)
    return GameArchive(
        action=np.concatenate(padded),
        is_finished=np.concatenate([games.is_finished for games in several]),
        black_score=np.concatenate([games.black_score for games in several]),
        black_value=np.concatenate([games.black_value for games in several]),
        num_skipped=dict(num_skipped),
    )


def _replayed(
    game: othello.Othello, records: Sequence[_Record], problems: _Problems
) -> GameArchive:
    """Plays the records, notes those that are illegal or contradict their score, keeps the rest."""
    parts = [
        _replay_batch(game, records[first : first + _SIDE_BY_SIDE[-1]], problems)
        for first in range(0, len(records), _SIDE_BY_SIDE[-1])
    ]
    if not parts:
        none = np.zeros(0)
        empty = np.zeros((0, game.max_plies), np.int8)
        parts = [
            GameArchive(
                empty, none.astype(bool), none.astype(np.int32), none.astype(np.float32), {}
            )
        ]
    return dataclasses.replace(join(parts), num_skipped=dict(problems.counts))


def _replay_batch(
    game: othello.Othello, records: Sequence[_Record], problems: _Problems
) -> GameArchive:
    # Few shapes, each compiled once. No legal game is longer than `max_plies`, so of a longer list
    # of moves one before that is illegal.
    longest = max(len(record.moves) for record in records)
    length = game.max_plies if longest > game.max_plies // 2 else game.max_plies // 2
    width = next(size for size in _SIDE_BY_SIDE if size >= len(records))
    moves = np.full((width, length), NO_ACTION, np.int32)
    for row, record in zip(moves, records, strict=False):
        kept = record.moves[:length]
        row[: len(kept)] = kept
    played = jax.device_get(_replay(game, jnp.asarray(moves.T)))

    is_good = np.zeros(width, bool)
    value = np.sign(played.black_score).astype(np.float32)
    discs = (game.size**2 + played.black_score) // 2
    is_legal = played.is_legal.all(axis=0)
    for index, record in enumerate(records):
        is_finished = bool(played.is_over[index])
        contradiction = is_finished and _contradiction(record, value[index], discs[index])
        if not is_legal[index]:
            problems.note(record.number, "illegal move", _why_illegal(game, record.moves))
        elif contradiction:
            problems.note(record.number, "bad score", f"bad score: {contradiction}")
        else:
            is_good[index] = True
            value[index] = value[index] if is_finished else record.black_value

    has_pass, moves = played.has_pass.T[is_good], moves[is_good]
    passes = np.where(has_pass, game.pass_action, NO_ACTION)
    discs_placed = np.where(moves == game.pass_action, NO_ACTION, moves)
    plies = np.stack([passes, discs_placed], axis=-1).reshape(len(moves), -1).astype(np.int8)
    in_order = np.argsort(plies == NO_ACTION, axis=1, kind="stable")
    return GameArchive(
        action=np.take_along_axis(plies, in_order, axis=1)[:, : game.max_plies],
        is_finished=played.is_over[is_good],
        black_score=played.black_score[is_good],
        black_value=value[is_good],
        num_skipped={},
    )


def _contradiction(record: _Record, value: float, discs: int) -> str:
    """Returns how a finished game differs from its record, nothing if it does not."""
    if record.black_discs not in (None, discs):
        return f"the record gives black {record.black_discs} discs, the moves give {discs}"
    if not np.isnan(record.black_value) and record.black_value != value:
        return f"the record says {record.black_value:+.0f} for black, the moves give {value:+.0f}"
    return ""


def _why_illegal(game: othello.Othello, moves: Sequence[int]) -> str:
    try:
        notation.replay_actions(moves, game)
    except ValueError as error:
        return str(error)
    raise AssertionError("two readings of the rules differ")


@flax.struct.dataclass
class _Replay:
    """What the rules say of a batch of listed moves."""

    has_pass: jax.Array  # [L, B] bool, a pass comes before this move, or is it
    is_legal: jax.Array  # [L, B] bool, meaningless after the first illegal move
    is_over: jax.Array  # [B] bool, after the last move
    black_score: jax.Array  # [B] int32, after the last move


@functools.partial(jax.jit, static_argnums=0)
def _replay(game: othello.Othello, moves: jax.Array) -> _Replay:
    """Plays `[L, B]` int32 moves, in which passes may be left out; `NO_ACTION` does nothing."""

    def play(state, move):
        position, is_black = state
        turned = othello.Position(position.opponent, position.player)
        own, other = game.legal_squares(position), game.legal_squares(turned)
        is_move = move != NO_ACTION
        is_disc = is_move & (move != game.pass_action)
        has_pass = is_move & own.is_empty() & ~other.is_empty()
        bit = jnp.where(is_disc, 8 * (move // game.size) + move % game.size, -1)
        is_legal = ~(
            bitboard.square_bit(bit) & (own.where(~has_pass) | other.where(has_pass))
        ).is_empty()
        is_legal = jnp.where(is_disc, is_legal, has_pass | ~is_move)
        position = _where(has_pass, turned, position)
        position = _where(is_disc, game.play(position, move), position)
        return (position, is_black ^ has_pass ^ is_disc), (has_pass, is_legal)

    num_games = moves.shape[1]
    start = (game.start(num_games), jnp.ones(num_games, bool))
    (position, is_black), (has_pass, is_legal) = jax.lax.scan(play, start, moves)
    score = game.score(position)
    return _Replay(has_pass, is_legal, game.is_over(position), jnp.where(is_black, score, -score))


def _where(condition: jax.Array, yes: othello.Position, no: othello.Position) -> othello.Position:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
