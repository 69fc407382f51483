"""The matches of a run: the gate, and ratings with a made-up rater."""

import types

import jax
import pytest
from support.builders import tiny_run

from azo.games import othello
from azo.matches import arena, elo, ladder, ratings, run_matches
from azo.matches.tournament import backends
from azo.networks import initial_variables, network_files
from azo.training import config, metrics

LADDER = ladder.RATINGS[8]
WON = elo.MatchResult(40, 0, 10, pair_scores=(0, 0, 10, 0, 15))


def weights(seed):
    """The variables of a network."""
    made = initial_variables.init(
        tiny_run.game(), tiny_run.settings().network, jax.random.key(seed)
    )
    return jax.device_get(made)


@pytest.fixture
def measured(monkeypatch):
    """The arguments of all measurements, each of which gives an Elo that is 100 higher."""
    calls = []

    class Rater:
        ladder = LADDER

        def __init__(self, game):
            pass

        def measure(self, player, key, num_games, expected=None):
            assert num_games == 50
            calls.append((player, jax.random.key_data(key).tolist(), expected))
            rating = 100.0 * len(calls)
            standing = elo.Standing("network", WON, rating, (rating - 45, rating + 45))
            return ratings.Measurement(standing, {"greedy": WON}, ("greedy", None), 1.25)

    monkeypatch.setattr(ratings, "Rater", Rater)
    return calls


def rate(folder, iteration, *, last_iteration=99):
    """Rates the network of an iteration, in a process that begins after `last_iteration`."""
    ratings = {"num_points": 5, "num_simulations": 7}
    settings = tiny_run.settings(run={"folder": str(folder)}, ratings=ratings)
    state = types.SimpleNamespace(variables=lambda: weights(iteration))
    with metrics.MetricsWriter(folder, last_iteration=last_iteration) as writer:
        of_run = run_matches.RunMatches(settings, tiny_run.game())
        texts = []
        for event in of_run.rate(state, iteration, 50):
            writer.write(event.kind, iteration, {**event.fields, "time/minutes": 1.0})
            texts.append(event.text)
    return texts


def test_networks_are_kept_and_measured_from_the_latest_rating_on(tmp_path, measured):
    texts = [rate(tmp_path, iteration) for iteration in (5, 10)]
    assert texts[1] == ["Elo 200 +- 45: above greedy; loses 1.25 discs per move"]
    (first, first_key, *_), (second, second_key, expected) = measured
    tiny_run.assert_same_bits(first.variables, weights(5))
    tiny_run.assert_same_bits(second.variables, weights(10))
    assert second.search_config.num_simulations == 7
    assert expected == 180.0  # networks improve
    assert first_key != second_key  # other openings each time
    kept, _ = network_files.load(tmp_path / "generations" / "10")
    tiny_run.assert_same_bits(kept, weights(10))
    last = metrics.read(tmp_path, metrics.RATING)[-1]
    fields = [last[f"rating/{name}"] for name in ("elo", "elo_low", "elo_high", "discs_lost")]
    assert fields == [200.0, 155.0, 245.0, 1.25]
    assert last["rating/opponents"] == ["greedy"]
    assert last["rating/opponents_elo"] == [-906.0]
    assert last["rating/results"] == [[40, 0, 10]]
    assert rate(tmp_path, 10) == []  # rated before the process was stopped


def test_a_resumed_run_keeps_and_rates_anew_what_came_after_its_checkpoint(tmp_path, measured):
    rate(tmp_path, 5)
    rate(tmp_path, 10)
    (tmp_path / "generations" / "10" / "settings.json").write_text("stale")
    rate(tmp_path, 10, last_iteration=7)
    assert [one[1:] for one in measured[1:2]] == [one[1:] for one in measured[2:]]
    tiny_run.assert_same_bits(network_files.load(tmp_path / "generations" / "10")[0], weights(10))


@pytest.mark.thorough
def test_a_rating_compiles_no_search_after_that_of_other_weights():
    game = othello.Othello(6)
    sections = {"game": {"name": "othello", "size": 6}, "replay": {"capacity": 1024}}
    settings = tiny_run.settings(ratings={"num_points": 1}, **sections)
    of_run = run_matches.RunMatches(settings, game)
    first, second = (
        initial_variables.init(game, settings.network, jax.random.key(seed)) for seed in (1, 2)
    )
    of_run.compile_ratings(types.SimpleNamespace(variables=lambda: first))
    compiled = backends._choose.num_programs()
    player = of_run.player(second, settings.ratings.num_simulations)
    assert 3 < of_run.rater._discs_lost(player, jax.random.key(0)) < 15
    assert backends._choose.num_programs() == compiled


def test_a_game_without_a_ladder_is_reported_before_training():
    settings = tiny_run.settings(ratings={"num_points": 5})
    message = "ratings are for Othello on 6x6 and 8x8, not for tictactoe: set ratings.num_points"
    with pytest.raises(ValueError, match=message):
        run_matches.RunMatches(settings, tiny_run.game())


def test_the_gate_plays_the_learners_network_against_the_actors(monkeypatch):
    played = []

    def play(game, first, second, key, **_):
        played.append((first, second))
        return WON

    monkeypatch.setattr(arena, "play_match", play)
    settings = tiny_run.settings(gate={"is_enabled": True}, generation={"num_games": 8})
    state = types.SimpleNamespace(
        variables=lambda: weights(1), actor_params=weights(2), generation=3
    )
    (event,) = run_matches.RunMatches(settings, tiny_run.game()).gate(state, 5)
    tiny_run.assert_same_bits(played[0][0].variables, weights(1))
    tiny_run.assert_same_bits(played[0][1].variables, weights(2))
    assert (event.fields["gate/is_promoted"], event.fields["gate/generation"]) == (1, 4)


@pytest.mark.parametrize(("num_points", "due"), [(0, []), (1, [1.0]), (4, [0.25, 0.5, 0.75, 1.0])])
def test_a_rating_is_due_after_equal_shares_of_the_run(num_points, due):
    ratings = config.RatingsConfig(num_points=num_points)
    shares = [number / 16 for number in range(17)]
    rated = [
        now
        for now, before in zip(shares[1:], shares[:-1], strict=True)
        if ratings.is_due(now, before)
    ]
    assert rated == due
