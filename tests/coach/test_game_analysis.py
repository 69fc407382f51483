"""Analyses of scripted evaluations, worked out by hand, and the command with its network."""

import dataclasses
import io
import json
import pathlib
import re

import pytest
import rich.console
from support.drivers import commands
from support.fakes import scripted_engine

from azo.coach import deck, game_analysis
from azo.engine import engine_settings
from azo.games import notation, othello
from azo.games.host import live_game
from azo.terminal import analysis_text
from azo.web import analysis_page, messages

_DATA = pathlib.Path(__file__).parents[1] / "data"
# Discs far from the centre make the four first moves differ.
_START = notation.parse_board("-X" + "-" * 25 + "OX------XO" + "-" * 26 + "O X", 8)
_GAME = othello.Othello(start_bits=(_START.black, _START.white))


def analysed(moves, evaluations, game=_GAME, **options):
    engine = scripted_engine.ScriptedEngine(game, evaluations)
    engine.new_game(None, live_game.replay(moves, game).actions)
    return game_analysis.analyse(engine, **options), engine


def test_a_loss_is_the_difference_before_and_after_a_move_that_was_not_best():
    evaluations = {
        0: {"value": 0.2, "discs": 5.0, "best": "d3"},  # black plays f5 instead ...
        1: {"value": 0.3, "discs": 3.0, "best": "d6"},  # ... then white expects +3
        2: {"value": -0.1, "discs": -1.0},
    }
    analysis, _ = analysed("f5d6", evaluations)
    first, second, last = analysis.positions
    assert (first.loss, first.loss_discs) == pytest.approx((0.5, 8.0))
    assert (second.loss, second.loss_discs) == (0.0, 0.0)  # white played the best move
    assert (last.played, last.loss, last.loss_discs) == (None, None, None)
    assert [p.black_value for p in analysis.positions] == pytest.approx([0.2, -0.3, -0.1])
    assert [p.mark for p in analysis.positions] == ["?", "", ""]
    assert not any(p.is_loss_exact for p in analysis.positions)
    assert [p.number for p in analysis.losses] == [1]
    black, white = (analysis.summary(is_black=is_black) for is_black in (True, False))
    assert (black.num_choices, black.loss_discs, black.accuracy) == (1, pytest.approx(8.0), 0.0)
    assert black.num_marks == {"??": 0, "?": 1, "?!": 0}
    assert (white.num_choices, white.loss_discs, white.accuracy) == (1, 0.0, 1.0)


@pytest.mark.parametrize(
    ("lost", "mark"),
    [(-2, ""), (1, ""), (2, "?!"), (3, "?!"), (4, "?"), (9, "?"), (10, "??"), (64, "??")],
)
@pytest.mark.parametrize("is_exact", [True, False])
def test_a_mark_depends_on_the_discs_lost(lost, mark, is_exact):
    """An estimated loss needs one disc more."""
    kind, lost = ("score", lost) if is_exact else ("discs", float(lost) + (lost > 1))
    evaluations = {0: {kind: 0, "best": "d3"}, 1: {kind: lost}}
    analysis, _ = analysed("f5", evaluations)
    first = analysis.positions[0]
    assert (first.mark, first.loss_discs) == (mark, max(lost, 0))
    assert analysis.losses == ((first,) if lost > 0 else ())


@pytest.mark.parametrize(("is_reversed", "scores"), [(False, (6, -2)), (True, (-6, 2))])
def test_a_loss_is_exact_where_both_positions_are_solved(is_reversed, scores):
    evaluations = {
        0: {"value": 1.0, "score": scores[0], "best": "d3"},
        1: {"value": -1.0, "score": scores[1], "best": "f4"},  # black gave 4 away
        2: {"value": 0.9, "discs": 0.0},
    }
    analysis, _ = analysed("f5d6", evaluations, dataclasses.replace(_GAME, is_reversed=is_reversed))
    first, second, _ = analysis.positions
    assert (first.loss_discs, first.is_loss_exact, first.mark) == (4, True, "?")
    assert first.loss == 0.0  # still a win
    assert not second.is_loss_exact
    assert analysis.summary(is_black=True).exact_loss_discs == 4
    before, after = ("-6", "-2") if is_reversed else ("+6", "+2")
    sentence = analysis_text.loss(first, analysis.game)
    assert sentence == f"1. black f5?: 4 discs, from {before} to {after} (better: d3)"


