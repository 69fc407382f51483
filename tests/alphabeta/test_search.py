"""The learned alpha-beta: its evaluation by definition, its search by plain minimax and solver."""

import random

import numpy as np
import pytest

from azo.alphabeta import evaluation, search, weights
from azo.games import notation
from azo.games.host import host_rules, kernels
from azo.settings import shipped_files
from azo.solver.host import endgame, table

RULES = host_rules.make_rules(8, is_reversed=False)
START = np.uint64(0x0000000810000000), np.uint64(0x0000001008000000)
# X has to pass.
PASSES = "OOOOOOOOOXXXXXXOOXOOOXXOOXOXXOXOOXXXOOXOOXXOOOXOOXXXXXX--X-O-XX- X"
LEARNED = weights.load(shipped_files.NETWORKS / "zero-fast")


def squares(word):
    return [np.uint64(square) for square in range(64) if int(word) >> square & 1]


def legal(P, O):
    return np.uint64(kernels.legal_moves(P, O, RULES.on_board))


def after(P, O, square):
    return tuple(map(np.uint64, kernels.play(P, O, square)))


def random_positions(num, seed, empties=range(1, 61)):
    """Returns positions of random games with a legal move."""
    rng, found = random.Random(seed), []
    while len(found) < num:
        (P, O), seen = START, []
        while legal(P, O) or legal(O, P):
            if not legal(P, O):
                P, O = O, P
            if 64 - (int(P) | int(O)).bit_count() in empties:
                seen.append((P, O))
            P, O = after(P, O, rng.choice(squares(legal(P, O))))
        found += rng.sample(seen, min(3, len(seen)))
    return found[:num]


def by_definition(P, O):
    images = evaluation.PATTERNS.merged
    digits = [(int(P) >> square & 1) + 2 * (int(O) >> square & 1) for square in range(64)]
    entries = [
        *(evaluation.PATTERNS.first_rows[images.pattern]
          + np.array(digits) @ evaluation.PATTERNS.weights(images)),
        evaluation.OWN_MOVES + len(squares(legal(P, O))),
        evaluation.OTHER_MOVES + len(squares(legal(O, P))),
        evaluation.EMPTIES + digits.count(0),
    ]  # fmt: skip
    stage = LEARNED.weights[min(digits.count(0) // 2, evaluation.NUM_STAGES - 1)]
    limit = evaluation.MAX_VALUE - 1
    return int(np.clip(stage[entries].astype(int).sum(), -limit, limit))


def minimax(P, O, depth):
    """Returns the value of a position; a pass uses up no depth."""
    moves = squares(legal(P, O))
    if not moves and not legal(O, P):
        return evaluation.UNIT * host_rules.final_score(P, O, RULES)
    if not moves:
        return -minimax(O, P, depth)
    if depth == 0:
        return by_definition(P, O)
    return max(-minimax(*after(P, O, square), depth - 1) for square in moves)


def searcher(cuts=None):
    cuts = search.no_cuts() if cuts is None else cuts
    found = search.make_search(LEARNED.weights, cuts, log_rows=12, factor=1.2)
    found.counters[search.LIMIT] = 1 << 60
    return found


def test_contents_that_follow_the_moves_are_those_of_the_board():
    contents, child, expected = np.zeros((3, 2 * evaluation.NUM_WORDS), np.uint64)
    for P, O in random_positions(100, seed=1):
        evaluation.set_contents(P, O, contents)
        for square in squares(legal(P, O)):
            evaluation.move_contents(contents, square, kernels.flips(P, O, square), child)
            evaluation.set_contents(*after(P, O, square), expected)
            np.testing.assert_array_equal(child, expected)
        evaluation.pass_contents(contents, child)
        evaluation.set_contents(O, P, expected)
        np.testing.assert_array_equal(child, expected)


@pytest.mark.parametrize(("depth", "num"), [(0, 100), (1, 60), (2, 30), (3, 8)])
def test_without_cuts_the_search_is_plain_minimax(depth, num):
    memory = searcher()
    late = random_positions(num, seed=5, empties=range(1, 10))
    passes = notation.parse_board(PASSES, 8)
    passing = np.uint64(passes.player), np.uint64(passes.opponent)
    for P, O in [*random_positions(num, seed=4), *late, passing]:
        expected = minimax(P, O, depth)
        table.clear(memory.memory)
        infinite = search.INFINITE
        assert search.run(P, O, depth, -infinite, infinite, memory) == expected
        if depth and legal(P, O):
            table.clear(memory.memory)
            square, value = search.best_move(P, O, depth, memory)
            assert value == expected
            assert -minimax(*after(P, O, np.uint64(square)), depth - 1) == value


def test_the_last_moves_are_perfect():
    solver, memory = endgame.Solver(), searcher(LEARNED.cuts)
    for P, O in random_positions(40, seed=7, empties=range(1, 10)):
        table.clear(memory.memory)
        square, value = search.best_move(P, O, 9, memory)
        solution = solver.solve(int(P), int(O), every_move=True)
        assert value == evaluation.UNIT * solution.score
        assert solution.move_scores[square] == solution.score


def test_cuts_save_nodes_and_seldom_change_the_value():
    positions = random_positions(30, seed=8, empties=range(20, 45))
    values, nodes = [], []
    for cuts in (search.no_cuts(), LEARNED.cuts):
        memory, row, total = searcher(cuts), [], 0
        for P, O in positions:
            table.clear(memory.memory)
            row.append(search.best_move(P, O, 8, memory)[1] / evaluation.UNIT)
            total += memory.counters[search.NODES]
        values.append(row)
        nodes.append(total)
    assert nodes[1] < 0.5 * nodes[0]
    assert np.abs(np.subtract(*values)).mean() < 1.5


def test_a_limit_of_nodes_ends_the_search_with_a_legal_move():
    memory = searcher(LEARNED.cuts)
    for P, O in random_positions(20, seed=9, empties=range(30, 50)):
        for limit in (1, 50, 3_000):
            table.clear(memory.memory)
            memory.counters[search.LIMIT], memory.counters[search.IS_STOPPED] = limit, 0
            search.deepen(P, O, search.MAX_DEPTH, memory)
            assert memory.counters[search.NODES] <= limit + 400
            assert memory.counters[search.IS_STOPPED] == 1
            assert int(legal(P, O)) >> int(memory.counters[search.BEST_MOVE]) & 1


def test_values_rank_solved_positions():
    positions = random_positions(150, seed=3, empties=[10])
    solver = endgame.Solver()
    scores = [solver.solve(int(P), int(O)).score for P, O in positions]
    values = [by_definition(P, O) / evaluation.UNIT for P, O in positions]
    assert np.corrcoef(values, scores)[0, 1] > 0.85
    assert np.abs(np.subtract(values, scores)).mean() < 10
