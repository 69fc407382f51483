"""Saves and restores a run, and the networks that come out of it.

A run's folder holds `settings.json`, `checkpoints/<iteration>/` with the whole `RunState` and its
network apart, and whatever the metrics write. A network's folder, as `save_params` makes it, holds
`settings.json` and `network/`. Orbax writes each checkpoint under a temporary name and renames it
when complete, so an interrupted save leaves the earlier ones as they were.
"""

import contextlib
import dataclasses
import json
import logging
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import jax
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import preservation_policy

from azo.learning import network, replay, run_state
from azo.run import config, keys

SETTINGS = "settings.json"
_CHECKPOINTS = "checkpoints"
_NETWORK = "network"

# What a resumed run may have otherwise than the run that it continues.
_FREE_SECTIONS = ("evaluation", "ratings", "distributed", "curriculum")
_FREE_RUN_SETTINGS = (
    "folder",
    "num_iterations",
    "num_devices",
    "save_every",
    "keep_checkpoints",
    "log_every",
    "max_evaluations",
)


class Checkpoints:
    """The checkpoints of one run; a context manager, or call `close`."""

    def __init__(self, folder: pathlib.Path, *, keep: int):
        """Opens or creates a run's folder.

        Args:
          folder: Absent, empty, or a run's.
          keep: How many of the latest checkpoints to keep; the best scored one is kept too.

        Raises:
          ValueError: The folder holds something else, or cannot be written.
        """
        self.folder = folder
        _check_is_ours(folder)
        try:
            (folder / _CHECKPOINTS).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise ValueError(
                f"{folder}: cannot write a run here ({error.strerror}): choose another --run.folder"
            ) from None
        self._manager = _open_manager(folder, keep)

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._manager.close()

    def latest_step(self) -> int | None:
        """Returns the iteration of the latest complete checkpoint, None if there is none."""
        return self._manager.latest_step()

    def best_step(self) -> int | None:
        """Returns the iteration of the checkpoint with the highest score, None if none has one."""
        return self._manager.best_step()

    def all_steps(self) -> list[int]:
        return sorted(self._manager.all_steps())

    def settings(self, step: int | None = None) -> config.Config:
        """Returns the settings that a checkpoint, by default the latest, was made with."""
        step = self._existing(step)
        return _read_settings(self._manager, step)

    def check_resumable(self, settings: config.Config) -> None:
        """Raises ValueError if `config` contradicts the latest checkpoint; a run may be longer."""
        if self.latest_step() is None:
            return
        for name, saved, wanted in _differences(self.settings(), settings):
            flag = name.replace("_", "-")
            raise ValueError(
                f"{self.folder}: cannot resume: {name} is {wanted}, but the run was begun"
                f" with {saved}. Give --{flag} {saved}, or another --run.folder"
            )

    def save(
        self,
        step: int,
        state: run_state.RunState,
        settings: config.Config,
        score: float | None = None,
    ) -> None:
        """Saves the run after `step` iterations, and waits until that is on disk.

        Every process of a run has to call it, with the same arguments.

        Args:
          step: Iterations done; a step that exists already is left alone.
          state: The whole state.
          settings: The resolved settings.
          score: Result of the latest evaluation, higher is better; None if this has none.
        """
        if step in self._manager.all_steps():
            return
        if jax.process_index() == 0:
            _write_atomically(self.folder / SETTINGS, config.to_json(settings))
        variables = state.variables()
        # Without a gate `best` is a teacher's network, not this run's.
        if settings.gate.is_enabled and state.actor_params is not None:
            variables = state.actor_params
        args = ocp.args.Composite(
            state=ocp.args.StandardSave(keys.without_keys(state)),
            network=ocp.args.StandardSave(dict(variables)),
            settings=ocp.args.JsonSave(json.loads(config.to_json(settings))),
        )
        metrics = None if score is None else {"score": float(score)}
        with _quiet_library():
            self._manager.save(step, args=args, metrics=metrics)
            self._manager.wait_until_finished()

    def restore(self, like: run_state.RunState, step: int | None = None) -> run_state.RunState:
        """Returns a saved state, bit for bit; every process of a run has to call it.

        Rings that were saved from another number of devices are dealt out anew: the same positions
        in other rows.

        Args:
          like: A state of the same shapes, concrete or `jax.ShapeDtypeStruct`s with shardings: the
            result lies on its devices, which may be others than those that it was saved from.
          step: Which checkpoint; the latest by default.

        Raises:
          ValueError: There is no such checkpoint, or it holds arrays of other shapes.
        """
        step = self._existing(step)
        template = jax.tree.map(_abstract, keys.abstract_without_keys(like))
        shapes = self._shapes(step)
        rings = template.replay.size.shape
        saved_rings = shapes.get("replay.size", rings)
        saved = template if saved_rings == rings else _with_rings(template, saved_rings)
        self._check_shapes(step, shapes, saved)
        args = ocp.args.Composite(state=ocp.args.StandardRestore(saved))
        plain = self._manager.restore(step, args=args)["state"]
        if saved_rings != rings:
            plain = dataclasses.replace(plain, replay=_dealt(plain.replay, template.replay))
        return jax.tree.map(keys.with_key, like, plain)

    def _existing(self, step: int | None) -> int:
        steps = self.all_steps()
        if step is None and steps:
            return steps[-1]
        if step is None or step not in steps:
            wanted = "no checkpoint yet" if step is None else f"no checkpoint of iteration {step}"
            raise ValueError(f"{self.folder}: {wanted}; there are: {steps or 'none'}")
        return step

    def _shapes(self, step: int) -> dict[str, tuple[int, ...]]:
        saved = _metadata(self.folder / _CHECKPOINTS / str(step) / "state")
        return {_path(path): leaf.shape for path, leaf in jax.tree.leaves_with_path(saved)}

    def _check_shapes(self, step: int, found: dict[str, tuple[int, ...]], template: Any) -> None:
        wanted = {_path(path): leaf.shape for path, leaf in jax.tree.leaves_with_path(template)}
        for name in sorted(found.keys() | wanted.keys()):
            if found.get(name) != wanted.get(name):
                raise ValueError(
                    f"{self.folder}: checkpoint {step} has {_shape(found.get(name))} for {name},"
                    f" but these settings ask for {_shape(wanted.get(name))}: resume with the"
                    " run's own, or give another --run.folder"
                )


