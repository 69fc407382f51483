"""AlphaZero in one file of JAX, Flax and Optax (Silver et al., 2017, arXiv:1712.01815).

    python examples/alphazero.py                  # tic-tac-toe, in a minute
    python examples/alphazero.py --game othello6  # Othello on a 6x6 board

Only the rules come from azo: any `azo.Game` will do. Tree, search, network, target and loss are
here, in the order of the paper. `azo train` is the same method with more settings, checkpoints and
metrics. Without noise, `search` visits the same nodes as azo's PUCT without proofs.

Deviations from the paper:

* Many games are played side by side, each with one simulation at a time and no virtual loss.
  Self-play and learning alternate, in one compiled program.
* `c_puct` is constant, as in AlphaGo Zero. AlphaZero's grows slowly with the visits.
* The value of an unvisited move is that of its node so far. The paper's is 0, its pseudocode's a
  loss.
* The number N of visits to a node counts its own evaluation, so the first simulation already
  follows the prior.
* Every search begins with a new tree. The paper keeps the part below the move that was played.
* The network sees the board of the last ply only, and is small: 2 blocks of 32 channels.
* Adam with decoupled weight decay takes the place of stochastic gradient descent with momentum.

Axes: `B` games side by side, `T` plies, `N` nodes of a tree, `A` actions, `M` examples, `R` rows of
the replay buffer. Positions, values and policies are seen by the side to move.
"""

import argparse
import functools
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import optax

import azo

GAMES = {"tictactoe": azo.TicTacToe(), "othello6": azo.Othello(6)}
NUM_GAMES = 64  # side by side
NUM_SIMULATIONS = 32
C_PUCT = 2.0
NOISE_FRACTION = 0.25  # of Dirichlet noise in the prior of the root
TEMPERATURE_PLIES = 8  # drawn by the visits; later moves are the most visited ones
NUM_BLOCKS, NUM_CHANNELS = 2, 32
NUM_ROWS = 16_384  # of the replay buffer
NUM_STEPS, BATCH_SIZE = 16, 256  # of the learner in an iteration
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(2e-3, weight_decay=1e-4))
NONE = -1  # in place of a node

Position = Any  # the pytree of a game
Variables = Any  # "params" of the network, and "batch_stats" of its normalisation
Evaluate = Callable[[Position], tuple[jax.Array, jax.Array]]
"""Returns logits `[B, A]` and values `[B]` in [-1, 1] of positions `[B]`."""


# The network: (p, v) = f(s).


