"""Deep endings: solved on the host's cores before the first iteration of a run.

`endings.jsonl` in the run's folder gets a line for each solved ending, so a stopped run resumes
with the next one. `hard.obf` has the endings for which the solver visited most nodes.
"""

import itertools
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import rich.console

from azo.formats import files
from azo.games import bitboard, notation, othello
from azo.learning import endings
from azo.measure import journal
from azo.run import config, console, devices, metrics
from azo.solver.host import best_lines, line_workers

FILE, HARD_FILE = "endings.jsonl", "hard.obf"
NUM_HARD = 100
_FIELDS = {"board", "score", "confidence", "line", "best", "nodes", "seconds"}
_BATCH = 1024  # endings drawn at a time


def prepare(
    settings: config.Config,
    game: othello.Othello,
    writer: metrics.MetricsWriter,
    is_stopped: Callable[[], bool],
) -> endings.ExactLines | None:
    """Solves the endings of a run that are not in its folder yet.

    Args:
      settings: of the run.
      game: its rules.
      writer: gets the number of nodes and the time.
      is_stopped: called after each ending.

    Returns:
      Lines `[K, M]` of `endings.max_empties` plies `K` from `endings.deep_positions` endings `M`.
      None if it was stopped before all were solved; the same settings then resume.

    Raises:
      ValueError: The folder has endings of other settings.
    """
    folder, drawn = settings.run.folder, draw(game, settings)
    boards = [notation.Board(*one, is_black_to_move=True) for one in drawn]
    texts = [notation.board_text(board, game.size) for board in boards]
    confidence = settings.endings.confidence
    expected = {text: best_lines.confidence_for(confidence, text.count("-")) for text in texts}
    solved = {record["board"]: record for record in journal.mend(folder / FILE, _parse)}
    if any(expected.get(text) != record["confidence"] for text, record in solved.items()):
        raise ValueError(
            f"{folder / FILE} holds endings solved with other settings: choose another --run.folder"
        )
    screen = rich.console.Console(highlight=False, emoji=False)
    start = time.perf_counter()
    workers = line_workers.LineWorkers(
        game.size,
        is_reversed=game.is_reversed,
        num_processes=settings.run.solver_processes or devices.num_cores(),
        note=screen.print,
    )
    with workers, console.ProgressBar(screen) as progress:
        task = progress.add_task("solving endings", total=len(drawn), completed=len(solved))
        numbers = {
            text: workers.submit(
                line_workers.Ending(*drawn[n], f"{settings.run.seed}/{n}", confidence)
            )
            for n, text in enumerate(texts)
            if text not in solved
        }
        for text, number in numbers.items():
            solved[text] = _record(text, workers.collect(number), game.size)
            journal.append(folder / FILE, json.dumps(solved[text]))
            progress.advance(task)
            if is_stopped():
                screen.print(f"stopped after solving {len(solved)} of {len(drawn)} endings")
                return None
    records = [solved[text] for text in texts]
    seconds = time.perf_counter() - start
    core_seconds = sum(record["seconds"] for record in records)
    screen.print(f"solved {len(records)} endings: {core_seconds:.0f} s of a core", soft_wrap=True)
    writer.write(
        "endings",
        0,
        {
            "endings/solved": len(records),
            "endings/nodes": sum(record["nodes"] for record in records),
            "time/solving_seconds": round(seconds, 2),
        },
    )
    _write_hard(folder / HARD_FILE, records)
    return _lines(game, drawn, records, settings.endings.max_empties)


def draw(game: othello.Othello, settings: config.Config) -> list[tuple[int, int]]:
    """Returns distinct endings, `(player, opponent)` with bit `8 * row + column`.

    Raises:
      ValueError: Too few distinct endings were drawn.
    """
    limits = settings.endings
    number = limits.deep_positions
    sample = jax.jit(lambda key: endings.random_endings(game, key, _BATCH, limits))
    drawn: dict[tuple[int, int], None] = {}
    for batch in range(2 + 10 * number // _BATCH):
        key = jax.random.fold_in(jax.random.key(settings.run.seed), batch)
        position, is_ending = sample(key)
        discs = (bitboard.to_ints(side) for side in (position.player, position.opponent))
        both = zip(*discs, strict=True)
        drawn |= dict.fromkeys(itertools.compress(both, np.asarray(is_ending)))
        if len(drawn) >= number:
            return list(drawn)[:number]
    raise ValueError(
        f"endings.deep_positions is {number}, but only {len(drawn)} different endings were drawn"
        f" with {limits.min_empties} to {limits.max_empties} empty squares"
    )


def _lines(
    game: othello.Othello, drawn: list[tuple[int, int]], records: list[Any], max_empties: int
) -> endings.ExactLines:
    def actions(texts: list[str]) -> list[int]:
        return [notation.parse_action(text, game.size) for text in texts]

    moves = endings.pack_moves(
        (
            (column, actions(record["line"]), [actions(best.split()) for best in record["best"]])
            for column, record in enumerate(records)
        ),
        max_empties=max_empties,
        num_endings=len(drawn),
        num_actions=game.num_actions,
    )
    position = othello.Position(*(bitboard.from_ints(side) for side in zip(*drawn, strict=True)))
    replay = jax.jit(endings.replay_lines, static_argnums=0)
    return replay(game, position, jnp.ones(len(drawn), bool), moves)


def _record(text: str, line: best_lines.BestLine, size: int) -> dict[str, Any]:
    return {
        "board": text,
        "score": line.score,
        "confidence": line.confidence,
        "line": [notation.action_text(action, size) for action in line.moves],
        "best": [
            " ".join(notation.action_text(action, size) for action in best) for best in line.best
        ],
        "nodes": line.num_nodes,
        "seconds": round(line.seconds, 3),
    }


def _parse(line: str) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict) or not record.keys() >= _FIELDS:
        raise ValueError("not a solved ending")
    return record


def _write_hard(path: pathlib.Path, records: list[dict[str, Any]]) -> None:
    hardest = sorted(records, key=lambda record: -record["nodes"])[:NUM_HARD]
    rows = [
        f"{one['board']}; % score {one['score']:+d}, confidence {one['confidence']:g},"
        f" {one['nodes']} nodes"
        for one in hardest
    ]
    files.write(path, ("\n".join(rows) + "\n").encode())
