"""The search of one live game: a tree that is reused from move to move, and limits."""

import pathlib
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from azo.engine import live_simulation, live_tree, search_report
from azo.engine.engine_settings import EngineConfig, Limits
from azo.engine.search_report import MoveReport, SearchReport
from azo.games import notation, variant
from azo.games.host import host_rules, live_game
from azo.solver.host import last_squares

MAX_NODES = 2_000_000  # about 300 MB
MAX_VISITS = 2**31 - 2**20  # of the root: counts have 32 bits
_MAX_PER_BATCH = 256  # simulations between two looks at the clock; at least any batch size
_LEAST_SIMULATIONS = 32  # before their rate is known
_MIN_BATCH = 2  # leaves; smaller batches are not split between streams
# Scores are backed up by minimax over nodes with at least 30 visits, and with at least 1 / 200 of
# the visits of the root.
_MIN_VISITS, _MAX_BACKED_UP = 30, 200


class Evaluator(Protocol):
    """Evaluates leaves of live searches; engines and threads may share one.

    `pattern_evaluator` has one for pattern networks, `network_evaluator` one for any by JAX.
    """

    num_streams: int  # batches that can be evaluated at the same time
    folder: pathlib.Path | None  # of its files; a linear evaluation may lie there too

    @property
    def game(self) -> variant.Variant:
        """The game that the network plays."""

    @property
    def simulate(self) -> Callable[..., tuple[int, int]] | None:
        """Runs whole simulations on the host; None: the search calls `request` for its leaves.

        Its arguments are those of `live_simulation.gather`; the tree has room for the budget and
        one node more. It returns the numbers of simulations, fewer than the budget if the root is
        proven, and of evaluations.
        """

    def request(
        self, player: np.ndarray, opponent: np.ndarray, *, batch_size: int, stream: int = 0
    ) -> Any:
        """Begins to evaluate positions; `numpy.asarray` of the result waits for it.

        The first call for a batch size compiles, which takes seconds.

        Args:
          player: `[M]` uint64, discs of the sides to move, bit `8 * row + column`.
          opponent: `[M]` uint64, discs of the other sides.
          batch_size: batch size of the compiled program, at least `M`.
          stream: below `num_streams`; batches of one stream run one after another.

        Returns:
          `[batch_size, A + 2]` float32, valid in the first `M` rows: logits, any number for illegal
          moves, and in the last columns the expected result and the expected score for the side to
          move, see `azo.search.search_tree`.
        """


