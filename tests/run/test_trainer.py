"""What the host does between iterations: gates, ends, schedules; matches are made up."""

import types

import jax.numpy as jnp
import pytest
from support import stop_after, tiny_run

from azo.learning import placement
from azo.measure import arena
from azo.run import checkpoint, config, hooks, interruption, metrics, trainer

GATED = {
    "generation": {"num_games": 20, "num_samples": 64},
    "gate": {"is_enabled": True, "num_games": 4, "num_simulations": 5, "after_failure": "learn"},
    "replay": {"capacity": 128, "min_positions": 32, "window_generations": 1},
}


def run(folder, **sections):
    """Settings of a tiny run in a folder."""
    chosen = {"folder": str(folder), "num_devices": 1} | sections.pop("run", {})
    return tiny_run.settings(run=chosen, **sections)


def a_trainer(monkeypatch, folder, matches, **sections):
    """A trainer whose matches at the gate have the given results, and the events it writes."""
    settings, written, results = run(folder, **sections), [], iter(matches)
    monkeypatch.setattr(hooks.Hooks, "match", lambda *_: next(results))

    def write(kind, iteration, fields, **_):
        written.append((kind, iteration, fields))

    return trainer.Trainer(
        settings,
        tiny_run.game(),
        placement.make_mesh(1),
        settings.network,
        hooks.Hooks(settings, tiny_run.game(), load=None),
        checkpoints=None,
        writer=types.SimpleNamespace(write=write),
        screen=types.SimpleNamespace(note=lambda text: None, working=print),
        stop=interruption.StopRequest(),
    ), written


def begin(settings):
    return placement.begin(tiny_run.game(), settings, placement.make_mesh(1), seed=0)


def after(state, games=0, steps=0):
    """The state after more games and steps."""
    learner = state.learner.replace(num_steps=state.learner.num_steps + steps)
    return state.replace(num_games=state.num_games + games, learner=learner)


WON, LOST = arena.MatchResult(3, 0, 1), arena.MatchResult(1, 0, 3)


def test_a_generation_plays_learns_meets_the_gate_and_after_a_failure_learns_on(
    tmp_path, monkeypatch
):
    one, written = a_trainer(monkeypatch, tmp_path, [LOST, LOST, LOST, WON], **GATED)
    one.settings = run(tmp_path, **GATED | {"gate": GATED["gate"] | {"max_failures": 3}})
    state = begin(one.settings)
    assert one.next_iteration(state) == "play"
    state = after(state, games=19)
    assert one.next_iteration(state) == "play"
    state = after(state, games=5)
    assert one.next_iteration(state) == "learn"
    state = one.end_generation(state, 3)
    assert not written  # not yet at its end
    for num_failures in (1, 2):  # 64 samples are two iterations of two steps of 16
        state = after(state, steps=2)
        assert one.next_iteration(state) == "learn"
        state = one.end_generation(after(state, steps=2), 4)
        assert int(state.num_failures) == num_failures
        assert one.next_iteration(state) == "learn"  # on, without new games
    state = one.end_generation(after(state, steps=4), 5)
    assert one.next_iteration(state) == "play"  # the third failure in a row
    state = one.end_generation(after(after(state, games=20), steps=4), 6)
    assert (int(state.generation), int(state.num_failures)) == (1, 0)
    assert one.next_iteration(state) == "play"
    assert state.num_evaluations() == 4 * one.hooks.gate_evaluations() == 4 * 4 * 9 * (5 + 1)
    assert [
        (done, events["gate/score"], events["gate/is_promoted"]) for _, done, events in written
    ] == [
        (4, 0.25, 0),
        (4, 0.25, 0),
        (5, 0.25, 0),
        (6, 0.75, 1),
    ]
    assert written[-1][2]["gate/generation"] == 1