def save_params(
    folder: pathlib.Path, variables: network.Variables, settings: config.Config
) -> None:
    """Writes a network and its settings, for play, into a new or empty folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder}: exists already: choose a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder}: cannot write here ({error.strerror})") from None
    with _checkpointer() as checkpointer:
        checkpointer.save((folder / _NETWORK).absolute(), dict(variables))
    _write_atomically(folder / SETTINGS, config.to_json(settings))


def load_params(
    folder: pathlib.Path, *, is_latest: bool = False
) -> tuple[network.Variables, config.Config]:
    """Returns a network, on the default device, and the settings that it was made with.

    Args:
      folder: One that `save_params` wrote; or a run's, which gives its best checkpoint, or its
        latest if none was evaluated.
      is_latest: Of a run, the latest in any case.

    Raises:
      ValueError: The folder is missing, is neither, or its run has no checkpoint yet.
    """
    place, settings = _find_network(folder, is_latest)
    return _load_tree(place), settings


def load_settings(folder: pathlib.Path) -> config.Config:
    """Returns the settings that `load_params` would, without reading the network."""
    return _find_network(folder)[1]


def _find_network(
    folder: pathlib.Path, is_latest: bool = False
) -> tuple[pathlib.Path, config.Config]:
    """Returns where in a folder the network lies, and its settings."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; give a run's or an exported network's")
    if (folder / _NETWORK).is_dir() and (folder / SETTINGS).is_file():
        place = folder / SETTINGS
        settings = config.from_json(place.read_text(encoding="utf-8"), str(place))
        return folder / _NETWORK, settings
    if not (folder / _CHECKPOINTS).is_dir():
        raise ValueError(f"{folder}: neither a run nor an exported network: no {_CHECKPOINTS}/")
    with _quiet_library(), _open_manager(folder, keep=None) as manager:
        best = None if is_latest else manager.best_step()
        step = manager.latest_step() if best is None else best
        if step is None:
            raise ValueError(f"{folder}: the run has no checkpoint yet")
        settings = _read_settings(manager, step)
    return folder / _CHECKPOINTS / str(step) / _NETWORK, settings


def _open_manager(folder: pathlib.Path, keep: int | None) -> ocp.CheckpointManager:
    """`keep` None opens for reading."""
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
    return ocp.CheckpointManager((folder / _CHECKPOINTS).absolute(), options=options)


def _read_settings(manager: ocp.CheckpointManager, step: int) -> config.Config:
    args = ocp.args.Composite(settings=ocp.args.JsonRestore())
    tree = manager.restore(step, args=args)["settings"]
    return config.from_json(json.dumps(tree), f"{manager.directory}/{step}")


def _check_is_ours(folder: pathlib.Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file, not a folder: choose another --run.folder")
    if not folder.is_dir() or (folder / _CHECKPOINTS).is_dir():
        return
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if others:
        raise ValueError(
            f"{folder}: holds something that is not an azo run ({', '.join(others[:3])}):"
            " choose another --run.folder"
        )


def _differences(saved: config.Config, wanted: config.Config) -> list[tuple[str, Any, Any]]:
    """Returns name, saved and wanted value of every setting that must not have changed."""
    old, new = saved.model_dump(mode="json"), wanted.model_dump(mode="json")
    return [
        (f"{section}.{name}", old[section][name], value)
        for section, fields in new.items()
        if section not in _FREE_SECTIONS
        for name, value in fields.items()
        if old[section][name] != value and not (section == "run" and name in _FREE_RUN_SETTINGS)
    ]


def _with_rings(template: run_state.RunState, shape: tuple[int, ...]) -> run_state.RunState:
    """As saved: a count for each device of then, here in full on each device."""
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
    """Attributes and dictionary keys alike, since orbax names both by their text."""
    names = (getattr(key, "name", getattr(key, "key", getattr(key, "idx", key))) for key in path)
    return ".".join(str(name) for name in names)


def _abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    sharding = leaf.sharding or jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)


def _checkpointer() -> ocp.StandardCheckpointer:
    """Returns what reads and writes networks in this process, without waiting for others."""
    here = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(here, {here}, f"process{here}")
    return ocp.StandardCheckpointer(multiprocessing_options=alone)


def _metadata(folder: pathlib.Path) -> Any:
    with _quiet_library(), _checkpointer() as checkpointer:
        return checkpointer.metadata(folder.absolute()).item_metadata.tree


@contextlib.contextmanager
def _quiet_library() -> Iterator[None]:
    """Mutes warnings that Orbax logs about what is meant: no score, no metadata of an item."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _load_tree(folder: pathlib.Path) -> Any:
    """Returns nested dictionaries of arrays on the default device."""
    device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    template = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), _metadata(folder)
    )
    with _checkpointer() as checkpointer:
        return checkpointer.restore(folder.absolute(), template)


def _write_atomically(path: pathlib.Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
