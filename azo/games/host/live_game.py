"""One game of Othello on the host: its start, its moves, and the legal moves now."""

from collections.abc import Sequence

import numpy as np

from azo.games import notation, variant
from azo.games.host import host_rules, move_lists


class LiveGame:
    """A game of Othello that is played one ply at a time."""

    def __init__(self, game: variant.Variant):
        self.game = game
        self._rules = host_rules.make_rules(game.size, is_reversed=game.is_reversed)
        usual = notation.Board(*game.start_discs, is_black_to_move=True)
        self._usual_start = usual
        # The positions before each action, and after the last; the actions, passes included.
        self.boards: tuple[notation.Board, ...] = (usual,)
        self.actions: tuple[int, ...] = ()

    def __str__(self) -> str:
        return notation.diagram(self.board, self.game.size)

    @property
    def start(self) -> notation.Board:
        """The start position."""
        return self.boards[0]

    @property
    def board(self) -> notation.Board:
        """The present position."""
        return self.boards[-1]

    @property
    def legal_actions(self) -> tuple[int, ...]:
        """The legal actions now, see `host_rules.legal_actions`."""
        return self.legal_actions_at(self.board)

    @property
    def is_over(self) -> bool:
        """Whether neither side can place a disc."""
        return not self.legal_actions

    @property
    def num_empties(self) -> int:
        """Empty squares now."""
        return self.game.size**2 - (self.board.black | self.board.white).bit_count()

    def final_score(self) -> int:
        """Returns black's discs minus white's, the empty squares given to the side with more.

        A game that is not over is scored as if it ended here.
        """
        black, white = np.uint64(self.board.black), np.uint64(self.board.white)
        return self.utility(int(host_rules.final_score(black, white, self._rules)))

    def utility(self, score: int) -> int:
        """Returns a final margin as its side maximises it: negated in reversed Othello."""
        return -score if self.game.is_reversed else score

    def result(self, score: int) -> float:
        """Returns the result of a final margin for its side: 1, 0 or -1."""
        utility = self.utility(score)
        return float((utility > 0) - (utility < 0))

    def new_game(self, board: notation.Board | None = None, actions: Sequence[int] = ()) -> None:
        """Starts a new game, by default at the usual start, and plays some moves.

        An impossible board or an illegal move raises ValueError, and the old game is kept.
        """
        board = board or self._usual_start
        host_rules.check_board(board.black, board.white, self._rules, self.game.size)
        num_shared = 0  # moves that this game has too, which need not be played again
        if board == self.start:
            for new, old in zip(actions, self.actions, strict=False):
                if new != old:
                    break
                num_shared += 1
        boards = [board, *self.boards[1 : 1 + num_shared]]
        for action in actions[num_shared:]:
            boards.append(self._after(boards[-1], action))
        self.boards, self.actions = tuple(boards), tuple(map(int, actions))

    def play(self, move: int | str) -> None:
        """Plays a move or a forced pass, given as an action or as text such as "f5".

        Other moves raise ValueError, whose message lists the legal moves.
        """
        action = notation.parse_action(move, self.game.size) if isinstance(move, str) else move
        self.boards += (self._after(self.board, action),)
        self.actions += (int(action),)

    def undo(self) -> None:
        """Takes the last move back; raises ValueError if there is none."""
        if not self.actions:
            raise ValueError("nothing to take back: no move was played")
        self.boards, self.actions = self.boards[:-1], self.actions[:-1]

    def legal_actions_at(self, board: notation.Board) -> tuple[int, ...]:
        """Returns the legal actions of a position."""
        sides = board.player, board.opponent
        return host_rules.legal_actions(*sides, self.game.size, self._rules)

    def _after(self, board: notation.Board, action: int) -> notation.Board:
        size, legal = self.game.size, self.legal_actions_at(board)
        if not legal:
            raise ValueError("the game is over")
        if action not in legal:
            name = notation.action_text(action, size) if 0 <= action <= size * size else action
            moves = " ".join(notation.action_text(other, size) for other in legal)
            mover = "black" if board.is_black_to_move else "white"
            raise ValueError(f"illegal move {name}: {mover} may play {moves}")
        sides = np.uint64(board.player), np.uint64(board.opponent)
        discs = host_rules.after(*sides, int(action), size)
        is_black_next = not board.is_black_to_move
        black, white = discs if is_black_next else reversed(discs)
        return notation.Board(black, white, is_black_next)


def replay(text: str, game: variant.Variant, start: notation.Board | None = None) -> LiveGame:
    """Plays a transcript, by default from the usual start; see `move_lists.replay`."""
    live = LiveGame(game)
    played = move_lists.replay(game, notation.parse_moves(text, game.size), start)
    live.new_game(start, played.actions.tolist())
    return live
