"""Iagno and the positional alpha-beta, against plain Python and against games of Iagno itself."""

import collections
import dataclasses
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import slow_board, slow_iagno

from azo.games import notation, othello, tictactoe
from azo.measure import arena, classical, iagno, lookahead, players
from azo.solver.host import fixed_depth, kernels, last_squares

EIGHT = othello.Othello(8)
STYLES = {"easy": lookahead.EASY, "medium": lookahead.MEDIUM, "hard": lookahead.HARD}
DEPTHS = {"easy": 3, "medium": 1, "hard": 2}
RULES = last_squares.make_rules(8, is_reversed=False)
NO_TABLE = np.zeros(64, np.int64)
NO_SEED = np.zeros(1, np.int64)

# Games 7 to 9 of src/perfs-tests-reversi.vala in Iagno's repository (commit 78fa01f): level hard,
# without noise, against itself. Black begins; passes are left out.
IAGNO_GAMES = [
    (
        "---------------------------OOO-----XXO------XO------------------",
        "g6f7g4h6f8e8d8h4h3c6f3f2g5g3d3d7e7d6e3e2f1c3b6b5b3d2c8b4a4g7c5a6c7d1e1g8h8a3c1a5c4c2g2b8h7g1"
        "h1h2h5b7b1b2a1a2a7a8",
    ),
    (
        "---------------------------OX------OXX-----OOO------------------",
        "f7g6d7f8h6h5h4d8c8f3c6b6e7c7c4g4g5f4c5b5a6c3f2e2c2b4h3d2d1g7e3f1g3a4a5h7h8c1a3e1d3b3b7h2g8a7"
        "a8b8e8g2a2b2a1b1g1h1",
    ),
    (
        "-------------------X-------XX------XOOO------O------------------",
        "g6f4e6e7h5h4h3h6h7d6f7f8c6d7e3c7c8b6g4e8a5c4b5b3b4a6d8b8c5a4a2c2b1d1g7g8b7h8b2h2d2c3a3a1c1e1"
        "f1e2g3f3f2g2a8a7g1h1",
    ),
]


def words(board):
    """Returns the discs of the mover and of the other side."""
    sides = (board.mover, slow_board.other(board.mover))
    squares = [(r, c) for r in range(board.size) for c in range(board.size)]
    return tuple(
        np.uint64(sum(1 << (8 * r + c) for r, c in squares if board.rows[r][c] == side))
        for side in sides
    )


def random_boards(size, num_boards, seed, min_discs=8, max_discs=64):
    """Returns boards of random games at random plies with at least two legal moves."""
    rng, boards = random.Random(seed), []
    while len(boards) < num_boards:
        board, seen = slow_board.start(size), []
        while not slow_board.is_over(board):
            actions = slow_board.legal_actions(board)
            num_discs = size**2 - slow_board.count(board, "-")
            if len(actions) > 1 and min_discs <= num_discs <= max_discs:
                seen.append(board)
            board = slow_board.play(board, rng.choice(actions))
        boards += rng.sample(seen, min(4, len(seen)))
    return boards[:num_boards]


def choose(program, board, seed=0):
    P, O = words(board)
    actions, counts = program.choose(np.array([P]), np.array([O]), np.array([seed], np.int64))
    return actions[0], counts[0]


def best_move(board, depth, style, table, rules=RULES):
    """Returns the square of the best move, its value, and the number of positions visited."""
    evaluator, path = lookahead.ClassicalEvaluator(style, table), fixed_depth.make_path(depth)
    return lookahead.best_move(*words(board), depth, evaluator, rules, path)


@pytest.mark.parametrize(
    ("level", "num_boards"),
    [("easy", 40), ("medium", 40), pytest.param("hard", 200, marks=pytest.mark.slow)],
)
def test_iagno_plays_like_the_plain_python_one(level, num_boards):
    program = classical.iagno(level, EIGHT)
    # Easy compares about a thousand positions a move, which takes too long in plain Python.
    boards = random_boards(8, num_boards, seed=1, min_discs=44 if level == "easy" else 8)
    num_tied = 0
    for seed, board in enumerate(boards):
        table = iagno.noisy_table(seed)
        action, value, is_tied = slow_iagno.best_action(board, level, table.reshape(8, 8).tolist())
        assert choose(program, board, seed)[0] == action
        assert best_move(board, DEPTHS[level], STYLES[level], table)[1] == value
        num_tied += is_tied
    assert num_tied > 0 or level != "easy"  # so the order of moves is tested too


@pytest.mark.parametrize("level", ["medium", "hard"])
def test_iagnos_evaluation_equals_the_description(level):
    for seed, board in enumerate(random_boards(8, 100, seed=2, min_discs=5)):
        table = iagno.noisy_table(seed)
        expected = slow_iagno.evaluate(board, level, table.reshape(8, 8).tolist())
        evaluator = lookahead.ClassicalEvaluator(STYLES[level], table)
        P, O = words(board)
        moves = np.uint64(kernels.legal_moves(P, O, RULES.on_board))
        assert lookahead.value(P, O, moves, False, evaluator, RULES) == expected


