"""Exact endgames of many positions at once, inside compiled programs.

Positions wait in a queue for `num_lanes` lanes of alpha-beta (`lanes`). A lane that is done takes
the next position, so a slow position occupies one lane and not the batch. A position with too many
empty squares is returned unsolved.

Scores are those of `Othello.score`. This solver suits thousands of positions with up to about 12
empty squares; `azo.solver.host` solves deeper ones.
"""

import dataclasses
import functools

import chex
import flax.struct
import jax
import jax.numpy as jnp

from azo.games import othello
from azo.process import kernels
from azo.solver.device import lanes
from azo.solver.device.lanes import Lanes

NO_SCORE = -1000  # of moves that are illegal or unsolved
_REFILL_PART = 16  # lanes are refilled when one in this many is idle
_MORE_LANES_ON_TPU = 4  # by the compiler's estimate a step of 1,024 takes 12 % longer than of 256


@flax.struct.dataclass
class BatchedSolution:
    """Results for `M` positions, seen by the side to move."""

    score: jax.Array  # [M] int32, 0 where unsolved
    is_solved: jax.Array  # [M] bool
    move_score: jax.Array  # [M, A] int32, or NO_SCORE
    nodes: jax.Array  # [M] int32, visited in all searches of a position


def solve(
    game: othello.Othello,
    position: othello.Position,
    is_selected: jax.Array | None = None,
    *,
    max_empties: int,
    num_lanes: int,
) -> BatchedSolution:
    """Solves every move of positions exactly, each with a separate search; call it under `jit`.

    The result for a position depends neither on the other positions nor on `num_lanes`. On the CPU
    256 lanes balance the cost of a step and the idle lanes at the end.

    Args:
      game: the rules.
      position: `[M]`; where the game is over, the score is that of the board.
      is_selected: `[M]` bool, positions to solve; the others stay unsolved at no cost. None: all.
      max_empties: positions with more empty squares stay unsolved; a lane's memory grows with it.
      num_lanes: number of searches side by side; four times as many on a TPU.
    """
    chex.assert_rank(jax.tree.leaves(position), 1)
    is_solved = game.num_empties(position) <= max_empties
    if is_selected is not None:
        is_solved &= is_selected
    num_positions, num_slots = *is_solved.shape, max(max_empties, 1)
    # All first moves, then all second moves, on one axis from the start: a TPU takes up to 2 MiB of
    # code to flatten one array.
    actions = game.legal_actions(position, num_slots).T.ravel()
    before = jax.tree.map(lambda word: jnp.tile(word, num_slots), position)
    after = game.play(before, actions)
    is_searched = (actions >= 0) & jnp.tile(is_solved, num_slots)
    searcher = lanes.Searcher(game, max_empties)
    search = functools.partial(search_lanes, searcher, num_lanes=num_lanes)
    many = functools.partial(search_lanes, searcher, num_lanes=_MORE_LANES_ON_TPU * num_lanes)
    with jax.named_scope("endings"):
        others = {"tpu": many}
        if kernels.are_trusted():
            from azo.solver.device import kernel  # imports Pallas, which takes a second

            others["cuda"] = functools.partial(kernel.search, searcher)
        utility, nodes = jax.lax.platform_dependent(after, is_searched, default=search, **others)
    utility = jnp.where(is_searched, -utility, NO_SCORE)
    move_score = jnp.full((num_positions, game.num_actions), NO_SCORE)
    row = jnp.tile(jnp.arange(num_positions), num_slots)
    column = jnp.where(is_searched, actions, game.num_actions)  # out of range: dropped
    best = utility.reshape(num_slots, num_positions).max(axis=0)
    return BatchedSolution(
        score=jnp.where(is_solved, _score(game, best), 0),
        is_solved=is_solved,
        move_score=move_score.at[row, column].set(_score(game, utility), mode="drop"),
        nodes=nodes.reshape(num_slots, num_positions).sum(axis=0),
    )


@flax.struct.dataclass
class _LoopState:
    """The state of the loop over steps."""

    lanes: Lanes
    problem: jax.Array  # [L] int32, number of the lane's position, N for none
    num_started: jax.Array  # [] int32, positions that have left the queue
    utility: jax.Array  # [N] int32, for the side to move; 0 until the position is solved
    nodes: jax.Array  # [N] int32


def search_lanes(
    searcher: lanes.Searcher,
    position: othello.Position,
    is_included: jax.Array,
    *,
    num_lanes: int,
) -> tuple[jax.Array, jax.Array]:
    """Returns utilities and nodes of positions `[N]`; zero for those that are not included."""
    (num_positions,) = is_included.shape
    num_lanes = min(num_lanes, num_positions)
    (queue,) = jnp.nonzero(is_included, size=num_positions, fill_value=num_positions)
    queue = queue.astype(jnp.int32)
    num_included = is_included.sum(dtype=jnp.int32)

    def at_place(place: jax.Array) -> tuple[jax.Array, Lanes]:
        """Returns the numbers and searches of positions at places `[L]` of the queue, N beyond."""
        number = queue.at[place].get(mode="fill", fill_value=num_positions)
        root = jax.tree.map(lambda word: word.at[number].get(mode="clip"), position)
        return number, searcher.start(root)

    def advance(state: _LoopState) -> _LoopState:
        """Steps until enough lanes are idle, or all when the queue is empty; refills these."""
        is_refilled = state.num_started < num_included
        enough = jnp.where(is_refilled, max(num_lanes // _REFILL_PART, 1), num_lanes)

        def is_idle(lane_states: Lanes) -> jax.Array:
            return lane_states.is_solved | (state.problem == num_positions)

        done = jax.lax.while_loop(
            lambda lane_states: is_idle(lane_states).sum() < enough, searcher.step, state.lanes
        )
        is_free = is_idle(done)
        to = jnp.where(is_free, state.problem, num_positions)
        place = state.num_started + jnp.cumsum(is_free, dtype=jnp.int32) - 1
        number, fresh = at_place(jnp.where(is_free, place, num_positions))
        # A search begins at depth 0, so old rows of the stack do no harm.
        fresh = dataclasses.replace(fresh, stack=done.stack)
        return _LoopState(
            lanes=jax.tree.map(
                lambda new, old: new if new is old else jnp.where(is_free, new, old), fresh, done
            ),
            problem=jnp.where(is_free, number, state.problem),
            num_started=state.num_started + is_free.sum(dtype=jnp.int32),
            utility=state.utility.at[to].set(done.utility, mode="drop"),
            nodes=state.nodes.at[to].set(done.nodes, mode="drop"),
        )

    number, first = at_place(jnp.arange(num_lanes))
    zeros = jnp.zeros(num_positions, jnp.int32)
    state = _LoopState(first, number, jnp.int32(num_lanes), zeros, zeros)
    state = jax.lax.while_loop(lambda state: (state.problem < num_positions).any(), advance, state)
    return state.utility, state.nodes


def _score(game: othello.Othello, utility: jax.Array) -> jax.Array:
    return jnp.where(utility == NO_SCORE, NO_SCORE, -utility if game.is_reversed else utility)
