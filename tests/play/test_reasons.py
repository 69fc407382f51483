"""Every sentence about a mistake is true by the slow rules, whatever the two lines are."""

import collections
import random
import re

import numpy as np
import pytest
from support import slow_board

from azo.formats import game_files
from azo.games import notation, othello
from azo.games.host import live_game
from azo.play.analysis import game_analysis, reasons
from azo.play.engine import engine_factory

_LINE = "((?:[a-h][1-8]|pass)(?: (?:[a-h][1-8]|pass))*)"


class _Line:
    """A line by the slow rules; squares are names."""

    def __init__(self, board, actions, us):
        self.boards, self.us, self.them = [board], us, slow_board.other(us)
        for action in actions:
            self.boards.append(slow_board.play(self.boards[-1], action))
        self.names = [notation.action_text(action, board.size) for action in actions]
        self.first, self.pair, self.rest = (" ".join(self.names[a:b]) for a, b in _PARTS)
        last = board.size
        self.corners = {
            f"{column}{row}" for column in "a" + "abcdefgh"[last - 1] for row in (1, last)
        }

    def moves(self, ply, colour):
        board = self.boards[ply]
        squares = slow_board.legal_squares(board, colour)
        return {notation.action_text(r * board.size + c, board.size) for r, c in squares}

    def number(self, ply, colour):
        return str(len(self.moves(ply, colour)))

    def discs(self, ply, colour):
        rows = self.boards[ply].rows
        return {
            (r, c) for r, row in enumerate(rows) for c, disc in enumerate(row) if disc == colour
        }

    def turned(self):
        return str(len(self.discs(0, self.them)) - len(self.discs(1, self.them)))

    def frontier(self):
        return str(sum(bool(_near(disc) & self.discs(1, "-")) for disc in self.discs(1, self.us)))

    def to_corner(self, colour):
        """The moves after the first one up to the first corner of a colour, None without one."""
        for ply, name in enumerate(self.names):
            if name in self.corners and self.boards[ply].mover == colour:
                return " ".join(self.names[1 : ply + 1])
        return None

    def lets_a_corner_go(self):
        board = self.boards[2]
        actions = slow_board.legal_actions(board)
        after = [_Line(slow_board.play(board, action), [], self.us) for action in actions]
        return all(one.moves(0, self.them) & self.corners for one in after)

    def odd_regions(self):
        left, odd = self.discs(1, "-"), []
        while left:
            region, new = set(), {min(left)}
            while new:
                region |= new
                new = set().union(*map(_near, new)) & left - region
            left -= region
            if len(region) % 2:
                size = self.boards[0].size
                odd.append({notation.action_text(r * size + c, size) for r, c in region})
        return odd

    def lasting(self):
        """Number of their discs that no random end of the game turns."""
        kept = self.discs(-1, self.them)
        for seed in range(5):
            draw, board = random.Random(seed), self.boards[-1]
            while not slow_board.is_over(board):
                board = slow_board.play(board, draw.choice(slow_board.legal_actions(board)))
            kept = {(r, c) for r, c in kept if board.rows[r][c] == self.them}
        return len(kept)


_PARTS = (0, 1), (0, 2), (1, None)


def _near(square):
    return {(square[0] + x, square[1] + y) for x in (-1, 0, 1) for y in (-1, 0, 1)}


def _is_true(text, a, b):
    """Whether a sentence is true of the played line `a`, and the better line `b` differs."""
    us, them = a.us, a.them
    new = (a.moves(1, them) - b.moves(1, them)) if len(a.names) else set()
    both = [line.number(-1, side) for line in (a, b) for side in (us, them)]
    facts = {
        f"THEY takes every disc: {_LINE}\\.": lambda line: (
            a.rest.startswith(line) and not a.discs(1 + len(line.split()), us)
        ),
        f"After {a.pair}, WE has no move and passes\\.": lambda: (
            not a.moves(2, us) and a.moves(2, them) and b.moves(2, us)
        ),
        f"{b.first} takes a corner\\.": lambda: (
            b.first in b.corners and b.first not in a.moves(1, them)
        ),
        f"{b.first} takes a corner, which THEY can take now\\.": lambda: (
            b.first in b.corners & a.moves(1, them)
        ),
        "THEY can take the corner ([a-h1-8 ]+) at once\\.": lambda corners: (
            set(corners.split()) == new & a.corners
        ),
        f"THEY gets a corner: {_LINE}\\.": lambda line: (
            line == a.to_corner(them) and b.to_corner(them) is None
        ),
        f"With {b.first}, WE gets a corner: {_LINE}\\.": lambda line: (
            line == b.to_corner(us) and a.to_corner(us) is None
        ),
        f"After {a.pair}, every move of WE lets THEY take a corner\\.": lambda: (
            a.lets_a_corner_go() and not b.lets_a_corner_go()
        ),
        f"THEY plays {b.first} itself\\.": lambda: a.names[1] == b.first,
        f"It lets THEY play (\\w\\d), which {b.first} does not\\.": lambda move: move in new,
        f"THEY has (\\d+) moves? after {a.first}, (\\d+) after {b.first}\\.": lambda *numbers: (
            numbers == (a.number(1, them), b.number(1, them))
        ),
        f"WE has (\\d+) moves? after {a.pair}, (\\d+) after {b.pair}\\.": lambda *numbers: (
            numbers == (a.number(2, us), b.number(2, us))
        ),
        f"THEY can begin the odd region ([a-h1-8 ]+); {b.first} leaves none\\.": lambda region: (
            set(region.split()) in a.odd_regions() and not b.odd_regions()
        ),
        f"THEY gets (\\d+) discs that can never turn: {a.rest}\\.": lambda number: (
            int(number) <= a.lasting()
        ),
        f"Later \\({a.rest}\\) WE has (\\d+) moves? and THEY (\\d+); after {b.first} (\\d+) and"
        " (\\d+)\\.": lambda *numbers: list(numbers) == both,
        f"It turns (\\d+) discs?, {b.first} (\\d+)\\.": lambda *numbers: (
            numbers == (a.turned(), b.turned())
        ),
        f"It leaves (\\d+) discs? beside empty squares, {b.first} (\\d+)\\.": lambda *numbers: (
            numbers == (a.frontier(), b.frontier())
        ),
    }  # fmt: skip
    found = [(re.fullmatch(pattern, text), check) for pattern, check in facts.items()]
    return [bool(check(*match.groups())) for match, check in found if match] == [True]


