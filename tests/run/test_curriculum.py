"""Phases one after the other, and runs that begin with another's network."""

import jax
import numpy as np
import pytest
from support import tiny_run

from azo.learning import network
from azo.measure import arena
from azo.run import (
    config,
    console,
    curriculum,
    hooks,
    interruption,
    metrics,
    network_files,
    shipped_files,
    trainer,
)

NOTHING_LEARNED = {"replay.min_positions": 128}  # as many as the ring has rows


@pytest.fixture
def scores(monkeypatch):
    """Wins of 10 games of the matches to come."""
    wins = []

    def match(*_):
        won = wins.pop(0)
        return arena.MatchResult(won, 0, 10 - won)

    monkeypatch.setattr(hooks.Hooks, "match", match)
    return wins


def of_phases(folder, *phases):
    """Settings of a curriculum with the phases given as pairs of name and settings."""
    listed = [{"name": name, "set": changes} for name, changes in phases]
    run = {"folder": str(folder), "num_devices": 1, "save_every": 1, "num_iterations": 3}
    return tiny_run.settings(run=run).model_copy(
        update={"curriculum": tuple(config.Phase(**phase) for phase in listed)}
    )


def network_in(folder):
    return jax.device_get(network_files.load(folder)[0])


def train_phases(settings, at=None):
    """Trains, with a request to stop when iteration `at` of a phase is shown."""
    with interruption.StopRequest() as stop, pytest.MonkeyPatch.context() as patch:
        show = console.Console.update

        def update(self, shown, *others):
            show(self, shown, *others)
            stop.is_made = shown["iteration"] == at

        patch.setattr(console.Console, "update", update)
        curriculum.train(settings, stop)


