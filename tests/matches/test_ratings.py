"""Elo from players of about equal strength, and discs lost on solved positions."""

import jax
import numpy as np
import pytest

from azo.games import bitboard, game_config, othello, registry
from azo.matches import elo, ladder, ratings
from azo.opponents import players
from azo.solver.host import endgame

SIZES = (6, 8)


@pytest.mark.thorough
@pytest.mark.parametrize("size", SIZES)
def test_openings_are_legal_and_lead_to_different_positions(size):
    game = othello.Othello(size)
    with np.load(ratings.FILE) as stored:
        openings = stored[f"openings{size}"]
    assert len(openings) >= 90
    position = game.start(len(openings))
    for actions in openings.T:
        legal = np.asarray(game.legal_mask(position))
        assert legal[np.arange(len(actions)), actions].all()
        position = game.step(position, jax.numpy.asarray(actions, np.int32)).position
    assert len(np.unique(np.asarray(game.pack(position)), axis=0)) == len(openings)


@pytest.mark.parametrize("size", SIZES)
def test_scores_of_positions_are_exact(size):
    game = othello.Othello(size)
    with np.load(ratings.FILE) as stored:
        position = game.unpack(jax.numpy.asarray(stored[f"positions{size}"]))
        scores = stored[f"scores{size}"]
    assert len(scores) >= 500
    assert (np.asarray(game.num_empties(position)) == 14).all()
    assert ((scores != ratings.ILLEGAL) == np.asarray(game.legal_mask(position))).all()
    solver = endgame.Solver(size)
    sides = zip(bitboard.to_ints(position.player), bitboard.to_ints(position.opponent), strict=True)
    for row, (player, opponent) in list(enumerate(sides))[:8]:
        solution = solver.solve(player, opponent, every_move=True)
        assert {move: scores[row, move] for move in solution.move_scores} == solution.move_scores


class Played:
    """Matches with made-up results, which a player of a known rating would have."""

    def __init__(self, rating):
        self.rating, self.opponents = rating, []

    def __call__(self, game, player, opponent, key, *, num_games, drawn, rows):
        assert len(drawn) == num_games // 2 == len(set(drawn))
        name = f"{opponent.style}:{opponent.depth}" if hasattr(opponent, "style") else opponent.name
        name = name.replace("positional", "alphabeta").replace("hard:2", "iagno:hard")
        name = name.replace("medium:1", "iagno:medium")
        self.opponents.append(name)
        expected = 1 / (1 + 10 ** ((ladder.RATINGS[8][name] - self.rating) / 400))
        won = round(num_games * expected)
        return elo.MatchResult(won, 0, num_games - won)


@pytest.mark.parametrize(
    ("rating", "expected", "opponents", "places"),
    [
        (100.0, 0.0, ["patterns:2", "patterns:4"], ("patterns:2", "gtp-rhino:3")),
        (-800.0, -800.0, ["greedy", "iagno:medium"], ("greedy", "iagno:medium")),
        (450.0, 0.0, ["patterns:2", "patterns:4", "patterns:6"], ("patterns:4", "patterns:6")),
        (1400.0, 1000.0, ["patterns:10"], ("patterns:10", None)),
        (-1400.0, -1000.0, ["random"], (None, "random")),
    ],
)
def test_opponents_are_the_neighbours_on_the_ladder(
    rating, expected, opponents, places, monkeypatch
):
    played = Played(rating)
    monkeypatch.setattr(ratings.arena, "play_match", played)
    monkeypatch.setattr(ratings.Rater, "_discs_lost", lambda *_: 1.5)
    measured = ratings.Rater(othello.Othello()).measure(None, jax.random.key(0), 1002, expected)
    assert list(measured.results) == opponents
    assert {result.num_games for result in measured.results.values()} == {1000}  # 500 openings
    assert sorted(played.opponents) == sorted(opponents)
    assert measured.places == places
    if None not in places:
        assert measured.standing.rating == pytest.approx(rating, abs=15)


def test_a_perfect_player_loses_no_disc_and_a_player_of_first_moves_does(monkeypatch):
    game = othello.Othello(6)
    of_game = ratings.Rater(game)
    scores = of_game._scores

    def best(player, keys, position, size):
        return scores.argmax(axis=1)

    monkeypatch.setattr(ratings.backends, "choose", best)
    assert of_game._discs_lost(None, jax.random.key(0)) == 0
    monkeypatch.undo()
    player = players.BaselinePlayer("random", game)
    assert 3 < of_game._discs_lost(player, jax.random.key(0)) < 15


def test_only_the_usual_game_has_a_ladder():
    for described in (
        game_config.GameConfig(size=4),
        game_config.GameConfig(is_reversed=True),
        game_config.GameConfig(name="tictactoe"),
    ):
        with pytest.raises(ValueError, match="ratings are for Othello on 6x6 and 8x8"):
            ratings.Rater(registry.make(described))
