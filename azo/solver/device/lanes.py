"""Alpha-beta searches side by side: `L` lanes, each with a stack; a step advances all of them.

In one step a lane plays one move. The child becomes the lane's node, unless its value is known at
once. Before the move, a lane whose node is done returns to the parent, so a return costs a step of
its own only if the parent is then done too. Three rules keep the number of steps low:

* With at most one empty square the flips give the value, and the child is not entered.
* A pass changes sides within the node (`has_passed`).
* With `RATED_EMPTIES` empty squares or more, a node first rates its moves, one per step, by the
  number of replies; the fewest come first (fastest-first heuristic). Below, `first_move` decides.

The search is fail-hard: a node returns its `alpha`, its value if that lies within the bounds. All
values are `utility`, the final margin for the side to move, negated in reversed Othello.

Each variable is one word per lane. The stack is read and written by comparing its few rows with the
lane's depth, because XLA's CPU backend vectorises this, but not gathers and scatters. A `cond`
stores its result; without it that backend computes a value again for each use.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import bitboard, othello, protocol, variant

RATED_EMPTIES = 6
# Bins of moves by number of replies: at most 1, 2, 4, and more.
_BIN_REPLIES = (1, 2, 4)
_BIN_BITS = 2


@flax.struct.dataclass
class LaneNode:
    """The current position of a lane, and the work left there."""

    player: bitboard.Bitboard  # [L]
    opponent: bitboard.Bitboard  # [L]
    moves: bitboard.Bitboard  # [L], legal moves not yet searched
    beta: jax.Array  # [L] int32, upper bound of the window
    has_passed: jax.Array  # [L] bool, the other side had no move and passed


Bins = tuple[bitboard.Bitboard, ...]  # [L] each, the highest bit of the bins' numbers first


@flax.struct.dataclass
class Lanes:
    """The state of `L` searches."""

    node: LaneNode
    alpha: jax.Array  # [L] int32, lower bound of the window, raised by the moves searched
    is_stuck: jax.Array  # [L] bool, the side to move has no move and has not yet passed
    unrated: bitboard.Bitboard  # [L], moves of the node that are not yet rated
    bins: Bins  # of the rated moves
    # Nodes `[max_empties - 2, L]`, and the bins of those with rated moves.
    stack: tuple[LaneNode, Bins]
    depth: jax.Array  # [L] int32, nodes on the stack
    nodes: jax.Array  # [L] int32, positions visited, except for ratings

    @property
    def is_solved(self) -> jax.Array:
        """`[L]` bool, whether the search is done."""
        return self.is_done & (self.depth == 0)

    @property
    def is_done(self) -> jax.Array:
        """`[L]` bool, whether no move of the node needs a search."""
        return (self.alpha >= self.node.beta) | (self.node.moves.is_empty() & ~self.is_stuck)

    @property
    def utility(self) -> jax.Array:
        """`[L]` int32, for the side to move at the root, valid where solved."""
        return jnp.where(self.node.has_passed, -self.alpha, self.alpha)


@dataclasses.dataclass(frozen=True)
class Searcher:
    """Starts and advances searches."""

    game: othello.Othello
    max_empties: int  # largest number of empty squares of a root

    def start(self, root: othello.Position) -> Lanes:
        """Returns searches of the positions `[L]`."""
        shape = root.player.lower.shape
        legal = self.game.legal_squares(root)
        num_squares = self.game.size**2
        alpha, beta = (jnp.full(shape, x, jnp.int32) for x in (-num_squares - 1, num_squares))
        node = LaneNode(root.player, root.opponent, legal, beta, jnp.zeros(shape, bool))
        bins = (bitboard.from_int(0, *shape),) * _BIN_BITS
        sizes = max(self.max_empties - 2, 1), max(self.max_empties - RATED_EMPTIES + 1, 0)
        zeros = jnp.zeros(shape, jnp.int32)
        return Lanes(
            node=node,
            alpha=alpha,
            is_stuck=legal.is_empty(),
            unrated=self._to_rate(legal, self.game.empties(root).count()),
            bins=bins,
            stack=(self._rows(sizes[0], node), self._rows(sizes[1], bins)),
            depth=zeros,
            nodes=zeros,
        )

    def step(self, lanes: Lanes) -> Lanes:
        """Returns the lanes after one step; a lane that is solved stays."""
        lanes = self._return(lanes)
        node = lanes.node
        is_active = ~lanes.is_done
        is_rating = is_active & ~lanes.unrated.is_empty()
        plays = is_active & ~is_rating
        disc = self._choose(lanes, is_rating).where(is_active)
        position = othello.Position(node.player, node.opponent)
        child = self.game.place(position, disc)
        legal = self.game.legal_squares(child)
        num_empties = self.game.empties(child).count()

        passes = plays & lanes.is_stuck
        is_known, utility = self._value(child, legal, num_empties, passes)
        gets_value = plays & is_known & ~lanes.is_stuck
        enters = plays & ~is_known & ~lanes.is_stuck
        changes = enters | passes

        after = dataclasses.replace(node, moves=node.moves & ~disc.where(plays))
        alpha = jnp.where(gets_value, jnp.maximum(lanes.alpha, -utility), lanes.alpha)
        child_node = LaneNode(
            player=child.player,
            opponent=child.opponent,
            moves=legal.where(~is_known),
            beta=-lanes.alpha,
            has_passed=passes,
        )
        child_alpha = jnp.where(is_known, jnp.maximum(-node.beta, utility), -node.beta)
        unrated = lanes.unrated & ~disc.where(is_rating)
        bins = _add_to_bin(lanes.bins, disc.where(is_rating), legal.count())
        row = jnp.where(enters, lanes.depth, -1)
        return Lanes(
            node=protocol.where(changes, child_node, after),
            alpha=jnp.where(changes, child_alpha, alpha),
            is_stuck=jnp.where(changes, legal.is_empty() & ~passes, lanes.is_stuck),
            unrated=protocol.where(changes, self._to_rate(child_node.moves, num_empties), unrated),
            bins=jax.tree.map(lambda word: jnp.where(changes, jnp.uint32(0), word), bins),
            stack=_write(lanes.stack, row, (after, bins)),
            depth=lanes.depth + enters,
            nodes=lanes.nodes + plays,
        )

    def _return(self, lanes: Lanes) -> Lanes:
        """Returns each lane whose node is done to the parent, which takes the value."""
        returns = lanes.is_done & (lanes.depth > 0)

        def stay(lanes: Lanes) -> tuple[LaneNode, Bins, jax.Array]:
            return lanes.node, lanes.bins, lanes.alpha

        def to_parent(lanes: Lanes) -> tuple[LaneNode, Bins, jax.Array]:
            node, bins = self._read(lanes.stack, lanes.depth - 1)
            # The parent's alpha was that of a node that has passed, or minus `beta`.
            alpha = -jnp.minimum(lanes.alpha, lanes.node.beta)
            alpha = jnp.where(lanes.node.has_passed, lanes.alpha, alpha)
            return protocol.where(returns, (node, bins, alpha), stay(lanes))

        # `unrated` stays empty: a node rates all its moves before the first child.
        node, bins, alpha = self._where_any(returns, to_parent, stay, lanes)
        depth = lanes.depth - returns
        return dataclasses.replace(lanes, node=node, bins=bins, alpha=alpha, depth=depth)

    def _choose(self, lanes: Lanes, is_rating: jax.Array) -> bitboard.Bitboard:
        """Returns the next move to rate or to search."""

        def next_move(lanes: Lanes) -> bitboard.Bitboard:
            moves = lanes.node.moves
            for bits in lanes.bins:
                moves = preferred(moves, ~bits)
            position = othello.Position(lanes.node.player, lanes.node.opponent)
            return first_move(self.game, moves, self.game.empties(position))

        def next_to_rate_or_search(lanes: Lanes) -> bitboard.Bitboard:
            return protocol.where(is_rating, lowest(lanes.unrated), next_move(lanes))

        return self._where_any(is_rating, next_to_rate_or_search, next_move, lanes)

    def _value(
        self,
        child: othello.Position,
        legal: bitboard.Bitboard,
        num_empties: jax.Array,
        passed: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        """Returns whether the value of a position is known at once, and its utility there.

        It is known with at most one empty square, and where the game is over.
        """
        margin = self.game.margin(child)
        is_over = passed & legal.is_empty()
        last = self.game.empties(child).where(num_empties == 1)
        own_flips = bitboard.flips(child.player, child.opponent, last).count()
        opponent_flips = bitboard.flips(child.opponent, child.player, last).count()
        to_winner = margin + jnp.sign(margin) * num_empties
        score = jnp.where(opponent_flips > 0, margin - 2 * opponent_flips - 1, to_winner)
        score = jnp.where(own_flips > 0, margin + 2 * own_flips + 1, score)
        return is_over | (num_empties <= 1), -score if self.game.is_reversed else score

    def _to_rate(self, legal: bitboard.Bitboard, num_empties: jax.Array) -> bitboard.Bitboard:
        has_several = ~(legal & ~lowest(legal)).is_empty()
        return legal.where((num_empties >= RATED_EMPTIES) & has_several)

    def _where_any(self, mask: jax.Array, full: Callable, short: Callable, operand: Any) -> Any:
        """Returns `full(operand)`, by way of the cheaper `short(operand)` if the mask is empty.

        The two must be equal then. The CPU branches; on an accelerator the predicate would cost
        more.
        """
        return jax.lax.platform_dependent(
            operand,
            cpu=lambda operand: jax.lax.cond(jnp.any(mask), full, short, operand),
            default=full,
        )

    def _rows(self, num_rows: int, tree: Any) -> Any:
        """Returns zeros `[num_rows, L]` for each array `[L]`."""
        return jax.tree.map(lambda word: jnp.zeros((num_rows, *word.shape), word.dtype), tree)

    def _read(self, stack: Any, row: jax.Array) -> Any:
        """Returns the entries `[L]` of each lane's row, zero where the stack has no such row."""

        def read(rows: jax.Array) -> jax.Array:
            word = jnp.zeros(row.shape, rows.dtype)
            for index in range(rows.shape[0]):
                word = jnp.where(row == index, rows[index], word)
            return word

        return jax.tree.map(read, stack)


