"""Settings of the batched search, in self-play and in matches.

The engine of live games has settings of its own, `engine/engine_settings.py`.
"""

from typing import Annotated, ClassVar, Literal

import pydantic

from azo.settings import setting_types

MAX_SIMULATIONS = setting_types.MAX_SIMULATIONS
# Moves chosen by Q need this share of the visits of the most visited move.
MUCH_VISITED = 0.1
VISIT_OFFSET = 50.0  # c_visit of the Gumbel paper: added to the visits

_BY_GUMBEL = setting_types.needs("algorithm", "gumbel")
_BY_FORMULA = setting_types.needs("algorithm", "puct", "puct_over_visits")


class SearchConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of the search for one move.

    Temperatures, scales, `c_puct` and the root's noise may be scalars of JAX, also traced ones.
    """

    algorithm: Literal["gumbel", "puct", "puct_over_visits"] = "gumbel"
    """Gumbel AlphaZero for few simulations, AlphaZero's PUCT, or a variant; see `selection`."""
    num_simulations: setting_types.Simulations = 32
    """Network evaluations a move, after the root's own."""
    leaves_per_step: setting_types.Simulations = 1
    """Leaves of each tree that are evaluated in one batch; divides the simulations."""
    virtual_loss: Annotated[float, pydantic.Field(ge=1)] = 1.0
    """Lost visits that a pending path adds, with several leaves a step."""
    temperature: setting_types.TracedNonNegative = 1.0
    """Temperature t: exponent 1 / t of the visits, or scale of the Gumbel noise."""
    temperature_plies: Annotated[setting_types.NonNegativeInt, setting_types.TRACEABLE] = 1000
    """Plies with this temperature; later moves are the best ones."""
    move_choice: Literal["visits", "q"] = "visits"
    """All but Gumbel: choose by visits, or by Q among the moves with many visits."""
    prior_temperature: setting_types.TracedPositive = 1.0
    """Temperature of the network's policy before the search; above 1 flattens it."""
    has_proofs: bool = True
    """Look one ply ahead for the end of the game. A move that is proven no better than another is
    neither searched nor played."""
    score_share: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.0
    """Share of the final score in the value that the search maximises; 0: the result alone."""
    symmetry: Literal["none", "random", "average"] = "none"
    """Evaluate a position unchanged, under a random symmetry, or averaged over all symmetries."""
    max_considered_actions: setting_types.PositiveInt = 16
    """Gumbel: moves that share the simulations at the root."""
    value_scale: setting_types.TracedPositive = 0.3
    """Gumbel: weight of Q against the logits, c_scale of the paper."""
    c_puct: setting_types.TracedPositive = 2.0
    """All but Gumbel: weight of exploration against Q."""
    root_noise_fraction: Annotated[float, pydantic.Field(ge=0, le=1), setting_types.TRACEABLE] = (
        0.25
    )
    """All but Gumbel: share of Dirichlet noise in the root's prior."""
    root_noise_alpha: Annotated[setting_types.PositiveFloat | None, setting_types.TRACEABLE] = None
    """All but Gumbel: concentration of the noise; None means min(1, 10 / legal moves)."""

    NEEDS: ClassVar[setting_types.Table] = {
        "virtual_loss": (setting_types.needs_other("leaves_per_step", 1),),
        "temperature": (setting_types.needs_other("temperature_plies", 0),),
        "temperature_plies": (setting_types.needs_other("temperature", 0),),
        "max_considered_actions": (_BY_GUMBEL,),
        "value_scale": (_BY_GUMBEL,),
        "move_choice": (_BY_FORMULA,),
        "c_puct": (_BY_FORMULA,),
        "root_noise_fraction": (_BY_FORMULA,),
        "root_noise_alpha": (
            _BY_FORMULA,
            setting_types.needs_other("root_noise_fraction", 0),
        ),
    }

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
