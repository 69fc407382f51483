"""Opponents that move as people do: chances, ratings in order, and the front ends."""

import collections
import importlib.resources
import json

import numpy as np
import pytest
from support.drivers import refusals
from support.references import olivaw

from azo.engine import engine_factory, engine_settings
from azo.games import notation
from azo.games.host import live_game


@pytest.fixture(scope="module")
def engine():
    return engine_factory.load_engine(level="human:1800")


@pytest.fixture(scope="module")
def boards(engine):
    """Positions of published games with several moves."""
    found = []
    for number in (8, 12):
        live = live_game.replay(olivaw.moves(number), engine.game)
        found += [board for board in live.boards if len(live.legal_actions_at(board)) > 1]
    return found


def _chances(engine, board, rating):
    engine.new_game(board)
    return {action: chance for action, (chance,) in engine.chances([rating]).items()}


@pytest.mark.thorough
def test_moves_are_drawn_by_their_chances(engine, boards):
    board = boards[30]
    chances = _chances(engine, board, 1800)
    assert set(chances) == set(engine.legal_actions_at(board))
    assert sum(chances.values()) == pytest.approx(1)
    reports = [engine.think() for _ in range(1000)]
    assert {report.source for report in reports} == {"people"}
    drawn = collections.Counter(report.action for report in reports)
    for action, chance in chances.items():
        deviation = np.sqrt(1000 * chance * (1 - chance))
        assert abs(drawn[action] - 1000 * chance) < 5 * deviation + 1


@pytest.mark.thorough
def test_a_higher_rating_loses_fewer_discs(engine, boards):
    means = []
    for rating in (1400, 1600, 1800, 2000, 2200, 2400):
        lost = []
        for board in boards:
            _, values, _ = engine._people.features(board)
            lost.append(10 * values[:, 1] @ list(_chances(engine, board, rating).values()))
        means.append(np.mean(lost))
    assert means == sorted(means, reverse=True)
    assert means[0] > 1.5 * means[-1]


@pytest.mark.parametrize(
    ("level", "size", "message"),
    [
        ("human:1300", 8, "level human:1300: levels are 1 to 20, and human:1400 to human:2400"),
        ("people", 8, "level people: levels are 1 to 20"),
        ("human:1800", 6, "human levels exist only for 8x8, not for othello6"),
    ],
)
def test_other_levels_are_refused(level, size, message):
    assert message in refusals.message_of(engine_factory.load_engine, size=size, level=level)


def _shipped(kind):
    return json.loads((importlib.resources.files("azo.web") / f"static/{kind}.json").read_text())


def test_the_openings_that_come_with_azo_have_good_moves_that_the_engine_confirms(engine):
    openings = _shipped("openings")
    for card in openings:
        live = live_game.replay("".join(card["moves"]), engine.game)
        legal = {notation.action_text(action, 8) for action in live.legal_actions}
        assert legal >= card["losses"].keys() >= {card["best"]}
        assert card["losses"][card["best"]] == min(card["losses"].values()) == 0
    for card in openings[::40]:
        engine.new_game(None, notation.parse_moves("".join(card["moves"]), 8))
        report = engine.think(engine_settings.Limits(8000, is_analysis=True))
        assert card["losses"][notation.action_text(report.action, 8)] <= 1


def test_the_endings_that_come_with_azo_have_one_winning_move(engine):
    endings = _shipped("endings")
    assert len(endings) == 300
    assert len({ending["start"] for ending in endings}) == 300
    surprises = [ending["surprise"] for ending in endings]
    assert surprises == sorted(surprises)
    numbers = collections.Counter(ending["start"].count("-") for ending in endings)
    assert numbers == dict.fromkeys(range(6, 21), 20)
    for ending in endings:
        if ending["start"].count("-") > 12:  # the others would take minutes
            continue
        board = notation.parse_board(ending["start"], 8)
        scores = engine._solver.solve(board.player, board.opponent, every_move=True).move_scores
        best = max(scores.values())
        named = {notation.action_text(action, 8): score for action, score in scores.items()}
        assert [move for move, score in named.items() if score > 0] == [ending["best"]]
        assert ending["losses"] == {move: best - score for move, score in named.items()}
