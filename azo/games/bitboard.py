"""64-bit boards as two uint32, and the Othello kernels that run on them.

Bit `i` is row `i // 8`, column `i % 8` of an 8-wide board, a1 = 0. Smaller boards use the upper
left corner of the same 64 bits, so one kernel serves every size: only the board's mask differs.

The two words are separate arrays `[...]`. Kernels on one array `[..., 2]` were 35 times slower on a
CPU, because XLA computed both words for each element of the stack.

The kernels fill the eight directions by doubling (Kogge-Stone algorithm,
https://www.chessprogramming.org/Kogge-Stone_Algorithm), without tables or branches, so they compile
to vector code. In them `P` and `O` are the discs of the player and of the opponent, which are
disjoint; `board_bits` are the squares of the board as a Python integer.
"""

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

# Opponent discs on columns a and h cannot be flanked along a row or a diagonal. Masking them stops
# shifts from wrapping around the edge.
_INNER_COLUMNS = 0x7E7E7E7E
_ALL_COLUMNS = 0xFFFFFFFF
_COLUMN_A, _COLUMN_H = 0x01010101, 0x80808080
# Distances in bits to the east, south, south-east and south-west, with columns of flankable discs.
# The other four directions are the same steps backwards.
_STEPS = ((1, _INNER_COLUMNS), (8, _ALL_COLUMNS), (9, _INNER_COLUMNS), (7, _INNER_COLUMNS))


@flax.struct.dataclass
class Bitboard:
    """A batch of sets of squares."""

    lower: jax.Array  # [...] uint32, bits 0-31: rows 1 to 4
    upper: jax.Array  # [...] uint32, bits 32-63: rows 5 to 8

    def __and__(self, other: "Bitboard") -> "Bitboard":
        return Bitboard(self.lower & other.lower, self.upper & other.upper)

    def __or__(self, other: "Bitboard") -> "Bitboard":
        return Bitboard(self.lower | other.lower, self.upper | other.upper)

    def __invert__(self) -> "Bitboard":
        """Returns all other bits, also those outside a small board."""
        return Bitboard(~self.lower, ~self.upper)

    def is_empty(self) -> jax.Array:
        """Returns `[...]` bool, whether no bit is set."""
        return (self.lower | self.upper) == 0

    def count(self) -> jax.Array:
        """Returns `[...]` int32, the number of set bits."""
        lower, upper = map(_num_bits, (self.lower, self.upper))
        return (lower + upper).astype(jnp.int32)

    def where(self, condition: jax.Array) -> "Bitboard":
        """Returns the board where `condition` `[...]` bool holds, and the empty board elsewhere."""
        return Bitboard(*(jnp.where(condition, w, jnp.uint32(0)) for w in (self.lower, self.upper)))


def from_int(bits: int, *batch_shape: int) -> Bitboard:
    """Returns `[batch_shape]` copies of the board of a Python integer below 2**64."""
    words = (bits & 0xFFFFFFFF, bits >> 32)
    return Bitboard(*(jnp.full(batch_shape, word, jnp.uint32) for word in words))


def to_ints(board: Bitboard) -> list[int]:
    """Returns the bits of bitboards `[M]` as Python integers."""
    words = zip(np.asarray(board.lower), np.asarray(board.upper), strict=True)
    return [int(lower) | int(upper) << 32 for lower, upper in words]


def from_ints(bits: Sequence[int]) -> Bitboard:
    """Returns bitboards `[M]` with the bits of Python integers: the inverse of `to_ints`."""
    words = np.array(bits, "<u8").view("<u4").reshape(-1, 2)  # the lower one first
    return Bitboard(jnp.asarray(words[:, 0]), jnp.asarray(words[:, 1]))


def square_bit(index: jax.Array) -> Bitboard:
    """Returns boards `[...]` with bit `index` `[...]` int32 set; none if it is outside 0 to 63."""
    one = jnp.uint32(1) << (index & 31).astype(jnp.uint32)
    is_lower = (index >= 0) & (index < 32)
    is_upper = (index >= 32) & (index < 64)
    return Bitboard(*(jnp.where(is_here, one, jnp.uint32(0)) for is_here in (is_lower, is_upper)))


def planes(boards: Sequence[Bitboard], num_rows: int, num_columns: int) -> jax.Array:
    """Returns `[..., num_rows, num_columns, len(boards)]` bool, row by row from a1.

    Each word is masked by constants and broadcast: stacked boards took three times as long.
    """
    index = (8 * np.arange(num_rows)[:, None] + np.arange(num_columns))[..., None]
    place = 2 * np.arange(len(boards)) + index // 32  # of the word that has the bit
    bit = np.uint32(1) << (index % 32).astype(np.uint32)
    shape = (*boards[0].lower.shape, *place.shape)
    bits = jnp.zeros(shape, jnp.uint32)
    for number, word in enumerate(jax.tree.leaves(list(boards))):
        mask = jnp.broadcast_to(np.where(place == number, bit, np.uint32(0)), shape)
        bits |= jnp.broadcast_to(word[..., None, None, None], shape) & mask
    return bits != 0


