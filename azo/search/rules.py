"""The interface of a search's rules: which move a simulation follows, and what is played.

`puct` and `gumbel` implement it. Your own rules are a class with these methods, named by its import
path in `search.algorithm`: docs/extend.md.
"""

from typing import Protocol

import jax

from azo.search import gumbel, puct, search_tree, settings
from azo.settings import import_paths


class Rule(Protocol):
    """The rules of one search of `B` positions with `S` slots for moves.

    All methods are traced: they are pure functions of arrays.
    """

    @property
    def moves(self) -> search_tree.Moves:
        """The moves `[B, S]` of the roots, with the prior that the search uses there."""

    @classmethod
    def begin(
        cls,
        config: settings.SearchConfig,
        key: jax.Array,
        noise_key: jax.Array,
        moves: search_tree.Moves,
        temperature: jax.Array,
        *,
        is_greedy: bool,
    ) -> "Rule":
        """Returns the rules of a search.

        Args:
          config: the settings of the search.
          key: for the choice of a move.
          noise_key: for noise at the root.
          moves: the legal moves of the roots, with the prior of the network.
          temperature: `[B]` float32 of the choice, 0 for the best move.
          is_greedy: the best move is played, and there is no noise, as in matches.
        """

    def select_at_root(self, root: search_tree.Node) -> jax.Array:
        """Returns the slots `[B]` int32 of the moves that a simulation follows from the roots."""

    def select_below(self, node: search_tree.Node) -> jax.Array:
        """Returns the slots `[B]` int32 of the moves that it follows from any other node."""

    def decide(
        self, root: search_tree.Node, is_best: jax.Array, certain: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Returns slots to play `[B]` int32, and improved policies `[B, S]` float32.

        Args:
          root: the roots after all simulations.
          is_best: `[B, S]` bool, the moves that may be played: all legal ones, or with proofs those
            that are not proven worse than another.
          certain: `[B]` float32, the lowest value that the bounds of the root allow.
        """


def named(algorithm: str) -> type[Rule]:
    """Returns the rules of an algorithm of `SearchConfig`; ValueError, one line, if it has none."""
    if algorithm in _RULES:
        return _RULES[algorithm]
    rule = import_paths.load("search.algorithm", algorithm)
    missing = [name for name in _METHODS if not callable(getattr(rule, name, None))]
    if not isinstance(rule, type) or missing:
        raise ValueError(
            f"search.algorithm is {algorithm!r}, but should be a class with the methods of"
            f" azo.search.rules.Rule: {', '.join(_METHODS)}"
        )
    return rule


_METHODS = ("begin", "select_at_root", "select_below", "decide")
_RULES: dict[str, type[Rule]] = {
    "gumbel": gumbel.Gumbel,
    "puct": puct.Puct,
    "puct_over_visits": puct.PuctOverVisits,
}
OF_AZO = frozenset(_RULES.values())
