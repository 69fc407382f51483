import collections
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import tiny_run

from azo.formats import checksums
from azo.games import registry
from azo.learning import placement
from azo.run import checkpoint, config, network_files, shipped_files

TINY = {
    "game": {"name": "tictactoe"},
    "network": {"num_blocks": 0, "num_channels": 2, "value_units": 2},
    "selfplay": {"num_games": 4, "num_plies": 2},
    "replay": {"capacity": 44, "min_positions": 4},
    "learner": {"batch_size": 4},
}


@pytest.fixture(scope="module")
def settings():
    return config.Config.model_validate(TINY)


@pytest.fixture(scope="module")
def state(settings):
    game = registry.make(settings.game)
    return placement.begin(game, settings, placement.make_mesh(1), seed=3)


def after(state, iteration):
    return state.replace(iteration=jnp.full_like(state.iteration, iteration))


def bits(tree):
    keys = jax.tree.map(lambda x: jax.random.key_data(x) if is_key(x) else x, tree)
    return jax.tree.map(np.asarray, keys)


def is_key(leaf):
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def assert_same_bits(left, right):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(jax.tree.leaves(bits(left)), jax.tree.leaves(bits(right)), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def changed(settings, section, **values):
    part = getattr(settings, section).model_copy(update=values)
    return settings.model_copy(update={section: part})


def message_of(function, *arguments, **settings):
    with pytest.raises(ValueError) as caught:
        function(*arguments, **settings)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_restored_state_has_the_same_bits_types_and_devices(tmp_path, settings, state):
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state, settings)
        restored = checkpoints.restore(state)
    assert_same_bits(restored, state)
    assert restored.key.dtype == state.key.dtype
    for old, new in zip(jax.tree.leaves(state), jax.tree.leaves(restored), strict=True):
        assert new.sharding.is_equivalent_to(old.sharding, old.ndim)


def test_an_abstract_state_is_template_enough(tmp_path, settings, state):
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state, settings)
        restored = checkpoints.restore(jax.eval_shape(lambda: state))
    assert_same_bits(restored, state)


def test_a_state_moves_to_other_devices_without_changing_a_bit(tmp_path, settings, state):
    if jax.device_count() < 2:
        pytest.skip("needs two devices: XLA_FLAGS=--xla_force_host_platform_device_count=2")
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state, settings)
        wide = jax.sharding.NamedSharding(placement.make_mesh(2), jax.sharding.PartitionSpec())
        like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=wide), state)
        restored = checkpoints.restore(like)
    assert_same_bits(restored, state)
    assert all(len(leaf.sharding.device_set) == 2 for leaf in jax.tree.leaves(restored))


def positions(ring):
    """How often each position is in the rings of a state."""
    num_rows = len(ring.value) // len(ring.size)
    used = [
        slice(start, start + size)
        for start, size in zip(range(0, len(ring.value), num_rows), ring.size, strict=True)
    ]
    rows = (zip(ring.board[i], ring.policy[i], ring.value[i], strict=True) for i in used)
    return collections.Counter(tuple(x.tobytes() for x in row) for some in rows for row in some)


@pytest.mark.slow  # test_train.py goes on with other numbers of devices too
@pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")
def test_a_run_moves_to_other_numbers_of_devices_with_all_its_positions_and_goes_on(tmp_path):
    state, step = tiny_run.begin(1), 0
    for num_devices, num_iterations in [(1, 3), (2, 3), (8, 3), (1, 3)]:
        if step:
            with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
                checkpoints.save(step, state, tiny_run.settings())
                like = tiny_run.begin(num_devices)
                moved = checkpoints.restore(like)
            places = jax.tree.map(
                lambda x, y: x.sharding.is_equivalent_to(y.sharding, x.ndim), moved, like
            )
            assert all(jax.tree.leaves(places))
            before, after = jax.device_get((state, moved))
            assert positions(after.replay) == positions(before.replay)
            assert np.ptp(after.replay.size) <= 1
            assert_same_bits(after.replace(replay=None), before.replace(replay=None))
            state = moved
        for _ in range(num_iterations):
            state, metrics = tiny_run.iteration(num_devices)(state, 0.0)
            step += 1
        assert int(state.iteration) == step
        assert np.isfinite(float(metrics.losses.policy)) or step == 3
    assert int(state.replay.size.sum()) == 128  # full, so rings that have gone round were moved


def test_the_latest_checkpoints_and_the_best_one_are_kept(tmp_path, settings, state):
    with checkpoint.Checkpoints(tmp_path, keep=2) as checkpoints:
        for step, score in [(1, None), (2, 0.9), (3, 0.5), (4, None), (5, None)]:
            checkpoints.save(step, state, settings, score)
        assert checkpoints.all_steps() == [2, 4, 5]
        assert (checkpoints.best_step(), checkpoints.latest_step()) == (2, 5)


def test_a_new_session_finds_what_an_earlier_one_saved(tmp_path, settings, state):
    with checkpoint.Checkpoints(tmp_path, keep=2) as checkpoints:
        assert checkpoints.latest_step() is None
        checkpoints.save(7, after(state, 7), settings, 0.5)
    with checkpoint.Checkpoints(tmp_path, keep=2) as checkpoints:
        assert (checkpoints.latest_step(), checkpoints.best_step()) == (7, 7)
        assert checkpoints.settings() == settings
        assert int(checkpoints.restore(state).iteration) == 7


