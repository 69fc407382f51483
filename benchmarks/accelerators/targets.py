"""Devices that need not be there: XLA needs only their descriptions to compile for them.

The plugins for CUDA and for TPUs exclude each other, so each has a separate environment; `make
accelerators` makes both.
"""

import dataclasses
import os
import pathlib
from typing import Any

import jax
import numpy as np
from jax.experimental import topologies

_GPU = pathlib.Path(__file__).with_name("h100.txtpb")  # by its published figures


@dataclasses.dataclass(frozen=True)
class Target:
    """Devices of one kind, with the published figures of one of them."""

    name: str
    platform: str  # "cuda" or "tpu"
    topology: str
    num_devices: int
    bytes_per_second: float
    flops: float  # dense bfloat16 products, two operations each
    hertz: float = 0.0  # of the clock in which a TPU's compiler counts cycles
    accelerator_type: str = ""


_H100 = {"platform": "cuda", "bytes_per_second": 3.35e12, "flops": 990e12}
_V5E = {"platform": "tpu", "bytes_per_second": 0.82e12, "flops": 197e12, "hertz": 1.5e9}
_V6E = {"platform": "tpu", "bytes_per_second": 1.64e12, "flops": 918e12, "hertz": 1.75e9}
TARGETS = {
    target.name: target
    for target in (
        Target("h100", topology="1x1x1", num_devices=1, **_H100),
        Target("h100x4", topology="1x1x4", num_devices=4, **_H100),
        Target("h100x8", topology="1x1x8", num_devices=8, **_H100),
        Target("h100x16", topology="1x2x8", num_devices=16, **_H100),  # two hosts
        Target("v5e", topology="v5e:2x2", num_devices=1, accelerator_type="v5litepod-4", **_V5E),
        Target("v5ex4", topology="v5e:2x2", num_devices=4, accelerator_type="v5litepod-4", **_V5E),
        Target("v5ex8", topology="v5e:2x4", num_devices=8, accelerator_type="v5litepod-8", **_V5E),
        Target(
            "v5ex16", topology="v5e:4x4", num_devices=16, accelerator_type="v5litepod-16", **_V5E
        ),
        Target("v6e", topology="v6e:2x2", num_devices=1, accelerator_type="v6e-4", **_V6E),
        Target("v6ex4", topology="v6e:2x2", num_devices=4, accelerator_type="v6e-4", **_V6E),
    )
}


def prepare(target: Target) -> None:
    """Sets what JAX reads when it begins; call it before any array exists."""
    jax.config.update("jax_platforms", "cpu")
    if target.platform == "tpu":
        os.environ |= {
            "TPU_SKIP_MDS_QUERY": "1",
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # nothing is run on a device
            "TPU_ACCELERATOR_TYPE": target.accelerator_type,
            "TPU_WORKER_HOSTNAMES": "localhost",
        }
        return
    # Without a device XLA cannot time alternatives, and a product whose tiles it would have to
    # choose by timing may fail in Triton.
    flags = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}"


def mesh(target: Target, axis: str) -> jax.sharding.Mesh:
    """Returns the devices as a mesh of one axis."""
    if target.platform == "tpu":
        described: Any = topologies.get_topology_desc(platform="tpu", topology_name=target.topology)
    else:
        jax.devices()  # finds the plugin
        described = topologies.get_topology_desc(
            platform="cuda",
            topology_name=target.name,
            target_config=_GPU.read_text(),
            topology=target.topology,
        )
    return jax.sharding.Mesh(np.array(described.devices[: target.num_devices]), (axis,))
