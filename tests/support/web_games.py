"""Games and scores by the slow rules, to compare the page with."""

import random

from support import slow_board


def random_game(size, *, seed):
    """Returns the boards of a random game, and the actions played, passes included."""
    draw = random.Random(seed)
    boards, actions = [slow_board.start(size)], []
    while not slow_board.is_over(boards[-1]):
        actions.append(draw.choice(slow_board.legal_actions(boards[-1])))
        boards.append(slow_board.play(boards[-1], actions[-1]))
    return boards, actions


def best_score(board):
    """Returns the final score under perfect play, for the side to move."""
    if slow_board.is_over(board):
        return slow_board.score(board)
    actions = slow_board.legal_actions(board)
    return max(-best_score(slow_board.play(board, action)) for action in actions)