@pytest.mark.thorough
def test_the_three_endgame_mistakes_of_a_published_game_are_marked_and_come_first(capsys):
    """The moves that lose 14, 4 and 24 discs change no winner: chances alone hide them."""
    words = (_DATA / "olivaw_game08.txt", "--engine.num-simulations", 100, "--rating", 1800)
    assert commands.run("analyse", *words) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "Di Mattei - OLIVAW 18. 37-27 to white, 2 empty squares included."
    for line in (
        "41. black h7??: 14 discs, from -16 to -30 (better: g4)",
        "    Now White plays g4, which Black missed.",
        "47. black b7?: 4 discs, from -30 to -34 (better: d8)",
        "56. white g1??: 24 discs, from +34 to +10 (better: g2)",
    ):
        assert f"  {line}\n" in out
    told = re.findall(
        r"^      (\d+)% of players rated 1800 play it, and (\d+)% lose 2 discs", out, re.M
    )
    assert len(told) == out.count("(better: ")
    assert not re.search(r"\d\.\d", out)  # no search is as precise as that
    # The mistakes that are played are among those that are counted.
    assert all(int(chance) <= int(difficulty) for chance, difficulty in told[:2])
    rows = [line.split() for line in out.splitlines()]
    assert [row[-1] for row in rows if row and row[0] in ("41", "47", "56")] == ["??", "?", "??"]


def test_the_engine_has_its_game_before_and_after_and_searches_every_move():
    engine, seen = scripted_engine.ScriptedEngine(_GAME), []
    analysis = game_analysis.analyse_game("f5d6c3", engine, on_position=seen.append)
    assert seen == [1, 2, 3, 4]
    assert notation.transcript(engine.actions, 8) == "f5d6c3"
    assert engine.limits == [engine_settings.Limits(100, None, is_analysis=True)] * 4
    assert [p.board for p in analysis.positions] == list(engine.boards)


class _TwoDepths(scripted_engine.ScriptedEngine):
    """Usual searches have the evaluations, deep ones those of `deep`."""

    def __init__(self, evaluations, deep):
        super().__init__(_GAME)
        self.usual, self.deep, self.deepened = evaluations, evaluations | deep, []

    def think(self, limits=None, **options):
        self.evaluations = self.deep if limits.is_deep else self.usual
        self.deepened += [len(self.actions)] * limits.is_deep
        return super().think(limits, **options)


@pytest.mark.parametrize(
    ("deep", "deepened", "found"),
    [
        # Twelve discs by usual searches: the longer ones decide on loss and mark.
        ({0: {"discs": 4.0, "best": "d3"}, 1: {"discs": -1.0}}, [0, 1], (3, "?!")),
        ({0: {"discs": 5.0, "best": "d3"}, 1: {"discs": 7.0, "best": "d6"}}, [0, 1], (12, "??")),
        ({0: {"discs": 5.0, "best": "d3"}, 1: {"discs": -9.0}}, [0, 1], (0, "")),
        ({0: {"discs": 5.0, "best": "f5"}, 1: {"discs": 7.0, "best": "d6"}}, [0, 1], (0, "")),
        # The next move now seems to be a mistake, so it is searched again as well.
        ({0: {"discs": 4.0, "best": "d3"}, 1: {"discs": 3.0, "best": "f4"}}, [0, 1, 2], (7, "?")),
    ],
)
def test_a_mistake_is_searched_deeply_before_it_has_a_mark(deep, deepened, found):
    usual = {0: {"discs": 5.0, "best": "d3"}, 1: {"discs": 7.0, "best": "d6"}}
    engine = _TwoDepths(usual, deep)
    engine.new_game(None, live_game.replay("f5d6", _GAME).actions)
    first = game_analysis.analyse(engine).positions[0]
    assert engine.deepened == deepened
    assert (first.loss_discs, first.mark) == found


