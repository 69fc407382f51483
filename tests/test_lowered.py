"""Kernels, bytes and memory of programs worked out by hand."""

import functools

import jax
import jax.numpy as jnp
import pytest

from benchmarks import fusion, lowered, roofline

B = 1024
VECTOR = jax.ShapeDtypeStruct((B,), jnp.float32)


def read(function, *args, **passes):
    return lowered.read(lowered.lower(function, *args), passes)


def kinds(program):
    return [kernel.kind for kernel in program.kernels]


def test_product_has_the_operations_and_bytes_that_xla_counts():
    args = jnp.ones((8, 16)), jnp.ones((16, 32))
    work = roofline.count(jnp.matmul, *args)
    (product,) = read(jnp.matmul, *args).kernels
    assert (product.kind, product.dtype) == ("dot_general", "tf32")
    assert (product.flops, product.num_bytes) == (work.flops, work.num_bytes)


def test_product_of_highest_precision_is_not_rounded_to_tf32():
    product = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    (kernel,) = read(product, jnp.ones((8, 16)), jnp.ones((16, 32))).kernels
    assert kernel.dtype == "f32"


@pytest.mark.parametrize("is_gradient", [False, True])
def test_convolution_and_its_gradients_have_the_operations_that_xla_counts(is_gradient):
    def convolve(images, kernel):
        return jax.lax.conv_general_dilated(
            images, kernel, (1, 1), "VALID", dimension_numbers=("HWNC", "HWIO", "HWNC")
        )

    def gradient(images, kernel):
        return jax.vjp(convolve, images, kernel)[1](jnp.ones((6, 6, 5, 4)))

    args = jnp.ones((8, 8, 5, 3)), jnp.ones((3, 3, 3, 4))
    program = read(gradient if is_gradient else convolve, *args)
    flops = [kernel.flops for kernel in program.kernels if kernel.kind == "convolution"]
    # XLA leaves out products with the padding, which the gradient of the images has.
    one = roofline.count(convolve, *args).flops
    assert one == 2 * 6 * 6 * 5 * 4 * 9 * 3
    expected = [one, one * 64 / 36] if is_gradient else [one]
    assert sorted(flops) == pytest.approx(expected)


def test_element_wise_operations_are_one_kernel():
    program = read(lambda x, y: jnp.sin(x) * y + 1, VECTOR, VECTOR)
    assert kinds(program) == ["fusion"]
    assert program.num_bytes == 3 * 4 * B
    assert sum(program.vector_operations.values()) == 3 * B


def test_result_of_several_uses_is_stored_if_that_moves_fewer_bytes():
    def sums(*xs):
        total = sum(xs)
        return jnp.sum(total * 2), jnp.max(total), jnp.min(total)

    assert sorted(kinds(read(sums, *[VECTOR] * 4))) == ["fusion", *["reduce"] * 3]
    assert sorted(kinds(read(sums, VECTOR))) == ["reduce"] * 3


def test_gather_reads_whole_sectors_of_the_rows_only():
    table, row = jnp.ones((10_000, 3)), jnp.zeros(B, jnp.int32)
    program = read(lambda table, row: table.at[row].get(mode="clip"), table, row)
    assert program.num_bytes == B * (fusion.SECTOR_BYTES + 4 + 3 * 4)


def test_update_of_a_slice_touches_only_the_slice():
    def put(x, row):
        return jax.lax.dynamic_update_slice_in_dim(x, row, 3, axis=0)

    (kernel,) = read(put, jnp.ones((1000, B)), jnp.ones((1, B))).kernels
    assert kernel.num_bytes == 2 * 4 * B


def test_counting_loop_runs_its_body_as_often_as_it_counts():
    program = read(lambda x: jax.lax.fori_loop(2, 7, lambda i, x: x * 2, x), VECTOR)
    (kernel,) = [kernel for kernel in program.kernels if kernel.dtype == "f32"]
    assert kernel.calls == 5
    assert "condition" not in kinds(program)
    assert program.operations["while"] == 1


def test_loop_that_depends_on_data_runs_as_often_as_expected_and_asks_the_host():
    def halved(x):
        with jax.named_scope("halving"):
            return jax.lax.while_loop(lambda x: (x > 1).any(), lambda x: x / 2, x)

    program = read(halved, VECTOR, halving=9.0)
    calls = {kernel.kind: kernel.calls for kernel in program.kernels}
    assert calls == {"reduce": 10, "condition": 10, "fusion": 9}


def test_smaller_branch_of_a_condition_counts():
    def either(x):
        return jax.lax.cond(x[0] > 0, lambda: jnp.sort(jnp.sin(x)), lambda: x + 1)

    program = read(either, VECTOR)
    calls = {kernel.kind: kernel.calls for kernel in program.kernels}
    assert calls["sort"] == 0
    assert calls["condition"] == 1
    assert program.operations["case"] == 1


def test_foreign_functions_and_types_are_found():
    program = read(lambda x: jnp.linalg.cholesky(x).astype(jnp.bfloat16), jnp.eye(4))
    assert len(program.custom_calls) == 1
    assert program.dtypes >= {"f32", "bf16"}


def test_peak_of_a_chain_holds_one_array_besides_its_argument():
    def chain(x):
        for _ in range(5):
            x = jnp.sort(jnp.sin(x))
        return x.sum()

    # Sorting is not in place: its argument and its result lie in memory.
    peak = read(chain, VECTOR).peak_bytes
    assert peak == 3 * 4 * B


def test_carries_of_a_loop_are_updated_in_place():
    def fill(x):
        return jax.lax.fori_loop(0, 5, lambda i, x: x.at[i].set(1.0), jnp.zeros_like(x) + x[0])

    assert read(fill, VECTOR).peak_bytes == pytest.approx(2 * 4 * B, rel=0.01)
