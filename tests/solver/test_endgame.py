import random

import numpy as np
import pytest
from support import slow_minimax

from azo.formats import obf
from azo.games import notation, othello, replaying
from azo.play import live_game
from azo.run import data
from azo.solver.host import endgame, kernels, last_squares

_FFO_1 = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"


def _random_boards(size, empties, num, seed):
    """Returns `[num, size, size]` int8 boards; most are unreachable."""
    rng = np.random.default_rng(seed)
    boards = rng.choice(np.array([1, -1], np.int8), size=(num, size * size))
    for board in boards:
        board[rng.permutation(size * size)[:empties]] = 0
    return boards.reshape(num, size, size)


def _slow_move_scores(boards, *, is_reversed):
    """Returns the scores of the legal discs of each board, by action."""
    size = boards.shape[-1]
    owners, actions, children = [], [], []
    for action in range(size * size):
        is_legal, after = slow_minimax.play(boards, *divmod(action, size))
        owners += np.flatnonzero(is_legal).tolist()
        actions += [action] * int(is_legal.sum())
        children.append(after[is_legal])
    scores = -slow_minimax.scores(np.concatenate(children), is_reversed=is_reversed)
    move_scores = [{} for _ in boards]
    for owner, action, score in zip(owners, actions, scores.tolist(), strict=True):
        move_scores[owner][action] = score
    return move_scores


def _words(board):
    """Returns the two sides of a board of `slow_minimax` as integers."""
    words = {1: 0, -1: 0, 0: 0}
    for (row, column), disc in np.ndenumerate(board):
        words[int(disc)] |= 1 << (8 * row + column)
    return words[1], words[-1]


def _read(text, size=8):
    board = notation.parse_board(text, size)
    return board.player, board.opponent


def _ffo(count):
    if data.folder() is None:
        pytest.skip("needs the data folder: endgame/ffo.obf")
    path = data.folder() / "endgame" / "ffo.obf"
    return list(obf.parse_lines(path.read_text().splitlines()[:count], path.name))


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(("size", "most"), [(4, 9), (6, 5), (8, 5)])
def test_every_score_equals_plain_minimax(size, most, is_reversed):
    # The search uses its table from 8 empty squares on, and `last_squares` alone below.
    boards = np.concatenate(
        [_random_boards(size, empties, 8, empties) for empties in range(most + 1)]
    )
    scores = slow_minimax.scores(boards, is_reversed=is_reversed)
    moves = _slow_move_scores(boards, is_reversed=is_reversed)
    solver = endgame.Solver(size, is_reversed=is_reversed)
    for board, score, expected in zip(boards, scores, moves, strict=True):
        solution = solver.solve(*_words(board), every_move=True)
        assert solution.score == score
        best_moves = solver.solve(*_words(board), every_best_move=True).best_moves
        all_best = {move for move, x in solution.move_scores.items() if x == score}
        assert sorted(best_moves) == sorted(all_best)
        if expected:
            assert solution.move_scores == expected
            assert expected[solution.best_move] == score
        elif solution.best_move is not None:
            assert solution.move_scores == {size * size: score}


@pytest.mark.parametrize(("is_reversed", "score"), [(False, -10), (True, -4)])
def test_4x4_from_the_start(is_reversed, score):
    # Counted by a full minimax (small_boards/solved.json of the data folder).
    solver = endgame.Solver(4, is_reversed=is_reversed)
    solution = solver.solve(*_read("-----OX--XO-----", 4), every_move=True)
    assert solution.score == score
    assert solution.move_scores == dict.fromkeys([1, 4, 11, 14], score)


def test_a_position_of_the_ffo_set():
    solution = endgame.Solver().solve(*_read(_FFO_1), every_move=True)
    moves = {notation.action_text(move, 8): x for move, x in solution.move_scores.items()}
    expected = {"g8": 18, "h1": 12, "h7": 6, "a2": 6, "a3": 4, "b1": -4, "a4": -22, "g2": -24}
    assert moves == expected
    assert list(moves.values()) == sorted(expected.values(), reverse=True)
    assert notation.action_text(solution.best_move, 8) == "g8"


def test_the_first_ffo_positions():
    solver = endgame.Solver()
    for problem in _ffo(19):
        solution = solver.solve(problem.board.player, problem.board.opponent)
        assert solution.score == problem.best_score()
        assert problem.move_scores[solution.best_move] == problem.best_score()


@pytest.mark.slow
def test_ffo_positions_with_every_move_and_up_to_22_empty_squares():
    solver = endgame.Solver()
    problems = [problem for problem in _ffo(64) if problem.num_empties <= 22]
    assert len(problems) == 32
    for problem in problems:
        every_move = problem.num_empties <= 16
        solution = solver.solve(problem.board.player, problem.board.opponent, every_move=every_move)
        assert solution.score == problem.best_score()
        if every_move:
            assert solution.move_scores == problem.move_scores


