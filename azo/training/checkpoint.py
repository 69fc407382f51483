"""Checkpoints: the whole state of a run, saved and restored bit for bit.

A run's folder holds `settings.json`, its metrics, and `checkpoints/ITERATION/` with the `RunState`
and, separately, its network; `network_files` reads only the network. A checkpoint is written under
another name, read back from the disk, and renamed; only then are older ones removed.
"""

import contextlib
import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from azo.learning import run_state, sharding
from azo.networks import checkpoint_folder, exported_network, network_files
from azo.process import distributed
from azo.settings import setting_types, shipped_files, typed_settings
from azo.storage import descriptors, files, locks
from azo.training import config, orbax_calls

_RINGS = ("replay/next_row", "replay/size", "replay/window_starts")  # a row for each device
_COUNTS = (
    *("generation", "generation_games", "generation_steps", "num_failures", "actor_version"),
    *("num_games", "learner/num_steps", *_RINGS),
)
# Other versions of these may change the bits of a run.
_PACKAGES = ("azo", "jax", "jaxlib", "flax", "optax", "mctx", "chex", "numpy", "scipy", "numba")


# The beginnings of names in checkpoints, where those in a state have changed since the first ones.
_SAVED_NAMES = {
    "history/": "history/plies/",
    "history/is_waiting": "history/is_waiting",
    "history/search_value": "history/plies/value",
    "games/options/resignation/": "games/resignation/",
    "options/resignation/": "resignation_counts/",
}