def squares(board: Bitboard, num_rows: int, num_columns: int) -> jax.Array:
    """Returns `[..., num_rows, num_columns]` bool, row by row from a1."""
    return planes((board,), num_rows, num_columns)[..., 0]


def from_squares(is_set: jax.Array) -> Bitboard:
    """Returns bitboards from `[..., rows, columns]` bool: the inverse of `squares`."""
    num_rows, num_columns = is_set.shape[-2:]
    index = 8 * np.arange(num_rows)[:, None] + np.arange(num_columns)
    bit = jnp.where(is_set, jnp.uint32(1) << jnp.asarray(index & 31, jnp.uint32), jnp.uint32(0))
    words = (bit[..., :4, :], bit[..., 4:, :])
    return Bitboard(*(word.sum(axis=(-2, -1), dtype=jnp.uint32) for word in words))


def select_bit(board: Bitboard, rank: jax.Array) -> jax.Array:
    """Returns the index `[...]` int32 of the set bit that has `rank` set bits below it.

    It is undefined if at most `rank` `[...]` int32 bits are set. The search is binary.
    """
    count = jax.lax.population_count(board.lower).astype(jnp.int32)
    is_above = rank >= count
    word = jnp.where(is_above, board.upper, board.lower)
    rank = jnp.where(is_above, rank - count, rank)
    index = jnp.where(is_above, 32, 0)
    for width in (16, 8, 4, 2, 1):
        half = word & jnp.uint32((1 << width) - 1)
        count = jax.lax.population_count(half).astype(jnp.int32)
        is_above = rank >= count
        word = jnp.where(is_above, word >> jnp.uint32(width), half)
        rank = jnp.where(is_above, rank - count, rank)
        index = jnp.where(is_above, index + width, index)
    return index


def legal_moves(player: Bitboard, opponent: Bitboard, board_bits: int) -> Bitboard:
    """Returns the squares where the player may place a disc on the squares `board_bits`."""
    P, O = player, opponent
    ends = from_int(0)
    for step, columns in _STEPS:
        flippable = O & _both_words(columns)
        for shift in (_towards_h8, _towards_a1):
            ends = ends | shift(_run(shift, step, P, flippable), step)
    return _materialised(ends & ~(P | O) & from_int(board_bits))


def flips(player: Bitboard, opponent: Bitboard, disc: Bitboard) -> Bitboard:
    """Returns the opponent discs that a new disc of the player flips.

    `disc` is one empty square, or no bit (a pass, which flips nothing).
    """
    P, O = player, opponent
    flipped = from_int(0)
    for step, columns in _STEPS:
        flippable = O & _both_words(columns)
        for shift in (_towards_h8, _towards_a1):
            run = _run(shift, step, disc, flippable)
            is_flanked = ~(shift(run, step) & P).is_empty()
            flipped = flipped | run.where(is_flanked)
    return _materialised(flipped)


def surrounded(board: Bitboard) -> Bitboard:
    """Returns the squares of a board and their neighbours, also those outside a small board."""
    right_of_a, left_of_h = ~_both_words(_COLUMN_A), ~_both_words(_COLUMN_H)
    row = board | _towards_h8(board, 1) & right_of_a | _towards_a1(board, 1) & left_of_h
    return row | _towards_h8(row, 8) | _towards_a1(row, 8)


def is_blocked(player: Bitboard, opponent: Bitboard, board_bits: int) -> jax.Array:
    """Returns `[...]` bool, whether neither side may place a disc.

    On a line with an empty square, neighbouring discs of both colours give one side a move: at the
    empty square that ends their run. So both sides are blocked if each pair of such discs lies on
    a full line. This takes less than half of the time of both sides' `legal_moves`.
    """
    P, O = player, opponent
    empty = ~(P | O) & from_int(board_bits)
    right_of_a, left_of_h = ~_both_words(_COLUMN_A), ~_both_words(_COLUMN_H)
    directions = (
        (1, right_of_a, _rows_with(empty)),
        (8, ~from_int(0), _columns_with(empty)),
        (9, right_of_a, _diagonals_with(empty, 9, right_of_a)),
        (7, left_of_h, _diagonals_with(empty, 7, left_of_h)),
    )
    ends = from_int(0)
    for step, is_inside, not_full in directions:
        differ = _towards_h8(P, step) & O | _towards_h8(O, step) & P
        ends = ends | differ & is_inside & not_full
    return ends.is_empty()


