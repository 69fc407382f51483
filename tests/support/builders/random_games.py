"""Random games and boards for the tests of the rules: made in one batch, compared on the host."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import bitboard, othello, protocol


@dataclasses.dataclass(frozen=True)
class Games:
    """What happened at every ply; after the end of a game its last position is repeated."""

    position: protocol.Position  # [T, B], before the ply
    legal: np.ndarray  # [T, B, A] bool
    is_over: np.ndarray  # [T, B] bool
    action: np.ndarray  # [T, B] int32
    reward: np.ndarray  # [T, B] float32
    discount: np.ndarray  # [T, B] float32


@functools.cache
def play(game: protocol.Game, num_games: int, seed: int) -> Games:
    """Returns games of random moves, with one ply after the longest possible game's last."""
    return Games(*jax.device_get(scanned(game, num_games, jax.random.key(seed))))


@functools.partial(jax.jit, static_argnums=(0, 1))
def scanned(game: protocol.Game, num_games: int, key: jax.Array) -> tuple:
    """Returns the fields of `Games`, on the device."""

    def ply(position, ply_key):
        action = game.random_action(ply_key, position)
        step = game.step(position, action)
        legal = game.legal_mask(position)
        seen = (position, legal, game.is_over(position), action, step.reward, step.discount)
        return step.position, seen

    keys = jax.random.split(key, game.max_plies + 1)
    return jax.lax.scan(ply, game.start(num_games), keys)[1]


def positions(game: protocol.Game, num_plies: int, num_games: int = 8) -> protocol.Position:
    """Returns positions `[num_games]` after some random moves."""
    games = play(game, num_games, seed=5)
    return jax.tree.map(lambda x: jnp.asarray(x[num_plies]), games.position)


def late(game: othello.Othello, most_empties: int) -> othello.Position:
    """Returns unfinished positions, one of a game, with at most `most_empties` empty squares."""
    games = play(game, 100, seed=3)
    is_late = (np.asarray(game.num_empties(games.position)) <= most_empties) & ~games.is_over
    weight = np.random.default_rng(3).random(is_late.shape) * is_late
    kept = is_late.any(axis=0)
    return jax.tree.map(lambda x: x[weight.argmax(axis=0), np.arange(100)][kept], games.position)


def boards(size: int, num_boards: int, seed: int) -> othello.Position:
    """Returns random discs `[num_boards]`, nearly all of them out of reach of any game."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([1.0, 1.0, 1.0], num_boards)[:, :, None, None]
    draw = rng.random((num_boards, size, size))
    player = draw < shares[:, 0]
    opponent = ~player & (draw < shares[:, 0] + shares[:, 1])
    return othello.Position(from_squares(player), from_squares(opponent))


def from_squares(squares: np.ndarray) -> bitboard.Bitboard:
    """Returns the bitboards of `[..., n, n]` bool."""
    wide = np.zeros((*squares.shape[:-2], 8, 8), bool)
    wide[..., : squares.shape[-2], : squares.shape[-1]] = squares
    octets = np.packbits(wide.reshape(*squares.shape[:-2], 64), axis=-1, bitorder="little")
    words = octets.view("<u4")
    return bitboard.Bitboard(jnp.asarray(words[..., 0]), jnp.asarray(words[..., 1]))


def to_squares(board: bitboard.Bitboard, size: int) -> np.ndarray:
    """Returns `[..., n, n]` bool, by way of numpy alone."""
    words = np.stack([np.asarray(board.lower), np.asarray(board.upper)], axis=-1)
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), axis=-1, bitorder="little")
    return bits.reshape(*words.shape[:-1], 8, 8)[..., :size, :size].astype(bool)


def signed_squares(position: othello.Position, size: int) -> np.ndarray:
    """Returns `[..., n, n]` int8: 1 for discs of the side to move, -1 for the other side's."""
    player, opponent = (to_squares(x, size) for x in (position.player, position.opponent))
    return player.astype(np.int8) - opponent.astype(np.int8)


def texts(
    position: othello.Position, size: int, is_black_to_move: bool | np.ndarray = True
) -> np.ndarray:
    """Returns `[...]` strings of X, O and -, black the side to move where `is_black_to_move`."""
    player, opponent = (
        to_squares(board, size).reshape(*board.lower.shape, -1)
        for board in (position.player, position.opponent)
    )
    is_black = np.broadcast_to(is_black_to_move, player.shape[:-1])[..., None]
    black, white = np.where(is_black, player, opponent), np.where(is_black, opponent, player)
    characters = np.where(black, "X", np.where(white, "O", "-"))
    return np.ascontiguousarray(characters).view(f"<U{size * size}")[..., 0]