def _lines(size, seed):
    """Returns a position of a random game, and two lines from it whose first moves differ."""
    draw = random.Random(seed)
    boards, _ = slow_board.random_game(size, seed=seed)
    start = draw.choice([b for b in boards[:-1] if len(slow_board.legal_actions(b)) > 1])
    lines = []
    for first in draw.sample(slow_board.legal_actions(start), 2):
        board, actions = slow_board.play(start, first), [first]
        while len(actions) < 7 and not slow_board.is_over(board):
            actions.append(draw.choice(slow_board.legal_actions(board)))
            board = slow_board.play(board, actions[-1])
        lines.append(actions)
    return start, lines


def test_every_reason_is_true(monkeypatch):
    monkeypatch.setattr(reasons, "_MOST", 100)
    kinds = collections.Counter()
    for seed in range(300):
        size = (4, 6, 8)[seed % 3]
        start, lines = _lines(size, seed)
        board = notation.parse_board(f"{slow_board.text(start)} {start.mover}", size)
        length = min(map(len, lines))
        a, b = (_Line(start, line[:length], start.mover) for line in lines)
        names = {"X": "Black", "O": "White"}
        for reason in reasons.find(board, *lines, othello.Othello(size)):
            text = reason.text.replace(names[a.us], "WE").replace(names[a.them], "THEY")
            assert _is_true(text, a, b), (reason, a.names, b.names)
            kinds[reason.kind] += 1

    assert len(kinds) == 9  # all but the next one
    assert reasons.find(board, *lines, othello.Othello(size, is_reversed=True)) == []
    assert reasons.find(board, [], lines[1], othello.Othello(size)) == []


def test_the_shortest_wipe_out_is_told():
    live = live_game.replay("e6f4e3f6g5d6e7", othello.Othello())
    lines = [notation.parse_moves(line, 8) for line in ("f5c5", "f7c5")]
    (reason,) = reasons.find(live.board, *lines, live.game)
    assert (reason.kind, reason.text) == ("wipe-out", "Black takes every disc: c5.")


def test_the_network_names_the_part_of_the_board_that_it_counts():
    network = engine_factory.load_engine().evaluator
    game, num_told = othello.Othello(8), 0
    for seed in range(60):
        start, lines = _lines(8, seed)
        board = notation.parse_board(f"{slow_board.text(start)} {start.mover}", 8)
        after = [live_game.LiveGame(game) for _ in lines]
        for live, line in zip(after, lines, strict=True):
            live.new_game(board, line[:1])
        found = [x for x in reasons.find(board, *lines, game, network) if x.kind == "tables"]
        if not found or any(x.board.is_black_to_move == board.is_black_to_move for x in after):
            assert not found
            continue
        sides = [
            (x.board.black, x.board.white)[:: 1 if x.board.is_black_to_move else -1] for x in after
        ]
        own, other = (np.array(discs, np.uint64) for discs in zip(*sides, strict=True))
        worse, better = 64 * network.request(own, other, batch_size=2)[:, -1]
        they = "Black" if after[0].board.is_black_to_move else "White"
        text = f"The network expects {worse - better:.0f} discs more for {they}, mostly because"
        assert found[0].text.startswith(f"{text} of the ")
        num_told += 1
    assert num_told > 2


@pytest.mark.slow
def test_every_reason_for_the_largest_mistakes_of_published_games_is_true(data_folder):
    engine = engine_factory.load_engine(num_simulations=400)
    files = sorted((data_folder / "games" / "olivaw").glob("*.txt"))
    files.append(data_folder / "games" / "wthor" / "WTH_2023.wtb")
    games = [game for path in files for game in game_files.read_archives([path])[:5]]
    num_told = 0
    for game in games:
        engine.new_game(None, game.action[: game.num_plies].tolist())
        analysis = game_analysis.analyse(engine)
        for position in filter(lambda position: position.mark, analysis.losses):
            number, actions = position.number, engine.actions
            start = slow_board.after(list(actions[: number - 1]), 8)
            later = analysis.positions[number]
            lines = [position.played, *later.line][: 7 if later.moves else 1], position.line
            length = min(7, *map(len, lines))
            a, b = (_Line(start, line[:length], start.mover) for line in lines)
            names = {"X": "Black", "O": "White"}
            for reason in analysis.reasons(position):
                text = reason.text.replace(names[a.us], "WE").replace(names[a.them], "THEY")
                assert reason.kind == "tables" or _is_true(text, a, b), (reason, a.names, b.names)
                num_told += reason.kind != "tables"
    assert num_told > 100
