"""The engine: live games and search reports, with a fixed evaluation in place of a network."""

import random

import numpy as np
import pytest
from support.fakes import hash_evaluator
from support.references import slow_minimax, wipe_outs

from azo.engine import engine_settings, live_engine, opening_book, search_report
from azo.engine.engine_settings import EngineConfig, Limits
from azo.games import notation, othello
from azo.solver.host import endgame

QUICK = EngineConfig(num_simulations=32, solve_empties=0, exact_empties=0)


def make(size=6, config=QUICK, *, is_reversed=False, **kwargs):
    return live_engine.Engine(
        hash_evaluator.HashEvaluator(othello.Othello(size, is_reversed)), config, **kwargs
    )


def random_game(live, rng, num_plies=200):
    while not live.is_over and len(live.actions) < num_plies:
        live.play(rng.choice(live.legal_actions))


def test_wrong_moves_change_nothing_and_list_the_legal_ones():
    over, live = make(4), make(8)
    random_game(over, random.Random(1))
    for act in (over.think, over.solve, lambda: over.play(0)):
        with pytest.raises(ValueError, match="the game is over"):
            act()
    live.play("f5")
    board = live.board
    for move, name in ((0, "a1"), (64, "pass"), (99, "99")):
        with pytest.raises(ValueError, match=f"illegal move {name}: white may play f4 d6 f6"):
            live.play(move)
    with pytest.raises(ValueError, match="illegal move a1: black may play"):
        live.new_game(actions=[0])
    with pytest.raises(ValueError, match="impossible board: both sides have a disc on "):
        live.new_game(notation.Board(3, 1, True))
    assert live.board == board
    with pytest.raises(ValueError, match="outside of 6x6 squares"):
        make(6).new_game(notation.Board(1 << 63, 1, True))


def test_a_report_has_all_legal_moves():
    live = make()
    random_game(live, random.Random(2), 10)
    report = live.think(Limits(100))
    assert report.board == live.board
    assert sorted(move.action for move in report.moves) == list(live.legal_actions)
    assert sum(move.visits for move in report.moves) == report.num_simulations == 100
    assert sum(move.prior for move in report.moves) == pytest.approx(1)
    assert report.action == report.moves[0].action == report.line[0]
    mean = report.raw_value + sum(m.visits * m.value for m in report.moves if m.visits)
    assert report.value == pytest.approx(mean / 101)
    assert (report.source, report.score) == ("search", None)
    line = make()
    line.new_game(live.board, report.line)  # a legal line


def test_a_search_can_be_stopped_and_watched():
    live, seen = make(8), []
    report = live.think(
        Limits(),
        is_stopped=lambda: len(seen) >= 3,
        on_progress=seen.append,
        progress_seconds=0.01,
    )
    counts = [progress.num_simulations for progress in seen]
    assert counts == sorted(set(counts))
    assert report.num_simulations >= counts[-1] > 0


def test_a_forced_pass_takes_no_search():
    config = QUICK.model_copy(update={"has_proofs": False})  # a proven root is not searched
    live = make(4, config)
    live.new_game(actions=notation.parse_moves("c4b4a1d2d4d3a2c1a4a3b1", 4))
    assert live.legal_actions == (16,)
    report = live.think()
    assert (report.action, report.source, report.num_simulations) == (16, "forced", 0)
    assert live.think(Limits(20, is_analysis=True)).num_simulations == 20


def near_the_end(is_reversed):
    """Returns an engine that solves the next position, of nine empty squares."""
    config = QUICK.model_copy(update={"solve_empties": 9, "probe_nodes": 0})
    live, rng = make(6, config, is_reversed=is_reversed), random.Random(5)
    while live.num_empties > 10 or len(live.legal_actions) < 3:
        live.new_game()
        random_game(live, rng, 22)
    searched = live.think()
    assert searched.source == "search"
    live.play(searched.action)
    return live


@pytest.mark.parametrize("is_reversed", [False, True])
def test_an_analysis_near_the_end_has_the_scores_of_plain_minimax_best_first(is_reversed):
    live, sign = near_the_end(is_reversed), -1 if is_reversed else 1
    boards = slow_minimax.boards_of([live.board.player], [live.board.opponent], 6)
    expected = slow_minimax.move_scores(boards, is_reversed=is_reversed)[0]
    report = live.think(Limits(10, is_analysis=True))
    assert report.source == "exact"
    assert len(report.moves) > 1
    for move in report.moves:
        assert move.score == expected[move.action]
        assert move.value == sign * np.sign(move.score)
    scores = [sign * move.score for move in report.moves]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_move_near_the_end_is_that_of_the_analysis_and_no_estimate_is_better(is_reversed):
    live = near_the_end(is_reversed)
    report = live.think(Limits(10, is_analysis=True))
    quick = live.think()
    assert (quick.action, quick.score) == (report.action, report.score)
    estimated = [move for move in quick.moves if move.score is None and move.value is not None]
    assert estimated
    for move in estimated:
        assert move.discs is None
        assert move.value <= quick.value


