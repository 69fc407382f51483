"""Checkpoints: the whole state of a run on disk, saved and restored bit for bit.

A run's folder holds `settings.json`, its metrics, and `checkpoints/ITERATION/` with the `RunState`
and, separately, its network; `network_files` reads the network alone. Orbax writes a checkpoint
under a temporary name and renames it when complete, so an interrupted save leaves earlier ones
intact.
"""

import contextlib
import dataclasses
import json
import logging
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import jax
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import preservation_policy

from azo.formats import files
from azo.learning import replay, run_state
from azo.run import config, exported_network

SETTINGS = exported_network.SETTINGS
CHECKPOINTS = "checkpoints"

# Settings that a resumed run may change.
_FREE: Any = dict.fromkeys(("evaluation", "ratings", "distributed", "curriculum"), True) | {
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
    }
}


class Checkpoints:
    """The checkpoints of one run; a context manager, or call `close`."""

    def __init__(self, folder: pathlib.Path, *, keep: int):
        """Opens or creates a run's folder.

        Args:
          folder: absent, empty, or a run's.
          keep: number of latest checkpoints to keep; the one with the best score is kept too.

        Raises:
          ValueError: The folder holds something else, or cannot be written.
        """
        self.folder = folder
        _check_is_ours(folder)
        try:
            (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise ValueError(
                f"{folder}: cannot write a run here ({error.strerror}): choose another --run.folder"
            ) from None
        self._manager = open_manager(folder, keep)

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the folder."""
        self._manager.close()

    def latest_step(self) -> int | None:
        """Returns the iteration of the latest complete checkpoint, None if there is none."""
        return self._manager.latest_step()

    def best_step(self) -> int | None:
        """Returns the iteration of the checkpoint with the highest score, None if none has one."""
        return self._manager.best_step()

    def all_steps(self) -> list[int]:
        """Returns the iterations of all checkpoints, in order."""
        return sorted(self._manager.all_steps())

    def settings(self) -> config.Config:
        """Returns the settings of the latest checkpoint."""
        return read_settings(self._manager, self._existing(None))

    def check_resumable(self, settings: config.Config) -> None:
        """Raises ValueError if the settings cannot continue the latest checkpoint."""
        if self.latest_step() is None:
            return
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
        """Saves the run after `step` iterations, on disk when this returns.

        Every process of a run has to call it, with the same arguments.

        Args:
          step: iterations done; an existing checkpoint is not changed.
          state: the whole state.
          settings: of the run.
          score: result of an evaluation after this iteration, None without one.
        """
        if step in self._manager.all_steps():
            return
        if jax.process_index() == 0:
            files.write(self.folder / SETTINGS, config.to_json(settings).encode())
        variables = state.variables()
        # Without a gate, `actor_params` is a teacher's network, not this run's.
        if settings.gate.is_enabled and state.actor_params is not None:
            variables = state.actor_params
        args = ocp.args.Composite(
            state=ocp.args.StandardSave(_with_bits(state)),
            network=ocp.args.StandardSave(dict(variables)),
            settings=ocp.args.JsonSave(json.loads(config.to_json(settings))),
        )
        metrics = None if score is None else {"score": float(score)}
        with quiet_library():
            self._manager.save(step, args=args, metrics=metrics)
            self._manager.wait_until_finished()

    def restore(self, like: run_state.RunState, step: int | None = None) -> run_state.RunState:
        """Returns a saved state, bit for bit; every process of a run has to call it.

        If the number of devices has changed, the positions of the replay buffers are dealt out
        again, so they are in other rows.

        Args:
          like: a state of the same shapes, concrete or `jax.ShapeDtypeStruct`s with shardings. The
            result is on its devices, which may differ from those of the saved state.
          step: the iteration of a checkpoint; by default the latest.

        Raises:
          ValueError: There is no such checkpoint, or its arrays have other shapes.
        """
        step = self._existing(step)
        template = _template(like)
        shapes = self._shapes(step)
        rings = template.replay.size.shape
        saved_rings = shapes.get("replay.size", rings)
        saved = template if saved_rings == rings else _with_rings(template, saved_rings)
        self._check_shapes(step, shapes, saved)
        args = ocp.args.Composite(state=ocp.args.StandardRestore(saved))
        plain = self._manager.restore(step, args=args)["state"]
        if saved_rings != rings:
            plain = dataclasses.replace(plain, replay=_dealt(plain.replay, template.replay))
        return dataclasses.replace(plain, key=jax.random.wrap_key_data(plain.key))

    def _existing(self, step: int | None) -> int:
        steps = self.all_steps()
        if step is None and steps:
            return steps[-1]
        if step is None or step not in steps:
            missing = "no checkpoint yet" if step is None else f"no checkpoint of iteration {step}"
            raise ValueError(f"{self.folder}: {missing}; there are: {steps or 'none'}")
        return step

    def _shapes(self, step: int) -> dict[str, tuple[int, ...]]:
        saved = metadata(self.folder / CHECKPOINTS / str(step) / "state")
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


def open_manager(folder: pathlib.Path, keep: int | None) -> ocp.CheckpointManager:
    """Returns Orbax's manager of a run's checkpoints, for reading only if `keep` is None."""
    policy = preservation_policy.AnyPreservationPolicy(
        [
            preservation_policy.LatestN(keep),
            preservation_policy.BestN(
                get_metric_fn=lambda metrics: metrics["score"],
                n=1,
                keep_checkpoints_without_metrics=False,
            ),
        ]
    )
    options = ocp.CheckpointManagerOptions(
        preservation_policy=None if keep is None else policy,
        best_fn=lambda metrics: metrics["score"],
        cleanup_tmp_directories=keep is not None,
        enable_async_checkpointing=False,
        read_only=keep is None,
        create=keep is not None,
    )
    return ocp.CheckpointManager((folder / CHECKPOINTS).absolute(), options=options)


def read_settings(manager: ocp.CheckpointManager, step: int) -> config.Config:
    """Returns the settings of a checkpoint."""
    args = ocp.args.Composite(settings=ocp.args.JsonRestore())
    tree = manager.restore(step, args=args)["settings"]
    return config.from_json(json.dumps(tree), f"{manager.directory}/{step}")


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


def open_checkpointer() -> ocp.StandardCheckpointer:
    """Returns a reader and writer of networks that does not wait for other processes."""
    here = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(here, {here}, f"process{here}")
    return ocp.StandardCheckpointer(multiprocessing_options=alone)


def metadata(folder: pathlib.Path) -> Any:
    """Returns the shapes and types of the arrays in a folder, without reading them."""
    with quiet_library(), open_checkpointer() as checkpointer:
        return checkpointer.metadata(folder.absolute()).item_metadata.tree


@contextlib.contextmanager
def quiet_library() -> Iterator[None]:
    """Mutes Orbax's warnings about intended omissions, such as a checkpoint without a score."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _with_bits(state: run_state.RunState) -> run_state.RunState:
    """Returns a state whose random key, which Orbax cannot store, is replaced by its bits."""
    return dataclasses.replace(state, key=jax.random.key_data(state.key))


def _template(like: run_state.RunState) -> run_state.RunState:
    """Returns the shapes, types and shardings of a state with the bits of its key."""

    def abstract(leaf: Any, bits: Any) -> jax.ShapeDtypeStruct:
        sharding = leaf.sharding or jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        return jax.ShapeDtypeStruct(bits.shape, bits.dtype, sharding=sharding)

    return jax.tree.map(abstract, like, jax.eval_shape(_with_bits, like))
