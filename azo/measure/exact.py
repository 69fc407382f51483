"""How right a network is where the truth is known: its values and moves against exact scores.

A position's utility is the final margin of discs in favour of the side to move, empty squares to
the winner: its score, with the sign turned in reversed Othello, where fewer discs win. Its result
is the sign of that. Where all moves are known, the best ones are those of the highest utility, and
the discs that a move loses are what it has less.
"""

import dataclasses
import functools
from collections.abc import Callable

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

from azo.games import othello, protocol
from azo.learning import leaf_evaluator, network
from azo.measure import players
from azo.search import improvement
from azo.solver.device import batched

NO_UTILITY = batched.NO_SCORE  # of illegal moves, and of all where not all are known
HEADING = (
    "| positions from | number | player | value error | right sign | best move | discs lost |"
    " margin error |"
)
RULE = "|" + " --- |" * 8

_BATCH = 256  # positions searched at once, so that memory does not grow with the set

Player = players.NetworkPlayer | players.PolicyPlayer
Predict = Callable[[jax.Array], network.Prediction]


@dataclasses.dataclass(frozen=True)
class ExactSet:
    """`M` positions in which the game goes on, and what is known of them."""

    position: othello.Position  # [M]
    utility: np.ndarray  # [M] int
    move_utility: np.ndarray  # [M, A] int, NO_UTILITY for illegal moves and in unknown rows

    def __len__(self) -> int:
        return len(self.utility)


@flax.struct.dataclass
class Opinion:
    """What a network, or a search with it, says of `M` positions."""

    value: jax.Array  # [M] float32 in [-1, 1], for the side to move
    action: jax.Array  # [M] int32, the move it plays
    margin: jax.Array | None  # [M] float32, final discs of the side to move minus the opponent's


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean over positions, which count as independent."""

    mean: float
    interval: tuple[float, float] | None  # 95 %; None for the mean of fewer than two numbers
    count: int


@dataclasses.dataclass(frozen=True)
class Grade:
    """How right an opinion is; None where there is nothing to judge."""

    value_error: Estimate | None  # |value - result|, 0 to 2
    right_sign: Estimate | None  # share of values with the result's sign, where it is not a draw
    best_move: Estimate | None  # share of best moves, where all of two moves or more are known
    discs_lost: Estimate | None  # by the moves, over the same positions
    margin_error: Estimate | None  # |margin - score| in discs


def raw_opinion(game: othello.Othello, predict: Predict, position: othello.Position) -> Opinion:
    """Returns what a network says by itself: its value and its likeliest legal move; jittable.

    Args:
      game: the rules.
      predict: the network, as `network.Network.predict` with its variables.
      position: `[M]`.
    """
    found = predict(game.planes(position))
    logits = jnp.where(game.legal_mask(position), found.prior_logits, -jnp.inf)
    margin = None if found.margin is None else found.margin * game.size**2
    return Opinion(found.value, jnp.argmax(logits, axis=-1).astype(jnp.int32), margin)


def searched_opinion(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    key: jax.Array,
    position: protocol.Position,
    *,
    config: improvement.SearchConfig,
) -> Opinion:
    """Returns what a search says: its value of the root, and the move that it plays; jittable."""
    found = improvement.search(game, evaluate, key, position, config=config, is_greedy=True)
    return Opinion(found.value, found.action, None)


def opinions(
    game: othello.Othello, player: Player, key: jax.Array, known: ExactSet
) -> dict[str, Opinion]:
    """Returns the opinions of a player on all positions, by name: the network's own comes first.

    Args:
      game: the rules.
      player: a network with a search, or without one, which has no second opinion.
      key: for the search.
      known: the positions.
    """

    def raw(position: othello.Position, _: int) -> Opinion:
        return _raw(game, player.variables, position, config=player.network_config)

    found = {"raw": _in_batches(raw, known.position)}
    if isinstance(player, players.PolicyPlayer):
        return found
    config, search = player.network_config, player.search_config

    def searched(position: othello.Position, start: int) -> Opinion:
        batch_key = jax.random.fold_in(key, start)
        return _searched(
            game, player.variables, batch_key, position, config=config, search_config=search
        )

    number = search.num_simulations
    return found | {f"{number} simulations": _in_batches(searched, known.position)}


def grade(game: othello.Othello, known: ExactSet, opinion: Opinion) -> Grade:
    """Returns how right an opinion on the positions is."""
    value, action = np.asarray(opinion.value), np.asarray(opinion.action)
    result = np.sign(known.utility)
    is_decided = result != 0
    has_choice = (known.move_utility != NO_UTILITY).sum(axis=1) > 1
    chosen = np.take_along_axis(known.move_utility, action[:, None], axis=1)[:, 0]
    lost = (known.move_utility.max(axis=1) - chosen)[has_choice]
    score = -known.utility if game.is_reversed else known.utility
    margin = opinion.margin
    return Grade(
        value_error=_mean(np.abs(value - result)),
        right_sign=share(np.sign(value[is_decided]) == result[is_decided]),
        best_move=share(lost == 0),
        discs_lost=_mean(lost),
        margin_error=None if margin is None else _mean(np.abs(np.asarray(margin) - score)),
    )


def row(name: str, player: str, count: int, found: Grade) -> str:
    """Returns a line of the Markdown table under `HEADING` and `RULE`."""
    cells = [
        name,
        f"{count:,}",
        player,
        text(found.value_error, 3),
        text(found.right_sign, 3, has_count=True),
        text(found.best_move, 3, has_count=True),
        text(found.discs_lost, 2),
        text(found.margin_error, 2),
    ]
    return f"| {' | '.join(cells)} |"


def text(found: Estimate | None, digits: int, *, has_count: bool = False) -> str:
    """Returns a mean with its interval, and of how many if asked for; - for None."""
    if found is None:
        return "-"
    parts = [f"{found.mean:.{digits}f}"]
    if found.interval is not None:
        low, high = found.interval
        parts.append(f"{low:.{digits}f} to {high:.{digits}f}")
    return ", ".join(parts) + (f", of {found.count:,}" if has_count else "")


def _mean(numbers: np.ndarray) -> Estimate | None:
    """Returns the mean with its interval by Student's t; None without numbers."""
    count = len(numbers)
    if count == 0:
        return None
    mean, interval = float(numbers.mean()), None
    if count > 1:
        error = float(scipy.stats.t.ppf(0.975, count - 1) * numbers.std(ddof=1) / count**0.5)
        interval = mean - error, mean + error
    return Estimate(mean, interval, count)