def _add_to_bin(bins: Bins, disc: bitboard.Bitboard, num_replies: jax.Array) -> Bins:
    """Returns bins with one more move, or none."""
    number = jnp.zeros_like(num_replies)
    for most in _BIN_REPLIES:
        number = number + (num_replies > most)
    places = reversed(range(_BIN_BITS))
    return tuple(
        bits | disc.where((number >> place) & 1 == 1)
        for bits, place in zip(bins, places, strict=True)
    )


def _write(stack: Any, row: jax.Array, entries: Any) -> Any:
    """Returns the stack with the entries `[L]` in each lane's row; other rows are dropped."""

    def write(rows: jax.Array, word: jax.Array) -> jax.Array:
        return jnp.where(jnp.arange(len(rows))[:, None] == row[None], word[None], rows)

    return jax.tree.map(write, stack, entries)


def first_move(
    game: othello.Othello, moves: bitboard.Bitboard, empties: bitboard.Bitboard
) -> bitboard.Bitboard:
    """Returns the bit of the first move in static order, or no bit where there are no moves.

    Squares in odd regions come first, then corners, edges and the other kinds. The last disc in a
    region is an advantage, because the opponent cannot answer it there. The side to move can expect
    it in a region with an odd number of empty squares. Regions are the four quadrants of the board:
    nearly as good as connected regions, for four popcounts. Within a region the kind of the square
    decides; reversed Othello has the opposite order of kinds.
    """
    odd = bitboard.from_int(0)
    for quadrant in map(bitboard.from_int, _quadrants(game.size)):
        is_odd = ((empties & quadrant).count() & 1) == 1
        odd = odd | quadrant.where(is_odd)
    moves = preferred(moves, odd)
    for kind in _kinds(game.size, game.is_reversed)[:-1]:
        moves = preferred(moves, bitboard.from_int(kind))
    return lowest(moves)


