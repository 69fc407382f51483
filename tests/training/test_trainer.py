"""What the host does between iterations: gates, ends, schedules; matches are made up."""

import time
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import tiny_run

from azo.learning import generations, sharding
from azo.matches import elo, run_matches
from azo.networks import network_files
from azo.process import interruption
from azo.training import config, metrics, run_clock, trainer

GATED = {
    "generation": {"num_games": 20, "num_samples": 64},
    "gate": {"is_enabled": True, "num_games": 4, "num_simulations": 5, "after_failure": "learn"},
    "replay": {"capacity": 128, "min_positions": 32, "window_generations": 1},
}


def run(folder, **sections):
    """Settings of a tiny run in a folder."""
    chosen = {"folder": str(folder), "num_devices": 1} | sections.pop("run", {})
    return tiny_run.settings(run=chosen, **sections)


def a_trainer(folder, **sections):
    """Returns a trainer with made-up matches, and the events it writes."""
    settings, written = run(folder, **sections), []

    def write(kind, iteration, fields, **_):
        written.append((kind, iteration, fields))

    return trainer.Trainer(
        settings,
        tiny_run.game(),
        sharding.make_mesh(1),
        settings.network,
        run_matches.RunMatches(settings, tiny_run.game()),
        checkpoints=None,
        writer=types.SimpleNamespace(write=write),
        screen=types.SimpleNamespace(note=lambda text: None, working=print),
        stop=interruption.StopRequest(),
    ), written


def after(state, games=0, steps=0):
    """The state after more games and steps."""
    learner = state.learner.replace(num_steps=state.learner.num_steps + steps)
    return state.replace(num_games=state.num_games + games, learner=learner)


def test_a_generation_plays_learns_meets_the_gate_and_after_a_failure_learns_on(
    tmp_path, scores, monkeypatch
):
    scores += [2, 2, 2, 7]
    one, written = a_trainer(tmp_path, **GATED)
    monkeypatch.setattr(generations, "MAX_FAILURES", 3)
    state = tiny_run.begin(1, **GATED)
    window_starts = jnp.full_like(state.replay.window_starts, 50)
    state = state.replace(replay=state.replay.replace(window_starts=window_starts))
    # 64 samples are two iterations of two steps of 16. A match is played at the end alone.
    for games, steps, expected, num_failures, generation in [
        (0, 0, "play", 0, 0),
        (19, 0, "play", 0, 0),
        (5, 0, "learn", 0, 0),
        (0, 2, "learn", 0, 0),
        (0, 2, "learn", 1, 0),  # on, without new games
        (0, 4, "learn", 2, 0),
        (0, 4, "play", 3, 0),  # the third failure in a row
    ]:
        state = one.end_generation(after(state, games, steps), 3)
        assert one.next_iteration(state) == expected
        assert (int(state.num_failures), int(state.generation)) == (num_failures, generation)
    assert state.replay.window_starts[0, :3].tolist() == [50, 50, 50]
    state = one.end_generation(after(state, games=20, steps=4), 6)
    assert one.next_iteration(state) == "play"
    assert (int(state.generation), int(state.num_failures)) == (1, 0)
    assert state.replay.window_starts[0, :3].tolist() == [0, 50, 50]
    assert state.num_evaluations() == 4 * 4 * 9 * (5 + 1)
    results = [(done, x["gate/score"], x["gate/is_promoted"]) for _, done, x in written]
    assert results == [(3, 0.2, 0)] * 3 + [(6, 0.7, 1)]
    assert written[-1][2]["gate/generation"] == 1


def test_a_run_without_generations_begins_one_with_every_iteration(tmp_path):
    one, _ = a_trainer(tmp_path)
    state = tiny_run.begin(1)
    assert one.next_iteration(state) == "play_and_learn"
    # Even one that has finished no game in an iteration goes on, so it is the games that count.
    assert int(one.end_generation(state, 1).generation) == 0
    assert int(one.end_generation(after(state, games=1), 1).generation) == 1