def share(is_so: np.ndarray) -> Estimate | None:
    """Returns the share of those that are so, with its Wilson interval; None without any."""
    if len(is_so) == 0:
        return None
    found = scipy.stats.binomtest(int(is_so.sum()), len(is_so)).proportion_ci(method="wilson")
    interval = float(found.low), float(found.high)
    return Estimate(float(is_so.mean()), interval, len(is_so))


def _in_batches(
    judge: Callable[[othello.Position, int], Opinion], position: othello.Position
) -> Opinion:
    """Returns opinions `[M]` on the host; the last batch is filled up with the last position."""
    count = position.player.lower.shape[0]
    size = min(_BATCH, count)
    found = []
    for start in range(0, count, size):
        rows = np.minimum(np.arange(start, start + size), count - 1)
        batch = jax.tree.map(lambda words, rows=rows: words[rows], position)
        found.append(jax.device_get(judge(batch, start)))
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:count], *found)


@functools.partial(jax.jit, static_argnames=("game", "config"))
def _raw(
    game: othello.Othello,
    variables: network.Variables,
    position: othello.Position,
    *,
    config: network.NetworkConfig,
) -> Opinion:
    net, folded = network.fold(network.build(game, config), variables)

    def predict(planes: jax.Array) -> network.Prediction:
        found = net.apply(folded, planes, method="predict")
        assert isinstance(found, network.Prediction)
        return found

    return raw_opinion(game, predict, position)


@functools.partial(jax.jit, static_argnames=("game", "config", "search_config"))
def _searched(
    game: othello.Othello,
    variables: network.Variables,
    key: jax.Array,
    position: othello.Position,
    *,
    config: network.NetworkConfig,
    search_config: improvement.SearchConfig,
) -> Opinion:
    evaluate = leaf_evaluator.evaluator(game, config, variables, search_config)
    return searched_opinion(game, evaluate, key, position, config=search_config)