def preferred(moves: bitboard.Bitboard, squares: bitboard.Bitboard) -> bitboard.Bitboard:
    """Returns the moves on the given squares, or all moves where there is none on these."""
    both = moves & squares
    return protocol.where(both.is_empty(), moves, both)


def lowest(board: bitboard.Bitboard) -> bitboard.Bitboard:
    """Returns the lowest bit of each bitboard, or no bit."""
    lower, upper = (word & (~word + jnp.uint32(1)) for word in (board.lower, board.upper))
    return bitboard.Bitboard(lower, jnp.where(board.lower == 0, upper, jnp.uint32(0)))


@functools.cache
def _quadrants(size: int) -> tuple[int, ...]:
    """Returns the squares of the four quadrants."""
    halves = range(size // 2), range(size // 2, size)
    return tuple(itertools.starmap(variant.square_bits, itertools.product(halves, halves)))


@functools.cache
def _kinds(size: int, is_reversed: bool) -> tuple[int, ...]:
    """Returns the squares by kind, the best kind first; every square has one kind."""

    def crossing(lines: Sequence[int], others: Sequence[int]) -> int:
        return variant.square_bits(lines, others) | variant.square_bits(others, lines)

    edges, beside, middle = (0, size - 1), (1, size - 2), range(2, size - 2)
    kinds = (
        crossing(edges, edges),
        crossing(edges, middle),
        crossing(middle, middle) | crossing(middle, beside),
        crossing(edges, beside),
        crossing(beside, beside),
    )
    squares = tuple(filter(None, kinds))
    return squares[::-1] if is_reversed else squares
