"""How a move is searched in self-play and in play: the settings of `azo.search.policy`."""

from typing import Annotated, Literal

import pydantic

from azo.search import search_tree


class SearchConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How a move is searched in self-play."""

    algorithm: Literal["gumbel", "puct", "uct", "puct_over_visits"] = "gumbel"
    """Gumbel AlphaZero for few simulations, AlphaZero's PUCT, or older ways; see `selection`."""
    num_simulations: Annotated[int, pydantic.Field(gt=0, le=search_tree.MAX_SIMULATIONS)] = 32
    """Network evaluations a move, after the root's own."""
    leaves_per_step: pydantic.PositiveInt = 1
    """Leaves of each tree that are evaluated in one batch; divides the simulations."""
    virtual_loss: Annotated[float, pydantic.Field(ge=1)] = 1.0
    """Visits that a leaf counts as lost until it is evaluated, if there are several a step."""
    temperature: pydantic.NonNegativeFloat = 1.0
    """Randomness of the first move: exponent 1 / t of the visits, scale of the Gumbel noise."""
    final_temperature: pydantic.NonNegativeFloat = 0.0
    """What the temperature falls to; 0 plays the best move."""
    temperature_schedule: Literal["step", "linear", "exponential"] = "step"
    """How it falls: at once after the plies, evenly over them, or by half every so many."""
    temperature_plies: pydantic.NonNegativeInt = 1000
    """Plies that the schedule takes."""
    move_choice: Literal["visits", "q"] = "visits"
    """All but Gumbel: play the most visited move, or the one of highest Q among much visited."""
    prior_temperature: pydantic.PositiveFloat = 1.0
    """Above 1 the network's policy is flattened before the search uses it."""
    symmetry: Literal["none", "random", "average"] = "none"
    """The network sees a position as it is, turned or mirrored at random, or in all ways."""
    exact_empties: Annotated[int, pydantic.Field(ge=0, le=14)] = 0
    """Positions in the tree with at most so many empty squares are solved; Othello alone."""
    max_considered_actions: pydantic.PositiveInt = 16
    """Gumbel: moves that share the simulations at the root."""
    value_scale: pydantic.PositiveFloat = 0.3
    """Gumbel: weight of Q against the logits, c_scale of the paper."""
    visit_offset: pydantic.NonNegativeFloat = 50.0
    """Gumbel: visits counted in advance, c_visit of the paper."""
    c_puct: pydantic.PositiveFloat = 2.0
    """All but Gumbel: weight of trying moves against Q."""
    unvisited_value: Literal["parent", "draw", "loss"] = "parent"
    """PUCT: what a move not yet tried is worth: its parent's value so far, 0 or -1."""
    root_noise_fraction: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.25
    """All but Gumbel: share of Dirichlet noise in the root's prior."""
    root_noise_alpha: pydantic.PositiveFloat | None = None
    """All but Gumbel: concentration of that noise. None: min(1, 10 / legal moves)."""
    root_noise_over: Literal["legal", "all"] = "legal"
    """Draw it over the legal moves, or over all actions as mctx does: most is then lost."""
    policy_pruning: bool = False
    """PUCT kinds: take visits that only exploration asked for out of the policy to learn."""

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
                " which plans whole visits"
            )
        if self.policy_pruning and self.algorithm not in ("puct", "puct_over_visits"):
            raise ValueError(
                "policy_pruning is for algorithm 'puct' or 'puct_over_visits', not"
                f" {self.algorithm!r}"
            )
        return self