@pytest.mark.slow
def test_a_run_ends_at_the_score_it_is_to_reach_and_stays_ended(tmp_path, scores, capsys):
    match = {"every": 2, "until_score": 0.7, "opponent": "random"}
    settings = run(tmp_path, evaluation=match, run={"num_iterations": 50})
    scores += [6, 7]
    state = trainer.train(settings, make_matches=run_matches.RunMatches)
    assert int(state.iteration) == 4
    (end,) = metrics.read(tmp_path, "end")
    assert (end["iteration"], end["reason"]) == (4, "score 0.700 against random")
    capsys.readouterr()
    state = trainer.train(settings, make_matches=run_matches.RunMatches)
    assert int(state.iteration) == 4
    assert "the run has ended: score 0.700 against random" in capsys.readouterr().out


@pytest.mark.slow
def test_a_schedule_changes_simulations_and_learning_rate_until_the_evaluations_are_used(
    tmp_path, scores
):
    scores.append(5)
    changes = {"search.num_simulations": 8, "learner.learning_rate": 0.001}
    settings = run(
        tmp_path,
        generation={"schedule": [{"start": 2, "set": changes}]},
        learner={"warmup_steps": 0, "learning_rate": 0.01, "momentum": 0.8},
        run={"num_iterations": 50, "max_evaluations": 1000},
    )
    state = trainer.train(settings, make_matches=run_matches.RunMatches)
    # 8 games of 4 plies with 4 simulations and the root's own evaluation, later with 8.
    expected = [160, 320, 320 + 288, 320 + 2 * 288, 320 + 3 * 288]
    events = metrics.read(tmp_path, "iteration")
    assert [event["generation"] for event in events] == [0, 1, 2, 3, 4]
    assert [event["selfplay/evaluations"] for event in events] == expected
    rates = [event["learner/learning_rate"] for event in events]
    assert rates == pytest.approx([0.01, 0.01, 0.001, 0.001, 0.001])
    assert state.num_evaluations() == expected[-1]
    (end,) = metrics.read(tmp_path, "end")
    assert (end["iteration"], end["reason"]) == (5, "its 1,000 evaluations are used")
    assert len(metrics.read(tmp_path, "compilation")) == 2


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"num_iterations": 8}, 0.5),
        ({"num_iterations": 8, "max_evaluations": 1000}, 0.7),
        ({"num_iterations": 8, "max_processor_seconds": 62.5}, 0.8),
        ({"num_iterations": 3}, 1.0),
    ],
)
def test_the_share_of_the_run_is_that_of_the_limit_that_is_closest(tmp_path, limits, expected):
    one, _ = a_trainer(tmp_path, run=limits)
    one.clock.processor_seconds = 50.0
    state = tiny_run.begin(1).with_evaluations(700).replace(iteration=jnp.int32(4))
    assert one.progress(state) == pytest.approx(expected)
    assert (one.end_reason(state) is None) == (expected < 1)


@pytest.fixture
def clock(monkeypatch):
    """A processor clock that moves by 20 seconds with each reading; an iteration takes two."""
    seconds = [0.0]

    def read():
        seconds[0] += 20.0
        return seconds[0]

    monkeypatch.setattr(run_clock.time, "process_time", read)
    monkeypatch.setattr(run_matches.RunMatches, "match", lambda *_: elo.MatchResult(5, 0, 5))
    return seconds


@pytest.mark.slow
def test_a_run_that_has_ended_goes_on_at_its_full_learning_rate(tmp_path, clock, capsys):
    recipe = {"schedule": "trapezoid", "learning_rate": 0.01, "warmup_steps": 0}
    rates = []
    for limit in (200, 400):
        limits = {"num_iterations": 1000, "max_processor_seconds": limit}
        settings = run(tmp_path, learner=recipe, run=limits)
        trainer.train(settings, make_matches=run_matches.RunMatches)
        events = metrics.read(tmp_path, "iteration")
        assert [event["time/processor_seconds"] for event in events] == [*range(20, limit + 1, 20)]
        rates += [event["learner/learning_rate"] / 0.01 for event in events[len(rates) :]]
        more = f"the same command with --run.max-processor-seconds {2 * limit} continues it"
        end = f"its {limit} processor seconds are used; {more}"
        assert end in capsys.readouterr().out
    # The rate of an iteration is that of the share done before it: 0, 0.1, ... 0.9.
    expected = [1] * 9 + [0.525] + [1] * 7 + [0.7625, 0.525, 0.2875]
    assert rates == pytest.approx(expected, rel=1e-5)
    assert len(metrics.read(tmp_path, "end")) == 2


