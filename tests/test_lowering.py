"""Programs lowered for CUDA on a CPU: what they must not have, and how large they are.

Sizes are stored in `tests/data/lowering.json`. A change by more than `TOLERANCE` fails; a commit
that means it stores new ones: `PYTHONPATH=.:tests python tests/test_lowering.py`.
"""

import functools
import json
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.games import othello, patterns, registry
from azo.learning import learner, loop, network, placement, replay, run_state
from azo.run import config, shipped_files
from azo.search import improvement
from azo.solver.device import batched
from benchmarks import fusion, lowered

FILE = pathlib.Path(__file__).parent / "data" / "lowering.json"
TOLERANCE = 0.25  # of a stored number, besides one operation
COSTLY = (
    "convolution", "dot_general", "gather", "scatter", "sort", "reduce", "while", "case",
)  # fmt: skip
GAME = othello.Othello(8)
KEY = jax.eval_shape(lambda: jax.random.key(0))
BATCH, MAX_EMPTIES = 2048, 10
TOWER = network.NetworkConfig(num_blocks=2, num_channels=128)
PATTERNS = network.NetworkConfig(kind="patterns")


def variables(settings):
    return jax.eval_shape(functools.partial(network.init, GAME, settings), KEY)


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
        recipe = learner.LearnerConfig()
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
    return loop.build(game, recipe, placement.make_mesh(1)), (jax.eval_shape(create), progress)


PROGRAMS = {
    "tower": functools.partial(evaluation, TOWER),
    "patterns": functools.partial(evaluation, PATTERNS),
    "learning of patterns": functools.partial(gradient, PATTERNS),
    "search": search,
    "solver": solver,
    "iteration": iteration,
}
every_program = pytest.mark.parametrize("name", PROGRAMS)


@functools.cache
def program(name) -> lowered.Program:
    function, arguments = PROGRAMS[name]()
    return lowered.read(lowered.lower(function, *arguments))


def sizes(name) -> dict[str, float]:
    """Returns the numbers of a program that are stored."""
    found = program(name)
    counts = {kind: found.operations[kind] for kind in COSTLY}
    megabytes = {"megabytes": found.num_bytes / 1e6, "peak megabytes": found.peak_bytes / 1e6}
    rounded = {unit: round(number, 1) for unit, number in megabytes.items()}
    return {"kernels": found.num_kernels, **counts, **rounded}


@every_program
def test_nothing_calls_back_into_the_host_or_into_foreign_code(name):
    assert program(name).custom_calls == set()
    host = {"infeed", "outfeed", "send", "recv"}
    assert not host & program(name).operations.keys()


def test_callback_into_the_host_is_not_lowered_for_a_gpu():
    def tell(x):
        jax.debug.callback(np.asarray, x)
        return x

    with pytest.raises(ValueError, match="cpu is different from the lowering platform cuda"):
        lowered.lower(tell, jnp.ones(2))


@every_program
def test_floats_have_at_most_32_bits(name):
    assert {x for x in program(name).dtypes if "f" in x} <= {"f32", "bf16", "f16"}


@every_program
def test_one_device_sends_nothing_to_others(name):
    assert not fusion.COLLECTIVES & program(name).operations.keys()


@every_program
def test_all_convolutions_are_bfloat16(name):
    convolutions = [x for x in program(name).kernels if x.kind == "convolution"]
    assert {x.dtype for x in convolutions} <= {"bf16"}
    layers = 1 + 2 * TOWER.num_blocks
    # Self-play evaluates roots and leaves. The loss of new examples is a forward pass, and a step
    # of learning computes gradients for kernels and, below the first layer, for inputs as well.
    expected = {"tower": layers, "iteration": 2 * layers + layers + 3 * layers - 1}
    assert len(convolutions) == expected.get(name, 0)


@pytest.mark.parametrize("name", ["tower", "patterns", "learning of patterns"])
def test_networks_take_a_batch_at_once(name):
    # On the CPU they take blocks of it in a loop, and branch to keep XLA from repeating work.
    assert program(name).operations["case"] == 0
    in_loops = [x.scope for x in program(name).kernels if "/while/" in x.scope]
    assert not [x for x in in_loops if "searchsorted" not in x]  # a bisection of the scores


def test_solver_does_not_branch():
    # On the CPU a step skips work that no lane needs.
    assert program("solver").operations["case"] == 0
    assert program("solver").operations["while"] == 2


def test_search_branches_only_where_moves_may_exceed_the_slots():
    conditions = [x.scope for x in program("search").kernels if x.kind == "condition"]
    loops = [scope for scope in conditions if scope.endswith("/while")]
    assert len(loops) == 2  # a path's way down, and proofs on their way up
    branches = sorted(set(conditions) - set(loops))
    assert len(branches) == program("search").operations["case"] == 2
    assert "/rules/" in branches[1]


def test_table_rows_are_gathered_at_once():
    function, arguments = evaluation(PATTERNS)
    text = str(lowered.lower(function, *arguments))
    width = PATTERNS.patterns.num_features + patterns.MAX_LENGTH
    rows = rf"slice_sizes = array<i64: 1, {width}>.*-> tensor<{BATCH}x\d+x{width}xf32>"
    assert len(re.findall(rows, text)) == 1


@every_program
def test_sizes_are_about_those_stored(name):
    stored, found = json.loads(FILE.read_text())[name], sizes(name)
    far = {
        unit: (number, stored[unit])
        for unit, number in found.items()
        if abs(number - stored[unit]) > 1 + TOLERANCE * stored[unit]
    }
    assert not far, f"{name}: found and stored {far}; store new numbers if the change is meant"


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: sizes(name) for name in PROGRAMS}, indent=2) + "\n")