@pytest.mark.slow
def test_phases_hand_on_their_networks_and_end_by_their_matches(tmp_path, scores, capsys):
    until = {"evaluation.every": 2, "evaluation.until_score": 0.6, "run.num_iterations": 50}
    settings = of_phases(
        tmp_path,
        ("small", until),
        ("small-again", NOTHING_LEARNED | {"run.num_iterations": 1}),
        (
            "big",
            NOTHING_LEARNED
            | {
                "network.num_channels": 4,
                "selfplay.teacher": "{small}",
                "run.num_iterations": 2,
                "evaluation.opponent": "network:{small}:3",
            },
        ),
        ("big-alone", {"network.num_channels": 4, "run.num_iterations": 1} | NOTHING_LEARNED),
    )
    scores += [5, 6, 0, 1, 2]
    train_phases(settings)
    names = ["1-small", "2-small-again", "3-big", "4-big-alone"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    ends = [metrics.read(tmp_path / name, "end") for name in names]
    assert [(end["iteration"], end["reason"]) for (end,) in ends] == [
        (4, "score 0.600 against random"),
        (1, "all 1 iterations are done"),
        (2, "all 2 iterations are done"),
        (1, "all 1 iterations are done"),
    ]
    shown = capsys.readouterr().out
    assert "phase 1 of 4: small" in shown
    assert "phase small has ended: score 0.600 against random" in shown

    # Where nothing is learned a phase ends with the network that it began with.
    small, again, big, alone = (network_in(tmp_path / name) for name in names)
    tiny_run.assert_same_bits(again, small)
    tiny_run.assert_same_bits(alone, big)
    steps = [
        event["learner/policy_loss"] for event in metrics.read(tmp_path / names[0], "iteration")
    ]
    assert steps[-1] is not None  # the first phase has learned something to hand on
    # The big one began with a fresh network, and was taught by the small one.
    fresh = network.init(
        tiny_run.game(),
        config.of_phase(settings, 2).network,
        jax.random.split(jax.random.key(0), 3)[0],
    )
    np.testing.assert_allclose(
        big["params"]["policy_logits"]["kernel"],
        fresh["params"]["policy_logits"]["kernel"],
        atol=1e-6,
    )
    state = trainer.train(config.of_phase(settings, 2))
    tiny_run.assert_same_bits(jax.device_get(state.actor_params), small)


@pytest.mark.slow
def test_a_finished_phase_is_skipped_and_an_interrupted_one_goes_on(tmp_path, scores, capsys):
    settings = of_phases(tmp_path, ("one", {"run.num_iterations": 1}), ("two", {}))
    scores += [5, 5]
    train_phases(settings, at=2)
    shown = capsys.readouterr().out
    assert "stopped and saved after iteration 2" in shown
    assert not metrics.read(tmp_path / "2-two", "end")
    before = (tmp_path / "1-one" / metrics.FILE).read_bytes()
    train_phases(settings)
    shown = capsys.readouterr().out
    assert "phase 1 of 2" not in shown
    assert "resuming after iteration 2" in shown
    assert (tmp_path / "1-one" / metrics.FILE).read_bytes() == before
    iterations = [e["iteration"] for e in metrics.read(tmp_path / "2-two", "iteration")]
    assert iterations == [1, 2, 3]
    train_phases(settings)  # all are done: nothing is left to do, and no match to play
    assert "phase two has ended: all 3 iterations are done" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_starts_from_the_network_of_another(tmp_path, scores, num_devices):
    if jax.device_count() < num_devices:
        pytest.skip("needs two devices")
    first = tiny_run.settings(run={"folder": str(tmp_path / "first"), "num_iterations": 3})
    scores += [5, 5]
    trainer.train(first)
    start_from = str(tmp_path / "first")
    then = {"folder": str(tmp_path / "then"), "num_iterations": 1, "num_devices": num_devices}
    state = trainer.train(
        tiny_run.settings(
            run=then | {"start_from": start_from, "seed": 9}, replay={"min_positions": 128}
        )
    )
    tiny_run.assert_same_bits(jax.device_get(state.variables()), network_in(tmp_path / "first"))


@pytest.mark.slow
def test_phases_on_boards_of_two_sizes_hand_on_the_network(tmp_path, scores, capsys):
    common = {
        "game.name": "othello",
        "network.heads": "pooled",
        "replay.capacity": 1024,
        "replay.min_positions": 1024,  # nothing is learned
        "run.num_iterations": 1,
    }
    phases = [(f"size-{size}", common | {"game.size": size}) for size in (4, 6)]
    scores += [5, 5]
    train_phases(of_phases(tmp_path, *phases))
    first, second = tmp_path / "1-size-4", tmp_path / "2-size-6"
    shown = capsys.readouterr().out
    assert f"run.start_from {first}: from othello4 to othello6, fresh layers: none" in shown
    small, large = (network_in(folder)["params"] for folder in (first, second))
    assert large["score_output"]["bias"].shape == (37,)
    for name in small.keys() - {"score_output"}:
        tiny_run.assert_same_bits(large[name], small[name])


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (
            {"run": {"start_from": "{place}/other"}},
            "run.start_from {place}/other holds a network of another shape than [network]",
        ),
        (
            {"run": {"start_from": "{place}/absent"}},
            "run.start_from: there is no network at '{place}/absent' (no such folder; {shipped})",
        ),
        (
            {"selfplay": {"teacher": "{place}/absent"}},
            "selfplay.teacher: there is no network at '{place}/absent' (no such folder; {shipped})",
        ),
    ],
)
def test_a_network_that_does_not_fit_or_is_not_there_is_named(tmp_path, sections, expected):
    wide = tiny_run.settings(network={"num_channels": 4})
    variables = network.init(tiny_run.game(), wide.network, jax.random.key(0))
    network_files.save(tmp_path / "other", variables, wide)
    filled = {
        section: {name: value.format(place=tmp_path) for name, value in settings.items()}
        for section, settings in sections.items()
    }
    filled["run"] = {"folder": str(tmp_path / "run"), "num_devices": 1} | filled.get("run", {})
    with pytest.raises(ValueError) as caught:
        trainer.train(tiny_run.settings(**filled))
    shipped = f"networks that come with azo: {', '.join(shipped_files.networks())}"
    assert str(caught.value) == expected.format(place=tmp_path, shipped=shipped)


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (
            [("a", {"search.num_simulation": 3})],
            "[search]: unknown setting 'num_simulation'. Did you mean 'num_simulations'?",
        ),
        ([("a", {"selfplay.teacher": "{b}"}), ("b", {})], "phase a: '{b}' names no earlier phase"),
        ([("a", {}), ("b", {"selfplay.teacher": "{c}"})], "names no earlier phase: a"),
        ([("a b", {})], "String should match pattern"),
    ],
)
def test_wrong_names_in_a_curriculum_are_refused_before_anything_is_done(phases, expected):
    tree = tiny_run.SECTIONS | {"curriculum": [{"name": n, "set": c} for n, c in phases]}
    with pytest.raises(ValueError) as caught:
        config.Config.model_validate(tree)
    assert expected in str(caught.value)