def test_after_a_failure_the_old_network_may_play_on(tmp_path, monkeypatch):
    gate = GATED["gate"] | {"after_failure": "play"}
    one, _ = a_trainer(monkeypatch, tmp_path, [LOST], **GATED | {"gate": gate})
    state = one.end_generation(after(begin(one.settings), games=20, steps=4), 1)
    assert int(state.generation) == 0
    assert one.next_iteration(state) == "play"


def test_only_a_promotion_clears_the_window(tmp_path, monkeypatch):
    one, _ = a_trainer(monkeypatch, tmp_path, [LOST, WON], **GATED)
    state = after(begin(one.settings), games=20, steps=4)
    window_starts = jnp.full_like(state.replay.window_starts, 50)
    state = state.replace(replay=state.replay.replace(window_starts=window_starts))
    failed = one.end_generation(state, 1)
    assert failed.replay.window_starts[0, :3].tolist() == [50, 50, 50]
    promoted = one.end_generation(after(failed, steps=4), 2)
    assert promoted.replay.window_starts[0, :3].tolist() == [0, 50, 50]


def test_a_run_without_generations_begins_one_with_every_iteration(tmp_path, monkeypatch):
    one, _ = a_trainer(monkeypatch, tmp_path, [])
    state = begin(one.settings)
    assert one.next_iteration(state) == "play_and_learn"
    # Even one that has finished no game in an iteration goes on, so it is the games that count.
    assert int(one.end_generation(state, 1).generation) == 0
    assert int(one.end_generation(after(state, games=1), 1).generation) == 1


@pytest.mark.parametrize(("every", "expected"), [(0, []), (1, [1, 2, 3, 4]), (3, [3])])
def test_hooks_are_due_at_multiples_of_their_interval(every, expected):
    evaluation = config.EvaluationConfig(every=every)
    assert [n for n in range(1, 5) if evaluation.is_due(n)] == expected


def train_with_scores(monkeypatch, settings, scores):
    """Trains with made-up matches, given as wins of 10 games; returns the last state."""
    results = iter(scores)

    def match(*_):
        wins = next(results)
        return arena.MatchResult(wins, 0, 10 - wins)

    monkeypatch.setattr(hooks.Hooks, "match", match)
    return trainer.train(settings)


@pytest.mark.slow
def test_a_run_ends_at_the_score_it_is_to_reach_and_stays_ended(tmp_path, monkeypatch, capsys):
    settings = run(
        tmp_path,
        evaluation={"every": 2, "until_score": 0.7, "opponent": "random"},
        run={"num_iterations": 50},
    )
    state = train_with_scores(monkeypatch, settings, [6, 7])
    assert int(state.iteration) == 4
    (end,) = metrics.read(tmp_path, "end")
    assert (end["iteration"], end["reason"]) == (4, "score 0.700 against random")
    with checkpoint.Checkpoints(tmp_path, keep=3) as checkpoints:
        assert (checkpoints.latest_step(), checkpoints.best_step()) == (4, 4)
    capsys.readouterr()
    assert int(train_with_scores(monkeypatch, settings, []).iteration) == 4
    assert "the run has ended: score 0.700 against random" in capsys.readouterr().out


@pytest.mark.slow
def test_a_stopped_run_rates_its_generations_as_the_uninterrupted_one(tmp_path, monkeypatch):
    schedule = {"every": 2, "pool": ["random"], "num_earlier": 1, "num_games": 8}
    schedule["num_simulations"] = 2
    monkeypatch.setattr(hooks.Hooks, "match", lambda *_: arena.MatchResult(1, 0, 1))
    arena.play_games.clear_cache()
    states, events = [], []
    for name in ("whole", "parts"):
        settings = run(tmp_path / name, ratings=schedule)
        if name == "parts":  # as iteration 4 ends, before its network is rated
            trainer.train(settings, stop_after.StopAfter(tmp_path / name, 4))
            assert [event["iteration"] for event in metrics.read(tmp_path / name, "rating")] == [2]
        states.append(trainer.train(settings))
        log = metrics.read(tmp_path / name)
        of_ratings = [event for event in log if event["event"].startswith("rating")]
        clocks = dict.fromkeys(("time/rating_seconds", "time/processor_seconds"), 0)
        events.append([event | clocks for event in of_ratings])
    tiny_run.assert_same_bits(*states)
    assert events[0] == events[1]
    lines = [
        (event["iteration"], event.get("rating_match/opponent", event.get("rating_match/earlier")))
        for event in events[0]
    ]
    assert lines == [
        *[(2, "random"), (2, None)],
        *[(4, "random"), (4, 2), (4, None)],
        *[(6, "random"), (6, 4), (6, None)],
    ]
    # One program against random, and one for all networks against one another.
    assert arena.play_games._cache_size() == 2