class Checkpoints(contextlib.ExitStack):
    """The checkpoints of one run, which no other process writes; a context manager."""

    def __init__(self, folder: pathlib.Path, *, keep: int):
        """Opens or creates a run's folder, and locks it; all processes of a run call it.

        Damaged checkpoints that are newer than the latest undamaged one are reported and renamed.
        The latest checkpoints are kept, as many as `keep`, and the one with the best score.
        ValueError if the folder holds something else or links, cannot be written, is in use, a
        checkpoint cannot be read, or all are damaged.
        """
        super().__init__()
        self.folder, self._keep = folder, keep
        # Raises ValueError if another process has locked the folder in the meantime.
        self.check_lock: Callable[[], None] = lambda: None
        # Iteration of the latest undamaged checkpoint, if any.
        self.latest_step = distributed.from_first(self._open)
        if distributed.num_processes() > 1:
            distributed.check_shared(folder)

    def _open(self) -> int:
        """Opens the folder in the first process; returns the iteration of the latest checkpoint."""
        folder, places = self.folder, self.folder / checkpoint_folder.CHECKPOINTS
        _check_is_ours(folder)
        try:
            with descriptors.folder(places, folder, makes_folder=True):
                pass
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise ValueError(
                f"{folder}: cannot write a run here ({error.strerror}): choose another --run.folder"
            ) from None
        files.check_own(folder / exported_network.SETTINGS, is_replaced=True)
        for step in checkpoint_folder.all_steps(folder):
            files.check_place(checkpoint_folder.folder_of(folder, step), folder)
        self.check_lock = self.enter_context(locks.lock_folder(folder)).check
        try:
            files.remove_leftovers(folder)
            files.remove_leftovers(places, pattern=r"\..*\.tmp")
            sound, damaged = checkpoint_folder.find_sound(folder)
            for step in damaged:
                self._set_aside(step)
        except ValueError:
            self.close()
            raise
        return sound or 0

    def settings(self) -> config.Config:
        """Returns the settings of the latest checkpoint."""
        return read_settings(self.folder, self._existing())

    def check_resumable(self, settings: config.Config) -> None:
        """Raises ValueError if the settings cannot continue the latest checkpoint.

        Settings of game and network that neither of the two reads may differ, as where a default
        has changed.
        """
        if not self.latest_step:
            return
        old = self.settings()
        for name, field in setting_types.fields_of(config.Config).items():
            value, begun = (typed_settings.value_of(one, name) for one in (settings, old))
            is_unread = name.startswith(("game.", "network.")) and not any(
                typed_settings.has_effect(one, name) for one in (settings, old)
            )
            is_fixed = setting_types.when_changed(field) != "on resume" and not is_unread
            if value != begun and is_fixed:
                raise ValueError(
                    f"{self.folder}: cannot resume: {name} is {value}, but the run was begun with"
                    f" {begun}. {_remedy(name, value, begun)}, or give another --run.folder"
                )

    def save(
        self,
        step: int,
        state: run_state.RunState,
        settings: config.Config,
        score: float | None = None,
    ) -> None:
        """Saves the run after `step` iterations, on disk and read back when this returns.

        Each process writes its part of the state, the first one everything else. An existing
        checkpoint is not changed, nor is an earlier one if this one cannot be written, which is a
        ValueError. `score` is the result of an evaluation after this iteration.
        """
        if distributed.from_first(lambda: step in checkpoint_folder.all_steps(self.folder)):
            return
        variables = state.variables()
        # Without a gate, `actor_params` is a teacher's network, not this run's.
        if settings.gate.is_enabled and state.actor_params is not None:
            variables = state.actor_params
        arrays = by_saved_names(_with_bits(state))
        if distributed.num_processes() == 1:  # else each writes what its devices have
            arrays = jax.device_get(arrays)
        variables = jax.device_get(network_files.named(variables))
        record = checkpoint_folder.CheckpointRecord(
            iteration=step,
            num_devices=len(arrays["replay/size"]),
            score=score,
            versions={name: shipped_files.version(name) for name in _PACKAGES},
        )
        self.check_lock()
        text = config.to_json(settings)
        with self._new_folder(step) as partial:
            orbax_calls.write(partial / checkpoint_folder.STATE, arrays)
            if distributed.is_first():
                exported_network.write(partial, variables, text)
                content = record.model_dump_json(indent=1).encode()
                files.write(partial / checkpoint_folder.RECORD, content, inside=partial)
                settings_place = self.folder / exported_network.SETTINGS
                files.write(settings_place, text.encode(), inside=self.folder)
                files.write_checksums(partial)
                files.verify_checksums(partial, is_cached=False)
        if distributed.is_first():
            self._prune()
        distributed.wait_for_all()
        self.latest_step = step

    @contextlib.contextmanager
    def _new_folder(self, step: int) -> Iterator[pathlib.Path]:
        """Yields the folder to fill of a new checkpoint, in all processes, see `files`."""
        place = checkpoint_folder.folder_of(self.folder, step)
        with contextlib.ExitStack() as stack:
            partial = place  # of which the others only learn the name
            if distributed.is_first():
                partial = stack.enter_context(files.new_folder(place, self.folder))
            yield partial.with_name(distributed.from_first(lambda: partial.name))

    def restore(self, like: run_state.RunState) -> run_state.RunState:
        """Returns the latest saved state, bit for bit; all processes of a run call it.

        The result has the shapes and devices of `like`, which is concrete, or
        `jax.ShapeDtypeStruct`s with shardings. If the number of devices has changed, the positions
        of the replay buffers are dealt out again, so they are in other rows. ValueError if there is
        no checkpoint, or its arrays have other shapes or are not finite.
        """
        step = self._existing()
        place = checkpoint_folder.folder_of(self.folder, step)
        plain = jax.eval_shape(_with_bits, like)
        expected = {name: (leaf.shape, leaf.dtype) for name, leaf in by_saved_names(plain).items()}
        saved_rings = checkpoint_folder.read_record(self.folder, step).num_devices
        for name in _RINGS:
            shape, dtype = expected[name]
            expected[name] = (saved_rings, *shape[1:]), dtype
        where = None
        if distributed.num_processes() > 1:  # each reads what its devices need
            where = {name: _sharding(leaf) for name, leaf in by_saved_names(like).items()}
            where |= dict.fromkeys(("key", *_RINGS), _sharding(like.iteration))
        arrays = orbax_calls.read(place / checkpoint_folder.STATE, expected, where)
        if wrong := _impossible_counts(arrays, step):
            raise ValueError(
                f"{place}: damaged: impossible counts of iteration {step}: {', '.join(wrong)}"
            )
        if not all(np.isfinite(x).all() for name, x in arrays.items() if name[:8] == "learner/"):
            raise ValueError(f"{place}: weights or the optimiser's state are infinite or NaN")
        on_host = jax.tree.unflatten(jax.tree.structure(plain), [arrays[name] for name in expected])
        if saved_rings != len(like.replay.size):
            where = jax.tree.map(_sharding, like.replay)
            deal = jax.jit(sharding.redistribute, static_argnums=1, out_shardings=where)
            buffer = deal(on_host.replay, len(like.replay.size))
            on_host = dataclasses.replace(on_host, replay=buffer)
        state = jax.tree.map(_placed, on_host, like)
        return dataclasses.replace(state, key=jax.random.wrap_key_data(state.key))

    def _set_aside(self, step: int) -> None:
        # So that its iteration can be saved again.
        place = checkpoint_folder.folder_of(self.folder, step)
        aside = files.set_aside(place)
        checkpoint_folder.note(f"{place}: moved to {aside.name}")

    def _prune(self) -> None:
        """Removes all but the latest checkpoints and the best one."""
        best = checkpoint_folder.best_step(self.folder)
        for step in checkpoint_folder.all_steps(self.folder)[: -self._keep]:
            place = checkpoint_folder.folder_of(self.folder, step)
            try:
                checkpoint_folder.read_record(self.folder, step)
            except files.Damaged:  # it may be the best one
                self._set_aside(step)
                continue
            if step != best:
                files.remove_folder(place, self.folder)

    def _existing(self) -> int:
        if not self.latest_step:
            raise ValueError(f"{self.folder}: no checkpoint yet")
        return self.latest_step


