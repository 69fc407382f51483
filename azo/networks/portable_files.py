"""The folder `portable/` of an exported network: programs that run without azo.

docs/networks.md describes them, and what inputs and outputs mean.
"""

import json
from typing import Any

import jax

from azo.games import registry
from azo.networks import exported_network, network, portable
from azo.settings import shipped_files

FOLDER = "portable"
JAX_PROGRAM = "network.jaxexport"
CPU_PROGRAM = "network-cpu.mlirbc"
ACCELERATOR_PROGRAM = "network-accelerator.mlirbc"
DESCRIPTION = "network.json"


def contents(
    variables: network.Variables,
    settings: exported_network.NetworkSettings,
    name: str,
    batch_size: int,
) -> dict[str, bytes]:
    """Returns the programs of a network and a file that describes them, by their paths.

    `settings` and `name` are those of its run; `batch_size` is the number of positions in a call of
    the StableHLO programs.
    """
    game = registry.make(settings.game)

    def stablehlo(platform: str) -> bytes:
        return portable.export(
            game, settings.network, variables, batch_size=batch_size, platforms=(platform,)
        ).mlir_module_serialized

    for_jax = portable.export(game, settings.network, variables)
    description = _description(settings, name, batch_size)
    programs = {
        JAX_PROGRAM: bytes(for_jax.serialize()),
        CPU_PROGRAM: stablehlo("cpu"),
        ACCELERATOR_PROGRAM: stablehlo("cuda"),  # the same for all but CPUs
        DESCRIPTION: (json.dumps(description, indent=2) + "\n").encode(),
    }
    return {f"{FOLDER}/{file}": content for file, content in programs.items()}


def _description(
    settings: exported_network.NetworkSettings, name: str, batch_size: int
) -> dict[str, Any]:
    """Returns the inputs, outputs and files for programs that do not use azo."""
    game = registry.make(settings.game)
    rows, columns, num_planes = network.planes_shape(game, settings.network)
    precision = settings.network.precision
    on_cpu, elsewhere = ("float32", "bfloat16") if precision == "auto" else (precision, precision)
    return {
        "game": settings.game.model_dump(),
        "input": {"planes": {"shape": ["b", rows, columns, num_planes], "dtype": "float32"}},
        "output": {
            "logits": {"shape": ["b", game.num_actions], "dtype": "float32"},
            "value": {"shape": ["b"], "dtype": "float32"},
        },
        "files": {
            JAX_PROGRAM: {"form": "jax.export", "b": "any", "platforms": portable.PLATFORMS},
            CPU_PROGRAM: {"form": "StableHLO", "b": batch_size, "convolutions": on_cpu},
            ACCELERATOR_PROGRAM: {"form": "StableHLO", "b": batch_size, "convolutions": elsewhere},
        },
        "network": settings.network.model_dump(),
        "made": {"from": name, "azo": shipped_files.version(), "jax": jax.__version__},
    }
