"""Players for matches: functions from a batch of positions to moves.

A player is a pytree. Its leaves are the parameters of a network; rules and settings are static. So
a match compiled for one network serves the next of the same shape. Players add no noise, and do not
sample moves.
"""

import dataclasses
import functools
import pathlib
from typing import Literal, Protocol

import chex
import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.networks import network, network_files
from azo.opponents import classical
from azo.search import improvement, rollouts, settings
from azo.settings import shipped_files
from azo.storage import files

_NAMES = (
    "random, greedy, iagno:hard, alphabeta:4, patterns:6, rollouts:100, policy:PATH, "
    "network:PATH, network:PATH:100 or PATH"
)
# Weight of the uniform prior in the search of `rollouts:N`. On 6x6, 100 simulations with weight 1
# scored 42 % and with weight 4 44 % against it (128 games each, error 9 %).
ROLLOUT_C_PUCT = 2.0


class Player(Protocol):
    """A pytree that chooses moves, pure and jittable."""

    def __call__(self, key: jax.Array, position: protocol.Position) -> jax.Array:
        """Returns moves `[B]` int32: legal where the game continues, undefined where it is over."""


@flax.struct.dataclass
class BaselinePlayer:
    """Plays random moves, or the game's baseline of one ply: in Othello, it flips most discs."""

    name: Literal["random", "greedy"] = flax.struct.field(pytree_node=False)
    game: protocol.Game = flax.struct.field(pytree_node=False)

    def __call__(self, key: jax.Array, position: protocol.Position) -> jax.Array:
        """See `Player`."""
        choose = self.game.random_action if self.name == "random" else self.game.greedy_action
        return choose(key, position)


@flax.struct.dataclass
class RolloutPlayer:
    """Searches with random games in place of a network: a reproducible baseline.

    `rollout_config` gives the search of all scores "against N rollouts".
    """

    game: protocol.Game = flax.struct.field(pytree_node=False)
    search_config: improvement.SearchConfig = flax.struct.field(pytree_node=False)

    def __call__(self, key: jax.Array, position: protocol.Position) -> jax.Array:
        """See `Player`."""
        search = functools.partial(improvement.search, self.game, rollouts.evaluator(self.game))
        return search(key, position, config=self.search_config, is_greedy=True).action


@flax.struct.dataclass
class NetworkPlayer:
    """Searches with a network; without settings of a search it plays the likeliest legal move."""

    variables: network.Variables
    game: protocol.Game = flax.struct.field(pytree_node=False)
    network_config: network.NetworkConfig = flax.struct.field(pytree_node=False)
    search_config: improvement.SearchConfig | None = flax.struct.field(
        pytree_node=False, default=None
    )

    @property
    def evaluate(self) -> improvement.Evaluate:
        """The evaluator of the network, with the symmetry of the search."""
        symmetry = self.search_config.symmetry if self.search_config else "none"
        return network.folded_evaluator(
            self.game, self.network_config, self.variables, symmetry=symmetry
        )

    def __call__(self, key: jax.Array, position: protocol.Position) -> jax.Array:
        """See `Player`."""
        if self.search_config is not None:
            search = functools.partial(improvement.search, self.game, self.evaluate)
            return search(key, position, config=self.search_config, is_greedy=True).action
        logits = self.evaluate(key, position).prior_logits
        chex.assert_axis_dimension(logits, -1, self.game.num_actions)
        return jnp.argmax(jnp.where(self.game.legal_mask(position), logits, -jnp.inf), axis=-1)


def load_network(folder: pathlib.Path, game: protocol.Game) -> NetworkPlayer:
    """Returns the network of a folder and its search; raises ValueError for another game's."""
    variables, settings = network_files.load(folder, game)
    return NetworkPlayer(variables, game, settings.network, settings.search)


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
        puct=settings.PuctConfig(c_puct=ROLLOUT_C_PUCT),
        prior_temperature=1.0,
        has_proofs=False,
    )


def with_simulations(player: NetworkPlayer, num_simulations: int) -> NetworkPlayer:
    """Returns a player with other simulations per move, one leaf per step; 0: no search."""
    if not num_simulations:
        return dataclasses.replace(player, search_config=None)
    assert player.search_config is not None
    changes = {"num_simulations": num_simulations, "leaves_per_step": 1}
    search = improvement.SearchConfig.model_validate(player.search_config.model_dump() | changes)
    return dataclasses.replace(player, search_config=search)


def parse(text: str, game: protocol.Game) -> Player | classical.Program:
    """Returns the player that a command line names; `azo evaluate --help` describes the names.

    Raises ValueError for another name, with a list of the players, or for another game's network.
    """
    kind, colon, detail = text.partition(":")
    path, _, count = detail.rpartition(":")
    number = None
    with files.located(f"player {text!r}"):
        match kind:
            case "random" | "greedy" if not colon:
                return BaselinePlayer(kind, game)
            case "iagno":
                return classical.iagno(detail, game)
            case "alphabeta":
                return classical.alpha_beta(_whole(detail, "depth", classical.MAX_DEPTH), game)
            case "patterns":
                return classical.patterns(_whole(detail, "depth", classical.MAX_DEPTH), game)
            case "rollouts":
                return RolloutPlayer(game, rollout_config(_simulations(detail)))
            case "network" if path and count.lstrip("+-").isdigit():
                number = _simulations(count)
            case "policy" if colon:
                path, number = detail, 0
    if number is None:
        return _loaded(detail if kind == "network" and colon else text, text, game)
    return with_simulations(_loaded(path, text, game), number)


def _simulations(count: str) -> int:
    return _whole(count, "number of simulations", settings.MAX_SIMULATIONS)


def _whole(count: str, what: str, most: int) -> int:
    if not (count.isascii() and count.isdigit() and 0 < int(count) <= most):
        raise ValueError(f"the {what} is {count!r}, not a whole number from 1 to {most}")
    return int(count)


def _loaded(path: str, text: str, game: protocol.Game) -> NetworkPlayer:
    try:
        is_folder = shipped_files.find_network(pathlib.Path(path)).is_dir()
    except OSError:  # a name that is too long
        is_folder = False
    if not is_folder:
        raise ValueError(
            f"unknown player {text!r}: there is no checkpoint at {path!r}; networks that come with"
            f" azo: {', '.join(shipped_files.networks())}. Players are {_NAMES}"
        )
    return load_network(pathlib.Path(path), game)
