"""Makes opening books: by the engine playing against itself in thought, or from archives.

Self-play grows a book by drop-out expansion (Lincke, "Strategies for the automatic construction of
opening books", Computers and Games 2000): the line to extend is the one that leaves the book at
least cost, where every ply costs a little and every move costs what it is worse than the best one.
So the main lines become deep, and every move that is nearly as good gets its turn.
"""

import math
from collections.abc import Callable

import numpy as np
import pydantic

from azo.formats import archives
from azo.games import notation
from azo.play import engine_settings, live_engine, opening_book, turning
from azo.solver.host.kernels import ONE, flips, jit


class GrowthConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How self-play grows a book."""

    num_positions: pydantic.PositiveInt = 200
    """Positions to add, each with a search of its own."""
    ply_cost: pydantic.PositiveFloat = 0.02
    """What a ply costs against a loss of expected result: a low one makes deep, narrow books."""
    max_plies: pydantic.PositiveInt = 24
    """Moves from the start that positions are at most away."""
    min_share: float = pydantic.Field(0.02, ge=0, le=1)
    """Moves with a smaller share of a search's visits are left out, the best one aside."""


def grow(
    book: opening_book.Book,
    engine: live_engine.Engine,
    config: GrowthConfig,
    *,
    on_position: Callable[[int], None] | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> int:
    """Adds positions to a book, the values of all backed up; returns how many.

    Args:
      book: of the engine's game.
      engine: searches with the limits of its settings; its game is given up.
      config: how many, and which.
      on_position: called after each with how many are done.
      is_stopped: asked before each position.
    """
    root = book.key(engine.start)
    for num_done in range(config.num_positions):
        if is_stopped is not None and is_stopped():
            return num_done
        key = root if root not in book.positions else _cheapest(book, root, config)
        if key is None:
            return num_done
        add_search(book, engine, key, min_share=config.min_share)
        book.back_up()
        if on_position is not None:
            on_position(num_done + 1)
    return config.num_positions


def add_search(
    book: opening_book.Book, engine: live_engine.Engine, key: opening_book.Key, *, min_share: float
) -> None:
    """Searches a position and keeps what is found of its moves; nothing is backed up."""
    board = notation.Board(*key, is_black_to_move=True)
    engine.new_game(board)
    limits = engine_settings.Limits(
        num_simulations=engine.config.num_simulations,
        seconds=engine.config.seconds,
        is_analysis=True,
    )
    thought = engine.think(limits)
    least = max(min_share * sum(move.visits for move in thought.moves), 1)
    for move in thought.moves:
        is_known = move.visits >= least or move.score is not None
        if move.value is not None and (is_known or move.action == thought.action):
            entry = book.entry(board, move.action)
            entry.value, entry.num_visits = move.value, move.visits


def add_games(
    book: opening_book.Book, games: archives.GameArchive, *, max_plies: int, min_games: int
) -> int:
    """Counts the moves of games and their results; returns how many games were counted.

    Args:
      book: of the game of the archive, which begins at its usual start.
      games: those without a result are left out.
      max_plies: moves from the start that are looked at.
      min_games: moves that were played less often are left out.
    """
    known = ~np.isnan(games.black_value)
    start = notation.board_of(book.game.start(), is_black_to_move=True)
    player, opponent, action = _walk(
        games.action[known, :max_plies].astype(np.int64),
        np.uint64(start.player),
        np.uint64(start.opponent),
        book.game.size,
    )
    is_played = action != archives.NO_ACTION
    # Passes are plies, so black moves at every other one.
    colour = np.where(np.arange(action.shape[1]) % 2 == 0, 1.0, -1.0)
    result = (games.black_value[known][:, None] * colour)[is_played]
    rows = np.stack([player, opponent, action.astype(np.uint64)], axis=-1)[is_played]
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    which = which.reshape(-1)
    counts = [
        np.bincount(which[chosen], minlength=len(distinct))
        for chosen in (slice(None), result > 0, result == 0)
    ]
    for row in np.flatnonzero(counts[0] >= min_games):
        P, O, a = distinct[row].tolist()
        entry = book.positions.setdefault((P, O), {}).setdefault(a, opening_book.Entry())
        entry.num_games += int(counts[0][row])
        entry.num_wins += int(counts[1][row])
        entry.num_draws += int(counts[2][row])
    return int(known.sum())


def evaluate(
    book: opening_book.Book,
    engine: live_engine.Engine,
    num_positions: int,
    *,
    on_position: Callable[[int], None] | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> int:
    """Searches the positions that occurred in most games; returns how many. Values are backed up.

    Args:
      book: with counts of games.
      engine: searches with the limits of its settings; its game is given up.
      num_positions: how many at most.
      on_position: called after each with how many are done.
      is_stopped: asked before each position.
    """

    def num_games(key: opening_book.Key) -> tuple[int, opening_book.Key]:
        return -sum(entry.num_games for entry in book.positions[key].values()), key

    chosen = sorted(book.positions, key=num_games)[:num_positions]
    num_done = 0
    for key in chosen:
        if is_stopped is not None and is_stopped():
            break
        add_search(book, engine, key, min_share=0.0)
        num_done += 1
        if on_position is not None:
            on_position(num_done)
    book.back_up()
    return num_done


def _cheapest(
    book: opening_book.Book, root: opening_book.Key, config: GrowthConfig
) -> opening_book.Key | None:
    """Returns the position outside of the book that is reached at least cost, None without any."""
    num_discs = _num_discs(root)
    found: dict[opening_book.Key, tuple[float, opening_book.Key | None]] = {}

    def cheapest(key: opening_book.Key) -> tuple[float, opening_book.Key | None]:
        if key not in found:
            best_cost, best_leaf = math.inf, None
            value = book.value(key)
            for action, entry in sorted(book.positions[key].items()):
                after = book.after(key, action)
                if entry.value is None or value is None or after is None:
                    continue
                cost, leaf = 0.0, after
                if after in book.positions:
                    cost, further = cheapest(after)
                    if further is None:
                        continue
                    leaf = further
                elif _num_discs(after) - num_discs > config.max_plies:
                    continue
                cost += config.ply_cost + value - entry.value
                if cost < best_cost:
                    best_cost, best_leaf = cost, leaf
            found[key] = best_cost, best_leaf
        return found[key]

    return cheapest(root)[1]


def _num_discs(key: opening_book.Key) -> int:
    return (key[0] | key[1]).bit_count()


@jit
def _walk(action, player, opponent, size):
    """Plays games, and returns the canonical form of each position and of the move played there.

    `action` is `[G, L]` int64, `NO_ACTION` after the last; so are the actions that are returned.
    """
    num_games, length = action.shape
    players = np.zeros((num_games, length), np.uint64)
    opponents = np.zeros((num_games, length), np.uint64)
    canonical = np.full((num_games, length), archives.NO_ACTION)
    for game in range(num_games):
        P, O = player, opponent
        for ply in range(length):
            move = action[game, ply]
            if move == archives.NO_ACTION:
                break
            least_P, least_O, symmetry = turning.canonical(P, O, size)
            least = turning.turned_action(move, symmetry, size)
            for other in range(turning.NUM_SYMMETRIES):
                is_alike = turning.turned(P, other, size) == least_P
                if is_alike and turning.turned(O, other, size) == least_O:
                    least = min(least, turning.turned_action(move, other, size))
            players[game, ply], opponents[game, ply] = least_P, least_O
            canonical[game, ply] = least
            if move == size * size:
                P, O = O, P
            else:
                square = np.uint64(move // size * 8 + move % size)
                discs = flips(P, O, square)
                P, O = O ^ discs, P | discs | (ONE << square)
    return players, opponents, canonical