def test_a_forced_pass_is_the_best_move():
    # White has no legal move; black then takes the last square and turns two discs.
    board = _read("XXXXXXXXXXXX-OOX O", 4)
    solver = endgame.Solver(4)
    solution = solver.solve(*board, every_move=True)
    assert solution.score == -16
    assert solution.best_move == 16
    assert solution.move_scores == {16: -16}
    assert solver.solve(*board, every_best_move=True).best_moves == (16,)


def test_empty_squares_go_to_the_winner_of_a_finished_game():
    board = _read("XX-----O-------- X", 4)  # neither side can move: 2 discs against 1
    solution = endgame.Solver(4).solve(*board)
    assert (solution.score, solution.best_move, solution.num_nodes) == (1 + 13, None, 0)


def test_pausing_changes_nothing(monkeypatch):
    whole = endgame.Solver().solve(*_read(_FFO_1))
    monkeypatch.setattr(endgame, "_SLICE_NODES", 500)
    sliced = endgame.Solver().solve(*_read(_FFO_1))
    assert (sliced.score, sliced.best_move) == (18, whole.best_move)
    assert sliced.num_nodes == whole.num_nodes


def test_equal_calls_search_equal_nodes():
    solver = endgame.Solver()
    first, second = (solver.solve(*_read(_FFO_1)) for _ in range(2))
    assert first.num_nodes == second.num_nodes > 1000


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(("size", "empties"), [(4, 9), (6, 6), (8, 5)])
def test_the_result_alone_is_that_of_minimax(size, empties, is_reversed):
    boards = _random_boards(size, empties, 60, size)
    sign = -1 if is_reversed else 1
    results = sign * np.sign(slow_minimax.scores(boards, is_reversed=is_reversed))
    moves = _slow_move_scores(boards, is_reversed=is_reversed)
    solver = endgame.Solver(size, is_reversed=is_reversed)
    num_open = 0
    for board, result, scores in zip(boards, results, moves, strict=True):
        solution = solver.solve(*_words(board), result_only=True)
        bounds = sorted((sign * solution.lower, sign * solution.upper))
        assert np.sign(bounds).tolist() == [result, result]
        if result > 0 and scores:
            assert sign * scores[solution.best_move] >= bounds[0] > 0
        num_open += not solution.is_solved
    assert num_open > 5


def test_the_result_alone_needs_few_nodes():
    solver = endgame.Solver()
    result = solver.solve(*_read(_FFO_1), result_only=True)
    assert 0 < result.lower <= 18 <= result.upper
    assert result.num_nodes < solver.solve(*_read(_FFO_1)).num_nodes / 2


def test_any_guess_leads_to_the_score_and_the_right_one_sooner():
    solver = endgame.Solver()
    solutions = {
        guess: solver.solve(*_read(_FFO_1), guess=guess) for guess in (-64, -7, 0, 17, 18, 64)
    }
    assert {solution.score for solution in solutions.values()} == {18}
    assert solutions[18].num_nodes < solutions[0].num_nodes


def test_a_kept_table_saves_nodes_along_the_best_line():
    kept, fresh = endgame.Solver(), endgame.Solver()
    player, opponent = _read(_FFO_1)
    num_kept = num_fresh = 0
    solution, score = kept.solve(player, opponent), 18
    while solution.best_move is not None:
        player, opponent = kept.play(player, opponent, solution.best_move)
        score = -score
        solution = kept.solve(player, opponent, guess=score, keeps_table=True)
        assert solution.score == score
        num_kept += solution.num_nodes
        num_fresh += fresh.solve(player, opponent).num_nodes
    assert num_kept < num_fresh / 4


@pytest.mark.parametrize("max_nodes", [1, 500, 5_000, 15_000])
def test_too_few_nodes_leave_the_score_between_bounds(max_nodes):
    solution = endgame.Solver().solve(
        *_read(_FFO_1), every_move=True, every_best_move=True, max_nodes=max_nodes
    )
    assert not solution.is_solved
    assert solution.lower <= 18 <= solution.upper
    assert solution.move_scores == {}
    assert max_nodes <= solution.num_nodes < max_nodes + 5_000
    with pytest.raises(ValueError) as error:
        _ = solution.score
    assert str(error.value) == (f"unsolved: the score is from {solution.lower} to {solution.upper}")


def test_more_nodes_prove_more():
    widths = [
        solution.upper - solution.lower
        for solution in (
            endgame.Solver().solve(*_read(_FFO_1), max_nodes=n) for n in (1, 10_000, 10_000_000)
        )
    ]
    assert widths[0] == 128 > widths[1] > widths[2] == 0