def read_settings(run: pathlib.Path, step: int) -> config.Config:
    """Returns the settings of a checkpoint; raises ValueError if they are not readable."""
    place = checkpoint_folder.folder_of(run, step)
    return config.from_json(exported_network.settings_text(place), str(place))


def _impossible_counts(arrays: Mapping[str, Any], step: int) -> list[str]:
    """Returns the names of counts in a state that no run has."""
    size, evaluations = arrays["replay/size"], arrays["evaluations"]
    num_rows = len(arrays["replay/value"]) // len(size)
    wrong = [name for name in _COUNTS if (arrays[name] < 0).any()]
    wrong += ["iteration"] if arrays["iteration"] != step else []
    wrong += ["replay/size"] if (size > num_rows).any() else []
    wrong += ["replay/next_row"] if (arrays["replay/next_row"] >= num_rows).any() else []
    is_impossible = (evaluations < 0).any() or evaluations[1] >= 10**6
    return wrong + (["evaluations"] if is_impossible else [])


def _check_is_ours(folder: pathlib.Path) -> None:
    try:
        os.path.abspath(folder).encode()
    except UnicodeEncodeError:  # of the working directory; the settings are checked before
        raise ValueError(
            f"{os.path.abspath(folder)!a}: not a name in UTF-8, which the format of checkpoints"
            " needs: rename the folder, or choose another --run.folder"
        ) from None
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file, not a folder: choose another --run.folder")
    if not folder.is_dir() or (folder / checkpoint_folder.CHECKPOINTS).is_dir():
        return
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if others:
        raise ValueError(
            f"{folder}: holds something that is not an azo run ({', '.join(others[:3])}):"
            " choose another --run.folder"
        )


def _placed(array: Any, like: Any) -> jax.Array:
    """Returns an array on the devices of another one."""
    if isinstance(array, jax.Array):
        return array
    return jax.make_array_from_callback(array.shape, _sharding(like), lambda place: array[place])


def _sharding(like: Any) -> jax.sharding.Sharding:
    return like.sharding or jax.sharding.SingleDeviceSharding(jax.local_devices()[0])


def by_saved_names(state: run_state.RunState) -> dict[str, Any]:
    """Returns the leaves of a state by their names in checkpoints."""

    def saved(name: str) -> str:
        starts = [start for start in _SAVED_NAMES if name.startswith(start)]
        start = max(starts, key=len, default="")
        return _SAVED_NAMES.get(start, "") + name.removeprefix(start)

    return {saved(name): x for name, x in network_files.named(state).items()}


def _remedy(name: str, value: Any, begun: Any) -> str:
    """Returns what a user can do to resume with the setting with which a run was begun."""
    if typed_settings.is_table(value) or typed_settings.is_table(begun):
        return f"Name a --config file whose {name} is that of the run's {exported_network.SETTINGS}"
    return f"Give {typed_settings.as_flag(name, begun)}"


def _with_bits(state: run_state.RunState) -> run_state.RunState:
    """Returns a state whose random key is replaced by its bits."""
    return dataclasses.replace(state, key=jax.random.key_data(state.key))
