"""Policy improvement: from a network's opinion to a searched one.

Two ways of searching, over the same trees (`azo.search.tree`):

* `puct`: AlphaZero (Silver et al., 2017, arXiv:1712.01815). A move's score is
  `Q + c_puct * P * sqrt(N) / (1 + n)` with Q in [-1, 1] as it is, never rescaled. Dirichlet noise
  is drawn over the legal moves only.
* `gumbel`: Gumbel AlphaZero (Danihelka et al., 2022, https://openreview.net/forum?id=bERaNdoegnO)
  by mctx's functions, with Q not rescaled. It improves the policy even with few simulations.

A position is seen by the side to move, and so are `value` and `policy`.
"""

import dataclasses
import functools
from typing import Annotated, Literal

import flax.struct
import jax
import jax.numpy as jnp
import mctx
import pydantic

from azo.games import protocol
from azo.search import tree as trees

Evaluation = trees.Evaluation
Evaluate = trees.Evaluate


class SearchConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How a move is searched in self-play."""

    algorithm: Literal["gumbel", "puct"] = "gumbel"
    """Gumbel AlphaZero for few simulations, or AlphaZero's PUCT."""
    num_simulations: Annotated[int, pydantic.Field(gt=0, le=trees.MAX_SIMULATIONS)] = 32
    """Network evaluations a move, after the root's own."""
    temperature: pydantic.NonNegativeFloat = 1.0
    """Randomness of the first moves: exponent 1 / t of the visits, scale of the Gumbel noise."""
    temperature_plies: pydantic.NonNegativeInt = 1000
    """Plies that are played with that temperature; later ones take the best move."""
    prior_temperature: pydantic.PositiveFloat = 1.0
    """Above 1 the network's policy is flattened before the search uses it."""
    random_symmetry: bool = False
    """Show the network each position turned or mirrored at random."""
    max_considered_actions: pydantic.PositiveInt = 16
    """Gumbel: moves that share the simulations at the root."""
    value_scale: pydantic.PositiveFloat = 0.3
    """Gumbel: weight of Q against the logits, c_scale of the paper."""
    visit_offset: pydantic.NonNegativeFloat = 50.0
    """Gumbel: visits counted in advance, c_visit of the paper."""
    c_puct: pydantic.PositiveFloat = 2.0
    """PUCT: weight of the prior against Q."""
    unvisited_value: Literal["parent", "draw", "loss"] = "parent"
    """PUCT: what a move not yet tried is worth: its parent's value so far, 0 or -1."""
    root_noise_fraction: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.25
    """PUCT: share of Dirichlet noise in the root's prior."""
    root_noise_alpha: pydantic.PositiveFloat | None = None
    """PUCT: concentration of that noise. None: min(1, 10 / legal moves)."""


@flax.struct.dataclass
class SearchResult:
    """What the search says of each position."""

    action: jax.Array  # [B] int32, the move to play
    policy: jax.Array  # [B, A] float32, the improved policy, to learn from
    value: jax.Array  # [B] float32, mean value of the root's visits, for the side to move
    tree: trees.Tree  # all of it, for analysis


def search(
    game: protocol.Game,
    evaluate: Evaluate,
    key: jax.Array,
    position: protocol.Position,
    *,
    config: SearchConfig,
    ply: jax.Array | int = 0,
    is_greedy: bool = False,
) -> SearchResult:
    """Searches a batch of positions.

    Args:
      game: the rules.
      evaluate: gives logits `[B, A]` and values `[B]` of a batch of positions, given a key.
      key: for noise, the choice of a move, and `evaluate`.
      position: `[B]` positions. Where the game is over the result is of no use, but finite.
      config: the settings.
      ply: `[B]` int32 or a number, plies played so far, for the temperature.
      is_greedy: for matches: no noise, and the best move always.
    """
    noise_key, root_key, tree_key, move_key = jax.random.split(key, 4)

    def tempered(key: jax.Array, position: protocol.Position) -> Evaluation:
        evaluation = evaluate(key, position)
        logits = evaluation.prior_logits / config.prior_temperature
        return dataclasses.replace(evaluation, prior_logits=logits)

    root = tempered(root_key, position)
    moves = trees.compact(game, position, root.prior_logits)
    is_hot = (jnp.asarray(ply) < config.temperature_plies) & (not is_greedy)
    temperature = jnp.broadcast_to(jnp.where(is_hot, config.temperature, 0.0), root.value.shape)
    if config.algorithm == "puct" and not is_greedy and config.root_noise_fraction > 0:
        moves = dataclasses.replace(moves, logits=_noisy_logits(noise_key, moves, config))

    grow = functools.partial(
        trees.grow,
        game,
        tempered,
        tree_key,
        position,
        moves,
        root.value,
        num_simulations=config.num_simulations,
    )
    if config.algorithm == "gumbel":
        tree, slot, policy = _gumbel(grow, noise_key, moves, temperature, config)
    else:
        tree, slot, policy = _puct(grow, move_key, moves, temperature, config)
    return SearchResult(
        action=moves.at(slot),
        policy=moves.spread(policy, game.num_actions),
        value=tree.value()[:, 0],
        tree=tree,
    )


