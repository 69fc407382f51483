"""The end of a generation, as a change of a run's state: promotion or failure at the gate.

The trainer calls these functions between iterations.
"""

import dataclasses

import jax
import jax.numpy as jnp

from azo.learning import replay, run_state


def next_generation(
    state: run_state.RunState, *, is_promoted: bool, begins_window: bool
) -> run_state.RunState:
    """Returns the state at the beginning of a new generation.

    The learner's network becomes the actor's if it `is_promoted`. The replay `begins_window` if it
    counts windows in generations.
    """
    after = dataclasses.replace(
        failed(state, restarts_games=True),
        replay=replay.begin_window(state.replay) if begins_window else state.replay,
        generation=state.generation + 1,
        num_failures=jnp.zeros_like(state.num_failures),
    )
    if not is_promoted:
        return after
    # A copy, since the iteration donates the learner's arrays.
    actor_params, version = jax.tree.map(jnp.copy, (after.variables(), after.iteration))
    return dataclasses.replace(after, actor_params=actor_params, actor_version=version)


def failed(state: run_state.RunState, *, restarts_games: bool) -> run_state.RunState:
    """Returns the state after a failure at the gate.

    Steps, and perhaps games, of the generation are counted from now.
    """
    return dataclasses.replace(
        state,
        generation_games=jnp.copy(state.num_games if restarts_games else state.generation_games),
        generation_steps=jnp.copy(state.learner.num_steps),
        num_failures=state.num_failures + 1,
    )
