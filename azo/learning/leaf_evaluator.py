"""Leaf evaluator: the network, or the exact solver near the end."""

import dataclasses

import jax
import jax.numpy as jnp

from azo.games import othello, protocol
from azo.learning import network
from azo.search import improvement
from azo.solver.device import batched

_NUM_LANES = 256
_NO_LIMIT = 2**30  # of nodes: far more than such an ending takes


def evaluator(
    game: protocol.Game,
    config: network.NetworkConfig,
    variables: network.Variables,
    search: improvement.SearchConfig,
) -> improvement.Evaluate:
    """Returns the evaluator of a trained network for a search.

    Raises:
      ValueError: exact results are requested in another game than Othello.
    """
    evaluate = network.folded_evaluator(game, config, variables, symmetry=search.symmetry)
    if search.exact_empties == 0:
        return evaluate
    if not isinstance(game, othello.Othello):
        raise ValueError(f"search.exact_empties is for Othello, not for {game.name}")
    return exact_near_the_end(game, evaluate, search.exact_empties)


def exact_near_the_end(
    game: othello.Othello, evaluate_network: improvement.Evaluate, max_empties: int
) -> improvement.Evaluate:
    """Returns an evaluator with exact values at `max_empties` empty squares or fewer.

    The logits stay those of the network. Positions with more empty squares cost nothing. The solver
    solves the others side by side, and all wait for the slowest.
    """

    def evaluate(key: jax.Array, position: othello.Position) -> improvement.Evaluation:
        evaluation = evaluate_network(key, position)
        solution = batched.solve(
            game,
            position,
            max_empties=max_empties,
            num_lanes=min(_NUM_LANES, evaluation.value.shape[0]),
            max_nodes=_NO_LIMIT,
            goal="result",
        )
        result = (-solution.score if game.is_reversed else solution.score).astype(jnp.float32)
        value = jnp.where(solution.is_solved, result, evaluation.value)
        return dataclasses.replace(evaluation, value=value)

    return evaluate