@pytest.fixture
def ratings(monkeypatch):
    """A wall clock that moves by six seconds with each reading, and the iterations rated."""
    seconds, rated = [0.0], []

    def read():
        seconds[0] += 6.0
        return seconds[0]

    def rate(self, state, iteration, num_games):
        rated.append(iteration)
        fields = {"elo": 1.0, "elo_low": 0.0, "elo_high": 2.0, "discs_lost": 1.0, "summary": ""}
        fields |= {
            "opponents": ["greedy"],
            "opponents_elo": [1],
            "results": [[num_games, 0, num_games]],
        }
        named = {f"rating/{name}": value for name, value in fields.items()}
        yield metrics.Event("rating", named | {"time/rating_seconds": 6.0})

    clocks = {name: getattr(time, name) for name in ("perf_counter", "process_time")}
    monkeypatch.setattr(run_clock, "time", types.SimpleNamespace(monotonic=read, **clocks))
    monkeypatch.setattr(run_matches.RunMatches, "rate", rate)
    monkeypatch.setattr(run_matches.RunMatches, "compile_ratings", lambda *_: None)
    monkeypatch.setattr(run_matches.ratings, "Rater", lambda *_: None)
    return rated


@pytest.mark.slow
def test_minutes_end_a_run_and_all_its_schedules_are_shares_of_them(tmp_path, ratings, capsys):
    changes = {"search.num_simulations": 8}
    recipe = {"schedule": "trapezoid", "learning_rate": 0.01, "warmup_steps": 0}
    sections = {
        "generation": {"schedule": [{"share": 0.5, "set": changes}]},
        "learner": recipe,
        "ratings": {"num_points": 4, "num_games": 2},
    }
    settings = run(tmp_path, run={"num_iterations": None}, minutes=5, **sections)
    trainer.train(settings, make_matches=run_matches.RunMatches)
    events = metrics.read(tmp_path, "iteration")
    assert events[-1]["time/minutes"] <= 5
    shares = [0, *(event["time/minutes"] / 5 for event in events[:-1])]
    rates = [event["learner/learning_rate"] / 0.01 for event in events]
    assert rates[-1] < 0.3
    assert rates == pytest.approx([min(1, 5 * (1 - share)) for share in shares], abs=0.25)
    compiled = [event["iteration"] for event in metrics.read(tmp_path, "compilation")]
    assert [events[n]["time/minutes"] > 2 for n in compiled] == [False, True]
    assert len(ratings) == 4
    assert ratings[-1] == events[-1]["iteration"]
    assert "its 5 minutes are over; the same command with --minutes 10 continues" in (
        capsys.readouterr().out
    )

    # A longer run goes on where its length has it: at half, with the full rate and 4 simulations.
    longer = run(tmp_path, run={"num_iterations": None}, minutes=10, **sections)
    trainer.train(longer, make_matches=run_matches.RunMatches)
    more = metrics.read(tmp_path, "iteration")[len(events) :]
    assert more[0]["learner/learning_rate"] == pytest.approx(0.01)
    assert more[-1]["time/minutes"] == pytest.approx(10, abs=1)
    assert len(ratings) == 6


