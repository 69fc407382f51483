"""Every sentence about a mistake is true by the slow rules, whatever the two lines are."""

import collections
import random
import re

import numpy as np
import pytest
from support.references import slow_board

from azo.coach import game_analysis, reasons
from azo.engine import engine_factory
from azo.formats import game_files
from azo.games import notation, othello
from azo.games.host import live_game

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
        """The moves up to the first corner of a colour, without and with it; None without one."""
        for ply, name in enumerate(self.names):
            if name in self.corners and self.boards[ply].mover == colour:
                return " ".join(self.names[:ply]), name
        return None

    def lets_a_corner_go(self, ply):
        """Whether every move after so many plies lets the other side take a corner."""
        board = self.boards[ply]
        other = slow_board.other(board.mover)
        actions = slow_board.legal_actions(board)
        after = [_Line(slow_board.play(board, action), [], self.us) for action in actions]
        return all(one.moves(0, other) & self.corners for one in after)

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


def _is_true(text, a, b, whole=None):
    """Whether a sentence is true of the played line `a`, and the better line `b` differs.

    `whole` is the played line as it was given: the lines of a comparison have one length.
    """
    us, them = a.us, a.them
    whole = whole or a
    new = (a.moves(1, them) - b.moves(1, them)) if len(a.names) else set()
    both = [line.number(-1, side) for line in (a, b) for side in (us, them)]
    line = " ".join(a.names)
    facts = {
        f"After {_LINE}, WE has no disc left\\.": lambda moves: (
            line.startswith(moves) and not a.discs(len(moves.split()), us)
        ),
        f"After {a.pair}, WE has no move and must pass\\.": lambda: (
            not a.moves(2, us) and a.moves(2, them) and b.moves(2, us)
        ),
        f"WE could have taken the corner {b.first}\\.": lambda: (
            b.first in b.corners and b.first not in a.moves(1, them)
        ),
        f"WE could have taken the corner {b.first}; now THEY can take it\\.": lambda: (
            b.first in b.corners & a.moves(1, them)
        ),
        f"{a.first} lets THEY take the (corners?) ([a-h1-8]+(?: and [a-h1-8]+)*) at once\\.": (
            lambda noun, corners: (
                set(corners.split(" and ")) == new & a.corners
                and (noun == "corner") == (len(new & a.corners) == 1)
            )
        ),
        f"After {_LINE}, THEY takes the corner (\\w\\d)\\.": lambda moves, corner: (
            (moves, corner) == a.to_corner(them) and b.to_corner(them) is None
        ),
        f"With {_LINE}, WE would have taken the corner (\\w\\d)\\.": lambda moves, corner: (
            (moves, corner) == b.to_corner(us) and a.to_corner(us) is None
        ),
        f"After {a.pair}, every move of WE lets THEY take a corner\\.": lambda: (
            a.lets_a_corner_go(2) and not b.lets_a_corner_go(2)
        ),
        f"{b.first} would have left THEY without a safe move\\.": lambda: (
            b.lets_a_corner_go(1) and not a.lets_a_corner_go(1)
        ),
        f"Now THEY plays {b.first}, which WE missed\\.": lambda: a.names[1] == b.first,
        f"After {a.first}, THEY can play (\\w\\d); after {b.first}, it could not\\.": (
            lambda move: move in new
        ),
        f"{a.first} leaves THEY (\\d+) moves; {b.first} would have left (\\d+|none)\\.": (
            lambda more, fewer: (
                (more, fewer.replace("none", "0")) == (a.number(1, them), b.number(1, them))
                and int(more) > 1
            )
        ),
        f"After {a.pair}, WE has only (\\d+) (moves?); after {b.pair}, it would have had"
        " (\\d+)\\.": (
            lambda fewer, noun, more: (
                (fewer, more) == (a.number(2, us), b.number(2, us))
                and (noun == "move") == (fewer == "1")
            )
        ),
        f"THEY can now play first in the odd region ([a-h1-8 ]+); {b.first} would have left only"
        " even regions\\.": lambda region: (
            set(region.split()) in a.odd_regions() and not b.odd_regions()
        ),
        f"After {line}, THEY has (\\d+) discs that can never be turned\\.": lambda number: (
            int(number) <= a.lasting()
        ),
        f"After {line}, WE has (\\d+|no) (moves?) and THEY (\\d+|none) \\(after"
        f" {b.first}: (\\d+) and (\\d+)\\)\\.": lambda ours, noun, theirs, *better: (
            [ours.replace("no", "0"), theirs.replace("none", "0"), *better] == both
            and (noun == "move") == (ours == "1")
        ),
        f"{b.first} would have flipped only (\\d+) (discs?) instead of (\\d+)\\.": (
            lambda fewer, noun, more: (
                (fewer, more) == (b.turned(), a.turned()) and (noun == "disc") == (fewer == "1")
            )
        ),
        f"{a.first} leaves WE (\\d+) discs beside empty squares; {b.first} would have left"
        " (\\d+|none)\\.": lambda more, fewer: (
            (more, fewer.replace("none", "0")) == (a.frontier(), b.frontier())
        ),
        f"After {a.first}, THEY answers {_LINE}(?: and .*)?\\.": lambda moves: (
            whole.rest.startswith(moves) and not moves.startswith("pass")
        ),
        f"After {_LINE}, THEY (?:leads|is|draws|wins|loses)\\b.*\\.": lambda moves: (
            " ".join(whole.names).startswith(moves)
            and (moves == whole.first or whole.names[1] == "pass")
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


@pytest.mark.thorough
def test_every_reason_is_true(monkeypatch):
    monkeypatch.setattr(reasons, "_MOST", 100)
    monkeypatch.setattr(reasons, "_ENOUGH", 100)
    kinds = collections.Counter()
    for seed in range(300):
        size = (4, 6, 8)[seed % 3]
        start, lines = _lines(size, seed)
        board = notation.parse_board(f"{slow_board.text(start)} {start.mover}", size)
        length = min(map(len, lines))
        a, b = (_Line(start, line[:length], start.mover) for line in lines)
        whole = _Line(start, lines[0], start.mover)
        names = {"X": "Black", "O": "White"}
        found = reasons.find(board, *lines, othello.Othello(size), leads=(4.0, 1.0))
        assert found[-1].kind == "refutation"
        for reason in found:
            text = reason.text.replace(names[a.us], "WE").replace(names[a.them], "THEY")
            assert _is_true(text, a, b, whole), (reason, a.names, b.names)
            kinds[reason.kind] += 1

    assert len(kinds) == 10  # all but the next one
    assert reasons.find(board, [], lines[1], othello.Othello(size)) == []


def test_a_mistake_has_the_answer_to_it_as_a_reason_where_nothing_else_is_told(monkeypatch):
    monkeypatch.setattr(reasons, "_MOST", 100)
    monkeypatch.setattr(reasons, "_ENOUGH", 100)
    for seed in range(60):
        start, lines = _lines(8, seed)
        board = notation.parse_board(f"{slow_board.text(start)} {start.mover}", 8)
        for is_reversed in (False, True):
            game = othello.Othello(8, is_reversed=is_reversed)
            for line in (lines[0], lines[0][:1]):
                found = reasons.find(board, line, lines[1], game, leads=(4.0, 1.0))
                assert found[-1].kind == "refutation"
                assert len(found) == 1 or not is_reversed


@pytest.mark.parametrize(
    ("leads", "is_exact", "is_reversed", "end"),
    [
        ((8.0, -3.0), False, False, "leads by about 8 discs"),
        ((8.0, 2.0), False, False, "leads by about 8 discs instead of 2"),
        ((1.0, 0.0), False, False, "leads by about 1 disc"),
        ((0.0, -5.0), False, False, "is level"),
        ((-4.0, -12.0), False, False, "is about 4 discs behind instead of 12"),
        ((8.0, 2.0), True, False, "wins by 8 discs instead of 2"),
        ((0.0, -2.0), True, False, "draws"),
        ((-2.0, -6.0), True, False, "loses by 2 discs instead of 6"),
        ((-2.0, 6.0), True, True, "wins by 2 discs"),
        ((-8.0, -2.0), False, True, "ends with about 8 discs fewer instead of 2"),
    ],
)
def test_a_refutation_tells_who_leads(leads, is_exact, is_reversed, end):
    game = othello.Othello(is_reversed=is_reversed)
    live = live_game.replay("f5", game)
    lines = [notation.parse_moves(line, 8) for line in ("d6c5f4", "f4e3")]
    found = reasons.find(live.board, *lines, game, leads=leads, is_exact=is_exact)
    assert found[-1].text == f"After d6, Black answers c5 f4 and {end}."
    (alone,) = reasons.find(
        live.board, [lines[0][0]], lines[1], game, leads=leads, is_exact=is_exact
    )[-1:]
    assert alone.text == f"After d6, Black {end}."


def test_the_shortest_wipe_out_is_told():
    live = live_game.replay("e6f4e3f6g5d6e7", othello.Othello())
    lines = [notation.parse_moves(line, 8) for line in ("f5c5", "f7c5")]
    first, *_ = reasons.find(live.board, *lines, live.game)
    assert (first.kind, first.text) == ("wipe-out", "After f5 c5, White has no disc left.")


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
        text = f"The network expects {worse - better:.0f} more discs for {they}, mostly because"
        assert found[0].text.startswith((f"{text} of the ", f"{text} of mobility."))
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
            whole = _Line(start, lines[0][:7], start.mover)
            names = {"X": "Black", "O": "White"}
            found = analysis.reasons(position)
            assert found
            for reason in found:
                text = reason.text.replace(names[a.us], "WE").replace(names[a.them], "THEY")
                is_true = reason.kind == "tables" or _is_true(text, a, b, whole)
                assert is_true, (reason, a.names, b.names)
                num_told += reason.kind != "tables"
    assert num_told > 100
