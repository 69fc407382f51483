"""The descent of all trees as one kernel: the program of each game follows its own path.

XLA's loop takes a dozen kernels for each level, descends all trees to the depth of the deepest one,
and waits for the host after each level. Here `mcts.descend_once` itself is traced for a single game
whose arrays stay in the GPU's memory; a program reads only the nodes of its path.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jax.experimental.pallas import triton

from azo.search import search_tree, settings
from azo.search.kernels import rows
from azo.settings import setting_types

Follow = Callable[[search_tree.Tree, Any], Any]


def descend(
    follow: Follow, tree: search_tree.Tree, rule: Any, *, is_interpreted: bool = False
) -> Any:
    """Returns `follow(tree, rule)`, the paths down all trees, computed by one kernel.

    `follow` maps trees and a rule of selection to a pytree of arrays `[B]` or `[B, N]`.
    Interpreted, the kernel runs on any device, slowly.
    """
    shapes = jax.eval_shape(lambda tree: follow(tree, rule), tree)
    parts = _parts(rule)
    inputs, inputs_tree = jax.tree.flatten((tree, parts))
    outputs, outputs_tree = jax.tree.flatten(shapes)

    def kernel(*refs: Any) -> None:
        game = pallas.program_id(0)
        given = [rows.Rows(ref, game) for ref in refs[: len(inputs)]]
        of_tree, of_rule = jax.tree.unflatten(inputs_tree, given)
        found = follow(rows.of_tree(of_tree), _rule_of_game(rule, of_rule))
        for ref, x in zip(refs[len(inputs) :], jax.tree.leaves(found), strict=True):
            rows.Rows(ref, game).put(x)

    call = pallas.pallas_call(
        kernel,
        grid=tree.visits.shape[:1],
        out_shape=outputs,
        compiler_params=triton.CompilerParams(num_warps=1),
        interpret=is_interpreted,
        name="descent",
    )
    return jax.tree.unflatten(outputs_tree, call(*inputs))


def _parts(rule: Any) -> dict[str, Any]:
    """Returns the arrays of a rule by its fields: those `[B, ...]`, and numbers as `[1]`."""
    parts: dict[str, Any] = {}
    for field in dataclasses.fields(rule):
        value = getattr(rule, field.name)
        if isinstance(value, settings.SearchConfig):
            _, numbers = setting_types.split_numbers(value)
            value = {name: jnp.reshape(number, 1) for name, number in numbers.items()}
        if not jax.dtypes.issubdtype(getattr(value, "dtype", None), jax.dtypes.prng_key):
            parts[field.name] = value
    return parts


def _rule_of_game(rule: Any, parts: dict[str, Any]) -> Any:
    """Returns the rule with the arrays of one game, `[1, ...]`, read from `Rows`."""
    changes: dict[str, Any] = {}
    for name, part in parts.items():
        value = getattr(rule, name)
        if isinstance(part, search_tree.Table):
            changes[name] = part  # read at an index
            continue
        if isinstance(value, settings.SearchConfig):
            fixed, _ = setting_types.split_numbers(value)
            numbers = jax.tree.map(rows.Rows.number, part)
            changes[name] = setting_types.with_numbers(fixed, numbers)
        else:
            changes[name] = jax.tree.map(rows.Rows.whole, part)
    return dataclasses.replace(rule, **changes)