def test_without_time_nothing_is_proved():
    solution = endgame.Solver().solve(*_read(_FFO_1), max_seconds=1e-9)
    assert (solution.lower, solution.upper, solution.best_move) == (-64, 64, None)


@pytest.mark.parametrize(
    ("size", "player", "opponent", "message"),
    [
        (8, 0b111, 0b100, "impossible board: both sides have a disc on c1"),
        (6, 1 << 6, 1, "impossible board: a disc lies outside of 6x6 squares"),
    ],
)
def test_impossible_boards_are_refused(size, player, opponent, message):
    with pytest.raises(ValueError) as error:
        endgame.Solver(size).solve(player, opponent)
    assert str(error.value) == message


def test_other_sizes_are_refused():
    with pytest.raises(ValueError) as error:
        endgame.Solver(5)
    assert str(error.value) == "board size is 5, but should be 4, 6 or 8"


@pytest.mark.parametrize(
    ("text", "stable"),
    [
        # The corner a1 and the discs next to it along the edge: b1 and a1 protect c1 from d1.
        ("XXX-------------" + "-" * 48, 0b111),
        # A full edge: none of its discs can turn.
        ("-" * 56 + "OXXOXOXO", 0b01010110 << 56),
        # A disc among empty squares can turn.
        ("-" * 27 + "X" + "-" * 36, 0),
    ],
)
def test_stable_discs(text, stable):
    player, opponent = _read(text)
    rules = last_squares.make_rules(8, is_reversed=False)
    result = kernels.stable_discs(np.uint64(player), np.uint64(opponent), rules.on_board)
    assert int(result) == stable


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(("size", "most"), [(4, 8), (6, 5), (8, 5)])
def test_with_few_empty_squares_each_win_is_an_early_end(size, most, is_reversed):
    boards = np.concatenate(
        [_random_boards(size, empties, 8, empties) for empties in range(most + 1)]
    )
    moves = _slow_move_scores(boards, is_reversed=is_reversed)
    solver = endgame.Solver(size, is_reversed=is_reversed)
    num_won = 0
    for board, scores in zip(boards, moves, strict=True):
        won = {action for action, score in scores.items() if score * (1 - 2 * is_reversed) > 0}
        solution = solver.probe(*_words(board), 10_000_000)
        assert (solution.best_move in won) == bool(won)
        num_won += bool(won)
        if won:
            assert solution.lower <= scores[solution.best_move] <= solution.upper
    assert num_won > 10


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("e6d6c7f5d3b8g6d2c5h7c6d7f6", "b6"),  # any reply, then a wipe-out
        ("d3c5d6c7e6e3e2f6c4e1c6", "c3"),
        ("e6d6c7f5d3b8g6d2c5h7c6d7", None),
    ],
)
def test_few_nodes_find_a_wipe_out_with_many_empty_squares(game, expected):
    """Games lost to greedy: few nodes of the solver alone prove nothing in them."""
    played = live_game.LiveGame(othello.Othello(8))
    played.new_game(actions=replaying.replay(game, played.game).actions)
    words = played.board.player, played.board.opponent
    solver = endgame.Solver()
    solution = solver.probe(*words, 100_000)
    move = None if solution.best_move is None else notation.action_text(solution.best_move, 8)
    assert (move, solution.lower > 0) == (expected, expected is not None)
    assert not solver.solve(*words, result_only=True, max_nodes=100_000).lower > 0


@pytest.mark.parametrize("size", [4, 6, 8])
def test_stable_discs_never_turn(size):
    # Random games: a disc that was stable at some ply keeps its colour to the end.
    rules = last_squares.make_rules(size, is_reversed=False)
    start = {4: "-----OX--XO-----", 6: "-" * 14 + "OX----XO" + "-" * 14}
    start[8] = "-" * 27 + "OX------XO" + "-" * 27
    rng = random.Random(size)
    num_seen = 0
    for _ in range(60):
        P, O = map(np.uint64, _read(start[size], size))
        mine, theirs, passes = 0, 0, 0
        while passes < 2:
            mine |= int(kernels.stable_discs(P, O, rules.on_board))
            theirs |= int(kernels.stable_discs(O, P, rules.on_board))
            assert mine & ~int(P) == 0
            assert theirs & ~int(O) == 0
            legal = int(kernels.legal_moves(P, O, rules.on_board))
            squares = [square for square in range(64) if legal >> square & 1]
            passes = 0 if squares else passes + 1
            if squares:
                square = rng.choice(squares)
                turned = int(kernels.flips(P, O, np.uint64(square)))
                P, O = np.uint64(int(P) | turned | 1 << square), np.uint64(int(O) ^ turned)
            P, O = O, P
            mine, theirs = theirs, mine
        num_seen += (mine | theirs).bit_count()
    assert num_seen > 60 * size  # many discs of a finished game are stable
