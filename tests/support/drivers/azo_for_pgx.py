"""Plugin of pytest that gives Pgx's tests azo's environment, as `pgx.othello` and `pgx.make`."""

import importlib

import jax
import jax.numpy as jnp
import pgx.othello

from azo.compat import pgx as compat

# The module; `pgx.api_test` is a function.
API_TEST = importlib.import_module("pgx._src.api_test")


@jax.jit
def act_randomly(key, legal):
    """Draws an action: Pgx 2.6 does so along axis 1, which JAX refuses for the mask of one game."""
    return jax.random.categorical(key, jnp.log(legal.astype(jnp.float32)), axis=-1)


def pytest_configure():
    pgx.othello.Othello = compat.Othello
    API_TEST.act_randomly = act_randomly
