"""The matches of a run: evaluations, and ratings with made-up results."""

import types

import jax
import numpy as np
import pydantic
import pytest
from support import fake_engines, tiny_run

from azo.games import othello
from azo.lab import arena, elo, engine_protocols, external_engines, players, run_matches
from azo.lab.tournament import backends
from azo.learning import network
from azo.training import config, metrics, network_files

WON = elo.MatchResult(40, 0, 10, pair_scores=(0, 0, 10, 0, 15))
LOST = elo.MatchResult(10, 0, 40, pair_scores=(15, 0, 10, 0, 0))
POOL = ["greedy", "random"]
OPENING_PLIES = tiny_run.settings().evaluation.opening_plies


def weights(seed):
    """The variables of a network."""
    made = network.init(tiny_run.game(), tiny_run.settings().network, jax.random.key(seed))
    return jax.device_get(made)


def are_weights(variables, seed):
    pairs = zip(jax.tree.leaves(variables), jax.tree.leaves(weights(seed)), strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


@pytest.fixture
def matches(monkeypatch):
    """Results to come, and the arguments of the matches that were played for them."""
    to_come, played = [], []

    def play(game, first, second, key, *, num_games, opening_plies):
        assert (num_games, opening_plies) == (50, OPENING_PLIES)
        result = to_come.pop(0)
        played.append((first, second, tuple(jax.random.key_data(key).tolist())))
        return result

    monkeypatch.setattr(arena, "play_match", play)
    return to_come, played


def rate(folder, iteration, *, last_iteration=99, **ratings):
    """Rates the network of an iteration, in a process that begins after `last_iteration`."""
    ratings = {"every": 5, "pool": POOL, "num_games": 50} | ratings
    settings = tiny_run.settings(run={"folder": str(folder)}, ratings=ratings)
    state = types.SimpleNamespace(variables=lambda: weights(iteration))
    with metrics.MetricsWriter(folder, last_iteration=last_iteration) as writer:
        of_run = run_matches.RunMatches(settings, tiny_run.game())
        for event in of_run.rate(state, iteration):
            writer.write(event.kind, iteration, event.fields)
    return event.text


def met(folder):
    """Whom each generation met, in the order of the matches."""
    opponents = {}
    for event in metrics.read(folder, metrics.RATING_MATCH):
        opponents.setdefault(event["iteration"], []).append(run_matches.opponent(event))
    return opponents


def test_generations_are_kept_and_meet_the_pool(tmp_path, matches):
    to_come, played = matches
    to_come += [WON] * 6
    texts = [rate(tmp_path, iteration) for iteration in (5, 10, 15)]
    assert met(tmp_path) == {5: POOL, 10: POOL, 15: POOL}
    for (first, second, _), iteration in zip(played, (5, 5, 10, 10, 15, 15), strict=True):
        assert are_weights(first.variables, iteration)
        assert first.search_config.num_simulations == 100
        assert second.name in POOL
    assert len({key for _, _, key in played}) == 6  # other openings each time
    kept, _ = network_files.load(tmp_path / "generations" / "10")
    assert are_weights(kept, 10)

    pairings = [
        elo.Pairing(f"iteration {n}", other, WON)
        for n, others in met(tmp_path).items()
        for other in others
    ]
    standings = elo.rate(pairings, anchor="random").standings
    (own,) = [one for one in standings if one.name == "iteration 15"]
    last = metrics.read(tmp_path, metrics.RATING)[-1]
    assert (last["iteration"], last["rating/anchor"]) == (15, "random")
    values = [last[f"rating/{name}"] for name in ("elo", "elo_low", "elo_high")]
    assert values == pytest.approx([own.rating, *own.interval])
    assert texts[-1] == f"Elo {values[0]:.0f}, 95 % {values[1]:.0f} to {values[2]:.0f} (random 0)"


def test_a_resumed_run_keeps_and_rates_anew_what_came_after_its_checkpoint(tmp_path, matches):
    to_come, played = matches
    to_come += [WON] * 4
    rate(tmp_path, 5)
    rate(tmp_path, 10)
    first_time = metrics.read(tmp_path, metrics.RATING_MATCH)
    (tmp_path / "generations" / "10" / "settings.json").write_text("stale")
    to_come += [WON] * 2
    rate(tmp_path, 10, last_iteration=7)
    assert metrics.read(tmp_path, metrics.RATING_MATCH) == first_time
    assert [key for _, _, key in played[2:4]] == [key for _, _, key in played[4:]]
    assert are_weights(network_files.load(tmp_path / "generations" / "10")[0], 10)


def test_matches_already_played_are_not_repeated(tmp_path, matches):
    to_come, played = matches
    to_come += [WON] * 3
    rate(tmp_path, 5)
    with pytest.raises(IndexError):  # in the second match
        rate(tmp_path, 10)
    assert met(tmp_path)[10] == ["greedy"]
    to_come += [LOST]
    rate(tmp_path, 10)
    assert met(tmp_path)[10] == POOL
    wins = [event["rating_match/wins"] for event in metrics.read(tmp_path, metrics.RATING_MATCH)]
    assert wins == [40, 40, 40, 10]
    assert len(metrics.read(tmp_path, metrics.RATING)) == 2
    assert len({key for _, _, key in played}) == len(played) == 4


def test_an_unknown_player_is_reported_before_training(tmp_path, matches):
    with pytest.raises(ValueError, match="unknown player 'rolouts:9'"):
        rate(tmp_path, 5, pool=["rolouts:9"])


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
    assert are_weights(played[0][0].variables, 1)
    assert are_weights(played[0][1].variables, 2)
    assert (event.fields["gate/is_promoted"], event.fields["gate/generation"]) == (1, 4)


def test_the_run_goes_on_without_engines_that_are_absent_or_fail_at_their_start(
    tmp_path, matches, monkeypatch
):
    pool = {
        "greedy": fake_engines.config("true"),
        "x:3": fake_engines.config("false"),
        "absent:3": None,
    }
    pool["random"] = players.BaselinePlayer("random", None)
    monkeypatch.setattr(run_matches, "_pool_player", lambda name, game: pool[name])
    play, (to_come, played) = arena.play_match, matches

    def fail_or_play(game, first, second, *args, **settings):
        if second == pool["x:3"]:
            raise engine_protocols.EngineError("x 3", "died (exit code 3)", ())
        return play(game, first, second, *args, **settings)

    monkeypatch.setattr(arena, "play_match", fail_or_play)
    to_come[:] = [LOST, WON]
    text = rate(tmp_path, 5, pool=[*pool])
    assert met(tmp_path) == {5: POOL}
    assert [second for _, second, _ in played] == [pool["greedy"], pool["random"]]
    assert text.endswith(" (random 0); x 3: died (exit code 3); not installed: absent:3")


@pytest.mark.parametrize(
    ("pool", "zero"),
    [(["rollouts:9", "greedy"], "rollouts:9"), (["random", "patterns:4"], "patterns:2")],
)
def test_the_ladder_random_or_the_first_of_the_pool_sets_the_zero(
    pool, zero, tmp_path, matches, monkeypatch
):
    monkeypatch.setattr(
        run_matches, "_pool_player", lambda *_: players.BaselinePlayer("random", None)
    )
    matches[0][:] = [WON] * 2
    assert rate(tmp_path, 5, pool=pool).endswith(f" ({zero} 0)")


def test_engines_of_the_pool_are_the_shipped_ones_if_their_program_exists(monkeypatch):
    for program, is_installed in (("true", True), ("no-such-program", False)):
        assert external_engines.is_installed(fake_engines.config(program)) == is_installed
    find, game = run_matches._pool_player, othello.Othello()
    engines = []
    monkeypatch.setattr(external_engines, "is_installed", lambda config: not engines.append(config))
    assert isinstance(find("gtp-rhino:3", game), backends.ProgramPlayer)
    assert [(engine.name, engine.level) for engine in engines] == [("gtp-rhino", 3)]
    assert find("greedy", game) == players.BaselinePlayer("greedy", game)
    monkeypatch.setattr(external_engines, "is_installed", lambda config: False)
    assert find("gtp-rhino:3", game) is None
    with pytest.raises(ValueError, match="gtp-rhino plays Othello, not tictactoe"):
        find("gtp-rhino:3", tiny_run.game())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_games": 3}, "multiple of 2"),
        ({"every": 5, "every_seconds": 60}, "every is 5 and ratings.every_seconds 60: set one"),
        ({"pool": ()}, "at least 1"),
        ({"pool": ("random", "greedy", "random")}, "names a player twice: random, greedy, random"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(pydantic.ValidationError, match=message):
        config.RatingsConfig(**wrong)


def test_by_seconds_a_rating_is_due_once_in_every_interval():
    ratings = config.RatingsConfig(every_seconds=3600)
    assert ratings.is_enabled
    # In 14,500 seconds two multiples at once are one rating.
    times = [(0, 0), (3601, 0), (3700, 3601), (7200, 3601), (14_500, 3601)]
    assert [ratings.is_due(7, *time) for time in times] == [False, True, False, True, True]


@pytest.mark.parametrize(("every", "expected"), [(0, []), (1, [1, 2, 3, 4]), (3, [3])])
def test_by_iterations_a_rating_is_due_at_their_multiples(every, expected):
    ratings = config.RatingsConfig(every=every)
    assert ratings.is_enabled == (every > 0)
    assert [n for n in range(5) if ratings.is_due(n, 10.0 * n, 0)] == expected