def puct_action(
    node: mctx.Tree, *, c_puct: float, unvisited_value: Literal["parent", "draw", "loss"]
) -> jax.Array:
    """Returns `[B]` int32, the slot with the best `Q + c_puct * P * sqrt(N) / (1 + n)`.

    N counts the visits to the node, its own evaluation included, so that the prior decides from
    the first move on. Ties go to the lowest action. The logits must be normalised, `log P`.
    """
    visits = node.children_visits[:, 0]
    q = -node.children_values[:, 0]
    unvisited = {"parent": node.node_values, "draw": 0.0, "loss": -1.0}[unvisited_value]
    q = jnp.where(visits > 0, q, unvisited)
    logits = node.children_prior_logits[:, 0]
    explore = c_puct * jnp.exp(logits) * jnp.sqrt(node.node_visits) / (1 + visits)
    is_legal = logits > jnp.finfo(logits.dtype).min
    return jnp.argmax(jnp.where(is_legal, q + explore, -jnp.inf), axis=-1).astype(jnp.int32)


# What both algorithms return: trees, slots to play `[B]` and improved policies `[B, S]`.
_Found = tuple[trees.Tree, jax.Array, jax.Array]


def _puct(grow, key, moves: trees.Moves, temperature, config: SearchConfig) -> _Found:
    select = functools.partial(
        puct_action, c_puct=config.c_puct, unvisited_value=config.unvisited_value
    )
    tree = grow(select_at_root=select, select_below=select)
    visits = trees.view(tree, jnp.zeros_like(tree.visits[:, 0])).children_visits[:, 0]
    scale = jnp.where(temperature > 0, temperature, 1.0)[:, None]
    visit_logits = jnp.where(visits > 0, jnp.log(jnp.maximum(visits, 1)), -jnp.inf)
    sampled = jax.random.categorical(key, visit_logits / scale)
    most_visited = jnp.argmax(jnp.where(moves.is_legal(), visits, -1), axis=-1)
    slot = jnp.where(temperature > 0, sampled, most_visited)
    return tree, slot, visits / visits.sum(axis=-1, keepdims=True)


def _gumbel(grow, key, moves: trees.Moves, temperature, config: SearchConfig) -> _Found:
    gumbel = temperature[:, None] * jax.random.gumbel(key, moves.logits.shape)
    extra_data = mctx.GumbelMuZeroExtraData(root_gumbel=gumbel)
    qtransform = functools.partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=config.value_scale,
        maxvisit_init=config.visit_offset,
        rescale_values=False,
    )
    at_root = functools.partial(
        mctx.gumbel_muzero_root_action_selection,
        num_simulations=config.num_simulations,
        max_num_considered_actions=config.max_considered_actions,
        qtransform=qtransform,
    )
    below = functools.partial(
        mctx.gumbel_muzero_interior_action_selection, depth=None, qtransform=qtransform
    )

    def select(rule, node: mctx.Tree) -> jax.Array:
        return jax.vmap(lambda one: rule(None, one, 0))(node)

    def select_at_root(node: mctx.Tree) -> jax.Array:
        return select(at_root, node.replace(extra_data=extra_data))

    tree = grow(select_at_root=select_at_root, select_below=functools.partial(select, below))
    root = trees.view(tree, jnp.zeros_like(tree.visits[:, 0]))
    visits = root.children_visits[:, 0]
    q = jax.vmap(lambda one: qtransform(one, 0))(root)
    # The best of the moves that got most visits, as in `mctx.gumbel_muzero_policy`.
    is_finalist = moves.is_legal() & (visits == visits.max(axis=-1, keepdims=True))
    final_score = jnp.where(is_finalist, gumbel + moves.logits + q, -jnp.inf)
    slot = jnp.argmax(final_score, axis=-1).astype(jnp.int32)
    return tree, slot, jax.nn.softmax(trees.mask_illegal(moves.logits + q, moves.is_legal()))


def _noisy_logits(key, moves: trees.Moves, config: SearchConfig) -> jax.Array:
    legal = moves.is_legal()
    num_legal = legal.sum(axis=-1, keepdims=True)
    if config.root_noise_alpha is None:
        alpha = jnp.minimum(1.0, 10.0 / num_legal)
    else:
        alpha = jnp.full(num_legal.shape, config.root_noise_alpha)
    log_gamma = jax.random.loggamma(key, jnp.broadcast_to(alpha, legal.shape))
    noise = jax.nn.softmax(jnp.where(legal, log_gamma, -jnp.inf))
    share = config.root_noise_fraction
    mixed = (1 - share) * jnp.exp(moves.logits) + share * noise
    tiny = jnp.finfo(mixed.dtype).tiny
    return jnp.where(legal, jnp.log(jnp.maximum(mixed, tiny)), moves.logits)
