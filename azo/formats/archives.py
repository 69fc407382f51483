"""Archives of played games, read all at once: transcripts and the CSV of eOthello.

A reader turns contents into `RecordedGame`s, and `replay` plays the games again by the rules, side
by side on the device. So every game that is returned is legal, its passes are written out, and its
result is that of the last position.

A bad record raises ValueError with file, record (counted from 1) and reason. `place`, the file's
name, is only for messages.
"""

import csv
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import bitboard, notation, othello, replaying

NO_ACTION = -1
OTHELLO = othello.Othello()

_CSV_COLUMNS = ("winner", "game_moves")
_BATCH_SIZES = (8, 512, 8192)  # few, since each is compiled


@flax.struct.dataclass
class GameArchive:
    """`G` legal games of one kind of Othello, on the host."""

    action: np.ndarray  # [G, L] int8, every ply, passes included; `NO_ACTION` after the last
    is_finished: np.ndarray  # [G] bool, played until neither side could move
    black_score: np.ndarray  # [G] int32, at the last position: discs, the empties to the winner
    black_value: np.ndarray  # [G] float32, result for the first player: see `replay`
    num_solved: np.ndarray  # [G] int32, plies before which the recorded exact score holds
    exact_score: np.ndarray  # [G] int32, for the first player; meaningless if num_solved is 0

    @property
    def num_plies(self) -> np.ndarray:
        """`[G]` int, passes included."""
        return (self.action != NO_ACTION).sum(axis=1)


@dataclasses.dataclass(frozen=True)
class RecordedGame:
    """A game as its archive has it, not yet replayed."""

    number: int  # of the record, from 1
    moves: Sequence[int]  # squares as actions; passes may be left out
    black_value: float = np.nan  # result for black as recorded; NaN if unknown
    black_discs: int | None = None  # black's final discs as recorded, the empties to the winner
    exact_discs: int = 0  # black's final discs under perfect play from `exact_empties` on
    exact_empties: int = 0  # 0: unknown


def read_eothello(text: str, place: str) -> GameArchive:
    """Returns the games of a CSV with the columns `winner` and `game_moves`, as eOthello's has.

    `winner` is 1 (black), -1 (white) or 0; moves are squares such as "f5d6" without passes.
    Records are counted without the heading.

    Raises:
      ValueError: no game at all, a missing column or field, or a bad winner or move.
    """
    return replay(OTHELLO, _parse_csv(text), place)


def read_transcripts(text: str, place: str, game: othello.Othello = OTHELLO) -> GameArchive:
    """Returns the games of a text with one transcript a line, as `games.notation` describes them.

    Empty lines hold no game, but count as records, so that records are numbered as lines.

    Raises:
      ValueError: no game at all, or one that cannot be read or is illegal.
    """
    return replay(game, _parse_lines(text, game.size), place)


def join(several: Sequence[GameArchive]) -> GameArchive:
    """Returns the games of at least one archive, in order; all are of one kind of Othello."""
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *several)


def replay(game: othello.Othello, records: Iterable[RecordedGame], place: str) -> GameArchive:
    """Plays recorded games by the rules.

    `black_value` is the result on the board if a game was played to the end. Otherwise it is the
    recorded one: the game was adjudicated, or lost on time.

    Raises:
      ValueError: a bad record, an illegal move, or a result that contradicts the moves.
    """
    size = _BATCH_SIZES[-1]
    try:
        readable = list(records)
        batches = [readable[first : first + size] for first in range(0, len(readable), size)]
        return join([_replay_batch(game, batch) for batch in batches or [[]]])
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _parse_csv(text: str) -> Iterator[RecordedGame]:
    rows = csv.reader(line for line in text.splitlines() if line.strip())
    names = [name.strip() for name in next(rows, [])]
    missing = [name for name in _CSV_COLUMNS if name not in names]
    if not names:
        raise ValueError("empty file")
    if missing:
        raise ValueError(f"no column {' and '.join(missing)}; there are: {', '.join(names)}")
    number = 0
    for number, fields in enumerate(rows, start=1):
        if len(fields) != len(names):
            raise ValueError(
                f"record {number}: {len(fields)} fields, but there are {len(names)} columns"
            )
        winner, moves = (fields[names.index(name)].strip() for name in _CSV_COLUMNS)
        if winner not in ("-1", "0", "1"):
            raise ValueError(
                f"record {number}: bad score: winner {winner!r} is none of 1 (black), -1 (white)"
                " and 0"
            )
        yield _parse_record(number, moves, OTHELLO.size, float(winner))
    if not number:
        raise ValueError("no game after the heading")


