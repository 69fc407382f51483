"""Networks that add table entries of patterns, as Logistello's evaluation (Buro 1999).

    contents of patterns -> table rows -> added features -> dense layers -> chances of final scores
                                       -> added logits, and weighed counts of each move

A row has `D` features and a logit for each square of its pattern. The counts of a move say what it
leaves, such as the moves of both sides or the parity of its region (`move_counts`). The last layer
before the scores weighs them, since what counts for a move depends on the whole position.

Images of a pattern share a table, so the network commutes with the symmetries of the board, and
examples need no augmentation. Adding features of patterns before a small network is that of Rapfi
(arXiv:2503.13178).
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import bitboard, patterns, variant
from azo.networks import base, pattern_tables


class PatternNetwork(base.Network):
    """Sums over tables of patterns, with nothing to normalise; build it with `network.build`."""

    is_merged: bool = False  # tables for one image on each set of squares, see `fold`

    @nn.compact
    def __call__(self, planes: jax.Array) -> base.Prediction:
        """Evaluates positions `[M, size, size, 4]`: pieces of both sides, moves of both."""
        config = self.config.patterns
        shapes = patterns.pattern_set(config.set, self.size)
        images = shapes.merged if self.is_merged else shapes.images
        planes = planes.reshape(planes.shape[0], self.size**2, 4).astype(jnp.float32)
        num_discs = planes[..., :2].sum(axis=(1, 2)).astype(jnp.int32)

        shape = (1, shapes.num_rows, config.num_columns)
        tables = self.param(pattern_tables.TABLES, nn.initializers.zeros, shape)
        entries = tables[0][_rows(shapes, images, planes)]  # [M, images, columns]

        features = entries[..., : config.num_features].sum(axis=1)
        features += self._by_discs("feature_bias", num_discs, config.num_features)
        score_logits, move_weights = self._score_logits(features, planes, num_discs)
        logits = _by_square(entries[..., config.num_features :], images, self.size**2)
        if move_weights is not None:
            counts = move_counts(planes, self.size)
            logits += sum(x * move_weights[:, i : i + 1] for i, x in enumerate(counts))
        missing = self.num_actions - logits.shape[-1]  # a pass is never one of several moves
        return self.predict(jnp.pad(logits, ((0, 0), (0, missing))), score_logits)

    def _score_logits(
        self, features: jax.Array, planes: jax.Array, num_discs: jax.Array
    ) -> tuple[jax.Array, jax.Array | None]:
        """Returns the logits `[M, Z]` of final scores, and weights `[M, C]` of a move's counts."""
        x = jnp.concatenate([features, _global_features(planes, num_discs)], axis=-1)
        for layer, number in enumerate(self.config.patterns.hidden_units):
            x = nn.Dense(number, name=f"hidden{layer}")(x)
            if layer == 0:
                x += self._by_discs("hidden_bias", num_discs, number)
            x = nn.relu(x)
        move_weights = None
        if self.config.patterns.has_move_counts:
            number = pattern_tables.NUM_MOVE_COUNTS
            move_weights = base.small_output(x, number, pattern_tables.MOVE_WEIGHTS)
        return base.small_output(x, len(self.scores), "score_output"), move_weights

    def _by_discs(self, name: str, num_discs: jax.Array, width: int) -> jax.Array:
        """Returns `[M, width]`, a parameter for each number of discs on the board."""
        return self.param(name, nn.initializers.zeros, (self.size**2 + 1, width))[num_discs]

    @property
    def size(self) -> int:
        """Rows and columns of the board."""
        return self.board_shape[0]

    @property
    def block_size(self) -> int:
        """Positions that a core evaluates at a time."""
        return 128


def fold(model: PatternNetwork, variables: dict[str, Any]) -> tuple[PatternNetwork, dict[str, Any]]:
    """Returns an equal network with tables for one image on each set of squares, not for two."""
    if model.is_merged:
        return model, variables
    config = model.config.patterns
    shapes = patterns.pattern_set(config.set, model.size)
    tables = variables["params"][pattern_tables.TABLES]
    merged = pattern_tables.merge(shapes, tables, config.num_features)
    params = variables["params"] | {pattern_tables.TABLES: jnp.concatenate(merged, axis=1)}
    return model.clone(is_merged=True), variables | {"params": params}


