"""Building of opening books by searches.

A book grows by drop-out expansion (Lincke, "Strategies for the automatic construction of
opening books", Computers and Games 2000). Each step extends the line that leaves the book at the
least cost: a ply costs a constant, a move costs its difference to the best move. So main lines
become deep, and moves that are nearly as good are explored too.
"""

import functools
import math
from collections.abc import Iterator

import pydantic

from azo.engine import live_engine, opening_book
from azo.games import notation
from azo.settings import setting_types

_MIN_SHARE = 0.02  # of a search's visits; moves with fewer are left out, except the best one


class GrowthConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Growth of a book by searches."""

    num_positions: setting_types.PositiveInt = 200
    """Positions to add. Each one takes a search."""
    ply_cost: setting_types.PositiveFloat = 0.02
    """Cost of a ply, in units of the expected result. Low costs make deep and narrow books."""
    max_plies: setting_types.PositiveInt = 24
    """Largest number of moves from the start to a position of the book."""


def grow(
    book: opening_book.Book, engine: live_engine.Engine, config: GrowthConfig
) -> Iterator[int]:
    """Adds positions to a book and backs up all values; yields the number added after each.

    The engine searches with the limits of its settings; its present game is lost.
    """
    root = book.key(engine.start)
    for num_done in range(config.num_positions):
        key = root if root not in book.positions else _cheapest(book, root, config)
        if key is None:
            return
        board = notation.Board(*key, is_black_to_move=True)
        engine.new_game(board)
        report = engine.think(engine.config.limits(is_analysis=True))
        least = max(_MIN_SHARE * sum(move.visits for move in report.moves), 1)
        for move in report.moves:
            is_reliable = move.visits >= least or move.score is not None
            if move.value is not None and (is_reliable or move.action == report.action):
                entry = book.entry(board, move.action)
                entry.value, entry.num_visits = move.value, move.visits
        book.back_up()
        yield num_done + 1


def _cheapest(
    book: opening_book.Book, root: opening_book.Key, config: GrowthConfig
) -> opening_book.Key | None:
    """Returns the position outside the book that costs least to reach, None if there is none."""
    most_discs = (root[0] | root[1]).bit_count() + config.max_plies

    @functools.cache
    def cheapest(key: opening_book.Key) -> tuple[float, opening_book.Key | None]:
        value = book.value(key)
        ways: list[tuple[float, opening_book.Key | None]] = [(math.inf, None)]
        for action, entry in sorted(book.positions[key].items()):
            after = book.after(key, action)
            if value is None or after is None:
                continue
            if after in book.positions:
                cost, leaf = cheapest(after)
            elif (after[0] | after[1]).bit_count() <= most_discs:
                cost, leaf = 0.0, after
            else:
                continue
            ways.append((cost + config.ply_cost + value - entry.value, leaf))
        return min(ways, key=lambda way: way[0])

    return cheapest(root)[1]
