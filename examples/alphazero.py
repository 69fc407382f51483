"""AlphaZero in one file, from the parts of azo (Silver et al., 2017, arXiv:1712.01815).

    python examples/alphazero.py                  # tic-tac-toe, in a minute
    python examples/alphazero.py --game othello6  # Othello on a 6x6 board

Each iteration is one compiled program: self-play by tree search, then steps of gradient descent on
positions from a ring buffer. `azo train` is the same loop with more settings, checkpoints and
metrics. Axes: `T` plies, `B` games side by side, `A` actions, `M` examples, `R` rows of the ring.
"""

import argparse
import functools
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax

import azo
from azo.games import protocol, symmetry
from azo.learning import targets
from azo.networks import network, network_config
from azo.search import improvement

GAMES = {"tictactoe": azo.TicTacToe(), "othello6": azo.Othello(6)}
NUM_GAMES = 64
BATCH_SIZE = 256
NUM_STEPS = 16  # of the learner in an iteration
NUM_ROWS = 16_384  # of the replay buffer
# PUCT with Dirichlet noise at the root; the first plies are drawn by the visits.
SEARCH = azo.SearchConfig(
    algorithm="puct", num_simulations=32, temperature_plies=8, has_proofs=False
)
NETWORK = network_config.NetworkConfig(num_blocks=2, num_channels=32)
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(2e-3, weight_decay=1e-4))


@flax.struct.dataclass
class Examples:
    """Positions and what the network should say of them."""

    position: protocol.Position  # [...], seen by the side to move
    policy: jax.Array  # [..., A] float32, shares of the visits
    value: jax.Array  # [...] float32, result of the game for the side to move


@flax.struct.dataclass
class State:
    """All that an iteration changes."""

    variables: network.Variables  # "params", and "batch_stats" of the normalisation
    optimiser: Any
    position: protocol.Position  # [B], games in progress
    ply: jax.Array  # [B] int32, plies played in them
    ring: Examples  # [R], the newest position overwrites the oldest
    num_added: jax.Array  # [] int32, positions ever added to the ring


def start(game: protocol.Game, key: jax.Array) -> State:
    """Returns a fresh network, new games and an empty ring."""
    variables = network.init(game, NETWORK, key)
    ring = Examples(
        game.start(NUM_ROWS), jnp.zeros((NUM_ROWS, game.num_actions)), jnp.zeros(NUM_ROWS)
    )
    optimiser, ply = OPTIMISER.init(variables["params"]), jnp.zeros(NUM_GAMES, jnp.int32)
    return State(variables, optimiser, game.start(NUM_GAMES), ply, ring, jnp.int32(0))


def self_play(game: protocol.Game, state: State, key: jax.Array) -> tuple[State, Examples]:
    """Plays `T = max_plies` plies of `B` games by search; returns the examples `[T, B]`.

    Finished games restart. A game that is unfinished at the last ply gets a value by bootstrap.
    """
    evaluate = network.folded_evaluator(game, NETWORK, state.variables)

    def play(games: tuple[protocol.Position, jax.Array], key: jax.Array) -> tuple[Any, Any]:
        position, ply = games
        result = improvement.search(game, evaluate, key, position, config=SEARCH, ply=ply)
        step = game.step(position, result.action)
        is_last = step.discount == 0
        after = protocol.where(is_last, game.start(NUM_GAMES), step.position)
        record = Examples(position, result.policy, result.value), step.reward, step.discount
        return (after, jnp.where(is_last, 0, ply + 1)), record

    games = state.position, state.ply
    keys = jax.random.split(key, game.max_plies)
    games, (examples, reward, discount) = jax.lax.scan(play, games, keys)
    outcome = targets.outcome_targets(reward, discount)
    value = jnp.where(targets.is_decided(discount), outcome, examples.value)
    return state.replace(position=games[0], ply=games[1]), examples.replace(value=value)


def remember(state: State, examples: Examples) -> State:
    """Adds examples `[T, B]` to the ring."""
    row = (state.num_added + jnp.arange(examples.value.size)) % NUM_ROWS

    def put(old: jax.Array, new: jax.Array) -> jax.Array:
        return old.at[row].set(new.reshape(-1, *old.shape[1:]))

    num_added = state.num_added + examples.value.size
    return state.replace(ring=jax.tree.map(put, state.ring, examples), num_added=num_added)