@pytest.mark.parametrize(("start", "moves"), IAGNO_GAMES)
def test_games_of_iagno_against_itself_are_repeated(start, moves):
    board = slow_board.Board([list(start[i : i + 8]) for i in range(0, 64, 8)])
    for i in range(0, len(moves), 2):
        if not slow_board.legal_squares(board, board.mover):
            board = slow_board.play(board, 64)
        square, _, _ = best_move(board, 2, lookahead.HARD, iagno.TABLE)
        assert notation.action_text(int(square), 8) == moves[i : i + 2]
        board = slow_board.play(board, int(square))
    assert slow_board.is_over(board)


def test_noise_is_five_rounds_of_three_squares():
    noise = np.stack([iagno.noisy_table(seed) - iagno.TABLE for seed in range(2000)])
    size = np.abs(noise).sum(axis=1)
    assert set(size % 2) == {1}  # 15 steps of one; some cancel out
    assert size.max() == 15
    assert size.mean() > 13
    # Up and down are equally likely: 5 deviations of 30,000 steps, partly in pairs, are 1,200.
    assert abs(noise.sum()) < 1200
    opposite = (noise * noise[:, ::-1]).sum(axis=1)
    assert opposite.mean() == pytest.approx(2 * 5, abs=0.5)  # 5 pairs, each counted from both ends
    np.testing.assert_array_equal(iagno.noisy_table(7), iagno.noisy_table(7))


def test_the_first_moves_are_random_and_fixed_by_the_seed():
    program = classical.iagno("hard", EIGHT)
    board = slow_board.start(8)
    drawn = collections.Counter(choose(program, board, seed)[0] for seed in range(400))
    assert set(drawn) == {19, 26, 37, 44}
    assert min(drawn.values()) > 60  # 100 are expected, give or take 9
    assert [choose(program, board, s) for s in range(9)] == [
        choose(program, board, s) for s in range(9)
    ]


def test_the_first_moves_avoid_x_squares():
    text = "------------------O--------XX------XOO--------------------------"
    board = slow_board.Board([list(text[i : i + 8]) for i in range(0, 64, 8)])
    legal = slow_board.legal_actions(board)
    assert 9 in legal  # b2
    drawn = {choose(classical.iagno("easy", EIGHT), board, seed)[0] for seed in range(200)}
    assert drawn == set(legal) - {9}


def slow_value(board, depth, *, is_reversed):
    """Returns the value of a position for alpha-beta by plain minimax, and the first best move."""
    own, other = board.mover, slow_board.other(board.mover)
    if slow_board.is_over(board):
        return 1000 * slow_board.score(board) * (-1 if is_reversed else 1), None
    if depth == 0:
        moves = [len(slow_board.legal_squares(board, colour)) for colour in (own, other)]
        squares = 0
        for colour, sign in ((own, 1), (other, -1)):
            squares += sign * slow_squares(board, colour)
        return 4 * (moves[0] - moves[1]) + (-squares if is_reversed else squares), None
    best, first = -(10**9), None
    for action in slow_board.legal_actions(board):
        after = slow_board.play(board, action)
        value = -slow_value(after, depth - 1, is_reversed=is_reversed)[0]
        if value > best:
            best, first = value, action
    return best, first


def slow_squares(board, colour):
    """Returns the value for a colour of corners and of squares beside empty corners."""
    last, total = board.size - 1, 0
    for row in range(board.size):
        for column in range(board.size):
            if board.rows[row][column] != colour:
                continue
            corners = [(r, c) for r in (0, last) for c in (0, last)]
            if (row, column) in corners:
                total += 40
            for r, c in corners:
                apart = sorted((abs(row - r), abs(column - c)))
                if board.rows[r][c] == "-" and apart == [1, 1]:
                    total -= 20
                if board.rows[r][c] == "-" and apart == [0, 1]:
                    total -= 8
    return total


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("size", "depth", "num_boards", "min_discs"),
    [(8, 1, 40, 4), (8, 2, 20, 4), (8, 3, 2, 8), (6, 3, 10, 20), (6, 4, 8, 24), (4, 4, 40, 4)],
)
def test_alpha_beta_is_plain_minimax(size, depth, num_boards, min_discs, is_reversed):
    program = classical.alpha_beta(depth, othello.Othello(size, is_reversed=is_reversed))
    rules = last_squares.make_rules(size, is_reversed=is_reversed)
    for board in random_boards(size, num_boards, seed=depth, min_discs=min_discs):
        value, action = slow_value(board, depth, is_reversed=is_reversed)
        assert choose(program, board)[0] == action
        assert best_move(board, depth, lookahead.POSITIONAL, NO_TABLE, rules)[1] == value


def test_positions_are_counted():
    # From the start each of 4 moves leaves 3 replies; at least two moves need all of them.
    assert choose(classical.alpha_beta(1, EIGHT), slow_board.start(8))[1] == 4
    counts = [choose(classical.alpha_beta(d, EIGHT), slow_board.start(8))[1] for d in (2, 3, 4)]
    assert 4 + 3 + 3 <= counts[0] <= 4 + 12
    assert counts[0] < counts[1] < counts[2] < 4 + 12 + 56 + 244  # perft(4) and all above


