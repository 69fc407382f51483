"""The metrics of a run in Weights & Biases and MLflow.

    pip install wandb mlflow
    python examples/loggers.py wandb --num-iterations 20

`azo.run_training` calls `on_event` with each event of a run, a line of its `metrics.jsonl`.
"""

import argparse
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import azo


def numbers(event: Mapping[str, Any]) -> dict[str, float]:
    """Returns the numbers of an event by name, such as "learner/policy_loss"."""
    return {name: x for name, x in event.items() if "/" in name and isinstance(x, int | float)}


def wandb_logger(settings: Mapping[str, Any], project: str = "azo") -> Callable[[dict], None]:
    """Begins a run of Weights & Biases, and returns its `on_event`."""
    run = importlib.import_module("wandb").init(project=project, config=dict(settings))

    def on_event(event: dict[str, Any]) -> None:
        run.log(numbers(event), step=event["iteration"])
        if event["event"] == "end":
            run.finish()

    return on_event


def mlflow_logger(settings: Mapping[str, Any], experiment: str = "azo") -> Callable[[dict], None]:
    """Begins a run of MLflow, and returns its `on_event`."""
    mlflow = importlib.import_module("mlflow")
    mlflow.set_experiment(experiment)
    mlflow.start_run()
    mlflow.log_params(dict(settings))

    def on_event(event: dict[str, Any]) -> None:
        mlflow.log_metrics(numbers(event), step=event["iteration"])
        if event["event"] == "end":
            mlflow.end_run()

    return on_event


LOGGERS = {"wandb": wandb_logger, "mlflow": mlflow_logger}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logger", choices=LOGGERS)
    parser.add_argument("--num-iterations", type=int, default=20)
    flags = parser.parse_args()
    changes = {"run.num_iterations": flags.num_iterations}
    azo.run_training("tictactoe", changes, on_event=LOGGERS[flags.logger](changes))