class LiveSearch:
    """The tree of a live game; not for several threads at once."""

    def __init__(self, evaluator: Evaluator, config: EngineConfig):
        """Starts at the start of a game, with an empty tree."""
        game = evaluator.game
        self._evaluator, self._config = evaluator, config
        num_batches = min(evaluator.num_streams, max(config.leaves_per_step // _MIN_BATCH, 1))
        self._batch_size = -(-config.leaves_per_step // num_batches)
        # Each stream with its batch is free, or pending with its leaves and their predictions, the
        # oldest first.
        self._pending: deque[tuple[int, live_tree.LeafBatch, int, Any]] = deque()
        self._free = [
            (stream, live_tree.make_batch(self._batch_size))
            for stream in reversed(range(num_batches))
        ]
        self._context = live_tree.SearchContext(
            board=host_rules.make_rules(game.size, is_reversed=game.is_reversed),
            size=game.size,
            c_puct=config.c_puct,
            temperature=config.prior_temperature,
            score_share=config.score_share,
            exact_empties=config.exact_empties,
            has_proofs=config.has_proofs,
            max_bound=game.size**2 if config.score_share else live_tree.WIN,
            stack=last_squares.make_stack(),
            counters=np.zeros(1, np.int64),
        )
        self.num_evaluations = 0  # by the network, in total
        self.restart(live_game.LiveGame(game).board)
        self._compile()

    def _compile(self) -> None:
        # Compiles the tree's functions now, or loads them, so that it takes no time from a move.
        live_tree.subtree(self._tree, 0)
        live_simulation.expand_root(self._tree, self._context)
        if self._evaluator.simulate:
            self._simulate(0)
            return
        free, self._free = self._free, []
        for stream, batch in free:
            live_simulation.gather(self._tree, batch, self._context, 0)
            self._request(stream, batch, 0)
            self._expand_oldest()

    def restart(self, board: notation.Board, only: frozenset[int] | None = None) -> None:
        """Starts at a position with an empty tree; at its root `only` some actions are searched."""
        self._board, self._only = board, only  # of the root
        self._tree = live_tree.make_tree(board.player, board.opponent, self._context.max_bound)

    def follow(self, live: live_game.LiveGame) -> None:
        """Makes the present position of a game the root; keeps the tree below it, if there is one.

        The tree is kept if its root is a position of the game.
        """
        if self._board not in live.boards:
            self.restart(live.board)
        ply = live.boards.index(self._board)
        for action, board in zip(live.actions[ply:], live.boards[ply + 1 :], strict=True):
            edges, nodes = self._edges(0), self._tree.nodes
            child = edges["child"][edges["action"] == action].max(initial=live_tree.UNVISITED)
            if child == live_tree.UNVISITED or not nodes["num_edges"][child]:
                self.restart(live.board)
                return
            self._board, self._tree = board, live_tree.subtree(self._tree, int(child))
            self._only = None

    def grow(
        self,
        limits: Limits,
        *,
        is_stopped: Callable[[], bool] | None = None,
        on_progress: Callable[[int], None] | None = None,
        progress_seconds: float = 0.25,
    ) -> int:
        """Searches until a limit is reached; returns the number of simulations.

        The root is always evaluated, also at a limit of 0. The search ends early when the result of
        the root is proven, and when `is_stopped`, which is called after every batch, returns True.
        `on_progress` is called with the number of simulations so far.
        """
        start = time.perf_counter()
        next_report = start + progress_seconds
        if self._tree.nodes["state"][0] == live_tree.NEW:
            self._step(1)
            self._restrict()
        if self._config.has_proofs:
            self._tree = live_tree.with_room(self._tree, len(self._edges(0)))
            live_simulation.expand_root(self._tree, self._context)
        most = np.inf if limits.num_simulations is None else limits.num_simulations
        end = np.inf if limits.seconds is None else start + limits.seconds
        num_done = 0
        try:
            while num_done < most and not self._has_ended():
                num_done += self._step(most - num_done)
                now = time.perf_counter()
                if now >= end or (is_stopped is not None and is_stopped()):
                    break
                if limits.ends_early and num_done >= _LEAST_SIMULATIONS:
                    num_left = min(most - num_done, num_done / (now - start) * (end - now))
                    if is_settled(self._hopeful_visits(), num_left):
                        break
                if on_progress is not None and now >= next_report:
                    on_progress(num_done)
                    next_report = now + progress_seconds
        finally:  # also after an exception, since pending leaves belong to this tree
            while self._pending:
                num_done += self._expand_oldest()
        return num_done

    def _restrict(self) -> None:
        """Leaves the edges of the root that it is restricted to."""
        if self._only is None:
            return
        edges = self._edges(0)
        kept = edges[np.isin(edges["action"], sorted(self._only))]
        kept["prior"] /= max(kept["prior"].sum(), np.finfo(np.float32).tiny)
        edges[: len(kept)] = kept
        self._tree.nodes["num_edges"][0] = len(kept)

    def report(self, *, by_discs: bool = False) -> SearchReport:
        """Returns what is known of the root, as if it took no time.

        Only after `grow`. `by_discs` orders the moves by their scores, as analyses do. A search for
        the result only gives no scores: it ignores discs in decided lines.
        """
        root, share = self._tree.nodes[0], self._config.score_share
        moves = self.look()
        if by_discs:
            moves = search_report.by_discs(moves, is_reversed=self._evaluator.game.is_reversed)
        value, discs, score = self._worth(0, sign=1)
        if moves[0].discs is not None:
            value, discs = moves[0].value or 0.0, moves[0].discs
        raw_value = (root["raw_value"] - share * root["raw_score"]) / (1 - share)
        return SearchReport(
            board=self._board,
            action=moves[0].action,
            moves=moves,
            value=value,
            raw_value=float(np.clip(raw_value, -1, 1)),
            discs=discs,
            score=score,
            source="search",
        )

    @property
    def mean_value(self) -> float:
        """The mean value of all simulations for the side to move; only after `grow`.

        The share of the score in it is that of the settings (`search_tree.mix_values`).
        """
        root = self._tree.nodes[0]
        return float(root["value_sum"] / root["visits"])

    def look(self) -> tuple[MoveReport, ...]:
        """Returns the moves of the root, best first; () before its evaluation.

        Moves are ordered by visits. The best proven move comes before moves of less value, and
        other proven moves last.
        """
        edges = self._edges(0)
        # Undoes the prior temperature, relative to the likeliest move: powers get very small.
        priors = edges["prior"] / edges["prior"].max(initial=0.0)
        priors = priors.astype(float) ** self._config.prior_temperature
        children = dict(zip(edges["action"].tolist(), edges["child"].tolist(), strict=True))
        shares = (priors / priors.sum()).tolist()
        branches = list(map(self._branch, children, children.values(), shares))
        values = {action: self._search_value(child) for action, child in children.items()}
        certain = max((values[b.action] for b in branches if b.is_proven), default=-np.inf)

        def rank(move: MoveReport) -> int:
            if move.is_proven:
                return 1 if values[move.action] == certain else 3
            return 0 if values[move.action] > certain else 2

        return tuple(sorted(branches, key=lambda b: (rank(b), -b.visits, -b.prior, b.action)))

    def _hopeful_visits(self) -> np.ndarray:
        """Returns the visits of each move of the root, 0 for moves that are proven to be worse."""
        nodes, child = self._tree.nodes, self._edges(0)["child"]
        highest = -nodes["lower"][child]
        is_worse = (highest == -self._context.max_bound) | (highest < nodes["lower"][0])
        return np.where((child < 0) | is_worse, 0, nodes["visits"][child])

    def _has_ended(self) -> bool:
        """Returns whether the result of the root is proven, or memory is full."""
        tree, root = self._tree, self._tree.nodes[0]
        is_full = tree.counts[live_tree.NODES] >= MAX_NODES or root["visits"] >= MAX_VISITS
        return bool(is_full or root["state"] == live_tree.DONE)

    def _step(self, budget: float) -> int:
        """Runs simulations, at least one; returns their number.

        Either on the host, or predictions for all free batches are requested, and the oldest
        pending batch is expanded. `budget` limits the simulations, pending ones included.
        """
        if self._evaluator.simulate:
            return self._simulate(int(min(budget, _MAX_PER_BATCH)))
        num_done = 0
        num_waiting = sum(num_leaves for _, _, num_leaves, _ in self._pending)
        left = budget - num_waiting
        while self._free and left > 0:
            num_more = num_waiting + _MAX_PER_BATCH + 1  # pending leaves have no edges yet
            self._tree = tree = live_tree.with_room(self._tree, num_more)
            stream, batch = self._free.pop()
            most = int(min(left, _MAX_PER_BATCH))
            num_leaves, num_completed = live_simulation.gather(tree, batch, self._context, most)
            num_done += num_completed
            num_waiting += num_leaves
            left -= num_completed + num_leaves
            if not num_leaves:
                self._free.append((stream, batch))
                break
            self._request(stream, batch, num_leaves)
        return num_done + (self._expand_oldest() if self._pending else 0)

    def _simulate(self, budget: int) -> int:
        """Runs simulations on the host; returns their number."""
        assert self._evaluator.simulate is not None
        self._tree = live_tree.with_room(self._tree, budget + 1)
        batch = self._free[0][1]
        num_done, num_evaluated = self._evaluator.simulate(self._tree, batch, self._context, budget)
        self.num_evaluations += num_evaluated
        return num_done

    def _request(self, stream: int, batch: live_tree.LeafBatch, num_leaves: int) -> None:
        sides = batch.player[:num_leaves], batch.opponent[:num_leaves]
        predictions = self._evaluator.request(*sides, batch_size=self._batch_size, stream=stream)
        self._pending.append((stream, batch, num_leaves, predictions))

    def _expand_oldest(self) -> int:
        """Waits for the oldest pending batch, expands its leaves, and returns their number."""
        stream, batch, num_leaves, pending = self._pending.popleft()
        predictions = np.asarray(pending)
        live_simulation.expand(self._tree, batch, num_leaves, predictions, self._context)
        self._free.append((stream, batch))
        self.num_evaluations += num_leaves
        return num_leaves

    def _edges(self, node: int) -> np.ndarray:
        """Returns the edges of a node, as rows of `live_tree.EDGE`."""
        first = int(self._tree.nodes["first_edge"][node])
        return self._tree.edges[first : first + int(self._tree.nodes["num_edges"][node])]

    def _branch(self, action: int, child: int, prior: float) -> MoveReport:
        nodes = self._tree.nodes
        is_proven = child >= 0 and bool(nodes["lower"][child] == nodes["upper"][child])
        visits = int(nodes["visits"][child]) if child >= 0 else 0
        value = discs = score = None
        if visits or is_proven:
            value, discs, score = self._worth(child, sign=-1)
        line = [action]
        while child >= 0:
            edges = self._edges(child)
            edges = edges[edges["child"] >= 0]
            visited = nodes["visits"][edges["child"]]
            if not visited.any():
                break
            best = edges[np.argmax(visited)]
            line.append(int(best["action"]))
            child = int(best["child"])
        return MoveReport(action, visits, prior, value, discs, score, tuple(line), is_proven)

    def _worth(self, node: int, sign: int) -> tuple[float, float | None, int | None]:
        """Returns a node's expected result, expected score and proven score, times the sign.

        They are for its side to move, scores in discs. In a search for the result, it is the mean
        of the visits, and there are no scores. In a search for the score, the score is backed up
        by minimax, and it makes a result likely, so that both agree on who is ahead.
        """
        nodes, game = self._tree.nodes, self._evaluator.game
        visits, lower, upper = (nodes[name][node] for name in ("visits", "lower", "upper"))
        if not self._config.score_share:
            value = nodes["value_sum"][node] / visits if visits else nodes["raw_value"][node]
            return sign * float(np.clip(value, lower, upper)), None, None
        least_visits = max(_MIN_VISITS, int(nodes["visits"][0]) // _MAX_BACKED_UP)
        utility = self._backed_up(node, least_visits)
        value = search_report.likely_result(utility, game.size)
        value = float(np.clip(value, np.sign(lower), np.sign(upper)))
        unit = -sign if game.is_reversed else sign
        return sign * value, unit * utility, unit * int(lower) if lower == upper else None

    def _backed_up(self, node: int, least_visits: int) -> float:
        """Returns the score in discs for the side to move, by minimax over the well visited nodes.

        A mean would count the moves that the search tried and rejected. Nodes with fewer than
        `least_visits` have their mean, or their raw score without visits.
        """
        nodes = self._tree.nodes
        visits, lower, upper = (nodes[name][node] for name in ("visits", "lower", "upper"))
        score = nodes["score_sum"][node] / visits if visits else nodes["raw_score"][node]
        utility = float(score) * self._evaluator.game.size**2
        if visits >= least_visits and lower < upper:
            children = self._edges(node)["child"]
            children = children[children >= 0]
            counts = nodes["visits"][children]
            is_proven = nodes["lower"][children] == nodes["upper"][children]
            is_sure = (counts > 0) & (counts >= search_report.MUCH_VISITED * counts.max(initial=0))
            sure = children[is_sure | is_proven]
            if len(sure):
                utility = max(-self._backed_up(int(child), least_visits) for child in sure)
        return min(max(utility, float(lower)), float(upper))

    def _search_value(self, node: int) -> float:
        """Returns the value that the search maximises, for the side that has moved to a node.

        It is 0 for nodes without visits.
        """
        if node < 0:
            return 0.0
        row = self._tree.nodes[node]
        mean = row["value_sum"] / row["visits"] if row["visits"] else 0.0
        return -float(live_simulation.clip(mean, row["lower"], row["upper"], self._context))


def is_settled(visits: np.ndarray, num_left: float) -> bool:
    """Returns whether `num_left` simulations cannot change which move has the most visits.

    `visits` are those of each move, 0 for moves that are proven to be worse.
    """
    second, best = np.sort(np.append(visits, 0))[-2:]
    return bool(best - second > num_left)