def _rows_with(board: Bitboard) -> Bitboard:
    """Returns all squares of the rows that have a bit."""
    low = jnp.uint32(_ALL_COLUMNS - _COLUMN_H)

    def fill(word: jax.Array) -> jax.Array:
        last = ((word & low) + low | word) & jnp.uint32(_COLUMN_H)
        return (last >> 7) * jnp.uint32(0xFF)

    return Bitboard(fill(board.lower), fill(board.upper))


def _columns_with(board: Bitboard) -> Bitboard:
    """Returns all squares of the columns that have a bit."""
    word = board.lower | board.upper
    for distance in (16, 8):
        word = word | word << distance | word >> (32 - distance)
    return Bitboard(word, word)


def _diagonals_with(board: Bitboard, step: int, reached: Bitboard) -> Bitboard:
    """Returns all squares of the diagonals that have a bit.

    `reached` are the squares that a step towards h8 reaches on the board.
    """
    up, down = board, board
    upwards, downwards = reached, _towards_a1(reached, step)
    for doubling in range(3):
        distance = step << doubling
        up = up | upwards & _towards_h8(up, distance)
        down = down | downwards & _towards_a1(down, distance)
        upwards = upwards & _towards_h8(upwards, distance)
        downwards = downwards & _towards_a1(downwards, distance)
    return up | down


_IN_KERNEL = contextvars.ContextVar("_IN_KERNEL", default=False)


@contextlib.contextmanager
def in_kernel() -> Iterator[None]:
    """Within the block, functions are traced for one kernel, which has no choice of platforms."""
    token = _IN_KERNEL.set(True)
    try:
        yield
    finally:
        _IN_KERNEL.reset(token)


def _num_bits(word: jax.Array) -> jax.Array:
    """Returns the number of bits of words; Triton has no instruction for it."""
    if not _IN_KERNEL.get():
        return jax.lax.population_count(word)
    word = word - ((word >> 1) & jnp.uint32(0x55555555))
    word = (word & jnp.uint32(0x33333333)) + ((word >> 2) & jnp.uint32(0x33333333))
    word = (word + (word >> 4)) & jnp.uint32(0x0F0F0F0F)
    return (word * jnp.uint32(0x01010101)) >> 24


def _materialised(result: Bitboard) -> Bitboard:
    """Returns `result`; makes XLA's CPU backend compute it once for all its uses.

    Without this, the backend fuses the bit operations into every consumer, and a step costs four
    times as much. Returning both words from a `cond` forces XLA to materialise them. Both branches
    are equal, and the barrier keeps XLA from folding the predicate. A predicate that depends on
    positions would have a batch axis under `jax.vmap`, which turns the `cond` into a select.
    Accelerators fuse programs with several results, and need nothing.
    """
    if _IN_KERNEL.get():
        return result

    def through_branch(result: Bitboard) -> Bitboard:
        predicate = jax.lax.optimization_barrier(jnp.bool_(True))
        return jax.lax.cond(predicate, lambda x: ~~x, lambda x: ~~x, result)

    return jax.lax.platform_dependent(result, cpu=through_branch, default=lambda result: result)


def _both_words(word: int) -> Bitboard:
    return from_int(word << 32 | word)


def _towards_h8(board: Bitboard, distance: int) -> Bitboard:
    """Returns the board with every bit moved up by a distance of 1 to 36."""
    if distance >= 32:
        return Bitboard(jnp.zeros_like(board.lower), board.lower << jnp.uint32(distance - 32))
    by = jnp.uint32(distance)
    lower, upper = board.lower << by, board.upper << by
    if distance > 2:  # shorter steps stay in their row, and therefore in their word
        upper = upper | board.lower >> jnp.uint32(32 - distance)
    return Bitboard(lower, upper)


def _towards_a1(board: Bitboard, distance: int) -> Bitboard:
    """Returns the board with every bit moved down by a distance of 1 to 36."""
    if distance >= 32:
        return Bitboard(board.upper >> jnp.uint32(distance - 32), jnp.zeros_like(board.upper))
    by = jnp.uint32(distance)
    lower, upper = board.lower >> by, board.upper >> by
    if distance > 2:
        lower = lower | board.upper << jnp.uint32(32 - distance)
    return Bitboard(lower, upper)


def _run(
    shift: Callable[[Bitboard, int], Bitboard], step: int, start: Bitboard, through: Bitboard
) -> Bitboard:
    """Returns the squares of `through` that follow `start` without a gap (at most six)."""
    run = through & shift(start, step)
    run = run | through & shift(run, step)
    pairs = through & shift(through, step)
    run = run | pairs & shift(run, 2 * step)
    return run | pairs & shift(run, 2 * step)
