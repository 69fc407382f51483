"""Iagno 3.38 once more, in plain Python: boards of characters, loops over squares, no bits.

Written from the description of the program's evaluation, to share nothing with `azo`; the rules are
those of `slow_board`.
"""

from support import slow_board

_TABLE = [
    [410, 23, 13, 8, 8, 13, 23, 410],
    [23, -75, -22, -51, -51, -22, -75, 23],
    [13, -22, 41, 3, 3, 41, -22, 13],
    [8, -51, 3, -87, -87, 3, -51, 8],
    [8, -51, 3, -87, -87, 3, -51, 8],
    [13, -22, 41, 3, 3, 41, -22, 13],
    [23, -75, -22, -51, -51, -22, -75, 23],
    [410, 23, 13, 8, 8, 13, 23, 410],
]
_DEPTHS = {"easy": 3, "medium": 1, "hard": 2}


def table():
    """Returns what squares are worth without noise, by row and column."""
    return [list(row) for row in _TABLE]


def best_action(board, level, worth):
    """Returns the first strictly better move, its value, and whether another has that value."""
    moves = slow_board.legal_squares(board, board.mover)
    best, best_value, is_tied = None, -32001, False
    for row, column in sorted(moves, key=lambda move: _order(board, move, level, worth)):
        after = slow_board.play(board, 8 * row + column)
        value = -_search(after, _DEPTHS[level] - 1, -40000, 40000, level, worth)
        if value > best_value:
            best, best_value, is_tied = 8 * row + column, value, False
        elif value == best_value:
            is_tied = True
    return best, best_value, is_tied


def evaluate(board, level, worth):
    """Returns the value of a position for the side to move."""
    own, other = board.mover, slow_board.other(board.mover)
    if level == "easy":
        return slow_board.count(board, other) - slow_board.count(board, own)
    total = 0
    for row in range(8):
        for column in range(8):
            empty = sum(board.rows[r][c] == "-" for r, c in _neighbours(row, column))
            t = worth[row][column] - 8 * (empty if empty > 0 else -6)
            if board.rows[row][column] == own:
                total += t
            elif board.rows[row][column] == other:
                total -= t
            else:
                half = abs(t) // 2 * (1 if t > 0 else -1)
                total += half if level == "hard" else -half
    ends = range(8)
    lines = [[(0, i) for i in ends], [(7, i) for i in ends], [(i, 0) for i in ends]]
    lines += [[(i, 7) for i in ends], [(i, i) for i in ends], [(i, 7 - i) for i in ends]]
    for line in lines:
        text = "".join(board.rows[r][c] for r, c in line)
        for seen in (text, text[::-1]):
            total += _penalty(seen, own) - _penalty(seen, other)
    return total


def _penalty(line, colour):
    if line[0] != "-" or line[1] != colour:
        return 0
    following = line[2:6]
    length = len(following) - len(following.lstrip(colour))
    if length == 4:
        return 0
    return -412 if line[2 + length + 1] == colour else -206


def _search(board, depth, alpha, beta, level, worth):
    own, other = board.mover, slow_board.other(board.mover)
    moves = slow_board.legal_squares(board, own)
    if not moves and not slow_board.legal_squares(board, other):
        mine, theirs = slow_board.count(board, own), slow_board.count(board, other)
        return 32000 - theirs if mine > theirs else -32000 + mine
    if depth == 0:
        return evaluate(board, level, worth)
    best = -40000
    for action in [8 * row + column for row, column in moves] or [64]:
        after = slow_board.play(board, action)
        value = -_search(after, depth - 1, -beta, -max(alpha, best), level, worth)
        best = max(best, value)
        if best >= beta:
            break
    return best


def _order(board, move, level, worth):
    """Returns a key that sorts moves: of equal ones the last column comes first, then the lowest.

    Every square beside the move counts, empty or not: so does the program, though the description
    speaks of empty ones.
    """
    row, column = move
    flipped = slow_board.flips(board, row, column, board.mover)
    early = len(flipped)
    if level != "easy":
        early = 2 * sum(worth[r][c] for r, c in flipped) + worth[row][column]
        early -= 8 * len(_neighbours(row, column))
    return -early, -column, -row


def _neighbours(row, column):
    """Returns the squares around a square."""
    around = [(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    return [(r, c) for r, c in around if (r, c) != (row, column) and 0 <= r < 8 and 0 <= c < 8]
