"""Players for matches: functions from a batch of positions to moves.

A player is a pytree. Its leaves are the parameters of a network; rules and settings are static. So
a match compiled for one network serves the next of the same shape. Players add no noise, and do not
sample moves.
"""

import dataclasses
from collections.abc import Callable
from typing import Protocol

import chex
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import network
from azo.measure import classical
from azo.search import improvement, rollouts, settings

_NAMES = (
    "random, greedy, iagno:hard, alphabeta:4, patterns:6, rollouts:100, policy:PATH, "
    "network:PATH, network:PATH:100 or PATH"
)
# Weight of the uniform prior in the search of `rollouts:N`. On 6x6, 100 simulations with weight 1
# scored 42 % and with weight 4 44 % against it (128 games each, error 9 %).
ROLLOUT_C_PUCT = 2.0


class Player(Protocol):
    """A pytree that chooses moves, pure and jittable."""

    def __call__(self, key: jax.Array, position: protocol.Position, ply: jax.Array) -> jax.Array:
        """Chooses moves.

        Args:
          key: random key, used up.
          position: a batch `[B]` of positions.
          ply: `[]` int32, plies played before these positions.

        Returns:
          `[B]` int32, legal where the game continues, undefined where it is over.
        """


@flax.struct.dataclass
class RandomPlayer:
    """Plays uniformly random legal moves."""

    game: protocol.Game = flax.struct.field(pytree_node=False)

    def __call__(self, key: jax.Array, position: protocol.Position, ply: jax.Array) -> jax.Array:
        """See `Player`."""
        del ply
        return self.game.random_action(key, position)


@flax.struct.dataclass
class GreedyPlayer:
    """Plays the game's baseline that looks one ply ahead: in Othello, it flips most discs."""

    game: protocol.Game = flax.struct.field(pytree_node=False)

    def __call__(self, key: jax.Array, position: protocol.Position, ply: jax.Array) -> jax.Array:
        """See `Player`."""
        del ply
        return self.game.greedy_action(key, position)


@flax.struct.dataclass
class RolloutPlayer:
    """Searches with random games in place of a network: a reproducible baseline.

    `rollout_config` gives the search of all figures "against N rollouts".
    """

    game: protocol.Game = flax.struct.field(pytree_node=False)
    search_config: improvement.SearchConfig = flax.struct.field(pytree_node=False)

    def __call__(self, key: jax.Array, position: protocol.Position, ply: jax.Array) -> jax.Array:
        """See `Player`."""
        evaluate = rollouts.evaluator(self.game)
        return _best_move(self.game, evaluate, key, position, ply, self.search_config)


@flax.struct.dataclass
class PolicyPlayer:
    """Plays the legal move with the highest logit of a network, without search."""

    variables: network.Variables
    game: protocol.Game = flax.struct.field(pytree_node=False)
    network_config: network.NetworkConfig = flax.struct.field(pytree_node=False)

    def __call__(self, key: jax.Array, position: protocol.Position, ply: jax.Array) -> jax.Array:
        """See `Player`."""
        del ply
        evaluate = network.folded_evaluator(self.game, self.network_config, self.variables)
        logits = evaluate(key, position).prior_logits
        chex.assert_axis_dimension(logits, -1, self.game.num_actions)
        return jnp.argmax(jnp.where(self.game.legal_mask(position), logits, -jnp.inf), axis=-1)


@flax.struct.dataclass
class NetworkPlayer:
    """Searches with a network, by default as in its self-play."""

    variables: network.Variables
    game: protocol.Game = flax.struct.field(pytree_node=False)
    network_config: network.NetworkConfig = flax.struct.field(pytree_node=False)
    search_config: improvement.SearchConfig = flax.struct.field(pytree_node=False)

    def __call__(self, key: jax.Array, position: protocol.Position, ply: jax.Array) -> jax.Array:
        """See `Player`."""
        config = self.search_config
        evaluate = network.folded_evaluator(
            self.game, self.network_config, self.variables, symmetry=config.symmetry
        )
        return _best_move(self.game, evaluate, key, position, ply, config)


@flax.struct.dataclass
class HostPlayer:
    """Calls a program on the host, with a seed for each row of the batch.

    A match keeps a game in its row, so the seed of a game is constant. The two games of an opening
    have the same row, and share its seed.
    """

    program: classical.Program = flax.struct.field(pytree_node=False)
    game: protocol.Game = flax.struct.field(pytree_node=False)
    seed: jax.Array | int = 0  # [] below 2**31; part of the seeds of all rows

    def __call__(self, key: jax.Array, position: protocol.Position, ply: jax.Array) -> jax.Array:
        """See `Player`."""
        del key, ply
        packed = self.game.pack(position)
        actions = jax.ShapeDtypeStruct(packed.shape[:1], jnp.int32)
        return jax.pure_callback(self._choose, actions, jnp.asarray(self.seed, jnp.int32), packed)

    def _choose(self, seed: jax.Array, packed: jax.Array) -> np.ndarray:
        words = np.asarray(packed).astype(np.uint64)
        player, opponent = (words[:, i] | words[:, i + 1] << np.uint64(32) for i in (0, 2))
        seeds = (int(seed) << 32) + np.arange(len(words), dtype=np.int64)
        return self.program.choose(player, opponent, seeds)[0]