class Convolution(nn.Module):
    """A 3x3 convolution and its normalisation.

    It is a matrix product of 3x3 patches: XLA is slow at convolutions in loops on the CPU.
    """

    @nn.compact
    def __call__(self, x: jax.Array, is_training: bool) -> jax.Array:
        """Returns `[B, rows, columns, NUM_CHANNELS]`."""
        rows, columns = x.shape[1:3]
        padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        moved = [padded[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
        x = nn.Dense(NUM_CHANNELS, use_bias=False)(jnp.concatenate(moved, axis=-1))
        return nn.BatchNorm(use_running_average=not is_training, momentum=0.9)(x)


class Network(nn.Module):
    """A residual tower with a policy head and a value head."""

    num_actions: int

    @nn.compact
    def __call__(self, planes: jax.Array, is_training: bool) -> tuple[jax.Array, jax.Array]:
        """Returns logits `[B, A]` and values `[B]` of planes `[B, rows, columns, C]`."""
        x = nn.relu(Convolution()(planes.astype(jnp.float32), is_training))
        for _ in range(NUM_BLOCKS):
            y = nn.relu(Convolution()(x, is_training))
            x = nn.relu(x + Convolution()(y, is_training))
        policy, value = nn.relu(nn.Dense(2)(x)), nn.relu(nn.Dense(1)(x))  # 1x1 convolutions
        logits = nn.Dense(self.num_actions)(policy.reshape(len(x), -1))
        value = nn.relu(nn.Dense(NUM_CHANNELS)(value.reshape(len(x), -1)))
        return logits, jnp.tanh(nn.Dense(1)(value))[:, 0]


def evaluator(game: azo.Game, variables: Variables) -> Evaluate:
    """Returns the network as a function of positions."""
    network = Network(game.num_actions)
    return lambda position: network.apply(variables, game.planes(position), is_training=False)


# The search: each simulation selects, expands, evaluates and backs up.


@flax.struct.dataclass
class Tree:
    """A search tree of each of `B` games; node 0 is the root."""

    position: Position  # [B, N]
    is_over: jax.Array  # [B, N] bool, a finished game
    legal: jax.Array  # [B, N, A] bool
    prior: jax.Array  # [B, N, A] float32, P(s, a), 0 for illegal moves
    visits: jax.Array  # [B, N] int32, N(s); that of the node behind a move is N(s, a)
    value_sum: jax.Array  # [B, N] float32, sum of the values of all visits
    parent: jax.Array  # [B, N] int32, or NONE
    child: jax.Array  # [B, N, A] int32, the node behind a move, or NONE


def search(
    game: azo.Game,
    evaluate: Evaluate,
    position: Position,
    *,
    num_simulations: int = NUM_SIMULATIONS,
    noise_key: jax.Array | None = None,
) -> Tree:
    """Returns the trees of a search from positions `[B]`; with a key, noise is in the root."""
    logits, value = evaluate(position)
    (batch,), legal = value.shape, game.legal_mask(position)
    prior = masked_softmax(logits, legal)
    if noise_key is not None:
        prior = (1 - NOISE_FRACTION) * prior + NOISE_FRACTION * dirichlet(noise_key, legal)
    tree = Tree(
        position=game.start(batch, num_simulations + 1),
        is_over=jnp.zeros((batch, num_simulations + 1), bool),
        legal=jnp.zeros((batch, num_simulations + 1, game.num_actions), bool),
        prior=jnp.zeros((batch, num_simulations + 1, game.num_actions)),
        visits=jnp.zeros((batch, num_simulations + 1), jnp.int32),
        value_sum=jnp.zeros((batch, num_simulations + 1)),
        parent=jnp.full((batch, num_simulations + 1), NONE),
        child=jnp.full((batch, num_simulations + 1, game.num_actions), NONE),
    )
    root = jnp.zeros(batch, jnp.int32)
    tree = store(tree, root, position, game.is_over(position), legal, prior)
    tree = jax.vmap(back_up)(tree, root, value)
    simulation = functools.partial(simulate, game, evaluate)
    return jax.lax.fori_loop(1, num_simulations + 1, simulation, tree)


def simulate(game: azo.Game, evaluate: Evaluate, new_node: jax.Array, tree: Tree) -> Tree:
    """Returns the trees after one more simulation, which makes `new_node`.

    A path that ends at a finished game makes no node: its result is backed up once more.
    """
    game_number = jnp.arange(len(tree.visits))
    node, action = jax.vmap(select)(tree)
    child = tree.child[game_number, node, action]
    leaf = jnp.where(child == NONE, new_node, child)
    step = game.step(jax.tree.map(lambda x: x[game_number, node], tree.position), action)
    is_over, legal = step.discount == 0, game.legal_mask(step.position)
    logits, value = evaluate(step.position)
    value = jnp.where(is_over, -step.reward, value)
    tree = store(tree, leaf, step.position, is_over, legal, masked_softmax(logits, legal))
    tree = tree.replace(
        parent=tree.parent.at[game_number, leaf].set(node),
        child=tree.child.at[game_number, node, action].set(leaf),
    )
    return jax.vmap(back_up)(tree, leaf, value)


def select(tree: Tree) -> tuple[jax.Array, jax.Array]:
    """Descends one tree, without `B`, to a move without a node or with a finished game behind it.

    Returns the last node and its move.
    """

    def is_inside(path: tuple[jax.Array, jax.Array]) -> jax.Array:
        child = tree.child[path]
        return (child != NONE) & ~tree.is_over[child]

    def descend(path: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        child = tree.child[path]
        return child, puct(tree, child)

    root = jnp.int32(0)
    return jax.lax.while_loop(is_inside, descend, (root, puct(tree, root)))


def puct(tree: Tree, node: jax.Array) -> jax.Array:
    """Returns the move with the highest Q(s, a) + U(s, a) at a node of one tree."""
    child = tree.child[node]
    visits = jnp.where(child == NONE, 0, tree.visits[child])
    mean = tree.value_sum[node] / tree.visits[node]
    q = jnp.where(visits > 0, -tree.value_sum[child] / jnp.maximum(visits, 1), mean)
    u = C_PUCT * tree.prior[node] * jnp.sqrt(tree.visits[node]) / (1 + visits)
    return jnp.argmax(jnp.where(tree.legal[node], q + u, -jnp.inf)).astype(jnp.int32)


def store(
    tree: Tree,
    node: jax.Array,
    position: Position,
    is_over: jax.Array,
    legal: jax.Array,
    prior: jax.Array,
) -> Tree:
    """Returns the trees with positions `[B]` at nodes `[B]`."""

    def put(old: jax.Array, new: jax.Array) -> jax.Array:
        return old.at[jnp.arange(len(node)), node].set(new)

    return tree.replace(
        position=jax.tree.map(put, tree.position, position),
        is_over=put(tree.is_over, is_over),
        legal=put(tree.legal, legal),
        prior=put(tree.prior, prior),
    )


def back_up(tree: Tree, leaf: jax.Array, value: jax.Array) -> Tree:
    """Adds a value to the nodes from a leaf of one tree to its root; it changes sign each ply."""

    def add(state: tuple[Tree, jax.Array, jax.Array]) -> tuple[Tree, jax.Array, jax.Array]:
        tree, node, value = state
        visits = tree.visits.at[node].add(1)
        tree = tree.replace(visits=visits, value_sum=tree.value_sum.at[node].add(value))
        return tree, tree.parent[node], -value

    return jax.lax.while_loop(lambda state: state[1] != NONE, add, (tree, leaf, value))[0]


def root_visits(tree: Tree) -> jax.Array:
    """Returns the visits `[B, A]` of the root's moves."""
    child = tree.child[:, 0]
    visits = jax.vmap(lambda visits, child: visits[child])(tree.visits, child)
    return jnp.where(child == NONE, 0, visits)


def masked_softmax(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Returns the probabilities `[B, A]` of legal moves; others have 0."""
    return jax.nn.softmax(jnp.where(legal, logits, -jnp.inf))


def dirichlet(key: jax.Array, legal: jax.Array) -> jax.Array:
    """Returns noise `[B, A]` over the legal moves, less even the more moves there are."""
    alpha = jnp.minimum(1.0, 10.0 / legal.sum(axis=-1, keepdims=True))
    gamma = jax.random.loggamma(key, jnp.broadcast_to(alpha, legal.shape))
    return masked_softmax(gamma, legal)


# Self-play: each position gets the policy of the search and the result of its game.


@flax.struct.dataclass
class Examples:
    """Positions and what the network should say of them."""

    position: Position  # [...]
    policy: jax.Array  # [..., A] float32, pi: the shares of the visits
    value: jax.Array  # [...] float32, z: the result of the game
    weight: jax.Array  # [...] float32, 1, or 0 after the end of the game and in empty rows


def self_play(game: azo.Game, variables: Variables, key: jax.Array) -> Examples:
    """Plays `B` whole games; returns examples `[T, B]`, where `T` is the length of the longest."""
    evaluate = evaluator(game, variables)

    def play(position: Position, ply: tuple[jax.Array, jax.Array]) -> tuple[Position, Any]:
        number, key = ply
        noise_key, move_key = jax.random.split(key)
        visits = root_visits(search(game, evaluate, position, noise_key=noise_key))
        sampled = jax.random.categorical(move_key, jnp.log(visits))
        action = jnp.where(number < TEMPERATURE_PLIES, sampled, visits.argmax(axis=-1))
        step = game.step(position, action)
        policy = visits / visits.sum(axis=-1, keepdims=True)
        played = position, policy, ~game.is_over(position), step.reward, step.discount
        return step.position, played

    plies = jnp.arange(game.max_plies), jax.random.split(key, game.max_plies)
    _, played = jax.lax.scan(play, game.start(NUM_GAMES), plies)
    position, policy, is_playing, reward, discount = played
    return Examples(position, policy, results(reward, discount), is_playing.astype(jnp.float32))


def results(reward: jax.Array, discount: jax.Array) -> jax.Array:
    """Returns the value targets `[T, B]`: the result of the game for the side to move.

    Rewards `[T, B]` are 0 before the last ply and for the side that moves, discounts are -1 before
    the last ply, since the sides alternate, and 0 from there on.
    """

    def previous(after: jax.Array, ply: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reward, discount = ply
        value = reward + discount * after
        return value, value

    last = jnp.zeros(reward.shape[1:])
    return jax.lax.scan(previous, last, (reward, discount), reverse=True)[1]


# Learning: l = (z - v)^2 - pi * log p, on positions from the latest games.


@flax.struct.dataclass
class State:
    """All that an iteration changes."""

    variables: Variables
    optimiser: Any
    replay: Examples  # [R], the newest row overwrites the oldest
    num_added: jax.Array  # [] int32, rows ever added


def start(game: azo.Game, key: jax.Array) -> State:
    """Returns a fresh network and an empty replay buffer."""
    variables = Network(game.num_actions).init(key, game.planes(game.start(1)), is_training=False)
    replay = Examples(
        position=game.start(NUM_ROWS),
        policy=jnp.zeros((NUM_ROWS, game.num_actions)),
        value=jnp.zeros(NUM_ROWS),
        weight=jnp.zeros(NUM_ROWS),
    )
    return State(variables, OPTIMISER.init(variables["params"]), replay, jnp.int32(0))


def remember(state: State, examples: Examples) -> State:
    """Adds examples `[T, B]` to the replay buffer."""
    row = (state.num_added + jnp.arange(examples.value.size)) % NUM_ROWS

    def put(old: jax.Array, new: jax.Array) -> jax.Array:
        return old.at[row].set(new.reshape(-1, *old.shape[1:]))

    num_added = state.num_added + examples.value.size
    return state.replace(replay=jax.tree.map(put, state.replay, examples), num_added=num_added)


def loss(
    params: Any, batch_stats: Any, game: azo.Game, examples: Examples
) -> tuple[jax.Array, Any]:
    """Returns the mean loss of examples `[M]`, and the new running averages."""
    (logits, value), updated = Network(game.num_actions).apply(
        {"params": params, "batch_stats": batch_stats},
        game.planes(examples.position),
        is_training=True,
        mutable="batch_stats",
    )
    logits = jnp.where(game.legal_mask(examples.position), logits, jnp.finfo(jnp.float32).min)
    value_loss = jnp.square(examples.value - value)
    policy_loss = optax.softmax_cross_entropy(logits, examples.policy)
    return (value_loss + policy_loss).mean(), updated["batch_stats"]


def learn(game: azo.Game, state: State, key: jax.Array) -> tuple[State, jax.Array]:
    """Takes steps of gradient descent on random examples; returns the mean loss."""

    def step(state: State, key: jax.Array) -> tuple[State, jax.Array]:
        share = state.replay.weight / state.replay.weight.sum()
        row = jax.random.choice(key, NUM_ROWS, (BATCH_SIZE,), p=share)
        examples = jax.tree.map(lambda x: x[row], state.replay)
        params, batch_stats = state.variables["params"], state.variables["batch_stats"]
        gradient = jax.value_and_grad(loss, has_aux=True)
        (error, batch_stats), gradient = gradient(params, batch_stats, game, examples)
        updates, optimiser = OPTIMISER.update(gradient, state.optimiser, params)
        variables = {"params": optax.apply_updates(params, updates), "batch_stats": batch_stats}
        return state.replace(variables=variables, optimiser=optimiser), error

    state, errors = jax.lax.scan(step, state, jax.random.split(key, NUM_STEPS))
    return state, errors.mean()


@functools.partial(jax.jit, static_argnums=0)
def iteration(game: azo.Game, state: State, key: jax.Array) -> tuple[State, jax.Array]:
    """Plays, remembers and learns; returns the new state and the loss."""
    play_key, learn_key = jax.random.split(key)
    examples = self_play(game, state.variables, play_key)
    return learn(game, remember(state, examples), learn_key)


@functools.partial(jax.jit, static_argnums=0)
def score_against_random(game: azo.Game, variables: Variables, key: jax.Array) -> jax.Array:
    """Returns the mean score of the network without search against random moves; a draw is a half.

    It plays its likeliest move without a search, and begins half of the games.
    """
    evaluate = evaluator(game, variables)
    begins = jnp.arange(NUM_GAMES) % 2 == 0

    def play(games: tuple[Position, jax.Array], turn: Any) -> tuple[Any, None]:
        (position, score), (ply, key) = games, turn
        is_own = begins == (ply % 2 == 0)
        logits, _ = evaluate(position)
        likeliest = jnp.where(game.legal_mask(position), logits, -jnp.inf).argmax(axis=-1)
        step = game.step(position, jnp.where(is_own, likeliest, game.random_action(key, position)))
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
