"""Plays 10,000 random games of Othello at once by the rules alone, and counts the results."""

import jax

import azo

game = azo.Othello()


def play(key):
    """Returns the result of one random game for black, who moves first: 1, 0 or -1."""

    def ply(carry, key):
        position, side, result = carry  # side: 1 for black, -1 for white
        step = game.step(position, game.random_action(key, position))
        # The reward belongs to the side that moved; a finished game stays as it is, and adds 0.
        return (step.position, -side, result + side * step.reward), None

    keys = jax.random.split(key, game.max_plies)
    return jax.lax.scan(ply, (game.start(), 1.0, 0.0), keys)[0][2]


results = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), 10_000))
shares = [float((results == result).mean()) for result in (1, 0, -1)]
print("black wins {:.3f}, draws {:.3f}, white wins {:.3f}".format(*shares))
