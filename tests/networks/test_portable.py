"""Programs that run without azo: the form for JAX in a process of its own, StableHLO by XLA."""

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib import xla_client

from azo.games import othello, tictactoe
from azo.networks import initial_variables, network, portable

OTHELLO = othello.Othello(6)
FLOAT32 = network.NetworkConfig(kind="residual", num_blocks=1, num_channels=8, value_units=8)
BFLOAT16 = FLOAT32.model_copy(update={"precision": "bfloat16"})
CASES = {"othello": (OTHELLO, FLOAT32), "tictactoe": (tictactoe.TicTacToe(), BFLOAT16)}

# A program of another project, in an interpreter that cannot import azo or flax.
OUTSIDER = """
import sys
sys.modules.update(azo=None, flax=None, mctx=None)
import jax, jax.export, numpy as np
for name in sys.argv[1:]:
    program = jax.export.deserialize(open(f"{name}.jaxexport", "rb").read())
    evaluate = jax.jit(program.call)
    planes = np.load(f"{name}.npy")
    for size in (1, 7, 64):
        logits, value = evaluate(planes[:size])
        np.savez(f"{name}-{size}.npz", logits=logits, value=value)
"""


@functools.cache
def made(name):
    """Returns drawn variables, and planes `[64, rows, columns, 2]` float32."""
    game, config = CASES[name]
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, (64, *game.board_shape, 1))
    planes = (kind == [1, 2]).astype(np.float32)

    def drawn(path, leaf):
        if path[-1].key in ("var", "scale"):
            return rng.uniform(0.5, 2.0, leaf.shape).astype(np.float32)
        return (rng.normal(size=leaf.shape) / np.prod(leaf.shape[:-1]) ** 0.5).astype(np.float32)

    shapes = jax.eval_shape(
        lambda key: initial_variables.init(game, config, key), jax.random.key(0)
    )
    return jax.tree.map_with_path(drawn, shapes), planes


@functools.cache
def expected(name, config):
    """Returns logits and values as azo's own network has them."""
    game, _ = CASES[name]
    variables, planes = made(name)
    built = network.build(game, config)
    if config is BFLOAT16:  # rounds after folding; otherwise folding changes nothing
        built, variables = network.fold(built, variables)
    arrays = jax.jit(built.apply)(variables, planes)
    assert arrays.value.std() > 0.01
    return np.asarray(arrays.prior_logits), np.asarray(arrays.value)


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A folder with the outputs of that program for each game and batch size."""
    folder = tmp_path_factory.mktemp("outside")
    for name, (game, config) in CASES.items():
        variables, planes = made(name)
        program = portable.export(game, config, variables).serialize()
        (folder / f"{name}.jaxexport").write_bytes(program)
        np.save(folder / f"{name}.npy", planes)
    command = [sys.executable, "-I", "-c", OUTSIDER, *CASES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_without_azo_the_program_says_what_azos_network_says(outside, name):
    logits, value = expected(name, CASES[name][1])
    for size in (1, 7, 64):
        arrays = np.load(outside / f"{name}-{size}.npz")
        # Folding the normalisation rounds: 3e-6 was seen.
        np.testing.assert_allclose(arrays["logits"], logits[:size], rtol=0, atol=1e-5)
        np.testing.assert_allclose(arrays["value"], value[:size], rtol=0, atol=1e-5)


def test_one_program_is_for_all_platforms_and_any_batch():
    variables, _ = made("othello")
    program = portable.export(OTHELLO, FLOAT32, variables)
    assert program.platforms == ("cpu", "cuda", "rocm", "tpu")
    planes = jax.ShapeDtypeStruct((5, 6, 6, 2), jnp.float32)
    traced = jax.jit(program.call).trace(planes)
    for platform in program.platforms:
        traced.lower(lowering_platforms=(platform,))


def run_by_xla(stablehlo, planes):
    """Runs a program as a compiler that knows nothing of JAX sees it, on the CPU."""
    device = jax.local_devices()[0]
    executable = device.client.compile_and_load(
        stablehlo, xla_client.DeviceList((device,)), xla_client.CompileOptions()
    )
    results = executable.execute_sharded([jax.device_put(planes, device)])
    return [np.asarray(each[0]) for each in results.disassemble_into_single_device_arrays()]


@pytest.mark.parametrize(("platform", "config"), [("cpu", FLOAT32), ("cuda", BFLOAT16)])
def test_stablehlo_for_one_platform_keeps_to_its_precision(platform, config):
    variables, planes = made("othello")
    program = portable.export(OTHELLO, FLOAT32, variables, batch_size=64, platforms=(platform,))
    logits, value = run_by_xla(program.mlir_module_serialized, planes)
    other = BFLOAT16 if config is FLOAT32 else FLOAT32
    np.testing.assert_allclose(logits, expected("othello", config)[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(value, expected("othello", config)[1], rtol=0, atol=1e-5)
    assert np.abs(logits - expected("othello", other)[0]).max() > 1e-3


def test_a_program_names_no_file_of_this_machine():
    variables, _ = made("othello")
    usual = jax.config.jax_traceback_in_locations_limit
    programs = [
        bytes(portable.export(OTHELLO, FLOAT32, variables).serialize()),
        portable.export(OTHELLO, FLOAT32, variables, batch_size=1).mlir_module_serialized,
    ]
    assert not any(b".py" in program for program in programs)
    assert jax.config.jax_traceback_in_locations_limit == usual
