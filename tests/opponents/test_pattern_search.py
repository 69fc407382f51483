"""The player `patterns:DEPTH`: its evaluation by definition, its search by plain minimax."""

import random

import numpy as np
import pytest
from scipy import stats

from azo.games import notation
from azo.games.host import host_rules, kernels
from azo.opponents.pattern_search import evaluation, search
from azo.solver.host import endgame, probcut, table

RULES = host_rules.make_rules(8, is_reversed=False)
START = np.uint64(0x0000000810000000), np.uint64(0x0000001008000000)
NO_CUTS = np.zeros((evaluation.NUM_STAGES, 1), probcut.CUT)
INFINITE = 1 << 15
WEIGHTS, CUTS = search.load()
# X has to pass.
PASSES = "OOOOOOOOOXXXXXXOOXOOOXXOOXOXXOXOOXXXOOXOOXXOOOXOOXXXXXX--X-O-XX- X"


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


def static_value(P, O):
    return evaluation.evaluate(P, O, legal(P, O), WEIGHTS, RULES)


def minimax(P, O, depth):
    """Returns the value of a position; a pass uses up no depth."""
    moves = squares(legal(P, O))
    if not moves and not legal(O, P):
        return evaluation.UNIT * host_rules.final_score(P, O, RULES)
    if not moves:
        return -minimax(O, P, depth)
    if depth == 0:
        return static_value(P, O)
    return max(-minimax(*after(P, O, square), depth - 1) for square in moves)


def searcher(depth, cuts=NO_CUTS):
    return search.make_search(WEIGHTS, cuts, max_depth=depth, log_rows=12)


def test_the_value_is_the_sum_of_the_entries_of_the_definition():
    images = evaluation.PATTERNS.merged
    for P, O in random_positions(200, seed=1):
        digits = [(int(P) >> square & 1) + 2 * (int(O) >> square & 1) for square in range(64)]
        rows = np.array(digits) @ evaluation.PATTERNS.weights(images)
        empties = digits.count(0)
        entries = [
            *(evaluation.PATTERNS.first_rows[images.pattern] + rows),
            evaluation.OWN_MOVES + len(squares(legal(P, O))),
            evaluation.OTHER_MOVES + len(squares(legal(O, P))),
            evaluation.EMPTIES + empties,
        ]
        stage = WEIGHTS[min(empties // 4, evaluation.NUM_STAGES - 1)]
        assert static_value(P, O) == stage[entries].astype(int).sum()


def test_values_rank_solved_positions():
    positions = random_positions(150, seed=3, empties=[10])
    solver = endgame.Solver()
    scores = [solver.solve(int(P), int(O)).score for P, O in positions]
    values = [static_value(P, O) / evaluation.UNIT for P, O in positions]
    assert stats.spearmanr(values, scores)[0] > 0.85
    assert np.abs(np.subtract(values, scores)).mean() < 10


@pytest.mark.parametrize(("depth", "num"), [(0, 100), (1, 60), (2, 30), (3, 8)])
def test_without_cuts_the_search_is_plain_minimax(depth, num):
    memory = searcher(max(depth, 1))
    late = random_positions(num, seed=5, empties=range(1, 10))
    passes = notation.parse_board(PASSES, 8)
    passing = np.uint64(passes.player), np.uint64(passes.opponent)
    for P, O in [*random_positions(num, seed=4), *late, passing]:
        expected = minimax(P, O, depth)
        table.clear(memory.memory)
        assert search.run(P, O, depth, -INFINITE, INFINITE, memory) == expected
        if depth:
            table.clear(memory.memory)
            square, value = search.best_move(P, O, depth, memory)
            assert value == expected
            if square == table.NO_MOVE:
                assert not legal(P, O)
            else:
                assert -minimax(*after(P, O, np.uint64(square)), depth - 1) == value


def test_the_last_moves_are_perfect():
    solver = endgame.Solver()
    positions = random_positions(40, seed=7, empties=range(1, 10))
    for P, O in positions:
        memory = searcher(9, CUTS)
        square, value = search.best_move(P, O, 9, memory)
        solution = solver.solve(int(P), int(O), every_move=True)
        assert value == evaluation.UNIT * solution.score
        assert solution.move_scores[square] == solution.score


def test_cuts_save_nodes_and_seldom_change_the_value():
    positions = random_positions(30, seed=8, empties=range(20, 45))
    values, nodes = [], []
    for cuts in (NO_CUTS, CUTS):
        memory = searcher(7, cuts)
        row = []
        for P, O in positions:
            table.clear(memory.memory)
            row.append(search.best_move(P, O, 7, memory)[1] / evaluation.UNIT)
        values.append(row)
        nodes.append(memory.counters[search.NODES])
    assert nodes[1] < 0.7 * nodes[0]
    assert np.abs(np.subtract(*values)).mean() < 1