def _rows(shapes: patterns.PatternSet, images: patterns.Images, planes: jax.Array) -> jax.Array:
    """Returns the rows `[M, images]` int32 of the contents of all images."""
    weights = shapes.weights(images).astype(np.float32)
    digits = planes[..., 0] + 2 * planes[..., 1]
    # Exact: whole numbers below 2**24.
    content = jnp.dot(digits, weights, precision=jax.lax.Precision.HIGHEST)
    return content.astype(jnp.int32) + shapes.first_rows[images.pattern][None]


def _by_square(logits: jax.Array, images: patterns.Images, num_squares: int) -> jax.Array:
    """Returns the sum `[M, squares]` of the logits `[M, images, MAX_LENGTH]` of each square."""
    flat = logits.reshape(logits.shape[0], -1)
    places = [np.flatnonzero(images.squares.reshape(-1) == square) for square in range(num_squares)]
    most = max(map(len, places))
    nowhere = flat.shape[1]
    index = np.array([np.pad(row, (0, most - len(row)), constant_values=nowhere) for row in places])
    return jnp.pad(flat, ((0, 0), (0, 1)))[:, index].sum(axis=-1)


def _global_features(planes: jax.Array, num_discs: jax.Array) -> jax.Array:
    """Returns `[M, 4]`: moves of both sides, discs of the mover less the other's, and parity."""
    counts = planes.sum(axis=1)
    num_squares = planes.shape[1]
    parity = (num_squares - num_discs) % 2
    return jnp.stack(
        [
            counts[:, 2] / pattern_tables.TYPICAL_MOVES,
            counts[:, 3] / pattern_tables.TYPICAL_MOVES,
            (counts[:, 0] - counts[:, 1]) / num_squares,
            parity.astype(jnp.float32),
        ],
        axis=-1,
    )


def move_counts(planes: jax.Array, size: int) -> list[jax.Array]:
    """Returns 14 numbers of each move, `[M, size**2]` float32 each; 0 where no move is legal.

    For each move: whether the other side may play there too; of the position after it the replies
    that are new, own discs beside empty squares, empty squares beside the discs that are new or
    flipped, and those of them that are no replies; whether the region of empty squares with the
    move had an odd number of squares, one, or two; the replies, their square, whether there are
    none, those in corners, the moves of the own side if the other passed, and the discs flipped.
    Numbers of squares are in units of `pattern_tables.TYPICAL_MOVES`, other than those of regions.

    They are separate arrays because XLA's CPU backend computes a stack of them one by one.

    Args:
      planes: `[M, size**2, 4]`, pieces of the mover and of the other side, and moves of both.
      size: of the board.
    """
    own, other, legal, others_moves = (
        bitboard.from_squares(planes[..., i].reshape(-1, size, size) > 0) for i in range(4)
    )
    player, opponent, before = map(_for_each_move, (own, other, others_moves))
    index = jnp.arange(size**2)[None]
    disc = bitboard.square_bit(index // size * 8 + index % size)
    flipped = bitboard.flips(player, opponent, disc)
    player, opponent = player | flipped | disc, opponent & ~flipped
    board_bits = variant.square_bits(range(size))
    empty = ~(player | opponent) & bitboard.from_int(board_bits)
    replies = bitboard.legal_moves(opponent, player, board_bits)
    opened = bitboard.surrounded(flipped | disc) & empty
    region = disc
    for _ in range(pattern_tables.REGION_STEPS):
        region = region | bitboard.surrounded(region) & empty
    region_size = region.count()

    def number(board: bitboard.Bitboard) -> jax.Array:
        return board.count() / pattern_tables.TYPICAL_MOVES

    counts = [
        ~(disc & before).is_empty(),
        number(replies & ~before),
        number(bitboard.surrounded(empty) & player),
        number(opened),
        number(opened & ~replies),
        region_size % 2,
        region_size == 1,
        region_size == 2,
        number(replies),
        jnp.square(number(replies)),
        replies.is_empty(),
        (replies & bitboard.from_int(variant.square_bits((0, size - 1)))).count(),
        number(bitboard.legal_moves(player, opponent, board_bits)),
        number(flipped),
    ]
    is_legal = ~(disc & _for_each_move(legal)).is_empty()
    return [jnp.where(is_legal, count.astype(jnp.float32), 0.0) for count in counts]


def _for_each_move(board: bitboard.Bitboard) -> bitboard.Bitboard:
    return bitboard.Bitboard(board.lower[:, None], board.upper[:, None])
