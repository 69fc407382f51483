"""The interface of options: parts of self-play and learning that the core does not know.

An option is a class that defines the methods it needs; each method has a default that does nothing.
The iteration calls the methods at the points that their docstrings name. They are pure functions on
one device of the mesh, traced into the compiled program, so an option that is off costs nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import flax.struct
import jax

from azo.games import protocol
from azo.learning import replay, trajectories
from azo.networks import base
from azo.search import improvement

Total = Callable[[Any], Any]
"""Returns the sum of a pytree over all devices."""


@flax.struct.dataclass
class Turn:
    """One ply of all games, after its move."""

    games: trajectories.GamesInProgress  # [B], before the move
    result: improvement.SearchResult  # [B]
    after: protocol.Position  # [B], after the move, seen by the side that moves next
    score: jax.Array  # [B] int8, see `trajectories.Trajectory`
    reward: jax.Array  # [B] float32, see `trajectories.Trajectory`
    discount: jax.Array  # [B] float32, see `trajectories.Trajectory`


class Option:
    """An option: the base class of azo's options, and of yours (`--selfplay.options MODULE:CLASS`).

    `part` is the option's data of the games in progress, which `begin_games` creates; `state` is
    its data of the run, which `begin_run` creates. Both are pytrees of arrays with fixed shapes,
    saved in checkpoints, or None. `record` stacks what `after_step` recorded, with a leading axis
    of plies, or is None.
    """

    name: ClassVar[str] = ""
    """Name of the option's data in states and checkpoints; by default the name of the class."""
    fields: ClassVar[trajectories.Fields] = {}
    """Fields of each ply, from `field_values`; examples in the replay have them as `extras`."""

    number: int = 0
    """0 for azo's own options, else the index in `selfplay.options`; random keys depend on it."""

    def __init__(self, game: protocol.Game, config: Any) -> None:
        """Stores the game and the settings, a `run_state.RecipeConfig`."""
        self.game, self.config = game, config

    def __init_subclass__(cls) -> None:
        """Names the option."""
        cls.name = cls.__dict__.get("name", cls.__name__)

    def begin_run(self) -> Any:
        """Returns the option's data of a new run, the same on all devices."""
        return None

    def begin_games(self, key: jax.Array, num_games: int) -> Any:
        """Returns the option's data of new games, pytrees `[B, ...]`."""
        del key, num_games
        return None

    def is_end(self, position: protocol.Position) -> jax.Array | bool:
        """Returns `[...]` bool: the positions that random openings must not reach."""
        del position
        return False

    def after_search(
        self, games: trajectories.GamesInProgress, result: improvement.SearchResult
    ) -> improvement.SearchResult:
        """Returns the result of the search, possibly with another move, policy or value."""
        del games
        return result

    def after_step(self, turn: Turn, part: Any, state: Any) -> tuple[Turn, Any, Any]:
        """Returns the turn, the option's data of the games after it, and a record of the ply.

        An option ends a game by a `discount` of 0, with its `reward` and `score`.
        """
        del state
        return turn, part, None

    def field_values(self, turn: Turn) -> dict[str, jax.Array]:
        """Returns the option's `fields` of a ply, `[B, ...]`.

        Where `turn.discount` is 0, the game is over, and legal moves after it are meaningless.
        """
        del turn
        return {}

    def after_play(
        self, key: jax.Array, trajectory: trajectories.Trajectory, record: Any
    ) -> tuple[trajectories.Trajectory, Any]:
        """Returns the plies of an iteration and the record, with the true rewards and scores."""
        del key
        return trajectory, record

    def next_state(
        self, state: Any, trajectory: trajectories.Trajectory, record: Any, total: Total
    ) -> Any:
        """Returns the option's data of the run after the plies of an iteration."""
        del trajectory, record, total
        return state

    def rows(self, trajectory: trajectories.Trajectory, record: Any) -> replay.NewRows | None:
        """Returns additional examples, after the plies of an iteration."""
        del trajectory, record
        return None

    def before_learning(self, buffer: replay.ReplayBuffer) -> replay.ReplayBuffer:
        """Returns the replay from which the steps of an iteration draw."""
        return buffer

    def loss(self, prediction: base.Prediction, examples: replay.Examples) -> jax.Array | float:
        """Returns the option's term of the loss on this device's part of a batch, `[]` float32.

        The metric `learner/NAME_loss` is its mean over the steps. Squares and moves are those of
        `examples.board`, even if the network saw a symmetric position. Value targets are mixed by
        `search.score_share`, see `search_tree.mix_values`.
        """
        del prediction, examples
        return 0.0

    def metrics(self, state: Any) -> dict[str, jax.Array]:
        """Returns metrics of an iteration, `[]` float32, by their names in `metrics.jsonl`."""
        del state
        return {}


Options = Sequence[Option]


class ExampleSource(Protocol):
    """Provides the examples of an iteration instead of self-play."""

    def rows(self, key: jax.Array, iteration: jax.Array, num_devices: int) -> replay.NewRows:
        """Returns new examples of this device; the `key` differs on each."""


def begin_games(options: Options, key: jax.Array, num_games: int) -> dict[str, Any]:
    """Returns the parts of new games by the names of their options."""
    return parts({x.name: x.begin_games(key_of(x, key), num_games) for x in options})


def key_of(option: Option, key: jax.Array) -> jax.Array:
    """Returns the key of an option. No two of azo's own draw at the same place."""
    return jax.random.fold_in(key, option.number) if option.number else key


def fields(options: Options) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the fields of all options."""
    return {name: field for option in options for name, field in option.fields.items()}


def field_values(options: Options, turn: Turn) -> dict[str, jax.Array]:
    """Returns the fields of all options of a ply, in their types."""
    recorded = {name: x for option in options for name, x in option.field_values(turn).items()}
    types = fields(options)
    if recorded.keys() != types.keys():
        raise ValueError(
            f"options give {sorted(recorded)} for each ply, but their fields are {sorted(types)}"
        )
    return {name: x.astype(types[name].dtype) for name, x in recorded.items()}


def parts(named: dict[str, Any]) -> dict[str, Any]:
    """Returns parts without those that are None."""
    return {name: part for name, part in named.items() if part is not None}
