"""Checkpoints: the whole state of a run, saved and restored bit for bit.

A run's folder holds `settings.json`, its metrics, and `checkpoints/ITERATION/` with the `RunState`
and, separately, its network; `network_files` reads the network alone. `checkpoint_folder` keeps
checkpoints complete and verified.
"""

import dataclasses
import json
import pathlib
import tempfile
from typing import Any

import jax
import orbax.checkpoint as ocp

from azo.formats import checksums, files, locks
from azo.learning import replay, run_state, statistics
from azo.run import checkpoint_folder, config, devices, exported_network, orbax_calls

SETTINGS = exported_network.SETTINGS
CHECKPOINTS = checkpoint_folder.CHECKPOINTS

# Settings that a resumed run may change.
_FREE: Any = dict.fromkeys(
    ("evaluation", "ratings", "distributed", "curriculum", "origin"), True
) | {
    "run": {
        "folder",
        "num_iterations",
        "num_devices",
        "solver_processes",
        "save_every",
        "keep_checkpoints",
        "log_every",
        "max_evaluations",
        "max_processor_seconds",
        "retry_rate",
    }
}


class Checkpoints:
    """The checkpoints of one run, which no other process writes; a context manager."""

    def __init__(self, folder: pathlib.Path, *, keep: int):
        """Opens or creates a run's folder; every process of a run has to call it.

        The first process locks the folder. Damaged checkpoints that are newer than the latest
        undamaged one are named and kept under another name.

        Args:
          folder: absent, empty, or a run's.
          keep: number of latest checkpoints to keep; the one with the best score is kept too.

        Raises:
          ValueError: The folder holds something else, cannot be written, is in use by another
            process, or all its checkpoints are damaged.
        """
        self.folder, self._keep = folder, keep
        self._on_disk = checkpoint_folder.CheckpointFolder(folder)
        _check_is_ours(folder)
        try:
            self._on_disk.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise ValueError(
                f"{folder}: cannot write a run here ({error.strerror}): choose another --run.folder"
            ) from None
        self._lock: locks.Lock | None = None
        self._latest: int | None = None
        with devices.first_succeeds(f"{folder}: see the message of the first process"):
            if devices.is_first():
                self._lock = locks.lock_folder(folder)
                try:
                    self._latest = self._find_latest()
                except ValueError:
                    self.close()
                    raise
        (latest,) = devices.broadcast_from_first([-1 if self._latest is None else self._latest])
        self._latest = None if latest < 0 else latest

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the folder."""
        if self._lock is not None:
            self._lock.release()

    def latest_step(self) -> int | None:
        """Returns the iteration of the latest undamaged checkpoint, None if there is none."""
        return self._latest

    def best_step(self) -> int | None:
        """Returns the iteration of the checkpoint with the highest score, None if none has one."""
        return self._on_disk.best_step()

    def all_steps(self) -> list[int]:
        """Returns the iterations of all checkpoints, in order."""
        return self._on_disk.steps()

    def settings(self) -> config.Config:
        """Returns the settings of the latest checkpoint."""
        return read_settings(self.folder, self._existing(None))

    def check_resumable(self, settings: config.Config) -> None:
        """Raises ValueError if the settings cannot continue the latest checkpoint.

        Versions of libraries that differ from the checkpoint's are named on standard error.
        """
        if self.latest_step() is None:
            return
        if devices.is_first():
            self._on_disk.note_versions(self._existing(None))
        old = self.settings().model_dump(mode="json")
        for section, fields in settings.model_dump(mode="json", exclude=_FREE).items():
            for name, value in fields.items():
                if old[section][name] != value:
                    flag = f"{section}.{name}".replace("_", "-")
                    raise ValueError(
                        f"{self.folder}: cannot resume: {section}.{name} is {value}, but the run"
                        f" was begun with {old[section][name]}. Give --{flag}"
                        f" {old[section][name]}, or another --run.folder"
                    )

    def save(
        self,
        step: int,
        state: run_state.RunState,
        settings: config.Config,
        score: float | None = None,
    ) -> None:
        """Saves the run after `step` iterations, on disk and read back when this returns.

        Every process of a run has to call it, with the same arguments.

        Args:
          step: iterations done; an existing checkpoint is not changed.
          state: the whole state.
          settings: of the run.
          score: result of an evaluation after this iteration, None without one.

        Raises:
          ValueError: One line: it cannot be written. Earlier checkpoints are as they were.
        """
        if step in self.all_steps():
            return
        variables = state.variables()
        # Without a gate, `actor_params` is a teacher's network, not this run's.
        if settings.gate.is_enabled and state.actor_params is not None:
            variables = state.actor_params
        args = ocp.args.Composite(
            state=ocp.args.StandardSave(_with_bits(state)),
            network=ocp.args.StandardSave(dict(variables)),
            settings=ocp.args.JsonSave(json.loads(config.to_json(settings))),
        )
        place = self._on_disk.partial(step)
        with devices.first_succeeds(f"{place}: see the message of the first process"):
            try:
                with orbax_calls.run_checkpointer() as checkpointer:
                    orbax_calls.call_library(
                        f"{place}: not saved",
                        lambda: checkpointer.save(place.absolute(), args, force=True),
                    )
                if devices.is_first():
                    files.write(self.folder / SETTINGS, config.to_json(settings).encode())
                    self._on_disk.complete(step, score)
            except ValueError:
                if devices.is_first():
                    self._on_disk.clean()
                raise
            if devices.is_first():
                self._on_disk.prune(self._keep)
        self._latest = step

    def restore(self, like: run_state.RunState, step: int | None = None) -> run_state.RunState:
        """Returns a saved state, bit for bit; every process of a run has to call it.

        If the number of devices has changed, the positions of the replay buffers are dealt out
        again, so they are in other rows.

        Args:
          like: a state of the same shapes, concrete or `jax.ShapeDtypeStruct`s with shardings. The
            result is on its devices, which may differ from those of the saved state.
          step: the iteration of a checkpoint; by default the latest.

        Raises:
          ValueError: There is no such checkpoint, it is damaged, or its arrays have other shapes or
            are not finite.
        """
        step = self._existing(step)
        place = self._on_disk.checkpoint(step)
        if step != self._latest:
            checksums.verify(place)
        template = _template(like)
        shapes = self._shapes(step)
        rings = template.replay.size.shape
        saved_rings = shapes.get("replay.size", rings)
        saved = template if saved_rings == rings else _with_rings(template, saved_rings)
        self._check_shapes(step, shapes, saved)
        args = ocp.args.Composite(state=ocp.args.StandardRestore(saved))
        with orbax_calls.run_checkpointer() as checkpointer:
            plain = orbax_calls.call_library(
                f"{place}: cannot be read", lambda: checkpointer.restore(place.absolute(), args)
            )["state"]
        if saved_rings != rings:
            plain = dataclasses.replace(plain, replay=_dealt(plain.replay, template.replay))
        if not statistics.all_finite(plain.learner):
            raise ValueError(f"{place}: weights or the optimiser's state are infinite or NaN")
        return dataclasses.replace(plain, key=jax.random.wrap_key_data(plain.key))

    def _find_latest(self) -> int | None:
        """Returns the latest undamaged checkpoint; the damaged ones after it are set aside."""
        self._on_disk.clean()
        step, damaged = self._on_disk.find_sound()
        for other in damaged:
            self._on_disk.set_aside(other)
        return step

    def _existing(self, step: int | None) -> int:
        steps = self.all_steps()
        if step is None and self._latest is not None:
            return self._latest
        if step is None or step not in steps:
            missing = "no checkpoint yet" if step is None else f"no checkpoint of iteration {step}"
            raise ValueError(f"{self.folder}: {missing}; there are: {steps or 'none'}")
        return step

    def _shapes(self, step: int) -> dict[str, tuple[int, ...]]:
        saved = orbax_calls.metadata(self._on_disk.checkpoint(step) / checkpoint_folder.STATE)
        return {_path(path): leaf.shape for path, leaf in jax.tree.leaves_with_path(saved)}

    def _check_shapes(self, step: int, saved: dict[str, tuple[int, ...]], template: Any) -> None:
        needed = {_path(path): leaf.shape for path, leaf in jax.tree.leaves_with_path(template)}
        for name in sorted(saved.keys() | needed.keys()):
            if saved.get(name) != needed.get(name):
                raise ValueError(
                    f"{self.folder}: checkpoint {step} has {_shape(saved.get(name))} for {name},"
                    f" but these settings ask for {_shape(needed.get(name))}: resume with the"
                    " run's own, or give another --run.folder"
                )


def read_settings(run: pathlib.Path, step: int) -> config.Config:
    """Returns the settings of a checkpoint; raises ValueError if they are not readable."""
    on_disk = checkpoint_folder.CheckpointFolder(run)
    return config.from_json(on_disk.settings_text(step), str(on_disk.checkpoint(step)))


def _check_is_ours(folder: pathlib.Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file, not a folder: choose another --run.folder")
    if not folder.is_dir() or (folder / CHECKPOINTS).is_dir():
        return
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if others:
        raise ValueError(
            f"{folder}: holds something that is not an azo run ({', '.join(others[:3])}):"
            " choose another --run.folder"
        )


def _with_rings(template: run_state.RunState, shape: tuple[int, ...]) -> run_state.RunState:
    """Returns the shapes of a state saved from another number of devices, given its counts' shape.

    The counts of all devices are restored on each device.
    """
    count: Any = jax.ShapeDtypeStruct(
        shape, template.replay.size.dtype, sharding=template.iteration.sharding
    )
    window_starts: Any = jax.ShapeDtypeStruct(
        (*shape, replay.MAX_WINDOW), template.replay.window_starts.dtype, sharding=count.sharding
    )
    buffer = dataclasses.replace(
        template.replay, next_row=count, size=count, window_starts=window_starts
    )
    return dataclasses.replace(template, replay=buffer)


def _dealt(buffer: replay.ReplayBuffer, like: replay.ReplayBuffer) -> replay.ReplayBuffer:
    deal = jax.jit(
        replay.redistribute,
        static_argnums=1,
        out_shardings=jax.tree.map(lambda x: x.sharding, like),
    )
    return deal(buffer, like.size.shape[0])


def _shape(shape: tuple[int, ...] | None) -> str:
    return "nothing" if shape is None else f"shape {list(shape)}"


def _path(path: tuple[Any, ...]) -> str:
    """Returns the dotted name of a leaf; Orbax stores attributes as dictionary keys."""
    names = (getattr(key, "name", getattr(key, "key", getattr(key, "idx", key))) for key in path)
    return ".".join(str(name) for name in names)


def _with_bits(state: run_state.RunState) -> run_state.RunState:
    """Returns a state whose random key, which Orbax cannot store, is replaced by its bits."""
    return dataclasses.replace(state, key=jax.random.key_data(state.key))


def _template(like: run_state.RunState) -> run_state.RunState:
    """Returns the shapes, types and shardings of a state with the bits of its key."""

    def abstract(leaf: Any, bits: Any) -> jax.ShapeDtypeStruct:
        sharding = leaf.sharding or jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        return jax.ShapeDtypeStruct(bits.shape, bits.dtype, sharding=sharding)

    return jax.tree.map(abstract, like, jax.eval_shape(_with_bits, like))
