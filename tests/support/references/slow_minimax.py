"""Plain minimax of Othello endings, without bits, bounds or ordering: numpy, whole levels at once.

Shares nothing with `azo`. A board is `[n, n]` int8: 1 for discs of the side to move, -1 for the
other side's, 0 for empty squares.
"""

import numpy as np

_DIRECTIONS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def random_boards(size: int, counts: np.ndarray, seed: int) -> np.ndarray:
    """Returns a board of random discs for each number of empty squares; most are unreachable."""
    rng = np.random.default_rng(seed)
    boards = np.where(rng.random((len(counts), size * size)) < 0.5, 1, -1).astype(np.int8)
    for board, count in zip(boards, counts, strict=True):
        board[rng.choice(size * size, count, replace=False)] = 0
    return boards.reshape(-1, size, size)


def boards_of(player: np.ndarray, opponent: np.ndarray, size: int) -> np.ndarray:
    """Returns the boards `[N, n, n]` of bitboards `[N]`, with bit `8 * row + column`."""
    bit = np.add.outer(8 * np.arange(size), np.arange(size)).astype(np.uint64)
    own, other = (
        np.asarray(words, np.uint64)[:, None, None] >> bit & np.uint64(1)
        for words in (player, opponent)
    )
    return own.astype(np.int8) - other.astype(np.int8)


def scores(boards: np.ndarray, *, is_reversed: bool) -> np.ndarray:
    """Returns the final margins `[N]` for the side to move, empty squares to the leader.

    In reversed Othello both sides make their margin small. Equal positions are solved once.
    """
    if len(boards) == 0:
        return np.zeros(0, int)
    size = boards.shape[-1]
    parents, children = [], []
    for row in range(size):
        for column in range(size):
            is_legal, after = play(boards, row, column)
            parents.append(np.flatnonzero(is_legal))
            children.append(after[is_legal])
    can_move = np.zeros(len(boards), bool)
    can_move[np.concatenate(parents)] = True
    passes = ~can_move & can_play(-boards)
    parents.append(np.flatnonzero(passes))
    children.append(-boards[passes])
    distinct, index = np.unique(np.concatenate(children), axis=0, return_inverse=True)
    values = -scores(distinct, is_reversed=is_reversed)[index.ravel()]
    sign = -1 if is_reversed else 1
    best = np.full(len(boards), -1000)
    np.maximum.at(best, np.concatenate(parents), sign * values)
    return np.where(can_move | passes, sign * best, final_scores(boards))


def move_scores(boards: np.ndarray, *, is_reversed: bool) -> np.ndarray:
    """Returns the score `[N, n * n]` of every legal disc for the side to move, and -1000."""
    size = boards.shape[-1]
    margins = np.full((len(boards), size * size), -1000)
    for square in range(size * size):
        is_legal, after = play(boards, *divmod(square, size))
        margins[is_legal, square] = -scores(after[is_legal], is_reversed=is_reversed)
    return margins


def play(boards: np.ndarray, row: int, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns where a disc may be placed, `[N]` bool, and the boards then, seen by the other."""
    size = boards.shape[-1]
    placed = boards.copy()
    is_legal = np.zeros(len(boards), bool)
    for down, right in _DIRECTIONS:
        passed = []
        follows = boards[:, row, column] == 0
        r, c = row + down, column + right
        while 0 <= r < size and 0 <= c < size:
            ends = follows & (boards[:, r, c] == 1)
            if passed:
                is_legal |= ends
                for square in passed:
                    placed[ends, square[0], square[1]] = 1
            follows &= boards[:, r, c] == -1
            passed.append((r, c))
            r, c = r + down, c + right
    placed[is_legal, row, column] = 1
    return is_legal, -placed


def can_play(boards: np.ndarray) -> np.ndarray:
    """Returns `[N]` bool: the side to move may place a disc somewhere."""
    size = boards.shape[-1]
    can_move = [play(boards, row, column)[0] for row in range(size) for column in range(size)]
    return np.any(can_move, axis=0)


def final_scores(boards: np.ndarray) -> np.ndarray:
    """Returns the margins `[N]` with the empty squares added for the leader."""
    margin = boards.sum(axis=(1, 2), dtype=int)
    return margin + np.sign(margin) * (boards == 0).sum(axis=(1, 2))