@pytest.mark.parametrize("name", ["iagno:hard", "alphabeta:2", "patterns:3"])
def test_rows_of_a_batch_are_independent(name):
    program = players.parse(name, EIGHT, None).program
    boards = random_boards(8, 12, seed=5)
    over = slow_board.Board([["X"] * 8 for _ in range(8)])
    passing = slow_board.Board([list("XO------")] + [list("--------") for _ in range(7)], "O")
    sides = np.array([words(board) for board in [*boards, over, passing]])
    seeds = np.arange(14)
    actions, counts = program.choose(sides[:, 0], sides[:, 1], seeds)
    assert (actions.dtype, counts.dtype) == (np.int32, np.int64)
    for row, board in enumerate(boards):
        assert choose(program, board, row) == (actions[row], counts[row])
    np.testing.assert_array_equal(actions[12:], [64, 64])
    np.testing.assert_array_equal(counts[12:], [0, 0])


@dataclasses.dataclass(frozen=True)
class Lowest:
    """Plays the lowest legal action and records its seeds."""

    seen: list = dataclasses.field(default_factory=list, hash=False, compare=False)

    def choose(self, player, opponent, seed):
        self.seen.append(seed.tolist())
        board = [
            lookahead.legal_moves(*sides, np.uint64(0x0F0F0F0F))
            for sides in zip(player, opponent, strict=True)
        ]
        lowest = [(int(legal) & -int(legal)).bit_length() - 1 for legal in board]
        actions = [16 if bit < 0 else bit // 8 * 4 + bit % 8 for bit in lowest]
        return np.array(actions, np.int32), np.zeros(len(actions), np.int64)


@pytest.mark.slow
def test_a_host_player_gets_the_same_seed_at_every_ply_of_a_game():
    game, program = othello.Othello(4), Lowest()
    player = players.HostPlayer(program, game, seed=3)
    games = arena.play_games(
        game, player, players.RandomPlayer(game), jax.random.key(0), num_games=6, opening_plies=2
    )
    actions = np.asarray(games.actions)
    assert {tuple(seeds) for seeds in program.seen} == {tuple((3 << 32) + i for i in range(3))}
    position = game.start(6)
    for ply in range(game.max_plies):
        legal = np.asarray(game.legal_mask(position))
        first_to_move = np.arange(6) // 3 == ply % 2
        for row in np.flatnonzero(first_to_move & (ply >= 2) & (actions[ply] >= 0)):
            assert actions[ply, row] == np.flatnonzero(legal[row])[0]
        position = game.step(position, jnp.maximum(actions[ply], 0)).position


def test_alpha_beta_beats_random_moves():
    game = othello.Othello(6)
    deep, plain = (players.parse(name, game, None) for name in ("alphabeta:3", "random"))
    result = arena.play_match(game, deep, plain, jax.random.key(0), num_games=40, opening_plies=4)
    assert result.interval()[0] > 0.8


def test_classical_players_have_names():
    for level in classical.LEVELS:
        assert players.parse(f"iagno:{level}", EIGHT, None).program == classical.iagno(level, EIGHT)
    assert players.parse("patterns:5", EIGHT, None).program == classical.patterns(5, EIGHT)
    four = othello.Othello(4, is_reversed=True)
    assert players.parse("alphabeta:7", four, None).program == classical.alpha_beta(7, four)


@pytest.mark.parametrize(
    ("text", "game", "message"),
    [
        ("iagno", EIGHT, "the level is '', not easy, medium, hard"),
        ("iagno:expert", EIGHT, "the level is 'expert', not easy, medium, hard"),
        (
            "iagno:hard",
            othello.Othello(6),
            "Iagno's tables are for Othello on 8x8, not for othello6",
        ),
        (
            "iagno:easy",
            othello.Othello(8, is_reversed=True),
            "Iagno's tables are for Othello on 8x8, not for othello8-reversed",
        ),
        ("alphabeta", EIGHT, "the depth is '', not a positive whole number such as 4"),
        ("alphabeta:0", EIGHT, "the depth is '0', not a positive whole number such as 4"),
        (
            "alphabeta:2",
            tictactoe.TicTacToe(),
            "alpha-beta plays Othello on 4x4, 6x6 and 8x8, not tictactoe",
        ),
        (
            "alphabeta:2",
            othello.Othello(5, start_bits=(1, 2)),
            "alpha-beta plays Othello on 4x4, 6x6 and 8x8, not othello5",
        ),
        ("patterns:-1", EIGHT, "the depth is '-1', not a positive whole number such as 4"),
        (
            "patterns:4",
            othello.Othello(6),
            "the pattern weights are for Othello on 8x8, not for othello6",
        ),
        (
            "patterns:4",
            othello.Othello(8, is_reversed=True),
            "the pattern weights are for Othello on 8x8, not for othello8-reversed",
        ),
    ],
)
def test_impossible_players_are_refused_by_their_message(text, game, message):
    with pytest.raises(ValueError) as error:
        players.parse(text, game, None)
    assert str(error.value) == f"player '{text}': {message}"