def loss(
    params: Any, batch_stats: Any, game: protocol.Game, examples: Examples, key: jax.Array
) -> tuple[jax.Array, Any]:
    """Returns the loss of examples `[M]` under random symmetries, and the new running averages."""
    turns, which = game.square_symmetries, jax.random.randint(key, examples.value.shape, 0, 8)
    planes = network.planes_of(game, NETWORK, examples.position)
    planes = symmetry.move_planes(turns, which, planes)
    turns = game.action_symmetries
    policy = symmetry.move_policy(turns, which, examples.policy)
    legal = symmetry.move_policy(turns, which, game.legal_mask(examples.position))
    model = network.build(game, NETWORK).clone(is_training=True)
    variables = {"params": params, "batch_stats": batch_stats}
    prediction, updated = model.apply(variables, planes, mutable="batch_stats")
    logits = jnp.where(legal, prediction.prior_logits, -1e9)
    policy_loss = optax.softmax_cross_entropy(logits, policy)
    value_loss = jnp.square(examples.value - prediction.value)
    return (value_loss + policy_loss).mean(), updated["batch_stats"]  # (z - v)^2 - pi * log p


def learn(game: protocol.Game, state: State, key: jax.Array) -> tuple[State, jax.Array]:
    """Takes steps of gradient descent on random examples; returns the mean loss."""

    def step(state: State, key: jax.Array) -> tuple[State, jax.Array]:
        row_key, turn_key = jax.random.split(key)
        row = jax.random.randint(row_key, (BATCH_SIZE,), 0, jnp.minimum(state.num_added, NUM_ROWS))
        examples = jax.tree.map(lambda x: x[row], state.ring)
        params, batch_stats = state.variables["params"], state.variables["batch_stats"]
        gradient = jax.value_and_grad(loss, has_aux=True)
        (error, batch_stats), gradient = gradient(params, batch_stats, game, examples, turn_key)
        updates, optimiser = OPTIMISER.update(gradient, state.optimiser, params)
        variables = {"params": optax.apply_updates(params, updates), "batch_stats": batch_stats}
        return state.replace(variables=variables, optimiser=optimiser), error

    state, errors = jax.lax.scan(step, state, jax.random.split(key, NUM_STEPS))
    return state, errors.mean()


@functools.partial(jax.jit, static_argnums=0)
def iteration(game: protocol.Game, state: State, key: jax.Array) -> tuple[State, jax.Array]:
    """Plays, remembers and learns; returns the new state and the loss."""
    play_key, learn_key = jax.random.split(key)
    state, examples = self_play(game, state, play_key)
    return learn(game, remember(state, examples), learn_key)


@functools.partial(jax.jit, static_argnums=0)
def score_against_random(
    game: protocol.Game, variables: network.Variables, key: jax.Array
) -> jax.Array:
    """Returns the mean score against random moves of the network alone, a draw as a half.

    It plays its likeliest move without a search, and begins half of the games.
    """
    evaluate = network.folded_evaluator(game, NETWORK, variables)
    begins = jnp.arange(NUM_GAMES) % 2 == 0

    def play(games: tuple[protocol.Position, jax.Array], turn: Any) -> tuple[Any, None]:
        (position, score), (ply, key) = games, turn
        is_own = begins == (ply % 2 == 0)
        logits = jnp.where(game.legal_mask(position), evaluate(key, position).prior_logits, -1e9)
        random_action = game.random_action(key, position)
        step = game.step(position, jnp.where(is_own, logits.argmax(axis=-1), random_action))
        result = jnp.where(is_own, step.reward, -step.reward)  # 0 until the game ends, and after
        return (step.position, score + result), None

    plies = jnp.arange(game.max_plies), jax.random.split(key, game.max_plies)
    (_, result), _ = jax.lax.scan(play, (game.start(NUM_GAMES), jnp.zeros(NUM_GAMES)), plies)
    return (1 + result.mean()) / 2


def main() -> None:
    """Trains and plays against random moves."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--game", choices=sorted(GAMES), default="tictactoe")
    parser.add_argument("--num-iterations", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    game = GAMES[flags.game]
    start_key, run_key, match_key = jax.random.split(jax.random.key(flags.seed), 3)
    state = start(game, start_key)
    score = score_against_random(game, state.variables, match_key)
    print(f"untrained network against random moves: score {score:.3f}")
    for number in range(flags.num_iterations):
        state, error = iteration(game, state, jax.random.fold_in(run_key, number))
        if (number + 1) % 10 == 0:
            print(f"iteration {number + 1}: loss {error:.3f}", flush=True)
    score = score_against_random(game, state.variables, match_key)
    print(f"trained network against random moves: score {score:.3f}")


if __name__ == "__main__":
    main()
