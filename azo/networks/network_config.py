"""Settings of the networks."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import pydantic

from azo.games import patterns
from azo.settings import setting_types

Precision = Literal["auto", "float32", "bfloat16"]
_OF_PATTERNS = setting_types.needs_other("kind", "residual")
_OF_TOWER = setting_types.needs_other("kind", "patterns")


class PatternsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Shape of a pattern network."""

    set: patterns.SetName = setting_types.never("logistello")
    """The patterns, by name."""
    num_features: setting_types.Units = setting_types.never(16)
    """Features per table entry; those of a position are the sum over its patterns."""
    hidden_units: Annotated[setting_types.Layers, pydantic.Field(min_length=1)] = (
        setting_types.never((32, 32))
    )
    """Hidden units of the layers from the features to the score."""
    has_move_counts: bool = setting_types.never(True)
    """Use move counts: add a weighted sum of what a move leaves, such as the number of replies, to
    its logit. The weights depend on the position."""

    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {"has_move_counts": False}

    @property
    def num_columns(self) -> int:
        """Columns of a table: features, then logits."""
        return self.num_features + patterns.MAX_LENGTH


class NetworkConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Shape of the network."""

    kind: Annotated[str, setting_types.known_or_import_path("residual", "patterns")] = (
        setting_types.never("patterns", is_common=True)
    )
    """residual: a tower of blocks of convolutions; patterns: sums over tables; or a subclass of
    azo.Network as package.module:Class."""
    patterns: PatternsConfig = PatternsConfig()
    """Shape of kind 'patterns'. The other settings of the network belong to kind 'residual'. Your
    own class may use all of them, and gets the planes of `input`."""
    num_blocks: Annotated[int, pydantic.Field(ge=0, le=256)] = setting_types.never(
        3, is_common=True
    )
    """Residual blocks of two convolutions each."""
    num_channels: setting_types.Units = setting_types.never(32, is_common=True)
    """Channels of every convolution of the tower. Multiples of 64 suit accelerators."""
    block_channels: setting_types.Layers = setting_types.never(())
    """Channels of each block, instead of num_blocks; the stem has num_channels."""
    input: Literal["two_planes", "signed_plane", "with_moves"] = setting_types.never("two_planes")
    """Input planes: those of the game, in Othello one per side; one plane, 1 for the pieces of the
    side to move and -1 for the opponent's; or the planes of the game and one per side for its
    moves."""
    heads: Literal["flat", "pooled"] = setting_types.never("flat")
    """Heads with dense layers on all squares; or with 1x1 convolutions and with means and maxima
    over the board, which fit boards of any size whose actions are the squares. The value head then
    sees two features per channel."""
    policy_network: Literal["head", "mlp"] = setting_types.never("head")
    """Policy from a head of the tower, or from a separate network: dense layers on the board."""
    policy_channels: setting_types.Units = setting_types.never(16)
    """Input channels of the policy head."""
    policy_units: Annotated[int, pydantic.Field(ge=0, le=2**14)] = setting_types.never(0)
    """Hidden units of the policy head, per square if heads is 'pooled'; 0: no hidden layer."""
    policy_mlp_units: setting_types.Layers = setting_types.never((128, 256, 256, 256, 128))
    """Hidden units of policy_network 'mlp', from the board to the logits."""
    value_channels: setting_types.Units = setting_types.never(8)
    """Input channels of the value head."""
    value_units: setting_types.Units = setting_types.never(64)
    """Hidden units of the value head."""
    normalisation: Literal["batch", "none"] = setting_types.never("batch")
    """Batch normalisation after every convolution, or none."""
    precision: Precision = setting_types.never("auto")
    """Precision of the tower's convolutions; auto: float32 on the CPU, bfloat16 elsewhere."""

    # A class of the user's may use all of them.
    NEEDS: ClassVar[setting_types.Table] = {
        **{f"patterns.{name}": (_OF_PATTERNS,) for name in PatternsConfig.model_fields},
        "num_blocks": (_OF_TOWER, setting_types.needs("block_channels", ())),
        "num_channels": (_OF_TOWER,),
        "block_channels": (_OF_TOWER,),
        "input": (_OF_TOWER,),
        "heads": (_OF_TOWER,),
        "policy_network": (_OF_TOWER,),
        "policy_channels": (_OF_TOWER, setting_types.needs("policy_network", "head")),
        "policy_units": (_OF_TOWER, setting_types.needs("policy_network", "head")),
        "policy_mlp_units": (_OF_TOWER, setting_types.needs("policy_network", "mlp")),
        "value_channels": (_OF_TOWER,),
        "value_units": (_OF_TOWER,),
        "normalisation": (_OF_TOWER,),
        "precision": (_OF_TOWER,),
    }

    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {"kind": "residual"}

    @pydantic.model_validator(mode="after")
    def _check_heads(self) -> "NetworkConfig":
        if self.heads == "pooled" and self.policy_network == "mlp":
            raise ValueError(
                "policy_network 'mlp' sees a board of one size: set heads to 'flat', or"
                " policy_network to 'head'"
            )
        return self

    @property
    def has_move_planes(self) -> bool:
        """Whether the argument has planes of the moves of both sides behind those of the game."""
        return self.kind == "patterns" or self.input == "with_moves"
