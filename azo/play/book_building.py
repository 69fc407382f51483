"""Building of opening books, by searches or from archives of games.

Searches grow a book by drop-out expansion (Lincke, "Strategies for the automatic construction of
opening books", Computers and Games 2000). Each step extends the line that leaves the book at the
least cost: a ply costs a constant, a move costs its difference to the best move. So main lines
become deep, and moves that are nearly as good are explored too.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pydantic

from azo.formats import archives
from azo.games import notation
from azo.play import host_position, live_engine, opening_book
from azo.solver.host.kernels import jit


class GrowthConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Growth of a book by searches."""

    num_positions: pydantic.PositiveInt = 200
    """Positions to add, with one search each."""
    ply_cost: pydantic.PositiveFloat = 0.02
    """Cost of a ply, in expected result; low costs make deep and narrow books."""
    max_plies: pydantic.PositiveInt = 24
    """Largest number of moves from the start to a position of the book."""
    min_share: float = pydantic.Field(0.02, ge=0, le=1)
    """Moves with a smaller share of a search's visits are left out, except the best move."""


def grow(
    book: opening_book.Book,
    engine: live_engine.Engine,
    config: GrowthConfig,
    *,
    on_position: Callable[[int], None] | None = None,
) -> int:
    """Adds positions to a book and backs up all values; returns the number of positions added.

    Args:
      book: a book of the engine's game.
      engine: searches with the limits of its settings; its present game is lost.
      config: number and choice of positions.
      on_position: called after each position with the number added.
    """
    root = book.key(engine.start)
    for num_done in range(config.num_positions):
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
    """Searches a position and adds the values of its moves; backs up nothing."""
    board = notation.Board(*key, is_black_to_move=True)
    engine.new_game(board)
    report = engine.think(dataclasses.replace(engine.config.limits, is_analysis=True))
    least = max(min_share * sum(move.visits for move in report.moves), 1)
    for move in report.moves:
        is_reliable = move.visits >= least or move.score is not None
        if move.value is not None and (is_reliable or move.action == report.action):
            entry = book.entry(board, move.action)
            entry.value, entry.num_visits = move.value, move.visits


def add_games(
    book: opening_book.Book, games: archives.GameArchive, *, max_plies: int, min_games: int
) -> int:
    """Counts the moves of games and their results; returns the number of games counted.

    Args:
      book: a book of the archive's game, from the usual start.
      games: games without a result are left out.
      max_plies: number of plies of a game that are counted.
      min_games: moves of fewer games are left out.
    """
    has_result = ~np.isnan(games.black_value)
    start = notation.board_of(book.game.start(), is_black_to_move=True)
    player, opponent, action = _canonical_moves(
        games.action[has_result, :max_plies].astype(np.int64),
        np.uint64(start.player),
        np.uint64(start.opponent),
        book.game.size,
    )
    is_played = action != archives.NO_ACTION
    # Passes are plies, so black moves at every other one.
    colour = np.where(np.arange(action.shape[1]) % 2 == 0, 1.0, -1.0)
    result = (games.black_value[has_result][:, None] * colour)[is_played]
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
    return int(has_result.sum())


def _cheapest(
    book: opening_book.Book, root: opening_book.Key, config: GrowthConfig
) -> opening_book.Key | None:
    """Returns the position outside the book that costs least to reach, None if there is none."""
    num_discs = _num_discs(root)
    costs: dict[opening_book.Key, tuple[float, opening_book.Key | None]] = {}

    def cheapest(key: opening_book.Key) -> tuple[float, opening_book.Key | None]:
        if key not in costs:
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
            costs[key] = best_cost, best_leaf
        return costs[key]

    return cheapest(root)[1]


def _num_discs(key: opening_book.Key) -> int:
    return (key[0] | key[1]).bit_count()


@jit
def _canonical_moves(action, player, opponent, size):
    """Replays games; returns each position and the move played there in canonical form.

    `action` and the returned actions are `[G, L]` int64, `NO_ACTION` after the last move.
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
            least_P, least_O, symmetry = host_position.canonical(P, O, size)
            least = host_position.turned_action(move, symmetry, size)
            for other in range(host_position.NUM_SYMMETRIES):
                is_alike = host_position.turned(P, other, size) == least_P
                if is_alike and host_position.turned(O, other, size) == least_O:
                    least = min(least, host_position.turned_action(move, other, size))
            players[game, ply], opponents[game, ply] = least_P, least_O
            canonical[game, ply] = least
            P, O = host_position.after(P, O, move, size)
    return players, opponents, canonical
