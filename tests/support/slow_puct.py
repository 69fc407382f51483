"""A second AlphaZero tree search: one game, plain Python and dictionaries.

It is simple rather than fast, and shares nothing with `azo.search` but the fake evaluations. The
game is `slow_tictactoe`. A node's value is seen by the side to move there.
"""

import dataclasses
import functools
import math

import jax
import numpy as np

from azo.games import tictactoe
from support import fake_evaluation, slow_tictactoe


@dataclasses.dataclass
class Evaluation:
    """Policy and value of a board."""

    prior: dict[int, float]  # of the legal actions, summing to 1
    value: float


@dataclasses.dataclass
class Node:
    """A board in the tree."""

    board: str
    visits: int = 0
    value_sum: float = 0.0
    virtual: float = 0.0  # virtual losses
    children: dict[int, "Node"] = dataclasses.field(default_factory=dict)

    @property
    def value(self) -> float:
        return self.value_sum / self.visits


@dataclasses.dataclass
class Search:
    """One search, and the smallest gap between the two best scores of a selection."""

    evaluations: dict[str, Evaluation]
    algorithm: str = "puct"
    c_puct: float = 2.0
    unvisited_value: str = "parent"
    num_leaves: int = 1
    virtual_loss: float = 1.0
    smallest_gap: float = math.inf
    num_collisions: int = 0  # paths that ended at a leaf of the same step

    def run(self, board: str, num_simulations: int) -> Node:
        """Returns the root, evaluated once and then searched."""
        root = Node(board)
        self._back_up([root])
        for _ in range(num_simulations // self.num_leaves):
            paths = []
            for _ in range(self.num_leaves):
                paths.append(self._descend(root))
                for node in paths[-1]:
                    node.virtual += self.virtual_loss
            self.num_collisions += sum(path[-1] is other[-1] for path, other in _pairs(paths))
            for path in paths:
                for node in path:
                    node.virtual = 0.0
            for path in paths:
                self._back_up(path)
        return root

    def _descend(self, root: Node) -> list[Node]:
        path = [root]
        while path[-1].visits > 0 and slow_tictactoe.result(path[-1].board) is None:
            node = path[-1]
            action = self._choose(node)
            if action not in node.children:
                node.children[action] = Node(slow_tictactoe.play(node.board, action))
            path.append(node.children[action])
        return path

    def _back_up(self, path: list[Node]) -> None:
        leaf = path[-1].board
        result = slow_tictactoe.result(leaf)
        value = self.evaluations[leaf].value if result is None else float(result)
        for node in reversed(path):
            node.visits += 1
            node.value_sum += value
            value = -value

    def _choose(self, node: Node) -> int:
        priors = self.evaluations[node.board].prior
        scores = {action: self._score(node, action, prior) for action, prior in priors.items()}
        # Moves of exactly the same score, such as two wins, tie in any precision.
        ranked = sorted(set(scores.values()), reverse=True)
        if len(ranked) > 1:
            self.smallest_gap = min(self.smallest_gap, ranked[0] - ranked[1])
        return max(scores, key=scores.__getitem__)

    def _score(self, node: Node, action: int, prior: float) -> float:
        total = node.visits + node.virtual
        child = node.children.get(action)
        visits = child.visits + child.virtual if child else 0
        q = -(child.value_sum + child.virtual) / visits if child else None
        if self.algorithm == "puct":
            if q is None:
                q = {"parent": node.value, "draw": 0.0, "loss": -1.0}[self.unvisited_value]
            return q + self.c_puct * prior * math.sqrt(total) / (1 + visits)
        if q is None:
            return 1e6 + prior
        return q + self.c_puct * prior * math.sqrt(total) / visits


def boards_to_search(count: int) -> list[str]:
    """Returns the start and other boards where the game goes on."""
    boards = [b for b in slow_tictactoe.boards() if slow_tictactoe.result(b) is None]
    order = np.random.default_rng(3).permutation(len(boards))
    return ["-" * 9] + [boards[i] for i in order[: count - 1]]


@functools.cache
def hashed_evaluations() -> dict[str, Evaluation]:
    """Returns what `fake_evaluation.hashed` says of every board."""
    boards = slow_tictactoe.boards()
    evaluate = fake_evaluation.hashed(tictactoe.TicTacToe())
    evaluation = evaluate(jax.random.key(0), slow_tictactoe.position(boards))
    logits, value = np.asarray(evaluation.prior_logits, float), np.asarray(evaluation.value, float)
    evaluations = {}
    for row, board in enumerate(boards):
        legal = slow_tictactoe.legal_actions(board)
        odds = np.exp(logits[row, legal])
        prior = dict(zip(legal, odds / odds.sum(), strict=True))
        evaluations[board] = Evaluation(prior, value[row])
    return evaluations


def _pairs(paths: list) -> list[tuple]:
    return [(a, b) for i, a in enumerate(paths) for b in paths[:i]]
