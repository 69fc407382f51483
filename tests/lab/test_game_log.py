"""Games of a tournament on disk, their standings, and exports."""

import dataclasses
import re

import numpy as np
from support import slow_board

from azo.formats import game_files, ggf
from azo.games import notation, othello
from azo.lab.tournament import export, game_log, page
from azo.lab.tournament.game_log import PlayedGame


def played(number=0, black="a", white="b", result=1, score=2, ended="", **fields):
    fields = {
        "opening_plies": 2,
        "actions": (37, 43, 64, 18),
        "num_moves": (3, 2),
        "positions": (12.0, None),
        "seconds": (0.5, 1.25),
    } | fields
    return PlayedGame(number, black, white, result=result, score=score, ended=ended, **fields)


def full_game(seed):
    """Returns all plies of a random game and black's score, by the slow rules."""
    boards, actions = slow_board.random_game(8, seed=seed)
    return tuple(actions), slow_board.black_score(boards[-1])


def test_a_game_comes_back_from_its_line():
    for one in (played(), played(score=None, ended="b: timed out after 5 s", actions=())):
        line = game_log.to_line(one, 8)
        assert "\n" not in line
        assert game_log.from_line(line, 8) == one


def test_pairings_count_points_of_the_first_name():
    games = [
        played(0, "a", "b", 1),
        played(0, "b", "a", 1),  # one each
        played(1, "a", "b", 0),
        played(1, "b", "a", -1),  # a: 3/2
        played(2, "b", "a", -1),  # a: half of a pair
        played(0, "c", "b", -1),
    ]
    pairings = game_log.pairings(["a", "b", "c"], games)
    assert [(p.first, p.second, *p.result.counts) for p in pairings] == [
        ("a", "b", 3, 1, 1),
        ("b", "c", 1, 0, 0),
    ]
    assert pairings[0].result.pair_scores == (0, 0, 1, 1, 0)
    assert pairings[1].result.pair_scores == (0, 0, 0, 0, 0)


def test_effort_counts_the_moves_of_one_player():
    games = [
        played(0, "a", "b"),
        played(0, "b", "a", -1, None, "b: resigned", num_moves=(1, 4), positions=(9.0, 16.0)),
    ]
    assert page.effort("a", games) == (28 / 7, (0.5 + 1.25) / 7, 0)
    assert page.effort("b", games) == (None, (1.25 + 0.5) / 3, 1)
    assert page.effort("c", games) == (None, None, 0)


def test_exported_games_are_read_back_by_the_readers(tmp_path):
    games = []
    for seed in range(6):
        actions, score = full_game(seed)
        result = int(np.sign(score))
        games.append(played(seed, "one", "two", result, score, actions=actions))
    assert any(64 in one.actions for one in games), "no game with a pass"
    games.append(
        played(6, "two", "three", -1, None, "two: resigned", actions=games[0].actions[:20])
    )
    export.write(tmp_path, games, othello.Othello())

    again = game_files.read_archives([tmp_path / "games.txt"])
    assert again.is_finished.tolist() == [True] * 6 + [False]
    assert again.black_score[:6].tolist() == [one.score for one in games[:6]]
    parsed = [ggf.parse(line) for line in (tmp_path / "games.ggf").read_text().splitlines()]
    assert [one.moves for one in parsed] == [one.actions for one in games]
    results = re.findall(r"RE\[(.*?)\]", (tmp_path / "games.ggf").read_text())
    assert [int(result) for result in results] == [*(one.score for one in games[:6]), -1]
    assert (parsed[6].black, parsed[6].white) == ("two", "three")


def test_reversed_games_have_their_score_in_discs(tmp_path):
    actions, score = full_game(1)
    assert score != 0
    one = played(0, result=-int(np.sign(score)), score=score, actions=actions)
    early = dataclasses.replace(one, score=None, result=1, ended="b: resigned")
    export.write(tmp_path, [one, early], othello.Othello(is_reversed=True))
    parsed = [ggf.parse(line) for line in (tmp_path / "games.ggf").read_text().splitlines()]
    results = re.findall(r"RE\[(.*?)\]", (tmp_path / "games.ggf").read_text())
    assert [int(result) for result in results] == [score, -1]  # fewer discs win
    assert all(game.is_reversed for game in parsed)
    assert notation.transcript(actions, 8) in (tmp_path / "games.txt").read_text()