def test_with_a_gate_it_is_the_best_network_that_is_judged(tmp_path, monkeypatch):
    one, _ = a_trainer(monkeypatch, tmp_path, [], **GATED)
    state = begin(one.settings)
    assert one.hooks.playing(state) is state.actor_params is not None
    plain, _ = a_trainer(monkeypatch, tmp_path, [])
    tiny_run.assert_same_bits(plain.hooks.playing(state), state.variables())


@pytest.mark.slow
def test_a_schedule_changes_simulations_and_learning_rate_until_the_evaluations_are_used(
    tmp_path, monkeypatch
):
    schedule = [
        {"start": 2, "set": {"search.num_simulations": 8, "learner.learning_rate": 0.001}},
    ]
    settings = run(
        tmp_path,
        generation={"schedule": schedule},
        learner={"warmup_steps": 0, "learning_rate": 0.01, "momentum": 0.8},
        run={"num_iterations": 50, "max_evaluations": 1000},
    )
    state = train_with_scores(monkeypatch, settings, [5])
    # 8 games of 4 plies with 4 simulations and the root's own evaluation, later with 8.
    expected = [160, 320, 320 + 288, 320 + 2 * 288, 320 + 3 * 288]
    events = metrics.read(tmp_path, "iteration")
    assert [event["generation"] for event in events] == [0, 1, 2, 3, 4]
    assert [event["selfplay/evaluations"] for event in events] == expected
    assert [event["learner/learning_rate"] for event in events] == pytest.approx(
        [0.01, 0.01, 0.001, 0.001, 0.001]
    )
    assert state.num_evaluations() == expected[-1]
    (end,) = metrics.read(tmp_path, "end")
    assert (end["iteration"], end["reason"]) == (5, "all 1,000 evaluations are used")
    assert len(metrics.read(tmp_path, "compilation")) == 2
    assert config.at_generation(settings, 1).search.num_simulations == 4
    assert config.at_generation(settings, 9).search.num_simulations == 8


@pytest.mark.parametrize(
    ("limits", "processor_seconds", "expected"),
    [
        ({"num_iterations": 8}, 50.0, 0.5),
        ({"num_iterations": 8, "max_evaluations": 1000}, 50.0, 0.7),
        ({"num_iterations": 8, "max_processor_seconds": 62.5}, 50.0, 0.8),
        ({"num_iterations": 3}, 0.0, 1.0),
    ],
)
def test_the_share_of_the_run_is_that_of_the_limit_that_is_closest(
    tmp_path, monkeypatch, limits, processor_seconds, expected
):
    one, _ = a_trainer(monkeypatch, tmp_path, [], run=limits)
    one.processor_seconds = processor_seconds
    state = begin(one.settings).with_evaluations(700).replace(iteration=jnp.int32(4))
    assert one.progress(state) == pytest.approx(expected)
    assert (one.end_reason(state) is None) == (expected < 1)


