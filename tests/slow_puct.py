"""AlphaZero's tree search once more: one game, plain Python, recursion and dictionaries.

Written to be obviously right rather than fast, and to share nothing with `azo.search`. The game is
`slow_tictactoe`. A node's value is seen by the side to move there.
"""

import dataclasses
import math

import slow_tictactoe


@dataclasses.dataclass
class Evaluation:
    """What a network says of a board."""

    prior: dict[int, float]  # of the legal actions, summing to 1
    value: float


@dataclasses.dataclass
class Node:
    """A board in the tree."""

    board: str
    visits: int = 0
    value_sum: float = 0.0
    children: dict[int, "Node"] = dataclasses.field(default_factory=dict)

    @property
    def value(self) -> float:
        return self.value_sum / self.visits


@dataclasses.dataclass
class Search:
    """One search, and how close its closest choice of a move was."""

    evaluations: dict[str, Evaluation]
    c_puct: float
    unvisited_value: str
    smallest_gap: float = math.inf

    def run(self, board: str, num_simulations: int) -> Node:
        """Returns the root, evaluated once and then searched."""
        root = Node(board)
        for _ in range(1 + num_simulations):
            self._simulate(root)
        return root

    def _simulate(self, node: Node) -> float:
        result = slow_tictactoe.result(node.board)
        if result is not None:
            value = float(result)
        elif node.visits == 0:
            value = self.evaluations[node.board].value
        else:
            action = self._choose(node)
            if action not in node.children:
                node.children[action] = Node(slow_tictactoe.play(node.board, action))
            value = -self._simulate(node.children[action])
        node.visits += 1
        node.value_sum += value
        return value

    def _choose(self, node: Node) -> int:
        scores = {}
        for action, prior in self.evaluations[node.board].prior.items():
            child = node.children.get(action)
            if child is not None:
                visits, q = child.visits, -child.value
            else:
                visits, q = (
                    0,
                    {"parent": node.value, "draw": 0.0, "loss": -1.0}[self.unvisited_value],
                )
            explore = self.c_puct * prior * math.sqrt(node.visits) / (1 + visits)
            scores[action] = q + explore
        ranked = sorted(scores.values(), reverse=True)
        if len(ranked) > 1:
            self.smallest_gap = min(self.smallest_gap, ranked[0] - ranked[1])
        return max(scores, key=scores.__getitem__)
