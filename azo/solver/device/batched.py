"""Exact endgames of many positions at once, inside compiled programs.

Positions wait in a queue for `num_lanes` lanes of alpha-beta (`lanes`), and whichever lanes are
done take the next ones, so a slow position occupies one lane and not the batch. A position that
exceeds its budget of nodes, or has too many empty squares, comes back unsolved, never guessed.

Scores are those of `Othello.score`: final discs of the side to move minus the opponent's, empty
squares to whoever has more; in reversed Othello a negative score wins. The host's solver (`host`)
is for deep positions, this one for thousands with up to about 12 empty squares.
"""

import dataclasses
from typing import Literal

import chex
import flax.struct
import jax
import jax.numpy as jnp

from azo.games import othello
from azo.solver.device import lanes
from azo.solver.device.lanes import Lanes

NO_SCORE = -1000  # of moves that are illegal or were not solved
# Lanes that wait for new positions before any is given one, as a part of all.
_WAITING_PART = 16

Goal = Literal["score", "result", "every_move"]


@flax.struct.dataclass
class BatchedSolution:
    """What is known about `M` positions after the search, seen by the side to move."""

    score: jax.Array  # [M] int32, with "result" only its sign; 0 where unsolved
    is_solved: jax.Array  # [M] bool
    best_action: jax.Array  # [M] int32, exact where solved, some legal action elsewhere
    move_score: jax.Array | None  # [M, A] int32 or NO_SCORE, with "every_move" alone
    nodes: jax.Array  # [M] int32, positions looked at, over all searches of a position


def solve(
    game: othello.Othello,
    position: othello.Position,
    is_selected: jax.Array | None = None,
    *,
    max_empties: int,
    num_lanes: int,
    max_nodes: int | jax.Array,
    goal: Goal = "score",
) -> BatchedSolution:
    """Solves positions exactly; to be called under `jit`.

    What comes out for a position does not depend on the others, nor on `num_lanes`: with 256 the
    cost of a step and the lanes that stand idle at the end are in balance on the CPU.

    Args:
      game: the rules.
      position: `[M]`, of any stage; where the game is over, its score is that of the board.
      is_selected: `[M]` bool, the others are left unsolved at once and cost nothing; None for all.
      max_empties: positions with more empty squares are left unsolved at once; memory of a lane
        grows with it.
      num_lanes: searches side by side.
      max_nodes: a search ends unsolved after so many positions; those looked at only to put moves
        in order are not counted. With "every_move" each move has a search of its own.
      goal: "score"; "result", which is win, draw or loss and takes fewer nodes; or "every_move",
        the score of each move as well.

    Returns:
      The solution. The best action is the first found with the best score; it is the pass where
      that is the only action. With "result" and a position that is lost it is any move.
    """
    chex.assert_rank(jax.tree.leaves(position), 1)
    is_tried = game.num_empties(position) <= max_empties
    if is_selected is not None:
        is_tried &= is_selected
    bound = game.size**2
    window = (-1, 1) if goal == "result" else (-bound - 1, bound)
    searcher = lanes.Searcher(game, max_empties, window, max_nodes)
    if goal == "every_move":
        return _solve_moves(searcher, position, is_tried, num_lanes)
    found = _search(searcher, position, is_tried, num_lanes)
    utility = jnp.sign(found.utility) if goal == "result" else found.utility
    first_legal = game.legal_actions(position, 1)[:, 0]
    return BatchedSolution(
        score=jnp.where(found.is_solved, _score(game, utility), 0),
        is_solved=found.is_solved,
        best_action=jnp.where(is_tried, found.best_action, first_legal),
        move_score=None,
        nodes=found.nodes,
    )


def _solve_moves(
    searcher: lanes.Searcher,
    position: othello.Position,
    is_tried: jax.Array,
    num_lanes: int,
) -> BatchedSolution:
    """Searches the position behind each move with the whole window."""
    game = searcher.game
    num_positions, num_slots = *is_tried.shape, max(searcher.max_empties, 1)
    shape = (num_positions, num_slots)
    actions = game.legal_actions(position, num_slots)
    before = jax.tree.map(lambda word: jnp.broadcast_to(word[:, None], shape), position)
    after = jax.tree.map(jnp.ravel, game.play(before, actions))
    is_included = (actions >= 0) & is_tried[:, None]
    found = _search(searcher, after, is_included.ravel(), num_lanes)
    is_known = found.is_solved.reshape(shape)
    utility = jnp.where(is_known, -found.utility.reshape(shape), NO_SCORE)
    best = utility.argmax(axis=1, keepdims=True)
    is_solved = is_tried & (is_known | ~is_included).all(axis=1)
    score = _score(game, jnp.take_along_axis(utility, best, axis=1)[:, 0])
    move_score = jnp.full((num_positions, game.num_actions), NO_SCORE)
    row = jnp.arange(num_positions)[:, None]
    column = jnp.where(is_known, actions, game.num_actions)  # out of range: dropped
    move_score = move_score.at[row, column].set(_score(game, utility), mode="drop")
    return BatchedSolution(
        score=jnp.where(is_solved, score, 0),
        is_solved=is_solved,
        best_action=jnp.take_along_axis(actions, best, axis=1)[:, 0],
        move_score=move_score,
        nodes=found.nodes.reshape(shape).sum(axis=1),
    )