@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_line_of_a_solved_position_leads_to_its_score(is_reversed):
    live = near_the_end(is_reversed)
    report = live.think(Limits(10, is_analysis=True))
    is_black = live.board.is_black_to_move
    for action in report.line:
        live.play(action)
    assert live.is_over
    assert live.final_score() == (report.score if is_black else -report.score)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_proven_result_is_kept_without_a_score(is_reversed):
    """A win is played without a search; a draw or a loss bounds the value of the search."""
    config = QUICK.model_copy(update={"solve_empties": 9, "score_empties": 0})
    live, rng = make(6, config, is_reversed=is_reversed), random.Random(7)
    solver = endgame.Solver(6, is_reversed=is_reversed)
    sources, num_open = [], 0
    for _ in range(40):
        live.new_game()
        random_game(live, rng, 24)
        if live.is_over or len(live.legal_actions) < 2:
            continue
        result = live.result(solver.solve(live.board.player, live.board.opponent).score)
        report = live.think()
        sources.append((result, report.source))
        if result > 0:
            live.play(report.action)
            reply = solver.solve(live.board.player, live.board.opponent)
            assert live.result(reply.score) == -1
            assert (report.value, report.moves[0].is_proven) == (1.0, True)
            num_open += report.score is None
        else:
            assert report.value <= result
    assert set(sources) >= {(1.0, "exact"), (-1.0, "search")}
    assert (1.0, "search") not in sources
    assert num_open > 5


def test_a_move_that_few_nodes_refute_is_not_played():
    config = QUICK.model_copy(update={"solve_empties": 1, "has_proofs": False})
    verified, plain = make(8, config), make(8, config.model_copy(update={"probe_nodes": 0}))
    num_blunders = num_verified = 0
    for board, (blunder, _) in wipe_outs.before_the_end(2):
        for live in (plain, verified):
            live.new_game(board)
        num_blunders += plain.think().action == blunder
        report = verified.think()
        assert report.action != blunder or report.value == -1
        num_verified += report.value > -1
    assert num_blunders >= 5
    assert num_verified > 40


def test_an_analysis_solves_only_where_scores_are_solved():
    config = QUICK.model_copy(update={"solve_empties": 12, "score_empties": 8})
    live, rng = make(6, config), random.Random(2)
    for num_empties, source in ((10, "search"), (8, "exact")):
        while live.num_empties > num_empties:
            live.play(rng.choice(live.legal_actions))
        assert live.think(Limits(10, is_analysis=True)).source == source


def test_a_solver_without_time_leaves_it_to_the_search():
    config = QUICK.model_copy(update={"solve_empties": 30, "solve_seconds": 0.001})
    live = make(6, config)
    random_game(live, random.Random(3), 4)
    report = live.think(Limits(16))
    assert (report.source, report.num_simulations) == ("search", 16)


def test_temperature_draws_by_visits():
    """Chi-squared of 400 draws against visits to the power of 2; 99.9 % for up to 9 moves: 27.9."""
    config = QUICK.model_copy(update={"temperature": 0.5, "num_simulations": 60})
    live, counts = make(6, config, seed=1), {}
    live.play(live.legal_actions[0])
    live.think()
    for _ in range(400):
        report = live.think(Limits(0))  # the same tree
        counts[report.action] = counts.get(report.action, 0) + 1
    drawn = np.array([counts.get(move.action, 0) for move in report.moves])
    expected = np.array([move.visits**2 for move in report.moves], float)
    expected *= 400 / expected.sum()
    visited = expected > 0
    assert len(counts) > 1
    assert drawn[~visited].sum() == 0
    assert ((drawn - expected)[visited] ** 2 / expected[visited]).sum() < 27.9


def test_a_book_comes_first_but_its_illegal_moves_are_ignored():
    book = opening_book.Book(othello.Othello(6))
    live = make(book=book)
    book.entry(live.board, 0).value = 0.5  # a1 is illegal
    assert live.think().source == "search"
    book.entry(live.board, live.legal_actions[0]).value = 0.9
    report = live.think()
    assert report.source == "book"
    assert report.action in live.legal_actions
    assert live.think(Limits(20, is_analysis=True)).source == "search"
    live.play(report.action)
    assert live.think().source == "search"