def test_the_processor_time_ends_a_run_and_a_resumed_run_counts_on(tmp_path, monkeypatch):
    settings = run(tmp_path, run={"num_iterations": 50, "max_processor_seconds": 90})
    seconds = iter(range(0, 10_000, 20))  # two readings an iteration
    monkeypatch.setattr(trainer.time, "process_time", lambda: float(next(seconds)))
    state = train_with_scores(monkeypatch, settings, [5])
    assert int(state.iteration) == 5
    (end,) = metrics.read(tmp_path, "end")
    assert end["reason"] == "all 90 processor seconds are used"
    longer = run(tmp_path, run={"num_iterations": 50, "max_processor_seconds": 130})
    state = train_with_scores(monkeypatch, longer, [5])
    assert int(state.iteration) == 7
    used = [event["time/processor_seconds"] for event in metrics.read(tmp_path, "iteration")]
    assert used == [20.0 * number for number in range(1, 8)]


@pytest.fixture
def clock(monkeypatch):
    """A processor clock that moves by 20 seconds with each reading; an iteration takes two."""
    seconds = [0.0]

    def read():
        seconds[0] += 20.0
        return seconds[0]

    monkeypatch.setattr(trainer.time, "process_time", read)
    monkeypatch.setattr(hooks.Hooks, "match", lambda *_: arena.MatchResult(5, 0, 5))
    return seconds


@pytest.mark.slow
def test_a_run_that_has_ended_goes_on_at_its_full_learning_rate(tmp_path, clock, capsys):
    def train(limit):
        recipe = {"schedule": "trapezoid", "learning_rate": 0.01, "warmup_steps": 0}
        limits = {"num_iterations": 1000, "max_processor_seconds": limit}
        trainer.train(run(tmp_path, learner=recipe, run=limits))
        events = metrics.read(tmp_path, "iteration")
        return [event["learner/learning_rate"] / 0.01 for event in events]

    more = "the same command with --run.max-processor-seconds {} continues it"
    # The rate of an iteration is that of the share done before it: 0, 0.1, ... 0.9.
    rates = train(200)
    assert len(rates) == 10
    assert rates == pytest.approx([1] * 9 + [0.525], rel=1e-5)
    assert f"all 200 processor seconds are used; {more.format(400)}" in capsys.readouterr().out
    rates = train(400)
    assert len(rates) == 20
    assert rates[10:] == pytest.approx([1] * 7 + [0.7625, 0.525, 0.2875], rel=1e-5)
    assert len(metrics.read(tmp_path, "end")) == 2


@pytest.mark.slow
def test_ratings_by_seconds_are_made_once_an_interval_and_take_no_training_time(
    tmp_path, clock, monkeypatch
):
    rated = []

    def rate(self, state, iteration):
        clock[0] += 5000.0  # of processor time
        rated.append(iteration)
        yield metrics.Event("rating", {"rating/elo": 1.0})

    monkeypatch.setattr(hooks.Hooks, "rate", rate)
    ratings = {"every_seconds": 60, "pool": ["random"]}
    limits = {"num_iterations": 1000, "max_processor_seconds": 200, "save_every": 1}
    settings = run(tmp_path, ratings=ratings, run=limits)
    trainer.train(settings, stop_after.StopAfter(tmp_path, 4))
    assert rated == [3]
    trainer.train(settings)
    assert rated == [3, 6, 9]
    events = metrics.read(tmp_path, "rating")
    assert [event["time/processor_seconds"] for event in events] == [60, 120, 180]
    used = [event["time/processor_seconds"] for event in metrics.read(tmp_path, "iteration")]
    assert used == [20.0 * number for number in range(1, 11)]


@pytest.mark.slow
def test_the_clocks_continue_from_a_checkpoint_whose_iteration_is_not_due_in_the_log(
    tmp_path, clock
):
    limits = {"num_iterations": 7, "log_every": 4, "save_every": 50}
    settings = run(tmp_path, run=limits)

    class AfterFiveIterations:
        is_made = property(lambda _: clock[0] >= 200)

    trainer.train(settings, AfterFiveIterations())
    trainer.train(settings)
    events = metrics.read(tmp_path, "iteration")
    used = {event["iteration"]: event["time/processor_seconds"] for event in events}
    assert used == {4: 80, 5: 100, 7: 140}
