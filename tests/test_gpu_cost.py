"""Expected costs on a GPU, worked out by hand, and small reports."""

import jax
import pytest

from azo.learning import run_state
from benchmarks import gpu_cost, lowered, memory, roofline

DEVICE = gpu_cost.Device("round", roofline.Peaks("bfloat16", 1e12, 1e9), 1e9)
FREE = gpu_cost.GpuCostConfig(launch_microseconds=0, condition_microseconds=0)
SMALL = gpu_cost.GpuCostConfig(
    networks=("1x4", "patterns:1"), batches=(4, 8), simulations=4, with_memory=False
)


def kernel(scope="", kind="dot_general", dtype="bf16", num_bytes=0.0, flops=0.0, calls=1.0):
    return lowered.Kernel(kind, scope, dtype, num_bytes, flops, calls)


def program(*kernels, **vector_operations):
    return lowered.Program(kernels, {}, vector_operations, frozenset(), frozenset(), peak_bytes=0.0)


def test_kernel_takes_the_longer_of_products_and_memory():
    both = program(
        kernel("a/evaluation/b", num_bytes=1e9, flops=3e12),
        kernel("a/evaluation/rules/b", num_bytes=2e9, flops=1e12, calls=5.0),
    )
    found = gpu_cost.cost(FREE, both, DEVICE)
    assert found.by_part == {"evaluation": 3.0, "rules": 10.0}
    assert found.by_limit == {"products": 3.0, "memory": 10.0}
    assert found.seconds == 13.0
    assert gpu_cost.work(both, "rules") == roofline.Work(5e12, 10e9)


def test_products_of_tf32_take_twice_as_long_as_those_of_bfloat16():
    found = gpu_cost.cost(FREE, program(kernel(dtype="tf32", flops=1e12)), DEVICE)
    assert found.seconds == 2.0


def test_short_kernels_take_as_long_as_their_launch_and_conditions_as_the_host():
    config = FREE.model_copy(update={"launch_microseconds": 2.0, "condition_microseconds": 9.0})
    short = program(kernel(num_bytes=1.0, calls=10.0), kernel(kind="condition", calls=3.0))
    found = gpu_cost.cost(config, short, DEVICE)
    assert found.by_limit == pytest.approx({"launches": 20e-6, "conditions": 27e-6})
    assert found.by_part == pytest.approx({gpu_cost.OTHER: 47e-6})


def test_element_wise_operations_count_where_they_take_longer_than_memory():
    operations = 2 * DEVICE.vector_operations_per_second
    found = gpu_cost.cost(
        FREE, program(kernel("rules", num_bytes=0.5e9), **{"rules": operations}), DEVICE
    )
    assert found.by_limit == pytest.approx({"memory": 0.5, "integers": 1.5})


@pytest.mark.slow
def test_larger_batches_have_longer_paths_and_none_is_longer_than_the_search():
    config = gpu_cost.GpuCostConfig(batches=(1, 64), simulations=8)
    passes = gpu_cost.longest_paths(config)
    assert 0 < passes[1] < passes[64] < 8


def test_search_evaluates_once_for_each_simulation_and_root():
    found = gpu_cost.search_program(SMALL, "1x4", 8, path_length=2.0)
    convolutions = [x for x in found.kernels if x.kind == "convolution"]
    assert {x.calls for x in convolutions} == {1.0, 4.0}
    (stem,) = [x for x in convolutions if x.flops == min(y.flops for y in convolutions)][1:]
    assert stem.flops == 2 * 8 * 64 * 9 * 2 * 4
    descents = [x.calls for x in found.kernels if "/descent/while/body" in x.scope]
    assert set(descents) == {4 * 2.0}


def test_learning_step_computes_each_product_three_times():
    recipe = gpu_cost._recipe(SMALL, "1x4")
    found = gpu_cost.learning_program(recipe)
    convolutions = [x for x in found.kernels if x.kind == "convolution"]
    assert len(convolutions) == 3 * 3 - 1  # no gradient of the planes
    batch = recipe.learner.batch_size
    stem, layer = (2 * 64 * 9 * channels * 4 * batch for channels in (2, 4))
    assert sum(x.flops for x in convolutions) == 2 * stem + 3 * 2 * layer


@pytest.mark.slow
def test_memory_of_an_iteration_holds_its_state_and_its_trees():
    small = gpu_cost.iteration_bytes(SMALL, "1x4", 1024)
    large = gpu_cost.iteration_bytes(SMALL, "1x4", 1024 + 2**17)
    recipe = gpu_cost._recipe(SMALL, "1x4")
    state = jax.eval_shape(gpu_cost._create(recipe))
    assert isinstance(state, run_state.RunState)
    assert small > memory.num_bytes((state.replay, state.learner))
    tree = memory.azo_bytes(gpu_cost.GAME, SMALL.simulations)[1] * (SMALL.simulations + 1)
    assert (large - small) / 2**17 > tree + memory.num_bytes(state.history) / state.games.ply.size


def test_wrong_flag_gives_one_line_and_exit_code_2(capsys):
    assert gpu_cost.main(["--nonsense"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


@pytest.mark.slow
def test_report_has_a_row_for_each_device_network_and_batch():
    lines = "\n".join(gpu_cost.report(SMALL)).splitlines()
    for row in ("| H200, 1x4, 4 |", "| H100, patterns:1, 8 |", "| H200, patterns:1 |"):
        assert sum(line.startswith(row) for line in lines) == 1, row
