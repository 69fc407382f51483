"""Plays a trained network against a full-width minimax, for any game.

    python -m examples.minimax runs/connect_four --depth 4

Minimax sees every line of `depth` plies. It takes a win as early, and a loss as late, as it can. It
draws among equal moves, so it plays at random where no line ends. Half of the games it begins.
"""

import argparse
import functools

import jax
import jax.numpy as jnp

import azo


def best_replies(game: azo.Game, position: object, depth: int) -> jax.Array:
    """Returns `[..., max_legal]` float32, the values of the moves, sooner wins first; -2: none."""
    actions = game.legal_actions(position, game.max_legal)
    axis = actions.ndim - 1
    before = jax.tree.map(lambda x: jnp.expand_dims(x, axis), position)
    step = game.step(before, jnp.maximum(actions, 0))
    value = step.reward
    if depth > 1:
        behind = -0.99 * best_replies(game, step.position, depth - 1).max(axis=-1)
        value = jnp.where(step.discount == 0, value, behind)
    return jnp.where(actions >= 0, value, -2.0)


@functools.partial(jax.jit, static_argnums=(0, 3))
def minimax(game: azo.Game, key: jax.Array, position: object, depth: int) -> jax.Array:
    """Returns moves `[B]` int32."""
    values = best_replies(game, position, depth)
    draw = jax.random.uniform(key, values.shape)
    slot = jnp.argmax(jnp.where(values == values.max(axis=-1, keepdims=True), draw, -1), axis=-1)
    actions = game.legal_actions(position, game.max_legal)
    return jnp.take_along_axis(actions, slot[:, None], axis=1)[:, 0]


def main() -> None:
    """Plays the match and prints its score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="of a run or a network")
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--games", type=int, default=64)
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--allow-import", action="append", default=[], metavar="MODULE:CLASS")
    flags = parser.parse_args()
    network = azo.load_network(flags.folder, allow_imports=flags.allow_import)
    game, config = network.game, azo.SearchConfig(num_simulations=flags.simulations)
    position, score = game.start(flags.games), jnp.zeros(flags.games)
    is_ours = jnp.arange(flags.games) % 2 == 0
    for ply in range(game.max_plies):
        key = jax.random.fold_in(jax.random.key(0), ply)
        search = azo.search_moves(game, network.evaluate, key, position, config=config)
        theirs = minimax(game, key, position, flags.depth)
        step = game.step(position, jnp.where(is_ours, search.action, theirs))
        score += jnp.where(is_ours, step.reward, -step.reward)
        position, is_ours = step.position, ~is_ours
        if game.is_over(position).all():
            break
    wins, losses = int((score > 0).sum()), int((score < 0).sum())
    draws = flags.games - wins - losses
    print(f"against minimax {flags.depth}: {wins} won, {draws} drawn, {losses} lost")


if __name__ == "__main__":
    main()
