"""Alpha-beta searches side by side: `L` lanes, each with a stack; a step advances all of them.

In one step a lane plays one move. The child becomes the lane's node, unless its value is known at
once. Before the move, a lane whose node is done returns to the parent, so a return costs a step of
its own only if the parent is then done too. Three rules keep the number of steps low:

* With at most one empty square the flips give the value, and the child is not entered.
* A pass changes sides within the node (`has_passed`).
* With `RATED_EMPTIES` empty squares or more, a node first rates its moves, one a step, by the
  number of replies; the fewest come first (fastest-first heuristic). Below, `ordering` decides.

The search is fail-hard: a node returns its `alpha`, its value if that lies within the bounds. All
values are `utility`, the final margin for the side to move, negated in reversed Othello.

Each variable is one word a lane. A stack is read and written by comparing its few rows with the
lane's depth, because XLA's CPU backend vectorises this, but not gathers and scatters. A `cond`
stores its result; without it that backend computes a value again for each use.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import bitboard, othello, protocol
from azo.solver.device import ordering

RATED_EMPTIES = 6
# Bins of moves by number of replies: at most 1, 2, 4, and more.
_BIN_REPLIES = (1, 2, 4)
_BIN_BITS = 2
_BOUND_OFFSET = 128  # packs a bound into an unsigned byte


@flax.struct.dataclass
class Node:
    """The current position of a lane, and the work left there."""

    player: bitboard.Bitboard  # [L]
    opponent: bitboard.Bitboard  # [L]
    moves: bitboard.Bitboard  # [L], legal moves not yet searched
    alpha: jax.Array  # [L] int32, lower bound of the window, raised by the moves searched
    beta: jax.Array  # [L] int32, upper bound of the window
    has_passed: jax.Array  # [L] bool, the other side had no move and passed


@flax.struct.dataclass
class Rating:
    """The moves of the node that are not yet rated, and the bins of the others."""

    unrated: bitboard.Bitboard  # [L]
    bin_bits: tuple[bitboard.Bitboard, ...]  # [L] each, the highest bit of the bins' numbers first


@flax.struct.dataclass
class Lanes:
    """The state of `L` searches."""

    node: Node
    is_stuck: jax.Array  # [L] bool, the side to move has no move and has not yet passed
    rating: Rating
    node_stack: tuple[jax.Array, ...]  # words of nodes, [max_empties - 2, L] uint32 each
    bin_stack: tuple[jax.Array, ...]  # words of bins, only for nodes with rated moves
    depth: jax.Array  # [L] int32, nodes on the stack
    nodes: jax.Array  # [L] int32, positions visited, except for ratings

    @property
    def is_solved(self) -> jax.Array:
        """`[L]` bool, whether the search is done."""
        return _is_done(self.node, self.is_stuck) & (self.depth == 0)

    @property
    def utility(self) -> jax.Array:
        """`[L]` int32, for the side to move at the root, valid where solved."""
        return jnp.where(self.node.has_passed, -self.node.alpha, self.node.alpha)


@dataclasses.dataclass(frozen=True)
class Searcher:
    """Starts and advances searches."""

    game: othello.Othello
    max_empties: int  # largest number of empty squares of a root

    def start(self, root: othello.Position) -> Lanes:
        """Returns searches of the positions `[L]`."""
        shape = root.player.lower.shape
        legal = self.game.legal_squares(root)
        none = bitboard.from_int(0, *shape)
        num_squares = self.game.size**2
        alpha, beta = (jnp.full(shape, x, jnp.int32) for x in (-num_squares - 1, num_squares))
        zeros = jnp.zeros(shape, jnp.int32)
        node_rows, bin_rows = (
            jnp.zeros((rows, *shape), jnp.uint32)
            for rows in (max(self.max_empties - 2, 1), max(self.max_empties - RATED_EMPTIES + 1, 0))
        )
        node = Node(root.player, root.opponent, legal, alpha, beta, jnp.zeros(shape, bool))
        unrated = self._to_rate(legal, self.game.empties(root).count())
        return Lanes(
            node=node,
            is_stuck=legal.is_empty(),
            rating=Rating(unrated, (none,) * _BIN_BITS),
            node_stack=(node_rows,) * len(_pack(node)),
            bin_stack=(bin_rows,) * (2 * _BIN_BITS),
            depth=zeros,
            nodes=zeros,
        )

    def step(self, lanes: Lanes) -> Lanes:
        """Returns the lanes after one step; a lane that is solved stays."""
        lanes = self._return(lanes)
        node = lanes.node
        is_active = ~_is_done(node, lanes.is_stuck)
        is_rating = is_active & ~lanes.rating.unrated.is_empty()
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

        after = dataclasses.replace(
            node,
            moves=node.moves & ~disc.where(plays),
            alpha=jnp.where(gets_value, jnp.maximum(node.alpha, -utility), node.alpha),
        )
        alpha, beta = -node.beta, -node.alpha
        child_node = Node(
            player=child.player,
            opponent=child.opponent,
            moves=legal.where(~is_known),
            alpha=jnp.where(is_known, jnp.maximum(alpha, utility), alpha),
            beta=beta,
            has_passed=passes,
        )
        new_rating = self._add_to_bin(lanes.rating, disc.where(is_rating), legal.count())
        empty_rating = Rating(
            unrated=self._to_rate(child_node.moves, num_empties),
            bin_bits=(bitboard.from_int(0, *num_empties.shape),) * _BIN_BITS,
        )
        row = jnp.where(enters, lanes.depth, -1)
        return Lanes(
            node=protocol.where(changes, child_node, after),
            is_stuck=jnp.where(changes, legal.is_empty() & ~passes, lanes.is_stuck),
            rating=protocol.where(changes, empty_rating, new_rating),
            node_stack=_write(lanes.node_stack, row, _pack(after)),
            bin_stack=_write(lanes.bin_stack, row, jax.tree.leaves(new_rating.bin_bits)),
            depth=lanes.depth + enters,
            nodes=lanes.nodes + plays,
        )

    def _return(self, lanes: Lanes) -> Lanes:
        """Returns each lane whose node is done to the parent, which takes the value."""
        returns = _is_done(lanes.node, lanes.is_stuck) & (lanes.depth > 0)

        def to_parent(lanes: Lanes) -> Lanes:
            row = lanes.depth - 1
            parent = _unpack(_read(lanes.node_stack, row))
            bins = _read(lanes.bin_stack, row)
            value = jnp.where(lanes.node.has_passed, lanes.node.alpha, -lanes.node.alpha)
            parent = dataclasses.replace(parent, alpha=jnp.maximum(parent.alpha, value))
            bin_bits = tuple(map(bitboard.Bitboard, bins[::2], bins[1::2]))
            return dataclasses.replace(
                lanes,
                node=protocol.where(returns, parent, lanes.node),
                # `unrated` stays empty: a node rates all its moves before the first child.
                rating=dataclasses.replace(
                    lanes.rating, bin_bits=protocol.where(returns, bin_bits, lanes.rating.bin_bits)
                ),
                depth=lanes.depth - returns,
            )

        stacks = {name: getattr(lanes, name) for name in ("node_stack", "bin_stack")}
        moved = _where_any(
            returns,
            lambda lanes: dataclasses.replace(to_parent(lanes), node_stack=(), bin_stack=()),
            lambda lanes: dataclasses.replace(lanes, node_stack=(), bin_stack=()),
            lanes,
        )
        return dataclasses.replace(moved, **stacks)

    def _choose(self, lanes: Lanes, is_rating: jax.Array) -> bitboard.Bitboard:
        """Returns the next move to rate or to search."""

        def next_move(lanes: Lanes) -> bitboard.Bitboard:
            moves = lanes.node.moves
            for bits in lanes.rating.bin_bits:
                moves = ordering.preferred(moves, ~bits)
            position = othello.Position(lanes.node.player, lanes.node.opponent)
            return ordering.first(self.game, moves, self.game.empties(position))

        def next_to_rate_or_search(lanes: Lanes) -> bitboard.Bitboard:
            return protocol.where(
                is_rating, ordering.lowest(lanes.rating.unrated), next_move(lanes)
            )

        return _where_any(is_rating, next_to_rate_or_search, next_move, lanes)

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
        return legal.where((num_empties >= RATED_EMPTIES) & ordering.has_several(legal))

    def _add_to_bin(
        self, rating: Rating, disc: bitboard.Bitboard, num_replies: jax.Array
    ) -> Rating:
        """Returns the rating with one more move, or none, in its bin."""
        number = jnp.zeros_like(num_replies)
        for most in _BIN_REPLIES:
            number = number + (num_replies > most)
        places = reversed(range(_BIN_BITS))
        return Rating(
            unrated=rating.unrated & ~disc,
            bin_bits=tuple(
                bits | disc.where((number >> place) & 1 == 1)
                for bits, place in zip(rating.bin_bits, places, strict=True)
            ),
        )


def _is_done(node: Node, is_stuck: jax.Array) -> jax.Array:
    return (node.alpha >= node.beta) | (node.moves.is_empty() & ~is_stuck)


def _where_any(mask: jax.Array, full: Callable, short: Callable, operand: Any) -> Any:
    """Returns `full(operand)`, by way of the cheaper `short(operand)` if the mask is empty.

    The two must be equal then. The CPU branches; on an accelerator the predicate would cost more.
    """
    return jax.lax.platform_dependent(
        operand,
        cpu=lambda operand: jax.lax.cond(jnp.any(mask), full, short, operand),
        default=full,
    )


def _pack(node: Node) -> list[jax.Array]:
    """Returns the words of nodes: the boards, and one word for the other fields."""
    alpha, beta = ((bound + _BOUND_OFFSET).astype(jnp.uint32) for bound in (node.alpha, node.beta))
    rest = alpha | beta << jnp.uint32(8) | node.has_passed.astype(jnp.uint32) << jnp.uint32(16)
    return [*jax.tree.leaves((node.player, node.opponent, node.moves)), rest]


def _unpack(words: list[jax.Array]) -> Node:
    player, opponent, moves = map(bitboard.Bitboard, words[:-1:2], words[1:-1:2])
    alpha, beta = (
        ((words[-1] >> jnp.uint32(shift)) & jnp.uint32(255)).astype(jnp.int32) - _BOUND_OFFSET
        for shift in (0, 8)
    )
    has_passed = words[-1] >> jnp.uint32(16) == 1
    return Node(player, opponent, moves, alpha, beta, has_passed)


def _read(stack: tuple[jax.Array, ...], row: jax.Array) -> list[jax.Array]:
    """Returns the words `[L]` of each lane's row, zero where the stack has no such row."""
    words = []
    for rows in stack:
        word = jnp.zeros(row.shape, jnp.uint32)
        for index in range(rows.shape[0]):
            word = jnp.where(row == index, rows[index], word)
        words.append(word)
    return words


def _write(
    stack: tuple[jax.Array, ...], row: jax.Array, words: list[jax.Array]
) -> tuple[jax.Array, ...]:
    """Returns the stack with the words `[L]` in each lane's row; other rows are dropped."""
    return tuple(
        jnp.where(jnp.arange(rows.shape[0])[:, None] == row[None], word[None], rows)
        for rows, word in zip(stack, words, strict=True)
    )
