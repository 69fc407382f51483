"""What a search is told of its leaves: a network's opinion, and near the end the exact result."""

import dataclasses

import jax
import jax.numpy as jnp

from azo.games import othello, protocol
from azo.learning import network
from azo.search import improvement
from azo.solver.device import batched

_NUM_LANES = 256
_NO_LIMIT = 2**30  # of nodes: with so few empty squares none takes nearly as many


def evaluator(
    game: protocol.Game,
    config: network.NetworkConfig,
    variables: network.Variables,
    search: improvement.SearchConfig,
) -> improvement.Evaluate:
    """Returns a trained network as the settings of a search want it.

    Raises:
      ValueError: exact results are asked for in another game than Othello.
    """
    judge = network.folded_evaluator(game, config, variables, symmetry=search.symmetry)
    if search.exact_empties == 0:
        return judge
    if not isinstance(game, othello.Othello):
        raise ValueError(f"search.exact_empties is for Othello, not for {game.name}")
    return exact_near_the_end(game, judge, search.exact_empties)


def exact_near_the_end(
    game: othello.Othello, judge: improvement.Evaluate, max_empties: int
) -> improvement.Evaluate:
    """Returns an evaluation with exact values where at most so many squares are empty.

    The logits stay those of `judge`. Positions with more empty squares cost nothing; the others
    are solved side by side, and all wait for the slowest.
    """

    def evaluate(key: jax.Array, position: othello.Position) -> improvement.Evaluation:
        found = judge(key, position)
        solution = batched.solve(
            game,
            position,
            max_empties=max_empties,
            num_lanes=min(_NUM_LANES, found.value.shape[0]),
            max_nodes=_NO_LIMIT,
            goal="result",
        )
        result = (-solution.score if game.is_reversed else solution.score).astype(jnp.float32)
        value = jnp.where(solution.is_solved, result, found.value)
        return dataclasses.replace(found, value=value)

    return evaluate
