"""What each legal move leaves: inputs of the policy of pattern networks."""

import jax
import jax.numpy as jnp

from azo.games import bitboard, variant
from azo.learning import pattern_tables


def of_legal_moves(planes: jax.Array, size: int) -> jax.Array:
    """Returns `[M, size**2, 6]` float32, in units of typical numbers; 0 where no move is legal.

    For each move: the replies, their square, whether there are none, those in corners, the moves
    of the own side if the other passed, and the discs flipped.

    Args:
      planes: `[M, size**2, 4]`, pieces of the mover and of the other side, and moves of both.
      size: of the board.
    """
    own, other, legal = (planes[..., i].reshape(-1, size, size) > 0 for i in range(3))
    player, opponent = (_for_each_move(bitboard.from_squares(side)) for side in (own, other))
    index = jnp.arange(size**2)[None]
    disc = bitboard.square_bit(index // size * 8 + index % size)
    flipped = bitboard.flips(player, opponent, disc)
    player, opponent = player | flipped | disc, opponent & ~flipped
    board_bits = variant.square_bits(range(size))
    replies = bitboard.legal_moves(opponent, player, board_bits)
    num_replies = replies.count() / pattern_tables.TYPICAL_MOVES
    counts = jnp.stack(
        [
            num_replies,
            jnp.square(num_replies),
            replies.is_empty(),
            (replies & bitboard.from_int(variant.square_bits((0, size - 1)))).count(),
            bitboard.legal_moves(player, opponent, board_bits).count()
            / pattern_tables.TYPICAL_MOVES,
            flipped.count() / pattern_tables.TYPICAL_MOVES,
        ],
        axis=-1,
    )
    return jnp.where(legal.reshape(-1, size**2, 1), counts, 0.0)


def _for_each_move(board: bitboard.Bitboard) -> bitboard.Bitboard:
    return bitboard.Bitboard(board.lower[:, None], board.upper[:, None])
