"""Analyses many positions at once, for queries as lines of JSON.

    azo json < queries.jsonl > answers.jsonl

This command is for programs that analyse archives. Queries and answers are lines of JSON, like
those of KataGo's analysis engine; see docs/protocols.md. Messages go to standard error.
"""

from collections.abc import Sequence
from typing import ClassVar

import numba

from azo.cli import command_line
from azo.engine import engine_factory, engine_settings
from azo.process import interruption
from azo.protocols import json_server, line_reader
from azo.settings import setting_types
from azo.storage import streams


class JsonConfig(engine_factory.NetworkChoice):
    """How many positions are analysed at a time, and how."""

    threads: setting_types.PositiveInt | None = None
    """Positions that are analysed in parallel; by default one per core."""
    # In 158 positions of games by people, with 21 to 56 empty squares, 100,000 nodes found no early
    # end either, and took 22 ms per position instead of 3.
    # The nodes take about 5 s of a core; a limit in seconds would depend on what else it does.
    engine: engine_settings.EngineConfig = engine_settings.EngineConfig(
        probe_nodes=10_000, solve_nodes=50_000_000, solve_seconds=3600.0
    )
    """How positions are searched and solved."""

    NO_EFFECT: ClassVar = engine_settings.ANALYSES_ALONE


def main(argv: Sequence[str]) -> int:
    """Answers queries until the end of the input; returns 0."""
    config = command_line.parse(JsonConfig, argv, prog="azo json", description=__doc__)
    choice = config.model_dump(include=set(engine_factory.NetworkChoice.model_fields))
    play = engine_factory.PlayConfig(**choice, engine=config.engine)
    with line_reader.standard_streams() as (lines, _):
        server = json_server.JsonServer(
            engine_factory.engines(play),
            _write,
            num_threads=config.threads or numba.config.NUMBA_NUM_THREADS,
        )
        with interruption.handled_by(interruption.interrupt):
            server.run(lines)
    return 0


def _write(text: str) -> None:
    # Not `sys.stdout`: a thread that waits there for the reader holds a lock, and Python could not
    # exit.
    streams.write(1, text.encode())