@pytest.mark.parametrize(
    ("minutes", "games"),
    [
        (3, [32] * 3),
        (7, [32] * 7),
        (10.2, [*[32] * 6, 64, 64]),
        (20.5, [32, 64, 64, *[96] * 5]),
        (200, [32, *[224] * 7]),
    ],
)
def test_ratings_share_a_tenth_of_the_run(tmp_path, monkeypatch, minutes, games):
    now = [0.0]
    monkeypatch.setattr(run_clock.time, "monotonic", lambda: now[0])
    points = {"num_points": 8, "num_games": 224}
    clock = run_clock.RunClock(run(tmp_path, minutes=minutes, ratings=points))
    rated, shares = [], [0.0]

    def rate(*, is_last):
        num_games = clock.games_of_rating(min(clock.minutes / minutes, 1), is_last=is_last)
        if num_games:
            seconds = 6 * (num_games // 32)
            played = {"rating/results": [[num_games, 0, 0]] * 2}
            clock.add_rating({"time/rating_seconds": seconds, **played})
            now[0] += seconds
            rated.append(num_games)
            shares.append(clock.minutes / minutes)

    now[0] += 32  # compilation
    while clock.minutes + clock.last_rating_minutes() < minutes:
        with clock.iteration():
            now[0] += 3
        rate(is_last=False)
    rate(is_last=True)
    assert rated == games
    assert max(np.diff(shares)) < 2 / len(games)  # spread over the run
    assert 6 * sum(rated) / 32 <= 60 * minutes / 10
    assert now[0] == pytest.approx(60 * minutes, abs=12)


@pytest.mark.slow
def test_a_run_ends_with_its_last_rating_even_if_that_takes_less_than_expected(
    tmp_path, ratings, monkeypatch, capsys
):
    monkeypatch.setattr(config.RatingsConfig, "is_due", lambda *_: False)
    monkeypatch.setattr(
        run_clock.RunClock, "last_rating_minutes", lambda self: 0 if ratings else 1.0
    )
    settings = run(tmp_path, run={"num_iterations": None}, minutes=2, ratings={"num_points": 8})
    trainer.train(settings, make_matches=run_matches.RunMatches)
    last = metrics.read(tmp_path, "iteration")[-1]
    assert ratings == [last["iteration"]]
    assert 1 <= last["time/minutes"] < 1.5
    end = "its 2 minutes are over; the same command with --minutes 4 continues it"
    assert end in capsys.readouterr().out
    trainer.train(settings, make_matches=run_matches.RunMatches)
    assert end in capsys.readouterr().out
    assert metrics.read(tmp_path, "iteration")[-1] == last


def test_a_run_without_an_end_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no end: give --minutes 10, or another limit"):
        trainer.train(run(tmp_path, run={"num_iterations": None}))


@pytest.mark.slow
def test_the_clocks_continue_from_a_checkpoint_whose_iteration_is_not_due_in_the_log(
    tmp_path, clock
):
    limits = {"num_iterations": 7, "log_every": 4, "save_every": 50}
    settings = run(tmp_path, run=limits)

    class AfterFiveIterations:
        is_made = property(lambda _: clock[0] >= 200)

    trainer.train(settings, AfterFiveIterations(), run_matches.RunMatches)
    trainer.train(settings, make_matches=run_matches.RunMatches)
    events = metrics.read(tmp_path, "iteration")
    used = {event["iteration"]: event["time/processor_seconds"] for event in events}
    assert used == {4: 80, 5: 100, 7: 140}


PATTERNS = {
    "kind": "patterns",
    "patterns": {"set": "small", "num_features": 2, "has_move_counts": False},
}
TOWER = {"kind": "residual", "num_blocks": 1, "num_channels": 4, "value_units": 4}


@pytest.mark.slow
@pytest.mark.parametrize(("pupil", "teacher"), [(TOWER, PATTERNS), (PATTERNS, TOWER)])
def test_a_network_learns_from_the_games_of_one_of_the_other_kind(tmp_path, pupil, teacher):
    taught_by, limits = tmp_path / "teacher", {"num_iterations": 4}
    settings = run(taught_by, network=teacher, run=limits)
    trainer.train(settings)
    settings = run(
        tmp_path / "pupil", network=pupil, selfplay={"teacher": str(taught_by)}, run=limits
    )
    state = trainer.train(settings)
    expected = network_files.load(taught_by)[0]
    tiny_run.assert_same_bits(*jax.device_get((state.actor_params, expected)))
    assert int(state.learner.num_steps) > 0
    assert network_files.load(settings.run.folder)[1].network == settings.network
