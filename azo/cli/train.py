"""Trains a network by self-play.

    azo train --minutes 10
    azo train --config azo6 --minutes 4 --run.seed 1

`--config` takes the name of a shipped settings file or the path of a TOML file, and flags override
it. Without it, the settings are those of `azo8`, or of `azo8-gpu` on a GPU or TPU, or they fit the
game of `--game.name`. Ctrl-C, SIGTERM and SIGHUP end the run after the current iteration, save it
and give exit code 0; the same command resumes it.

`--distributed` trains with several processes, on one or several hosts. Under Slurm, Open MPI and
Kubernetes and on TPU pods, JAX finds the processes. Elsewhere, give each process the address of
process 0 (`--distributed.coordinator HOST:PORT`), `--distributed.num-processes` and its own
`--distributed.process-id`. docs/distributed.md has examples.
"""

import contextlib
import importlib
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import pydantic

from azo.cli import command_line
from azo.process import distributed, interruption
from azo.process.distributed import ClusterConfig  # a field is named like its module
from azo.settings import import_paths, setting_types, typed_settings, validation
from azo.training import config, curriculum, devices, metrics, typed_run


def main(argv: Sequence[str]) -> int:
    """Trains until the last iteration or a request to stop; returns the exit code."""
    cluster, argv = _take_cluster(argv)
    typed = _load(argv, is_alone=cluster is None)
    with contextlib.nullcontext() if cluster is None else distributed.joined(cluster):
        _train(typed)
    return 0


def run_training(
    recipe: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    on_event: metrics.OnEvent = lambda event: None,
    allow_imports: Sequence[str] = (),
) -> pathlib.Path:
    """Trains a network by self-play, and returns the folder of its run.

        folder = azo.run_training("tictactoe", {"run.num_iterations": 20}, folder="runs/first")
        network = azo.load_network(folder)

    The run prints its progress, and saves checkpoints and metrics. A call with the folder of an
    unfinished run resumes it. Ctrl-C saves the run, and the call returns.

    Args:
      recipe: name of a settings file that comes with azo, or path of a TOML file; by default azo8,
        on a GPU or TPU azo8-gpu, or one that fits `game.name` of the settings.
      settings: changed settings by full name, such as `search.num_simulations`; docs/recipes.md
        explains them. They hold for the whole run and override the recipe's schedule.
      folder: of the run; by default `runs/` and the name of the recipe. Each phase of a curriculum
        has a subfolder, and the folder of the last phase is returned.
      on_event: called with each event of the run as a dictionary, such as `{"event": "iteration",
        "iteration": 12, "learner/policy_loss": 1.2, ...}`, once it is in `metrics.jsonl`. A resumed
        run repeats the iterations after its checkpoint. An exception that it raises ends the run
        and leaves this function; the same call resumes the run from its checkpoint.
      allow_imports: import paths of games and networks that files may name, such as those of a
        recipe or of a network to start from; those among `settings` are allowed.

    Raises:
      ValueError: One line: a setting is wrong, or the folder holds a run with other settings.
    """
    changes = dict(settings or {})
    import_values = (changes.get(name) for name in setting_types.import_settings(config.Config))
    texts = [x for y in import_values for x in ([y] if isinstance(y, str) else y or ())]
    import_paths.allow(x for x in texts if isinstance(x, str) and import_paths.is_path(x))
    import_paths.allow(allow_imports)
    if folder is not None:
        changes["run.folder"] = str(folder)
    path = None if recipe is None else pathlib.Path(recipe)
    typed = _for_game(path, changes, typed_settings.as_name)
    _train(typed, on_event)
    run = typed.settings
    last = config.of_phase(run, len(run.curriculum) - 1) if run.curriculum else run
    return last.run.folder


def _train(typed: typed_settings.Typed, on_event: metrics.OnEvent = lambda event: None) -> None:
    for note in typed.notes if distributed.is_first() else ():
        print(note, flush=True)
    # By name, since training can be read, and can run, without the laboratory.
    run_matches = importlib.import_module("azo.matches.run_matches")
    with interruption.StopRequest() as stop:
        curriculum.train(typed.settings, stop, run_matches.RunMatches, on_event)


class _Flags(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Flags that are no settings of the run, since they differ between its processes."""

    distributed: ClusterConfig = ClusterConfig()


def _take_cluster(argv: Sequence[str]) -> tuple[ClusterConfig | None, list[str]]:
    """Returns the processes that `--distributed` and its flags name, if any, and other flags."""
    tree: dict[str, str] = {}
    is_given, others, words = False, [], iter(argv)
    for word in words:
        flag, is_joined, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if name == "distributed" and flag != name and not is_joined:
            is_given = True
        elif name.startswith("distributed.") and flag != name:
            own = name.removeprefix("distributed.")
            if own not in ClusterConfig.model_fields:
                known = {
                    x: f"--distributed.{x.replace('_', '-')}" for x in ClusterConfig.model_fields
                }
                raise ValueError(f"unknown flag '{flag}'. {validation.suggest(own, known)}")
            value = value if is_joined else next(words, "")
            if not value or value.startswith("--"):
                raise ValueError(f"{flag} needs a value")
            tree[own] = value
        else:
            others.append(word)
    if not is_given and not tree:
        return None, others
    return validation.validate(_Flags, {"distributed": tree}, None).distributed, others


def load(argv: Sequence[str]) -> config.Config:
    """Returns the settings of a run, from a settings file and flags."""
    return _load(argv).settings


def _load(argv: Sequence[str], *, is_alone: bool = True) -> typed_settings.Typed:
    return command_line.parse(
        config.Config,
        argv,
        prog="azo train",
        description=__doc__,
        load_file=lambda path: config.load_file(path or config.DEFAULT_CONFIG),
        finish=lambda _, flags: _for_game(
            flags.path, flags.typed, typed_settings.as_flag, is_alone=is_alone
        ),
    )


def _for_game(
    path: pathlib.Path | None,
    changes: Mapping[str, Any],
    show: typed_settings.Show,
    *,
    is_alone: bool = True,
) -> typed_settings.Typed:
    """Returns settings for the game that was typed, with all that was typed, and their notes."""
    typed = typed_settings.leaves(changes)
    if not any(name.startswith("game.") for name in typed):
        default, notes = (path, []) if path else _default(typed.get("run.num_devices"), is_alone)
        settings = config.load_file(default)
    else:  # by name, as below
        game_defaults = importlib.import_module("azo.matches.game_defaults")
        settings, notes = game_defaults.load(path, typed)
    applied = typed_run.apply(settings, changes, show)
    return applied._replace(notes=[*notes, *applied.notes])


def _default(num_devices: int | None, is_alone: bool) -> tuple[pathlib.Path, list[str]]:
    """Returns the settings file of a run that names none, and a line if it is for accelerators.

    With several processes, JAX must not start before they have joined: a plugin is enough then.
    """
    if not devices.has_plugin():
        return config.DEFAULT_CONFIG, []
    for_cpus = config.load_file(config.DEFAULT_CONFIG)
    if not is_alone:
        reason = "JAX has a plugin for accelerators"
    elif devices.has_accelerator(num_devices or for_cpus.run.num_devices):
        reason = f"there is a {jax.devices()[0].device_kind}"
    else:
        reason = ""
    if not reason:
        return config.DEFAULT_CONFIG, []
    note = f"settings of azo8-gpu, because {reason}; --config azo8 takes those for CPUs"
    return config.ACCELERATOR_CONFIG, [note]
