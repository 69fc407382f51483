"""Settings of the batched search, in self-play and in matches.

The engine of live games has its own settings, in `engine/engine_settings.py`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import pydantic

from azo.settings import setting_types

MAX_SIMULATIONS = setting_types.MAX_SIMULATIONS
# Moves chosen by Q need this share of the visits of the most visited move.
MUCH_VISITED = 0.1
VISIT_OFFSET = 50.0  # c_visit of the Gumbel paper: added to the visits
ALGORITHMS = {"gumbel": "gumbel", "puct": "puct", "puct_over_visits": "puct"}
"""Algorithms, each with the section of settings that it reads."""
_OWN_RULE = setting_types.needs_other("algorithm", *ALGORITHMS)  # it may read any section


def _needs_reader_of(section: str) -> setting_types.Needs:
    readers = [name for name, read in ALGORITHMS.items() if read == section]
    return setting_types.needs("algorithm", *readers, alternatives=(_OWN_RULE,))


class GumbelConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of the algorithm gumbel. They may be JAX scalars, including traced ones."""

    max_considered_actions: setting_types.PositiveInt = setting_types.in_schedule(16)
    """Number of moves among which the root divides the simulations."""
    value_scale: setting_types.TracedPositive = 0.3
    """Weight of Q against the logits, c_scale in the Gumbel paper."""


class PuctConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of the algorithms puct and puct_over_visits. Numbers may be traced JAX scalars."""

    c_puct: setting_types.TracedPositive = setting_types.common(2.0)
    """Weight of exploration against Q in PUCT."""
    root_noise_fraction: setting_types.TracedShare = 0.25
    """Share of Dirichlet noise in the root's prior."""
    root_noise_alpha: Annotated[setting_types.PositiveNumber | None, setting_types.TRACEABLE] = None
    """Concentration of the noise; None means min(1, 10 / legal moves)."""
    move_choice: Literal["visits", "q"] = setting_types.in_schedule("visits")
    """Choose by visits, or by Q among the moves with many visits."""

    NEEDS: ClassVar[setting_types.Table] = {
        "root_noise_alpha": (setting_types.needs_other("root_noise_fraction", 0),),
    }


class SearchConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of the search for one move.

    Settings that only one algorithm reads are in the section `gumbel` or `puct`. Temperatures may
    be JAX scalars, including traced ones.
    """

    algorithm: Annotated[str, setting_types.known_or_import_path(*ALGORITHMS)] = (
        setting_types.in_schedule("gumbel", is_common=True)
    )
    """gumbel, best with few simulations; puct, as in AlphaZero; puct_over_visits, which tries every
    move; or MODULE:CLASS, see docs/extend.md."""
    backend: Literal["azo", "mctx"] = setting_types.in_schedule("azo")
    """azo's own search, or DeepMind's mctx, the slower reference; see `mctx_backend`."""
    kernels: Literal["auto", "on", "off"] = setting_types.in_schedule("auto")
    """On NVIDIA GPUs, grow the trees with azo's own kernels (on) or with XLA's loops (off). With
    auto, a run uses the kernels if a check at its start finds equal results."""
    num_simulations: setting_types.Simulations = setting_types.in_schedule(16, is_common=True)
    """Network evaluations per move, after that of the root."""
    leaves_per_step: setting_types.Simulations = setting_types.in_schedule(1)
    """Leaves per tree that are evaluated in one batch; must divide the number of simulations."""
    virtual_loss: Annotated[float, pydantic.Field(ge=1)] = setting_types.in_schedule(1.0)
    """Lost visits that a pending path adds to its nodes, with several leaves per step."""
    temperature: setting_types.TracedNonNegative = 1.0
    """Temperature t of the move choice: visits to the power of 1 / t (puct), or the scale of the
    Gumbel noise."""
    temperature_plies: setting_types.TracedCount = 60
    """Number of plies with this temperature; later the best move is played."""
    prior_temperature: setting_types.TracedPositive = 1.0
    """Temperature of the network's policy before the search; above 1 flattens it."""
    has_proofs: bool = setting_types.in_schedule(True)
    """Look one ply ahead for the end of the game. A move that is proven to be no better than
    another is neither searched nor played."""
    score_share: Annotated[float, pydantic.Field(ge=0, lt=1)] = setting_types.in_schedule(0.0)
    """Share of the final score in the value that the search maximises; 0: only the result."""
    symmetry: Literal["none", "random", "average"] = setting_types.in_schedule("none")
    """Evaluate a position unchanged, under a random symmetry, or averaged over all symmetries."""
    gumbel: GumbelConfig = GumbelConfig()
    """Read by algorithm gumbel, and by your own rules that derive from it."""
    puct: PuctConfig = PuctConfig()
    """Read by puct and puct_over_visits, and by your own rules that derive from them."""

    NEEDS: ClassVar[setting_types.Table] = {
        "virtual_loss": (setting_types.needs_other("leaves_per_step", 1),),
        "temperature": (setting_types.needs_other("temperature_plies", 0),),
        "temperature_plies": (setting_types.needs_other("temperature", 0),),
        **{section: (_needs_reader_of(section),) for section in sorted({*ALGORITHMS.values()})},
    }
    RENAMED: ClassVar[Mapping[str, str]] = {
        **{name: f"gumbel.{name}" for name in GumbelConfig.model_fields},
        **{name: f"puct.{name}" for name in PuctConfig.model_fields},
    }
    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "num_simulations": 32,
        "temperature_plies": 1000,
    }

    @pydantic.model_validator(mode="after")
    def _check_backend(self) -> "SearchConfig":
        if self.backend == "azo":
            return self
        for name, only in (("has_proofs", False), ("leaves_per_step", 1)):
            if getattr(self, name) != only:
                raise ValueError(
                    f"backend is 'mctx', but {name} is {getattr(self, name)}: mctx needs {only}"
                )
        if self.algorithm not in ALGORITHMS:
            raise ValueError(
                f"backend is 'mctx', which cannot run algorithm {self.algorithm!r}: give"
                f" {', '.join(ALGORITHMS)}, or backend azo"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_together(self) -> "SearchConfig":
        if self.num_simulations % self.leaves_per_step:
            raise ValueError(
                f"num_simulations is {self.num_simulations}, but should be a multiple of"
                f" leaves_per_step, {self.leaves_per_step}"
            )
        if self.algorithm == "gumbel" and self.leaves_per_step > 1 and self.virtual_loss != 1:
            raise ValueError(
                f"virtual_loss is {self.virtual_loss:g}, but should be 1 with algorithm 'gumbel',"
                " which counts whole visits"
            )
        return self