def test_levels_go_from_beginner_to_full():
    full = EngineConfig(num_simulations=1000)
    levels = [
        engine_settings.at_level(full, level) for level in range(1, engine_settings.NUM_LEVELS + 1)
    ]
    assert levels[-1] == full
    assert len(set(levels)) == len(levels)
    for name, is_falling in (
        ("num_simulations", False), ("solve_empties", False), ("temperature", True)
    ):  # fmt: skip
        values = [getattr(level, name) for level in levels]
        assert values == sorted(values, reverse=is_falling)
    assert engine_settings.LEVEL_NAMES[0] == "beginner"
    assert engine_settings.LEVEL_NAMES[-1] == "full"
    for level in (0, engine_settings.NUM_LEVELS + 1):
        with pytest.raises(ValueError, match=f"level {level}: levels are 1"):
            engine_settings.at_level(full, level)


def test_a_level_is_never_stronger_than_the_settings():
    weak = EngineConfig(num_simulations=20, solve_empties=3, exact_empties=2, temperature=0.6)
    weaker = engine_settings.at_level(weak, engine_settings.NUM_LEVELS - 1)
    assert (weaker.num_simulations, weaker.solve_empties, weaker.exact_empties) == (20, 3, 2)
    assert weaker.temperature == 0.6
    only_time = EngineConfig(num_simulations=None, seconds=5.0)
    assert engine_settings.at_level(only_time, 1).num_simulations == 32


def test_a_level_weakens_moves_and_not_analyses():
    live = make(config=QUICK.model_copy(update={"num_simulations": 100}))
    live.level = 3
    weak = live.think()
    assert weak.num_simulations == engine_settings.at_level(live.config, 3).num_simulations < 100
    assert live.think(live.config.limits(is_analysis=True)).num_simulations == 100
    live.level = 20
    assert live.think(Limits(0)).moves[0].visits == 0  # it does not profit from the other tree


def test_a_position_is_solved_on_demand_with_the_expected_score_before():
    live, rng = make(8, QUICK.model_copy(update={"solve_empties": 0})), random.Random(2)
    random_game(live, rng, 44)
    expected = endgame.Solver().solve(live.board.player, live.board.opponent).score
    shown = []
    report = live.solve(on_progress=shown.append, progress_seconds=0.0)
    assert (report.source, report.score, report.discs) == ("exact", expected, expected)
    assert report.moves[0].action == report.action
    assert [each.score for each in shown] == [None] * len(shown)
    for each in shown:
        assert each.value == search_report.likely_result(each.discs, 8)


@pytest.mark.parametrize("size", [6, 8])
def test_a_score_and_its_likely_result_belong_together(size):
    assert search_report.likely_result(0.0, size) == 0.0
    # One deviation, 3 discs on 8x8: 84 % of a normal distribution are on one side.
    assert search_report.likely_result(3.0 * size / 8, size) == pytest.approx(0.6827, abs=1e-4)
    for utility in (-7.0, -0.2, 2.5):
        value = search_report.likely_result(utility, size)
        assert search_report.likely_utility(value, size) == pytest.approx(utility)
    assert abs(search_report.likely_utility(1.0, size)) <= size**2


def test_a_deep_analysis_is_long_enough_for_marks():
    live = make()
    usual = Limits(20, seconds=3.0, is_analysis=True)
    deep = live.deep_limits(usual)
    assert (deep.num_simulations, deep.seconds, deep.is_analysis) == (80, 48.0, True)
    assert not live.think(usual).is_deep
    assert not live.think(deep, is_stopped=lambda: True).is_deep
    assert live.think(deep).is_deep
    assert live.think(usual).is_deep  # the tree is kept
    assert not live.think(Limits(200)).is_deep  # a search for a move has no scores

    live.evaluator.simulate = lambda *_: None  # such networks are fast
    assert live.deep_limits(usual).num_simulations == 50_000
    assert live.deep_limits(Limits(60_000, is_analysis=True)).num_simulations == 60_000
    assert live.deep_limits(Limits(seconds=1.0, is_analysis=True)).num_simulations is None
    live.evaluator.simulate = None


def test_whole_discs_are_the_same_for_both_sides():
    live = make()
    report = search_report.whole(live.think(Limits(50, is_analysis=True)))
    assert all(move.discs == int(move.discs) for move in report.moves if move.discs is not None)
    assert report.discs == int(report.discs)
    for number, whole in ((2.5, 3), (0.5, 1), (0.4, 0), (-0.4, 0), (7.0, 7)):
        assert (search_report.rounded(number), search_report.rounded(-number)) == (whole, -whole)
