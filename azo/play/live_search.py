"""The search of one live game: a tree that is reused from move to move, a cache, and limits."""

import dataclasses
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from azo.games import notation
from azo.play import clock, live_simulation, live_tree
from azo.play.engine_settings import EngineConfig, Limits
from azo.play.evaluator import Evaluator
from azo.play.search_report import MoveReport
from azo.solver.host import last_squares

MAX_NODES = 2_000_000  # about 250 MB
MAX_VISITS = 2**31 - 2**20  # of the root: counts have 32 bits
_MOST_PER_BATCH = 256  # simulations between two looks at the clock; at least any batch size
_LEAST_BATCH = 2  # leaves; smaller batches are not split between streams


@dataclasses.dataclass(frozen=True)
class _PendingBatch:
    """A batch whose predictions are being computed."""

    stream: int
    batch: live_tree.LeafBatch
    num_leaves: int
    predictions: Any  # `[L, A + 2]`, see `Evaluator.request`


class LiveSearch:
    """The tree of a live game; not for several threads at once."""

    def __init__(self, evaluator: Evaluator, config: EngineConfig, board: notation.Board):
        """Starts at a position with an empty tree and an empty cache."""
        game = evaluator.game
        self._evaluator, self._config = evaluator, config
        num_cached = 0 if evaluator.simulate else config.cache_positions
        self._cache = live_tree.make_cache(num_cached, game.num_actions)
        num_batches = min(evaluator.num_streams, max(config.leaves_per_step // _LEAST_BATCH, 1))
        self._batch_size = -(-config.leaves_per_step // num_batches)
        self._pending: deque[_PendingBatch] = deque()  # the oldest first
        self._free = [
            (stream, live_tree.make_batch(self._batch_size))
            for stream in reversed(range(num_batches))
        ]
        self._rules = live_tree.SearchRules(
            board=last_squares.make_rules(game.size, is_reversed=game.is_reversed),
            size=game.size,
            c_puct=config.c_puct,
            virtual_loss=config.virtual_loss,
            temperature=config.prior_temperature,
            score_share=config.score_share,
            exact_empties=config.exact_empties if game.size in last_squares.SIZES else 0,
            has_proofs=config.has_proofs,
            most=game.size**2 if config.score_share else live_tree.WIN,
        )
        # Memory for `last_squares.few`, which solves leaves.
        self._stack, self._counters = last_squares.make_stack(), np.zeros(1, np.int64)
        self.num_evaluations = 0  # by the network, in total
        self.restart(board)
        self._compile()

    def _compile(self) -> None:
        # Compiles the tree's functions now, or loads them, so that it takes no time from a move.
        live_tree.subtree(self._tree, 0)
        live_simulation.expand_root(self._tree, self._rules, self._stack, self._counters)
        if self._evaluator.simulate:
            self._simulate(0)
            return
        for stream, _ in self._free:
            self._evaluator.compiled(self._batch_size, stream)
        batch = self._free[0][1]
        num_outputs = self._evaluator.game.num_actions + 2
        predictions = np.zeros((self._batch_size, num_outputs), np.float32)
        predictions.flags.writeable = False  # as those of JAX are, a different type for numba
        live_simulation.gather(
            self._tree, batch, self._cache, self._rules, 0, self._stack, self._counters
        )
        live_simulation.expand(self._tree, batch, 0, predictions, self._cache, self._rules)

    def restart(self, board: notation.Board) -> None:
        """Starts at a position with an empty tree; the cache is kept."""
        self._tree = live_tree.make_tree(board.player, board.opponent, self._rules.most)

    def advance(self, action: int, board: notation.Board) -> None:
        """Makes the position after a move the root, and keeps its part of the tree.

        Args:
          action: legal in the present position.
          board: the position after it.
        """
        node = self._child(action)
        if node is None or not self._tree.num_edges[node]:
            self.restart(board)
            return
        self._tree = live_tree.subtree(self._tree, node)

    def grow(
        self,
        limits: Limits,
        *,
        is_stopped: Callable[[], bool] | None = None,
        on_progress: Callable[[int], None] | None = None,
        progress_seconds: float = 0.25,
    ) -> int:
        """Searches until a limit is reached; returns the number of simulations.

        The root is always evaluated, also at a limit of 0.

        It ends early when the result of the root is proven, and as `clock.MoveTimer` says.

        Args:
          limits: simulations and seconds of this call.
          is_stopped: called after every batch; True ends the search.
          on_progress: called with the number of simulations so far.
          progress_seconds: interval of these calls.
        """
        start = time.perf_counter()
        next_report = start + progress_seconds
        if self._tree.state[0] == live_tree.NEW:
            self._step(1)
        if self._config.has_proofs:
            self._tree = live_tree.with_room(self._tree, len(self._edges(0)))
            live_simulation.expand_root(self._tree, self._rules, self._stack, self._counters)
        most = np.inf if limits.num_simulations is None else limits.num_simulations
        end = np.inf if limits.seconds is None else start + limits.seconds
        timer = None
        if limits.seconds is not None and limits.most_seconds is not None:
            timer = clock.MoveTimer(limits.seconds, limits.most_seconds)
            end = np.inf
        num_done = 0
        try:
            while num_done < most and not self._is_full() and not self._is_proven():
                num_done += self._step(most - num_done)
                now = time.perf_counter()
                if now >= end or (is_stopped is not None and is_stopped()):
                    break
                if timer is not None and timer.is_over(
                    now - start, num_done, most - num_done, self._hopeful_visits()
                ):
                    break
                if on_progress is not None and now >= next_report:
                    on_progress(num_done)
                    next_report = now + progress_seconds
        finally:  # also after an exception, since pending leaves belong to this tree
            while self._pending:
                num_done += self._expand_oldest()
        return num_done

    @property
    def raw_value(self) -> float:
        """The network's expected result of the root; only after `grow`."""
        return self._result(0, float(self._tree.raw_value[0]), float(self._tree.raw_score[0]))

    @property
    def value(self) -> float:
        """The mean result of the root's visits, or the proven one; only after `grow`."""
        return self._mean(0)[0]

    @property
    def discs(self) -> float:
        """The mean final score of the root's visits, in discs; only after `grow`."""
        return self._mean(0)[1]

    @property
    def score(self) -> int | None:
        """The final score under perfect play, if the search has proven it."""
        return self._score(0, sign=1)

    def look(self) -> tuple[MoveReport, ...]:
        """Returns the moves of the root, best first; () before its evaluation.

        Moves are ordered by visits. The best proven move comes before moves of less value, and
        other proven moves last.
        """
        edges = self._edges(0)
        values = {int(self._tree.action[edge]): self._value_of_move(edge) for edge in edges}
        branches = [self._branch(edge) for edge in edges]
        # Undoes the prior temperature, relative to the likeliest move: powers get very small.
        highest = max((branch.prior for branch in branches), default=1.0)
        weights = [(b.prior / highest) ** self._config.prior_temperature for b in branches]
        total = sum(weights)
        branches = [
            dataclasses.replace(branch, prior=weight / total)
            for branch, weight in zip(branches, weights, strict=True)
        ]
        certain = max((values[b.action] for b in branches if b.is_proven), default=-np.inf)

        def rank(move: MoveReport) -> int:
            if move.is_proven:
                return 1 if values[move.action] == certain else 3
            return 0 if values[move.action] > certain else 2

        return tuple(sorted(branches, key=lambda b: (rank(b), -b.visits, -b.prior, b.action)))

    def _hopeful_visits(self) -> np.ndarray:
        """Returns the visits of each move of the root, 0 for moves that are proven to be worse."""
        tree, edges = self._tree, self._edges(0)
        child = tree.child[edges.start : edges.stop]
        highest = -tree.lower[child]
        is_worse = (child < 0) | (highest == -self._rules.most) | (highest < tree.lower[0])
        return np.where(is_worse, 0, tree.visits[child])

    def _is_full(self) -> bool:
        tree = self._tree
        return bool(tree.counts[live_tree.NODES] >= MAX_NODES or tree.visits[0] >= MAX_VISITS)

    def _is_proven(self) -> bool:
        return self._tree.state[0] == live_tree.DONE

    def _step(self, budget: float) -> int:
        """Runs simulations, at least one; returns their number.

        Either on the host, or predictions for all free batches are requested, and the oldest
        pending batch is expanded.

        Args:
          budget: most simulations to complete, pending ones included.
        """
        if self._evaluator.simulate:
            return self._simulate(int(min(budget, _MOST_PER_BATCH)))
        num_done = 0
        num_waiting = sum(pending.num_leaves for pending in self._pending)
        left = budget - num_waiting
        while self._free and left > 0:
            num_more = num_waiting + _MOST_PER_BATCH + 1  # pending leaves have no edges yet
            self._tree = tree = live_tree.with_room(self._tree, num_more)
            stream, batch = self._free.pop()
            most = int(min(left, _MOST_PER_BATCH))
            num_leaves, num_completed = live_simulation.gather(
                tree, batch, self._cache, self._rules, most, self._stack, self._counters
            )
            num_done += num_completed
            num_waiting += num_leaves
            left -= num_completed + num_leaves
            if not num_leaves:
                self._free.append((stream, batch))
                break
            predictions = self._evaluator.request(
                batch.player[:num_leaves],
                batch.opponent[:num_leaves],
                batch_size=self._batch_size,
                stream=stream,
            )
            self._pending.append(_PendingBatch(stream, batch, num_leaves, predictions))
        return num_done + (self._expand_oldest() if self._pending else 0)

    def _simulate(self, budget: int) -> int:
        """Runs simulations on the host; returns their number."""
        assert self._evaluator.simulate is not None
        self._tree = live_tree.with_room(self._tree, budget + 1)
        num_done, num_evaluated = self._evaluator.simulate(
            self._tree,
            self._free[0][1],
            self._cache,
            self._rules,
            budget,
            self._stack,
            self._counters,
        )
        self.num_evaluations += num_evaluated
        return num_done

    def _expand_oldest(self) -> int:
        """Waits for the oldest pending batch, expands its leaves, and returns their number."""
        pending = self._pending.popleft()
        num_leaves, predictions = pending.num_leaves, np.asarray(pending.predictions)
        live_simulation.expand(
            self._tree, pending.batch, num_leaves, predictions, self._cache, self._rules
        )
        self._free.append((pending.stream, pending.batch))
        self.num_evaluations += num_leaves
        return num_leaves

    def _edges(self, node: int) -> range:
        first = int(self._tree.first_edge[node])
        return range(first, first + int(self._tree.num_edges[node]))

    def _child(self, action: int) -> int | None:
        for edge in self._edges(0):
            if self._tree.action[edge] == action and self._tree.child[edge] >= 0:
                return int(self._tree.child[edge])
        return None

    def _branch(self, edge: int) -> MoveReport:
        tree, child = self._tree, int(self._tree.child[edge])
        visits = int(tree.visits[child]) if child >= 0 else 0
        value = discs = score = None
        if visits or self._is_proven_move(edge):
            value, discs = (-x for x in self._mean(child))
            score = self._score(child, sign=-1)
        line = [int(tree.action[edge])]
        while child >= 0 and (edges := self._edges(child)):
            best = max(edges, key=self._visits)
            if not self._visits(best):
                break
            line.append(int(tree.action[best]))
            child = int(tree.child[best])
        return MoveReport(
            action=line[0],
            visits=visits,
            prior=float(tree.prior[edge]),
            value=value,
            discs=discs,
            is_proven=self._is_proven_move(edge),
            score=score,
            line=tuple(line),
        )

    def _mean(self, node: int) -> tuple[float, float]:
        """Returns mean result and mean final score in discs of a node, for the side to move there.

        A node without visits, whose result is proven, has its raw ones.
        """
        tree, visits = self._tree, int(self._tree.visits[node])
        value, score = tree.raw_value[node], tree.raw_score[node]
        if visits:
            value, score = tree.value_sum[node] / visits, tree.score_sum[node] / visits
        game, share = self._evaluator.game, self._config.score_share
        discs = float(score) * game.size**2
        if share:
            discs = float(np.clip(discs, tree.lower[node], tree.upper[node]))
        return self._result(node, float(value), float(score)), -discs if game.is_reversed else discs

    def _score(self, node: int, sign: int) -> int | None:
        """Returns the proven final score of a node in discs, times the sign."""
        lower, upper = int(self._tree.lower[node]), int(self._tree.upper[node])
        if lower < upper or not self._config.score_share:
            return None
        return -sign * lower if self._evaluator.game.is_reversed else sign * lower

    def _result(self, node: int, value: float, score: float) -> float:
        """Returns the result in a value, which may have a share of the score."""
        share = self._config.score_share
        result = (value - share * score) / (1 - share)
        bounds = np.sign([self._tree.lower[node], self._tree.upper[node]])
        return float(np.clip(result, *bounds))

    def _value_of_move(self, edge: int) -> float:
        """Returns the value that the search maximises, 0 for moves that have not been visited."""
        tree, child = self._tree, int(self._tree.child[edge])
        if child < 0:
            return 0.0
        lower, upper, visits = tree.lower[child], tree.upper[child], tree.visits[child]
        mean = tree.value_sum[child] / visits if visits else 0.0
        return -float(live_simulation.clip(mean, lower, upper, self._rules))

    def _is_proven_move(self, edge: int) -> bool:
        child = int(self._tree.child[edge])
        return child >= 0 and bool(self._tree.lower[child] == self._tree.upper[child])

    def _visits(self, edge: int) -> int:
        child = int(self._tree.child[edge])
        return int(self._tree.visits[child]) if child >= 0 else 0
