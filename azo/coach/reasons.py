"""Reasons in words for a move that lost discs: facts about the board that hold after it.

A move is compared with the better one: right after both, and along both expected lines. Nothing is
guessed: a sentence appears only if it is true on those boards, and if the better move avoids it.
The program does not know which of the facts costs the discs. With fewer than two facts, the last
sentence gives the expected answer and its score, so every mistake has a reason.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from azo.coach import attribution
from azo.engine import live_search, pattern_evaluator
from azo.games import notation, variant
from azo.games.host import host_rules, live_game
from azo.games.host.kernels import legal_moves, stable_discs, surrounded

_MOST = 3  # sentences
_ENOUGH = 2  # with fewer, the expected answer is added
_LINE_PLIES = 7  # of both lines, with the compared moves
_FEWER_MOVES, _WORSE_BALANCE, _MORE_STABLE, _MORE_FRONTIER, _MORE_TURNED = 3, 4, 4, 3, 3
_MORE_EXPECTED = 2.0  # discs, by the network
_REPLIES = 5  # moves of a refutation
_PARITY_EMPTIES = 20  # with more empty squares, regions are not counted


@dataclasses.dataclass(frozen=True)
class Reason:
    """A fact, and the sentence that states it."""

    kind: str  # "wipe-out", "pass", "corner", "safe moves", "mobility", "parity", ...
    text: str


def find(
    board: notation.Board,
    refutation: Sequence[int],
    better: Sequence[int],
    game: variant.Variant,
    evaluator: live_search.Evaluator | None = None,
    *,
    leads: tuple[float, float] | None = None,
    is_exact: bool = False,
) -> list[Reason]:
    """Returns one to three reasons, the strongest kinds first; none without a move to compare.

    `refutation` is the move with the expected moves after it, `better` the better move with those
    expected after that, both from `board`. The `evaluator` is the network whose tables may give a
    reason. `leads` are the scores after the move and after the better one in whole discs for the
    other side, if they are known; `is_exact` is of the first. In reversed Othello only the
    refutation is a reason.
    """
    num_plies = min(len(refutation), len(better), _LINE_PLIES)
    if not num_plies:
        return []
    line = _Line(board, refutation[:_LINE_PLIES], game)
    answer = list(_refutation(line, leads, is_exact=is_exact))
    if game.is_reversed:
        return answer
    played, best = (_Line(board, line[:num_plies], game) for line in (refutation, better))
    both = played, best
    facts = itertools.chain(_sudden(*both), _lasting(*both), _counted(*both, evaluator))
    strongest = list(itertools.islice(facts, _MOST))
    return strongest if len(strongest) >= _ENOUGH else strongest + answer


class _Line:
    """A move and the expected moves after it; "we" are the side that makes the first move.

    Squares are bits of a word, as in `kernels`.
    """

    def __init__(self, board: notation.Board, actions: Sequence[int], game: variant.Variant):
        live = live_game.LiveGame(game)
        live.new_game(board, actions)
        self.actions, self.game = live.actions, game
        self.names = ("Black", "White") if board.is_black_to_move else ("White", "Black")
        self.rules = host_rules.make_rules(game.size, is_reversed=False)
        words = ((np.uint64(b.black), np.uint64(b.white)) for b in live.boards)
        # Our discs and theirs, before each move and after the last.
        self.sides = [pair if board.is_black_to_move else pair[::-1] for pair in words]
        self.is_ours = [b.is_black_to_move == board.is_black_to_move for b in live.boards]

    def text(self, first: int, last: int) -> str:
        """Returns the moves from one ply up to another."""
        moves = self.actions[first:last]
        return " ".join(notation.action_text(action, self.game.size) for action in moves)

    def squares(self, bits: int) -> list[str]:
        """Returns the names of squares."""
        size = self.game.size
        actions = (host_rules.action_of(square, size) for square in range(64) if bits >> square & 1)
        return [notation.action_text(action, size) for action in actions]

    def moves(self, ply: int, *, ours: bool) -> int:
        """Returns the squares on which a side could play after so many plies."""
        own, other = self.sides[ply] if ours else self.sides[ply][::-1]
        return int(legal_moves(own, other, self.rules.on_board))

    def has_safe_move(self, ply: int) -> bool:
        """Returns whether a move after so many plies leaves the other side no corner."""
        own, other = self.sides[ply] if self.is_ours[ply] else self.sides[ply][::-1]
        actions = host_rules.legal_actions(int(own), int(other), self.game.size, self.rules)
        after = (host_rules.after(own, other, action, self.game.size) for action in actions)
        return any(
            not int(legal_moves(*map(np.uint64, sides), self.rules.on_board)) & self.corners
            for sides in after
        )

    def corner(self, *, ours: bool) -> int | None:
        """Returns the ply of the first corner that a side takes, None without one."""
        before = zip(self.is_ours, self.sides, self.sides[1:], strict=False)
        for ply, (is_ours, (own, other), (own_after, other_after)) in enumerate(before):
            new = int(own_after | other_after) & ~int(own | other)
            if is_ours == ours and new & self.corners:
                return ply
        return None

    @property
    def corners(self) -> int:
        """The corners of the board."""
        return int(self.rules.corners)

    @property
    def stable(self) -> int:
        """Their discs at the end of the line that can never turn, as far as is known."""
        own, other = self.sides[-1]
        return int(stable_discs(other, own, self.rules.on_board)).bit_count()

    @property
    def turned(self) -> int:
        """Number of discs that the first move turns."""
        before, after = (int(other).bit_count() for _, other in self.sides[:2])
        return before - after

    @property
    def empty(self) -> int:
        """Empty squares after the first move."""
        own, other = self.sides[1]
        return int(self.rules.on_board & ~(own | other))

    @property
    def frontier(self) -> int:
        """Number of our discs with an empty square beside them, after the first move."""
        return (int(surrounded(np.uint64(self.empty))) & int(self.sides[1][0])).bit_count()

    @property
    def odd_regions(self) -> list[int]:
        """The regions with an odd number of empty squares, after the first move."""
        empty, odd = self.empty, []
        while empty:
            region = empty & -empty
            while (grown := int(surrounded(np.uint64(region))) & self.empty) != region:
                region = grown
            empty &= ~region
            odd += [region] if region.bit_count() % 2 else []
        return odd


def _sudden(played: _Line, best: _Line) -> Iterator[Reason]:
    """Yields what happens at once: all discs lost, a pass, corners, squares for the other side."""
    we, they = played.names
    after, move, better = played.text(0, 2), played.text(0, 1), best.text(0, 1)
    for ply, (own, _) in enumerate(played.sides):
        if not own:
            yield Reason("wipe-out", f"After {played.text(0, ply)}, {we} has no disc left.")
    theirs, theirs_better = (line.moves(1, ours=False) for line in (played, best))
    has_reply = len(played.actions) > 1
    has_move = has_reply and played.moves(2, ours=True) != 0
    could_move = has_reply and best.moves(2, ours=True) != 0
    if could_move and not has_move and played.moves(2, ours=False):
        yield Reason("pass", f"After {after}, {we} has no move and must pass.")

    new_corners = theirs & ~theirs_better & played.corners
    lost, kept = (line.corner(ours=False) for line in (played, best))
    ours, ours_better = (line.corner(ours=True) for line in (played, best))
    if ours_better == 0 and ours != 0:
        left = f"; now {they} can take it" * (better in played.squares(theirs))
        yield Reason("corner", f"{we} could have taken the corner {better}{left}.")
    elif new_corners:
        corners = " and ".join(played.squares(new_corners))
        number = "corners" if new_corners.bit_count() > 1 else "corner"
        yield Reason("corner", f"{move} lets {they} take the {number} {corners} at once.")
    elif lost is not None and kept is None:
        line, corner = played.text(0, lost), played.text(lost, lost + 1)
        yield Reason("corner", f"After {line}, {they} takes the corner {corner}.")
    elif ours_better is not None and ours is None:
        line, corner = best.text(0, ours_better), best.text(ours_better, ours_better + 1)
        yield Reason("corner", f"With {line}, {we} would have taken the corner {corner}.")
    if has_move and could_move and best.has_safe_move(2) and not played.has_safe_move(2):
        text = f"After {after}, every move of {we} lets {they} take a corner."
        yield Reason("safe moves", text)
    if theirs and theirs_better and played.has_safe_move(1) and not best.has_safe_move(1):
        yield Reason("safe moves", f"{better} would have left {they} without a safe move.")

    reply = played.text(1, 2)
    if reply == better and ours_better != 0:
        yield Reason("access", f"Now {they} plays {better}, which {we} missed.")
    elif reply in played.squares(theirs & ~theirs_better & ~played.corners):
        text = f"After {move}, {they} can play {reply}; after {better}, it could not."
        yield Reason("access", text)


def _lasting(played: _Line, best: _Line) -> Iterator[Reason]:
    """Yields what the moves of both sides, the regions and the discs become."""
    we, they = played.names
    move, better = (line.text(0, 1) for line in (played, best))
    last = len(played.actions)
    more, fewer = (line.moves(1, ours=False).bit_count() for line in (played, best))
    if more - fewer >= _FEWER_MOVES:
        text = f"{move} leaves {they} {more} moves; {better} would have left {fewer or 'none'}."
        yield Reason("mobility", text)
    if last > 1:
        fewer, more = (line.moves(2, ours=True).bit_count() for line in (played, best))
        if fewer and more - fewer >= _FEWER_MOVES:
            first, second = (line.text(0, 2) for line in (played, best))
            text = f"After {first}, {we} has only {_number(fewer, 'move')}; after {second}, it"
            yield Reason("mobility", f"{text} would have had {more}.")
    is_late = played.empty.bit_count() <= _PARITY_EMPTIES
    if is_late and played.odd_regions and not best.odd_regions:
        region = " ".join(played.squares(played.odd_regions[0]))
        text = f"{they} can now play first in the odd region {region}; {better} would have left"
        yield Reason("parity", f"{text} only even regions.")
    if last > 2:
        line = played.text(0, last)
        if played.stable - best.stable >= _MORE_STABLE:
            text = f"After {line}, {they} has {played.stable} discs that can never be turned."
            yield Reason("stable discs", text)
        ours, ours_better, theirs, theirs_better = (
            line.moves(last, ours=is_ours).bit_count()
            for is_ours in (True, False)
            for line in (played, best)
        )
        if ours_better - theirs_better - ours + theirs >= _WORSE_BALANCE:
            text = f"After {line}, {we} has {_number(ours, 'move')} and {they} {theirs or 'none'}"
            other = f"after {better}: {ours_better} and {theirs_better}"
            yield Reason("mobility", f"{text} ({other}).")
    if not is_late and played.turned - best.turned >= _MORE_TURNED:
        number = _number(best.turned, "disc")
        text = f"{better} would have flipped only {number} instead of {played.turned}."
        yield Reason("turned discs", text)
    if played.frontier - best.frontier >= _MORE_FRONTIER:
        text = f"{move} leaves {we} {_number(played.frontier, 'disc')} beside empty squares;"
        yield Reason("frontier", f"{text} {better} would have left {best.frontier or 'none'}.")


def _refutation(
    played: _Line, leads: tuple[float, float] | None, *, is_exact: bool
) -> Iterator[Reason]:
    """Yields the expected answer to a move, and the score that the other side has, if known."""
    they, move, line = played.names[1], played.text(0, 1), played.text(1, 1 + _REPLIES)
    score = "" if leads is None else _lead(leads, played.game, is_exact=is_exact)
    is_answer = line and not line.startswith(notation.PASS_TEXT)
    parts = [f"answers {line}"] * bool(is_answer) + [score] * bool(score)
    after = f"{move} {line}" if line and not is_answer else move
    if parts:
        yield Reason("refutation", f"After {after}, {they} {' and '.join(parts)}.")


def _lead(leads: tuple[float, float], game: variant.Variant, *, is_exact: bool) -> str:
    """Returns what a score means for the side that has it, and would have had another one."""
    number, former = map(round, leads)
    if not number:
        return "draws" if is_exact else "is level"
    size = _number(abs(number), "disc")
    is_ahead = (number > 0) != game.is_reversed
    instead = f" instead of {abs(former)}" if number * former > 0 and number != former else ""
    if is_exact:
        return f"{'wins' if is_ahead else 'loses'} by {size}{instead}"
    if game.is_reversed:
        return f"ends with about {size} {'fewer' if is_ahead else 'more'}{instead}"
    return f"leads by about {size}{instead}" if is_ahead else f"is about {size} behind{instead}"


def _counted(
    played: _Line, best: _Line, evaluator: live_search.Evaluator | None
) -> Iterator[Reason]:
    """Yields the part of the board by which a pattern network expects more for the other side."""
    they_move = all(line.moves(1, ours=False) for line in (played, best))
    if not isinstance(evaluator, pattern_evaluator.PatternEvaluator) or not they_move:
        return
    sides = (line.sides[1][::-1] for line in (played, best))
    parts = attribution.difference(evaluator, *sides)
    more = sum(part.discs for part in parts)
    if more >= _MORE_EXPECTED and parts[0].discs >= more / 2 and parts[0].kind != "discs":
        ends = [notation.action_text(square, played.game.size) for square in parts[0].squares]
        place = f"the {parts[0].kind} {' to '.join(ends)}" if ends else "mobility"
        expected = f"The network expects {more:.0f} more discs for {played.names[1]}"
        yield Reason("tables", f"{expected}, mostly because of {place}.")


def _number(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'s' * (number != 1)}"