@flax.struct.dataclass
class _Found:
    """Results of searches, `[N]` each: zero or false for what was not searched."""

    utility: jax.Array  # int32, for the side to move
    is_solved: jax.Array  # bool
    best_action: jax.Array  # int32
    nodes: jax.Array  # int32


@flax.struct.dataclass
class _Progress:
    """The loop's state."""

    lanes: Lanes
    problem: jax.Array  # [L] int32, which position a lane searches, or N
    num_taken: jax.Array  # [] int32, positions that have left the queue
    found: _Found


def _search(
    searcher: lanes.Searcher,
    position: othello.Position,
    is_included: jax.Array,
    num_lanes: int,
) -> _Found:
    """Searches the positions `[N]` that are wanted."""
    (num_positions,) = is_included.shape
    num_lanes = min(num_lanes, num_positions)
    (queue,) = jnp.nonzero(is_included, size=num_positions, fill_value=num_positions)
    queue = queue.astype(jnp.int32)
    num_included = is_included.sum(dtype=jnp.int32)

    def is_waiting(progress: _Progress) -> jax.Array:
        lane_states = progress.lanes
        is_over = lane_states.is_solved | (lane_states.nodes >= searcher.max_nodes)
        return is_over | (progress.problem == num_positions)

    def take(place: jax.Array) -> tuple[jax.Array, othello.Position]:
        """Returns what stands at the places `[L]` of the queue; beyond its end, number N."""
        number = queue.at[place].get(mode="fill", fill_value=num_positions)
        return number, jax.tree.map(lambda word: word.at[number].get(mode="clip"), position)

    def advance(progress: _Progress) -> _Progress:
        """Steps until enough lanes wait, or all of them when the queue is empty."""
        enough = jnp.where(
            progress.num_taken < num_included, max(num_lanes // _WAITING_PART, 1), num_lanes
        )

        def has_work(lane_states: lanes.Lanes) -> jax.Array:
            waiting = is_waiting(dataclasses.replace(progress, lanes=lane_states))
            return waiting.sum() < enough

        lane_states = jax.lax.while_loop(has_work, searcher.step, progress.lanes)
        return dataclasses.replace(progress, lanes=lane_states)

    def refill(progress: _Progress) -> _Progress:
        lane_states, found = progress.lanes, progress.found
        is_free = is_waiting(progress)
        to = jnp.where(is_free, progress.problem, num_positions)
        utility = jnp.where(lane_states.is_solved, lane_states.utility, 0)
        action = _action(searcher.game, lane_states)
        result = _Found(utility, lane_states.is_solved, action, lane_states.nodes)
        found = jax.tree.map(lambda all, new: all.at[to].set(new, mode="drop"), found, result)
        place = progress.num_taken + jnp.cumsum(is_free, dtype=jnp.int32) - 1
        number, root = take(jnp.where(is_free, place, num_positions))
        fresh = searcher.start(root)
        # A search begins with an empty stack, so what is left in the rows does no harm.
        fresh = dataclasses.replace(
            fresh, node_stack=lane_states.node_stack, bin_stack=lane_states.bin_stack
        )
        lane_states = jax.tree.map(
            lambda new, old: new if new is old else jnp.where(is_free, new, old), fresh, lane_states
        )
        return _Progress(
            lanes=lane_states,
            problem=jnp.where(is_free, number, progress.problem),
            num_taken=progress.num_taken + is_free.sum(dtype=jnp.int32),
            found=found,
        )

    zeros = jnp.zeros(num_positions, jnp.int32)
    number, root = take(jnp.arange(num_lanes))
    progress = _Progress(
        lanes=searcher.start(root),
        problem=number,
        num_taken=jnp.int32(num_lanes),
        found=_Found(zeros, zeros.astype(bool), zeros, zeros),
    )
    progress = jax.lax.while_loop(
        lambda progress: (progress.problem < num_positions).any(),
        lambda progress: refill(advance(progress)),
        progress,
    )
    return progress.found


def _action(game: othello.Othello, lane_states: lanes.Lanes) -> jax.Array:
    """Returns the best action `[L]` int32; the pass where no disc can be placed."""
    disc = lane_states.best_disc
    index = jnp.where(
        disc.lower != 0,
        31 - jax.lax.clz(disc.lower).astype(jnp.int32),
        63 - jax.lax.clz(disc.upper).astype(jnp.int32),
    )
    action = (index >> 3) * game.size + (index & 7)
    return jnp.where(disc.is_empty(), game.pass_action, action)


def _score(game: othello.Othello, utility: jax.Array) -> jax.Array:
    return jnp.where(utility == NO_SCORE, NO_SCORE, -utility if game.is_reversed else utility)
