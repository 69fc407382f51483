"""Endings of adjudicated games, solved by the host's cores while the device plays on.

The last two iterations' turns wait in `RunState.unlabelled`. While the device plays an iteration,
worker processes solve the endings of the newer turns. The next iteration labels these turns with
the solved moves. The state holds all endings that wait, so a resumed run solves them again. It
repeats the uninterrupted run with any number of processes.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from azo.games import bitboard, othello
from azo.learning import endings, run_state
from azo.run import config, devices
from azo.solver.host import line_workers

_MESSAGE_SECONDS = 60.0  # between messages about a solver that takes long


class HostEndings:
    """Solves the endings of a run; a context manager."""

    def __init__(self, settings: config.Config, game: othello.Othello, note: Callable[[str], None]):
        """Prepares the processes.

        Args:
          settings: of the run.
          game: its rules.
          note: shows a message.

        Raises:
          ValueError: The run has several processes.
        """
        if jax.process_count() > 1:
            raise ValueError(
                "endings.solver is 'host', which needs a run of 1 process, not"
                f" {jax.process_count()}: choose 'device'"
            )
        self.figures: dict[str, Any] = {}
        """Metrics of the latest moves."""
        self._settings, self._game, self._note = settings, game, note
        self._workers = line_workers.LineWorkers(
            game.size,
            is_reversed=game.is_reversed,
            num_processes=settings.run.solver_processes or devices.num_cores(),
            note=note,
        )
        # By iteration of the turns, and within it by their place in `[T * B]`.
        self._numbers: dict[int, dict[int, int]] = {}

    def __enter__(self) -> "HostEndings":
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    def no_moves(self) -> endings.LineMoves:
        """Returns moves `[K, T, B]` of no lines, of the shapes that an iteration takes."""
        return self._pack([])

    def moves(self, state: run_state.RunState) -> endings.LineMoves:
        """Returns the moves `[K, T, B]` for the oldest turns, when they are solved.

        Begins to solve the endings of newer turns.
        """
        turns = state.unlabelled
        assert turns is not None
        after, is_adjudicated, iteration = jax.device_get(
            (turns.after, turns.is_adjudicated, turns.plies.iteration[:, 0])
        )
        half = len(iteration) // 2
        for rows in (slice(half), slice(half, None)):
            played = int(iteration[rows][0])
            if played not in self._numbers:
                position = jax.tree.map(lambda x, rows=rows: x[rows].ravel(), after)
                self._numbers[played] = self._submit(position, is_adjudicated[rows].ravel(), played)
        return self._collect(self._numbers.pop(int(iteration[0])))

    def _submit(
        self, position: othello.Position, is_ending: np.ndarray, iteration: int
    ) -> dict[int, int]:
        (places,) = np.nonzero(is_ending)
        discs = [
            bitboard.to_ints(jax.tree.map(lambda x: x[places], side))
            for side in (position.player, position.opponent)
        ]
        seed = f"{self._settings.run.seed}/{iteration}"
        return {
            place: self._workers.submit(
                line_workers.Ending(player, opponent, f"{seed}/{player:x}/{opponent:x}")
            )
            for place, player, opponent in zip(places.tolist(), *discs, strict=True)
        }

    def _collect(self, numbers: dict[int, int]) -> endings.LineMoves:
        start, seconds = time.perf_counter(), 0.0
        solved: list[Any] = []
        for place, number in numbers.items():
            line = None
            while line is None:
                try:
                    line = self._workers.collect(number, _MESSAGE_SECONDS)
                except TimeoutError:
                    self._note(f"the solver has {len(numbers) - len(solved)} endings left: waiting")
            solved.append((place, line.moves, line.best))
            seconds += line.seconds
        self.figures = {
            "endings/solved": len(solved),
            "time/solver_core_seconds": round(seconds, 4),
            "time/solver_wait_seconds": round(time.perf_counter() - start, 4),
        }
        return self._pack(solved)

    def _pack(self, solved: list[Any]) -> endings.LineMoves:
        selfplay = self._settings.selfplay
        moves = endings.pack_moves(
            solved,
            max_empties=self._settings.endings.adjudicate_empties,
            num_endings=selfplay.num_plies * selfplay.num_games,
            num_actions=self._game.num_actions,
        )
        shape = selfplay.num_plies, selfplay.num_games
        return jax.tree.map(lambda x: x.reshape(x.shape[0], *shape, *x.shape[2:]), moves)