Load = Callable[[str], NetworkPlayer]  # reads the network of a folder


def rollout_config(num_simulations: int) -> improvement.SearchConfig:
    """Returns the settings of the baseline "N rollouts": N simulations of PUCT.

    The prior is uniform over the legal moves. A simulation adds one move to the tree and plays one
    uniformly random game from there to the end, whose result (1, 0 or -1) is averaged into every
    position of the path. An unvisited move has the value of its parent. The most visited move is
    played, the lowest action among equals. The tree is not reused for the next move.
    """
    return improvement.SearchConfig(
        algorithm="puct",
        num_simulations=num_simulations,
        c_puct=ROLLOUT_C_PUCT,
        unvisited_value="parent",
        prior_temperature=1.0,
        has_proofs=False,
    )


def with_simulations(player: NetworkPlayer, num_simulations: int) -> NetworkPlayer:
    """Returns a player with another number of simulations a move, one leaf a step."""
    changes = {"num_simulations": num_simulations, "leaves_per_step": 1}
    search = improvement.SearchConfig.model_validate(player.search_config.model_dump() | changes)
    return dataclasses.replace(player, search_config=search)


def parse(text: str, game: protocol.Game, load: Load) -> Player:
    """Returns the player that a command line names.

    Args:
      text: `random`, `greedy`, `iagno:LEVEL` with easy, medium or hard, `alphabeta:DEPTH` with a
        depth in plies, `patterns:DEPTH` with a depth in discs, `rollouts:N` with N simulations a
        move, `policy:PATH` for a network without search, `network:PATH:N` for one with N
        simulations a move, `network:PATH` or just `PATH` for one with as many as its settings say.
      game: the rules to play by.
      load: reads a checkpoint; raises OSError if there is none, ValueError if it does not fit.

    Raises:
      ValueError: The text names no player; the message lists the players.
    """
    kind, colon, detail = text.partition(":")
    match kind:
        case "random" if not colon:
            return RandomPlayer(game)
        case "greedy" if not colon:
            return GreedyPlayer(game)
        case "iagno" | "alphabeta" | "patterns":
            return HostPlayer(_classical_program(kind, detail, text, game), game)
        case "rollouts":
            return RolloutPlayer(game, rollout_config(_num_simulations(detail, text)))
        case "policy" if colon:
            trained = _loaded(detail, text, load)
            return PolicyPlayer(trained.variables, game, trained.network_config)
        case "network" if colon:
            path, has_count, count = detail.rpartition(":")
            if has_count and count.lstrip("+-").isdigit():
                number = _num_simulations(count, text)
                return with_simulations(_loaded(path, text, load), number)
            return _loaded(detail, text, load)
    return _loaded(text, text, load)


def _best_move(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    key: jax.Array,
    position: protocol.Position,
    ply: jax.Array,
    config: improvement.SearchConfig,
) -> jax.Array:
    """Returns the moves `[B]` that a search without noise prefers."""
    return improvement.search(
        game, evaluate, key, position, config=config, ply=ply, is_greedy=True
    ).action


def _num_simulations(count: str, text: str) -> int:
    if not _is_positive(count) or int(count) > settings.MAX_SIMULATIONS:
        raise ValueError(
            f"player {text!r}: the number of simulations is {count!r}, not a positive whole "
            f"number such as 100, at most {settings.MAX_SIMULATIONS}"
        )
    return int(count)


def _is_positive(count: str) -> bool:
    return count.isascii() and count.isdigit() and int(count) > 0


def _classical_program(name: str, detail: str, text: str, game: protocol.Game) -> classical.Program:
    """Returns Iagno at a level, or alpha-beta of either kind to a depth."""
    try:
        if name == "iagno":
            return classical.iagno(detail, game)
        if not _is_positive(detail):
            raise ValueError(f"the depth is {detail!r}, not a positive whole number such as 4")
        make = classical.patterns if name == "patterns" else classical.alpha_beta
        return make(int(detail), game)
    except ValueError as error:
        raise ValueError(f"player {text!r}: {error}") from None


def _loaded(path: str, text: str, load: Load) -> NetworkPlayer:
    try:
        return load(path)
    except OSError as error:
        raise ValueError(
            f"unknown player {text!r}: there is no checkpoint at {path!r} ({error}). "
            f"Players are {_NAMES}"
        ) from error