def _parse_lines(text: str, size: int) -> Iterator[RecordedGame]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise ValueError("no game in it")
    for number, line in lines:
        yield _parse_record(number, line, size)


def _parse_record(number: int, moves: str, size: int, black_value: float = np.nan) -> RecordedGame:
    try:
        return RecordedGame(number, notation.parse_moves(moves, size), black_value)
    except ValueError as error:
        raise ValueError(f"record {number}: {error}") from None


def _replay_batch(game: othello.Othello, records: Sequence[RecordedGame]) -> GameArchive:
    # Few shapes, each compiled once. A list of more than `max_plies` moves has an illegal one among
    # the first `max_plies`.
    longest = max((len(record.moves) for record in records), default=0)
    length = game.max_plies if longest > game.max_plies // 2 else game.max_plies // 2
    width = next(size for size in _BATCH_SIZES if size >= len(records))
    moves = np.full((width, length), NO_ACTION, np.int32)
    for row, record in zip(moves, records, strict=False):
        first_moves = record.moves[:length]
        row[: len(first_moves)] = first_moves
    played = jax.device_get(_replay(game, jnp.asarray(moves.T)))
    played = jax.tree.map(lambda array: array[..., : len(records)], played)
    moves = moves[: len(records)]

    value = np.sign(played.black_score).astype(np.float32)
    discs = (game.size**2 + played.black_score) // 2
    is_legal = played.is_legal.all(axis=0)
    for index, record in enumerate(records):
        if not is_legal[index]:
            raise ValueError(f"record {record.number}: {_why_illegal(game, record.moves)}")
        if not played.is_over[index]:
            value[index] = record.black_value
        elif contradiction := _contradiction(record, value[index], discs[index]):
            raise ValueError(f"record {record.number}: bad score: {contradiction}")

    passes = np.where(played.has_pass.T, game.pass_action, NO_ACTION)
    discs_placed = np.where(moves == game.pass_action, NO_ACTION, moves)
    plies = np.stack([passes, discs_placed], axis=-1).reshape(len(moves), 2 * length)
    in_order = np.argsort(plies == NO_ACTION, axis=1, kind="stable")
    action = np.take_along_axis(plies, in_order, axis=1)[:, : game.max_plies].astype(np.int8)
    discs = np.array([record.exact_discs for record in records], np.int32)
    return GameArchive(
        action=action,
        is_finished=played.is_over,
        black_score=played.black_score,
        black_value=value,
        num_solved=_num_solved(game, action, records),
        exact_score=2 * discs - game.size**2,
    )


def _num_solved(
    game: othello.Othello, action: np.ndarray, records: Sequence[RecordedGame]
) -> np.ndarray:
    """Returns the plies `[G]` int32 up to the solved position; 0 if the game has none."""
    solved = np.array([record.exact_empties for record in records], np.int32)[:, None]
    places_disc = (action != NO_ACTION) & (action != game.pass_action)
    empties = game.size**2 - 4 - (np.cumsum(places_disc, axis=1) - places_disc)
    is_before = (action != NO_ACTION) & (empties >= solved)
    has_solved = (solved > 0) & (is_before & (empties == solved)).any(axis=1, keepdims=True)
    return (is_before & has_solved).sum(axis=1, dtype=np.int32)


def _contradiction(record: RecordedGame, value: float, discs: int) -> str:
    """Returns how the result of a finished game differs from its record; "" if it does not."""
    if record.black_discs not in (None, discs):
        return f"the record gives black {record.black_discs} discs, the moves give {discs}"
    if not np.isnan(record.black_value) and record.black_value != value:
        return f"the record says {record.black_value:+.0f} for black, the moves give {value:+.0f}"
    return ""


def _why_illegal(game: othello.Othello, moves: Sequence[int]) -> str:
    """Returns the message of the first illegal move."""
    try:
        replaying.replay_actions(moves, game)
    except ValueError as error:
        return str(error)
    raise AssertionError(f"the batched replay refuses legal moves: {list(moves)}")


@flax.struct.dataclass
class _Replay:
    """The outcome of a batch of recorded moves."""

    has_pass: jax.Array  # [L, B] bool, this move is a pass, or a pass was left out before it
    is_legal: jax.Array  # [L, B] bool, meaningless after the first illegal move
    is_over: jax.Array  # [B] bool, after the last move
    black_score: jax.Array  # [B] int32, after the last move


@functools.partial(jax.jit, static_argnums=0)
def _replay(game: othello.Othello, moves: jax.Array) -> _Replay:
    """Plays moves `[L, B]` int32, which may lack passes; `NO_ACTION` changes nothing."""

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