def test_an_interrupted_save_leaves_the_earlier_checkpoint(tmp_path, settings, state, monkeypatch):
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, after(state, 1), settings)

    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        patch.setattr(checksums, "write", interrupt)  # after the content, before the renaming
        with pytest.raises(KeyboardInterrupt):
            checkpoints.save(2, after(state, 2), settings)
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {"1", "2.partial"}
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        assert checkpoints.all_steps() == [1]
        assert int(checkpoints.restore(state).iteration) == 1
        checkpoints.save(2, after(state, 2), settings)
        assert checkpoints.all_steps() == [2]


def test_settings_are_saved_with_the_run_for_people_too(tmp_path, settings, state):
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state, settings)
    saved = json.loads((tmp_path / "settings.json").read_text())
    assert saved["selfplay"].items() >= TINY["selfplay"].items()


def test_a_run_may_be_lengthened_and_evaluated_otherwise(tmp_path, settings, state):
    longer = changed(settings, "run", num_iterations=999, save_every=1, folder=pathlib.Path("x"))
    longer = changed(longer, "run", num_devices=2)
    longer = changed(longer, "evaluation", num_games=2).model_copy(update={"distributed": True})
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.check_resumable(changed(settings, "run", seed=9))  # nothing saved yet
        checkpoints.save(1, state, settings)
        checkpoints.check_resumable(longer)


def test_settings_that_contradict_the_run_are_named(tmp_path, settings, state):
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state, settings)
        other = changed(settings, "search", num_simulations=7)
        saved = settings.search.num_simulations
        assert message_of(checkpoints.check_resumable, other) == (
            f"{tmp_path}: cannot resume: search.num_simulations is 7, but the run was begun with"
            f" {saved}. Give --search.num-simulations {saved}, or another --run.folder"
        )


def test_other_versions_of_libraries_are_named_on_resuming(
    tmp_path, settings, state, monkeypatch, capsys
):
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state, settings)
        versions = json.loads((tmp_path / "checkpoints" / "1" / "versions.json").read_text())
        assert versions["jax"] == jax.__version__
        checkpoints.check_resumable(settings)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(shipped_files, "version", {**versions, "jax": "0.99"}.__getitem__)
        checkpoints.check_resumable(settings)
    assert capsys.readouterr().err == (
        f"{tmp_path}/checkpoints/1: saved with other versions (jax {jax.__version__}, now 0.99):"
        " the run goes on, but not bit for bit as it would have with them\n"
    )


def test_arrays_of_other_shapes_are_named(tmp_path, settings, state):
    wider = state.replace(replay=state.replay.replace(board=jnp.zeros((60, 2), jnp.uint32)))
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state, settings)
        message = message_of(checkpoints.restore, wider)
    assert "checkpoint 1 has shape [44, 2] for replay.board, but" in message
    assert "ask for shape [60, 2]" in message


def test_a_checkpoint_that_does_not_exist_is_answered_with_those_that_do(tmp_path, settings, state):
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        assert message_of(checkpoints.restore, state).endswith("no checkpoint yet; there are: none")
        checkpoints.save(3, state, settings)
        message = message_of(checkpoints.restore, state, step=4)
        assert message.endswith("no checkpoint of iteration 4; there are: [3]")


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    message = message_of(checkpoint.Checkpoints, tmp_path, keep=1)
    assert message == (
        f"{tmp_path}: holds something that is not an azo run (thesis.tex):"
        " choose another --run.folder"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "run").write_text("")
    assert "is a file, not a folder" in message_of(checkpoint.Checkpoints, tmp_path / "run", keep=1)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    message = message_of(checkpoint.Checkpoints, tmp_path / "file" / "run", keep=1)
    assert "cannot write a run here (Not a directory): choose another --run.folder" in message


def test_an_exported_network_comes_back_with_its_settings(tmp_path, settings, state):
    network_files.save(tmp_path / "net", state.variables(), settings)
    variables, loaded = network_files.load(tmp_path / "net")
    assert_same_bits(variables, state.variables())
    assert loaded == settings.model_copy(update={"origin": ()})


def test_a_run_gives_its_best_network_and_else_its_latest(tmp_path, settings, state):
    def scaled(factor):
        params = jax.tree.map(lambda x: x * factor, state.learner.params)
        return state.replace(learner=state.learner.replace(params=params))

    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, scaled(1), settings)
        checkpoints.save(2, scaled(2), settings)
        assert_same_bits(network_files.load(tmp_path)[0], scaled(2).variables())
        checkpoints.save(3, scaled(3), settings, 0.5)
        checkpoints.save(4, scaled(4), settings)
        assert_same_bits(network_files.load(tmp_path)[0], scaled(3).variables())


def test_a_gated_run_gives_the_network_that_passed_the_gate(tmp_path, settings, state):
    best = jax.tree.map(lambda x: x + 1, state.variables())
    gated = changed(settings, "gate", is_enabled=True)
    gated = changed(gated, "generation", num_games=10)
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state.replace(actor_params=best), gated)
    assert_same_bits(network_files.load(tmp_path)[0], best)


def test_a_taught_run_gives_the_network_that_learns_and_not_its_teachers(tmp_path, settings, state):
    teacher = jax.tree.map(lambda x: x + 1, state.variables())
    taught = changed(settings, "selfplay", teacher="elsewhere")
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state.replace(actor_params=teacher), taught)
    assert_same_bits(network_files.load(tmp_path)[0], state.variables())


def test_other_checkpoints_than_networks_are_refused(tmp_path, settings, state):
    assert "no such folder" in message_of(network_files.load, tmp_path / "absent")
    assert "neither a run nor an exported" in message_of(network_files.load, tmp_path)
    checkpoint.Checkpoints(tmp_path / "run", keep=1).close()
    assert "has no checkpoint yet" in message_of(network_files.load, tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    message = message_of(network_files.save, tmp_path / "full", state.variables(), settings)
    assert "exists already" in message
