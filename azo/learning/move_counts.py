"""What each legal move leaves: inputs of the policy of pattern networks."""

import jax
import jax.numpy as jnp

from azo.games import bitboard, variant
from azo.learning import pattern_tables


def of_legal_moves(planes: jax.Array, size: int) -> list[jax.Array]:
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
