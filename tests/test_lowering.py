"""Programs lowered for CUDA on a CPU: what they must and must not have.

The rules alone are compiled for the CPU, for what makes them fast there. How large the programs
become, and how many kernels they have, is known only after XLA's compiler for the device:
`benchmarks.accelerators.check`.
"""

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from jaxlib.mlir import ir

import azo.learning.iteration
from azo.games import othello, patterns, registry
from azo.learning import learner, replay, run_state, sharding
from azo.networks import initial_variables, network
from azo.search import improvement
from azo.settings import shipped_files
from azo.solver.device import batched
from azo.training import config

COLLECTIVES = {
    "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute",
    "reduce_scatter",
}  # fmt: skip
COSTLY = (
    "convolution", "dot_general", "gather", "scatter", "sort", "reduce", "while", "case",
)  # fmt: skip
GAME = othello.Othello(8)
KEY = jax.eval_shape(lambda: jax.random.key(0))
BATCH, MAX_EMPTIES = 2048, 10
TOWER = network.NetworkConfig(kind="residual", num_blocks=2, num_channels=128)
PATTERNS = network.NetworkConfig(kind="patterns", patterns={"has_move_counts": False})


def variables(settings):
    return jax.eval_shape(functools.partial(initial_variables.init, GAME, settings), KEY)


def positions(batch=BATCH):
    return jax.eval_shape(functools.partial(GAME.start, batch))


def evaluation(settings):
    def evaluate(variables, key, position):
        return network.folded_evaluator(GAME, settings, variables)(key, position)

    return evaluate, (variables(settings), KEY, positions())


def gradient(settings):
    """Returns the gradient of a learning step, and its arguments."""
    examples = replay.Examples(
        board=jax.eval_shape(lambda: GAME.pack(GAME.start(BATCH))),
        policy=jax.ShapeDtypeStruct((BATCH, GAME.num_actions), jnp.float32),
        value=jax.ShapeDtypeStruct((BATCH,), jnp.float32),
        score=jax.ShapeDtypeStruct((BATCH,), jnp.int8),
    )
    model = network.build(GAME, settings).clone(is_training=True)

    def total(params, batch_stats, key, examples):
        recipe = learner.LearnerConfig(score_weight=0.25, augment=True)
        return learner.loss(GAME, model, params, batch_stats, key, examples, config=recipe)[0]

    initial = variables(settings)
    return jax.grad(total), (initial["params"], initial.get("batch_stats", {}), KEY, examples)


def search():
    """Returns a search with patterns, so that its other parts stand out."""
    settings = improvement.SearchConfig(num_simulations=64)

    def run(variables, key, position):
        evaluate = network.folded_evaluator(GAME, PATTERNS, variables)
        result = improvement.search(GAME, evaluate, key, position, config=settings)
        return result.action, result.policy, result.value

    return run, (variables(PATTERNS), KEY, positions())


def solver():
    def solve(position):
        return batched.solve(GAME, position, max_empties=MAX_EMPTIES, num_lanes=1024)

    return solve, (positions(),)


def iteration():
    """Returns the iteration of `configs/azo8-gpu.toml` with a lower tower, on one device."""
    recipe = config.load_file(shipped_files.CONFIGS / "azo8-gpu.toml")
    recipe = recipe.model_copy(update={"network": TOWER})
    game = registry.make(recipe.game)
    create = functools.partial(run_state.create, game, recipe, seed=0, num_devices=1)
    progress = jax.ShapeDtypeStruct((), jnp.float32)
    program = azo.learning.iteration.build(game, recipe, sharding.make_mesh(1))
    return program, (jax.eval_shape(create), progress)


PROGRAMS = {
    "tower": functools.partial(evaluation, TOWER),
    "patterns": functools.partial(evaluation, PATTERNS),
    "learning of patterns": functools.partial(gradient, PATTERNS),
    "search": search,
    "solver": solver,
    "iteration": iteration,
}
every_program = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if name == "iteration" else [])
        for name in PROGRAMS
    ],
)


class Operation(NamedTuple):
    """An operation of a program; calls are replaced by what they call."""

    kind: str
    types: tuple[str, ...]  # of operands and results
    place: str  # scopes of JAX, from the outermost
    is_in_loop: bool
    text: str  # only of gathers


def lower(function, *args) -> Any:
    """Returns the StableHLO module for one GPU."""
    jitted = function if hasattr(function, "trace") else jax.jit(function)
    return jitted.trace(*args).lower(lowering_platforms=("cuda",)).compiler_ir("stablehlo")


def operations(module) -> Iterator[Operation]:
    """Yields all operations of a module."""
    functions = {str(one.name).strip('"'): one for one in module.body.operations}

    def walk(parent, scope, is_in_loop):
        for region in getattr(parent, "regions", [parent]):
            for block in region.blocks:
                for view in block.operations:
                    one = view.operation
                    place = f"{scope}/{getattr(one.location, 'name_str', '')}"
                    kind = one.name.removeprefix("stablehlo.")
                    if kind in ("func.call", "call"):
                        callee = functions[one.attributes["callee"].value].operation
                        yield from walk(callee, place, is_in_loop)
                        continue
                    if kind == "case" and (branch := chosen(one)) is not None:
                        yield from walk(branch, place, is_in_loop)
                        continue
                    values = [*one.operands, *one.results]
                    text = str(one) if kind == "gather" else ""
                    types = tuple(str(value.type) for value in values)
                    yield Operation(kind, types, place, is_in_loop, text)
                    yield from walk(one, place, is_in_loop or kind == "while")

    return walk(functions["main"].operation, "", is_in_loop=False)


