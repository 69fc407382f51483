"""Trees against a plain Python search, node by node, with one and with several leaves a step.

The plain search is simple rather than fast, and shares nothing with `azo.search` but the fake
evaluations. Its game is `slow_tictactoe`. A node's value is seen by the side to move there.
"""

import dataclasses
import functools
import itertools
import math

import jax
import numpy as np
import pytest
from support.fakes import fake_evaluation
from support.references import mctx_trees, slow_tictactoe

from azo.games import tictactoe
from azo.search import improvement

_TIC_TAC_TOE = tictactoe.TicTacToe()
# Sums of up to 101 values in float32 against double precision: relative error below 101 * 6e-8.
_ROUNDING = 1e-5
# A choice between scores nearer than this may go either way for the same reason.
_TIE = 1e-5
_NUM_BOARDS = 64


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

    evaluations: dict[str, tuple[dict[int, float], float]]  # prior of the legal actions, and value
    algorithm: str = "puct"
    c_puct: float = 2.0
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
            pairs = itertools.combinations(paths, 2)
            self.num_collisions += sum(path[-1] is other[-1] for path, other in pairs)
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
        value = self.evaluations[leaf][1] if result is None else float(result)
        for node in reversed(path):
            node.visits += 1
            node.value_sum += value
            value = -value

    def _choose(self, node: Node) -> int:
        priors = self.evaluations[node.board][0]
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
                q = node.value
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
def hashed_evaluations() -> dict[str, tuple[dict[int, float], float]]:
    """Returns what `fake_evaluation.hashed` says of every board."""
    boards = slow_tictactoe.boards()
    evaluate = fake_evaluation.hashed(tictactoe.TicTacToe())
    evaluation = evaluate(jax.random.key(0), slow_tictactoe.position(boards))
    logits, value = np.asarray(evaluation.prior_logits, float), np.asarray(evaluation.value, float)
    evaluations = {}
    for row, board in enumerate(boards):
        legal = slow_tictactoe.legal_actions(board)
        odds = np.exp(logits[row, legal])
        evaluations[board] = dict(zip(legal, odds / odds.sum(), strict=True)), value[row]
    return evaluations


def _assert_same_trees(tree, row, index, node):
    where = f"{node.board}, node {index}"
    assert tree.node_visits[row, index] == node.visits, where
    np.testing.assert_allclose(
        tree.node_values[row, index], node.value, atol=_ROUNDING, err_msg=where
    )
    child = tree.children_index[row, index]
    assert set(np.flatnonzero(child >= 0)) == set(node.children), where
    for action, behind in node.children.items():
        _assert_same_trees(tree, row, child[action], behind)


def _searched_as_plainly(algorithm, num_simulations, num_leaves=1, virtual_loss=1.0, c_puct=2.0):
    """Returns the plain searches, of which nearly all have no choice too close to compare."""
    config = improvement.SearchConfig(
        algorithm=algorithm,
        has_proofs=False,
        num_simulations=num_simulations,
        leaves_per_step=num_leaves,
        virtual_loss=virtual_loss,
        puct={"c_puct": c_puct},
    )
    boards = boards_to_search(_NUM_BOARDS)
    output = fake_evaluation.search(_TIC_TAC_TOE, slow_tictactoe.position(boards), config)
    output, tree = jax.device_get((output, mctx_trees.to_mctx(output.tree, 9)))
    compared = []
    for row, board in enumerate(boards):
        plain = Search(
            hashed_evaluations(),
            algorithm,
            c_puct,
            num_leaves=num_leaves,
            virtual_loss=virtual_loss,
        )
        root = plain.run(board, num_simulations)
        if plain.smallest_gap < _TIE:
            continue
        compared.append(plain)
        assert root.visits == num_simulations + 1
        _assert_same_trees(tree, row, 0, root)
        shares = np.zeros(9)
        for action, child in root.children.items():
            shares[action] = child.visits / num_simulations
        np.testing.assert_allclose(output.policy[row], shares, atol=1e-6)
        np.testing.assert_allclose(output.value[row], root.value, atol=_ROUNDING)
        assert output.action[row] == shares.argmax(), board
    assert len(compared) >= 0.9 * _NUM_BOARDS
    return compared


@pytest.mark.parametrize(
    ("algorithm", "num_simulations", "rule"),
    [
        ("puct", 50, {"c_puct": 3.0}),
        pytest.param("puct", 100, {"c_puct": 0.5}, marks=pytest.mark.slow),
        ("puct_over_visits", 60, {"c_puct": 0.5}),
        ("puct", 40, {"num_leaves": 4}),
        ("puct", 40, {"num_leaves": 8, "virtual_loss": 2.5}),
        ("puct_over_visits", 40, {"num_leaves": 4}),
    ],
)
def test_trees_are_those_of_a_plain_python_search(algorithm, num_simulations, rule):
    searches = _searched_as_plainly(algorithm, num_simulations, **rule)
    # On boards with one empty square all paths are equal, and meet.
    num_collisions = sum(search.num_collisions for search in searches)
    assert num_collisions > 100 or (num_collisions == 0 and "num_leaves" not in rule)