def test_a_small_loss_is_not_searched_again_and_a_stopped_search_gives_no_mark():
    engine = _TwoDepths({0: {"discs": 1.0, "best": "d3"}}, {})
    engine.new_game(None, live_game.replay("f5d6", _GAME).actions)
    assert game_analysis.analyse(engine).positions[0].loss_discs == 1
    assert not engine.deepened

    engine = _TwoDepths({0: {"discs": 30.0, "best": "d3"}}, {})
    engine.new_game(None, live_game.replay("f5d6", _GAME).actions)
    analysis = game_analysis.analyse(engine, is_stopped=lambda: len(engine.limits) == 2)
    assert (analysis.positions[0].loss_discs, analysis.positions[0].mark) == (30, "")


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_move_has_one_loss_in_table_text_page_and_practice(is_reversed):
    """The search before f5 gives it 1 disc more than d3, the search after it 9 less."""
    game = dataclasses.replace(_GAME, is_reversed=is_reversed)
    sign = -1 if is_reversed else 1
    d3, f5, c4, e6 = (notation.parse_action(move, 8) for move in ("d3", "f5", "c4", "e6"))
    discs = {d3: 4.4, f5: 5.4, c4: 1.2, e6: -0.4}
    values = {action: sign * number / 64 for action, number in discs.items()}
    evaluations = {
        0: {"discs": sign * 4.4, "best": "d3", "values": values},
        1: {"discs": sign * 4.6},
    }
    analysis, _ = analysed("f5", evaluations, game)
    first = analysis.positions[0]
    worths = {move.action: sign * (move.discs or 0) for move in first.moves}
    assert worths == {d3: 4, f5: -5, c4: 1, e6: 0}
    assert [move.action for move in first.moves] == [d3, c4, e6, f5]
    assert first.loss_discs == 9
    card = deck.card_of(live_game.LiveGame(game), first)
    assert card.losses == {"d3": 0, "f5": 9, "c4": 3, "e6": 4}
    report = messages.report_json(first, 8)
    assert {move["move"]: sign * move["discs"] for move in report["moves"]}["f5"] == -5
    before, after = ("~-4", "~+5") if is_reversed else ("~+4", "~-5")
    lost = f"~9 discs, from {before} to {after}"
    assert analysis_text.loss(first, game) == f"1. black f5?: {lost} (better: d3)"


def test_an_analysis_that_is_stopped_leaves_the_rest_out():
    num_done = []
    options = {"on_position": num_done.append, "is_stopped": lambda: len(num_done) == 2}
    analysis, engine = analysed("f5d6c3", {0: {"value": 0.5, "best": "d3"}}, **options)
    assert [position.number for position in analysis.positions] == [1, 2]
    assert analysis.summary(is_black=True).loss_discs == pytest.approx(32)
    assert notation.transcript(engine.actions, 8) == "f5d6c3"


_EVALUATIONS = {
    0: {"value": 0.2, "raw_value": 0.1, "discs": 3.14, "best": "d3", "prior": {37: 0.125}},  # f5
    1: {"value": 0.3, "score": 4, "best": "d6"},
    2: {"value": -1.0, "score": 2},
}


def test_the_table_has_values_for_black():
    analysis, _ = analysed("f5d6", _EVALUATIONS)
    console = rich.console.Console(file=io.StringIO(), width=80, color_system=None)
    console.print(analysis_text.game_table(analysis))
    rows = [line.split() for line in console.file.getvalue().splitlines()]
    assert [" ".join(row) for row in rows] == [
        "ply move discs black alone prior visits best lost",
        "1 X f5 ~+3 60 % 55 % 12% 20 d3 ~7 ?",
        "2 O d6 -4 35 % 50 % 33% 20",
        "end +2 0 % 50 % c3",  # what would come next
    ]


def test_the_page_needs_nothing_else_and_names_are_text():
    analysis, _ = analysed("f5d6", _EVALUATIONS)
    text = analysis_page.render(analysis, "Black </script> & white", "a network")
    assert "://" not in text
    assert "/static/" not in text
    assert "<title>Black &lt;/script&gt; &amp; white</title>" in text
    (settings,) = re.findall(r'<script type="application/json" id="settings">(.*?)</script>', text)
    game = json.loads(settings)["analysed"]
    assert (game["moves"], game["note"]) == (["f5", "d6"], "Black </script> & white")
    assert [report["move"] for report in game["reports"]] == ["d3", "d6", "c3"]
    assert [report["discs"] for report in game["reports"]] == [3, 4, 2]


# The command, with the network that comes with azo.


def test_a_ply_that_the_game_does_not_have_is_refused(capsys):
    message = commands.refused(capsys, "analyse", "f5", "--ply", 3)
    assert message == "--ply 3: the game has 1 ply"


def test_a_lost_win_weighs_more_than_discs_of_a_lost_game():
    """Black loses 4 discs and the win at ply 1, then 9 discs of a lost game at ply 3."""
    evaluations = {
        0: {"value": 1.0, "score": 2, "best": "d3"},
        1: {"value": 1.0, "score": 2, "best": "d6"},
        2: {"value": -1.0, "score": -2, "best": "e3"},
        3: {"value": 1.0, "discs": 11.0},
    }
    analysis, _ = analysed("f5d6c3", evaluations)
    first, _, third, _ = analysis.positions
    assert (first.loss_discs, first.loss, first.mark) == (4, 2.0, "??")
    assert (third.loss_discs, third.loss, third.mark) == (9, 0.0, "?")
    assert [position.number for position in analysis.losses] == [1, 3]
