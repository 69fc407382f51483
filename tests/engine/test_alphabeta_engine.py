"""Moves of the engine by alpha-beta: limits, reports, and where the setting is refused."""

import time

import pytest

import azo
from azo.engine import alphabeta_search, engine_factory
from azo.engine.engine_settings import Limits
from azo.games import notation, variant
from azo.games.host import kernels, live_game

MIDDLE = "f5d6c4d3c2b3b4b5"  # an opening of XOT


@pytest.fixture(scope="module")
def engine():
    return azo.load_engine("zero-fast", num_simulations=400, search="alphabeta")


def legal_line(board, line):
    live = live_game.LiveGame(variant.Variant(8))
    live.new_game(board)
    for action in line:
        assert action in live.legal_actions
        live.play(action)
    return True


def test_a_report_has_a_move_its_score_and_its_line(engine):
    engine.new_game(actions=notation.parse_moves(MIDDLE, 8))
    report = engine.think()
    best = report.moves[0]
    assert (report.source, report.action) == ("search", best.action)
    assert best.discs == report.discs is not None
    assert best.value == report.value
    assert (report.value > 0) == (report.discs > 0)
    assert report.line[0] == report.action
    assert legal_line(engine.board, report.line)
    assert sorted(move.action for move in report.moves) == list(engine.legal_actions)
    assert 0 < report.num_evaluations <= 400 * alphabeta_search.NODES_PER_SIMULATION + 100


def test_equal_searches_find_equal_moves(engine):
    reports = []
    for _ in range(2):
        engine.new_game(actions=notation.parse_moves(MIDDLE, 8))
        engine.forget()
        reports.append(engine.think())
    assert reports[0].moves == reports[1].moves
    assert reports[0].num_evaluations == reports[1].num_evaluations


def test_a_whole_game_is_legal_and_ends_exactly(engine):
    engine.new_game()
    sources = []
    while not engine.is_over:
        report = engine.think(Limits(num_simulations=20))
        sources.append(report.source)
        engine.play(report.action)
    assert {"search", "exact"} <= set(sources)


def test_time_and_a_stop_end_a_search(engine):
    engine.new_game(actions=notation.parse_moves(MIDDLE, 8))
    start = time.perf_counter()
    engine.think(Limits(seconds=0.2))
    assert 0.15 < time.perf_counter() - start < 1.5
    start = time.perf_counter()
    report = engine.think(Limits(), is_stopped=lambda: time.perf_counter() > start + 0.2)
    assert time.perf_counter() - start < 1.5
    assert report.action in engine.legal_actions


def test_progress_is_reported(engine):
    engine.new_game(actions=notation.parse_moves(MIDDLE, 8))
    seen = []
    engine.think(Limits(seconds=0.5), on_progress=seen.append, progress_seconds=0.05)
    assert len(seen) >= 2
    assert all(report.action in engine.legal_actions for report in seen)


def test_time_that_is_used_up_still_gives_a_searched_move(engine):
    board = notation.parse_board(
        "---------OXX-----XXXO----XXXXO---OXXXX----XXOX----XOO----------- O", 8
    )
    search = engine._alphabeta
    for seconds in (0.0, -1.0):
        found = search.find(board, Limits(seconds=seconds))
        assert found.depth >= 3
        assert (
            int(kernels.legal_moves(board.player, board.opponent, kernels.FULL)) >> found.action & 1
        )


def test_lower_levels_and_analyses_use_puct(engine):
    engine.new_game(actions=notation.parse_moves(MIDDLE, 8))
    engine.level = 12
    report = engine.think()
    assert sum(move.visits for move in report.moves) == report.num_simulations > 0
    engine.level = 20
    report = engine.think(Limits(num_simulations=50, is_analysis=True))
    assert report.num_simulations == 50


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"network": "zero-conv"}, "with zero-conv, which has no alphabeta.npz"),
        ({"size": 6}, "with zero-fast6, which has no alphabeta.npz"),
        ({"level": 5}, "at level 5, which plays with puct"),
        ({"level": "human:1800"}, "at level human:1800, which plays with puct"),
    ],
)
def test_alphabeta_without_effect_is_refused_in_one_line(settings, line):
    with pytest.raises(ValueError, match=line) as error:
        azo.load_engine(search="alphabeta", **settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("settings", [{"temperature": 1.0}, {"ponder": True}, {"score_share": 0.5}])
def test_settings_of_puct_alone_are_refused_beside_alphabeta(settings):
    with pytest.raises(ValueError, match="has no effect with search = 'alphabeta'"):
        azo.load_engine(search="alphabeta", **settings)


def test_puct_is_the_default():
    assert engine_factory.PlayConfig().engine.search == "puct"