def chosen(case):
    """Returns the branch that is known in advance, as where the platform decides; else None."""
    if len(case.regions) == 1:
        return case.regions[0]
    number = constant(case.operands[0])
    return None if number is None else case.regions[number]


def constant(value) -> int | None:
    """Returns the number that a value always has, None if that is not known."""
    if isinstance(value.owner, ir.Block):
        return None  # an argument
    one = value.owner.operation
    if one.name == "stablehlo.case" and (branch := chosen(one)) is not None:
        *_, last = branch.blocks[0].operations
        return constant(last.operands[0])
    text = re.search(r"dense<(\d+)> : tensor<i32>", str(one))
    return int(text[1]) if one.name == "stablehlo.constant" and text else None


@functools.cache
def program(name) -> list[Operation]:
    function, arguments = PROGRAMS[name]()
    return list(operations(lower(function, *arguments)))


def count(name, *kinds) -> int:
    return sum(one.kind in kinds for one in program(name))


@pytest.mark.thorough
@every_program
def test_nothing_leaves_the_device_and_one_device_sends_nothing_to_others(name):
    assert count(name, "custom_call", "infeed", "outfeed", "send", "recv", *COLLECTIVES) == 0


@every_program
def test_floats_have_at_most_32_bits(name):
    types = {kind for one in program(name) for text in one.types for kind in text.split("x")}
    assert not {text for text in types if text.startswith("f64")}


@every_program
def test_all_convolutions_are_bfloat16(name):
    convolutions = [one for one in program(name) if one.kind == "convolution"]
    assert all("bf16" in text for one in convolutions for text in one.types)
    layers = 1 + 2 * TOWER.num_blocks
    # In play the projections of the heads are one convolution more. Self-play evaluates roots and
    # leaves. The loss of new examples is a forward pass, and a step
    # of learning computes gradients for kernels and, below the first layer, for inputs as well.
    in_play = layers + 1
    expected = {"tower": in_play, "iteration": 2 * in_play + layers + 3 * layers - 1}
    assert len(convolutions) == expected.get(name, 0)


@pytest.mark.parametrize("name", ["tower", "patterns", "learning of patterns"])
def test_networks_take_a_batch_at_once(name):
    # On the CPU they take blocks of it in a loop, and branch to keep XLA from repeating work.
    assert count(name, "case") == 0
    costly = [one for one in program(name) if one.is_in_loop and one.kind in COSTLY]
    assert not [one for one in costly if "searchsorted" not in one.place]  # bisects the scores


def test_programs_branch_nowhere():
    # On the CPU a step of the solver skips work that no lane needs.
    assert [count("solver", kind) for kind in ("case", "while")] == [0, 2]
    # Moves beyond the slots are chosen by rank.
    assert count("search", "case") == 0


def test_table_rows_are_gathered_at_once():
    width = PATTERNS.patterns.num_features + patterns.MAX_LENGTH
    rows = rf"slice_sizes = array<i64: 1, {width}>.*-> tensor<{BATCH}x\d+x{width}xf32>"
    assert sum(bool(re.search(rows, one.text)) for one in program("patterns")) == 1


def first_legal(position, _):
    """Plays the first legal action; returns it beside the position."""
    action = jnp.argmax(GAME.legal_mask(position), axis=-1)
    return GAME.step(position, action).position, action


def actions(position, ply=first_legal):
    """Returns the actions `[T, ...]` of two plies."""
    return jax.lax.scan(ply, position, length=2)[1]


def over_devices(position):
    mesh = sharding.make_mesh(2)
    rows, plies = PartitionSpec(run_state.AXIS), PartitionSpec(None, run_state.AXIS)
    return jax.shard_map(actions, mesh=mesh, in_specs=rows, out_specs=plies)(position)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "play",
    [
        actions,
        jax.vmap(actions, out_axes=1),
        jax.vmap(jax.vmap(actions, out_axes=1), out_axes=1),
        functools.partial(actions, ply=jax.vmap(first_legal, in_axes=(0, None))),
        over_devices,
    ],
    ids=["batch", "vmap", "nested vmap", "scan of vmap", "shard_map"],
)
def test_transformed_rules_are_compiled_and_play_as_those_of_a_batch(play, thorough_compilation):
    """On the CPU each kernel ends in a branch, without which a step takes several times as long."""
    first = jnp.array([[19, 26, 37], [44, 19, 26]])
    position = GAME.step(GAME.start(2, 3), first).position
    compiled = jax.jit(play).lower(position).compile()
    assert compiled.as_text().count(" conditional(") == 2  # of legal moves, and of flips
    for game in np.ndindex(first.shape):
        alone = actions(jax.tree.map(lambda x, game=game: x[game], position))
        np.testing.assert_array_equal(compiled(position)[:, *game], alone)
