"""Iagno against games of its own and golden ones, and the positional alpha-beta against minimax."""

import dataclasses
import itertools
import random

import jax
import numpy as np
import pytest
from support.drivers import refusals
from support.references import slow_board

from azo.games import notation, othello
from azo.games.host import host_rules
from azo.matches import arena
from azo.opponents import classical, iagno, lookahead, players
from azo.solver.host import fixed_depth

EIGHT = othello.Othello(8)
STYLES = {"easy": lookahead.EASY, "medium": lookahead.MEDIUM, "hard": lookahead.HARD}
DEPTHS = {"easy": 3, "medium": 1, "hard": 2}
RULES = host_rules.make_rules(8, is_reversed=False)
NO_TABLE = np.zeros(64, np.int64)

# Games against itself without noise, passes left out. That of level hard is game 7 of
# src/perfs-tests-reversi.vala in Iagno's repository (commit 78fa01f). The others are golden;
# a second version in plain Python chose the same moves, at level easy from 44 discs on.
IAGNO_GAMES = [
    (
        "hard",
        "---------------------------OOO-----XXO------XO------------------",
        "g6f7g4h6f8e8d8h4h3c6f3f2g5g3d3d7e7d6e3e2f1c3b6b5b3d2c8b4a4g7c5a6c7d1e1g8h8a3c1a5c4c2g2b8h7g1"
        "h1h2h5b7b1b2a1a2a7a8",
    ),
    (
        "easy",
        "---------------------------OX------OXX-----OOO------------------",
        "g7g6h7h8g8g4g5h4h5f3g3f2h3h6f7f4g2h1g1f1e3e2e1d1d7d8d2c3d3c4c8b8c6c7c5b4c1c2b7a6b6a5e7b1a8a7"
        "e8b5b2b3a3a2a4h2a1f8",
    ),
    (
        "medium",
        "---------------------------OOO-----XXO------XO------------------",
        "g6f7g5h5e7h6g3f3g4h4f2e3f8h3h2d7h7d8d6e8c8f1d2d3e2c1e1d1c5b4c7g1b5g2h1b6b1g7c3b3c4c6a6c2a3a5"
        "a4b8a8b7a7a2a1b2h8g8",
    ),
]


def words(board):
    """Returns the discs of the mover and of the other side."""
    discs = notation.parse_board(f"{slow_board.text(board)} {board.mover}", board.size)
    return np.uint64(discs.player), np.uint64(discs.opponent)


def random_boards(size, num_boards, seed, min_discs=8):
    """Returns boards of random games at random plies with at least two legal moves."""
    rng, boards = random.Random(seed), []
    while len(boards) < num_boards:
        seen = [
            board
            for board in slow_board.random_game(size, seed=rng.random())[0]
            if len(slow_board.legal_actions(board)) > 1
            and size**2 - slow_board.count(board, "-") >= min_discs
        ]
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


@pytest.mark.parametrize(("level", "start", "moves"), IAGNO_GAMES)
def test_games_of_iagno_against_itself_are_repeated(level, start, moves):
    board = slow_board.Board([list(start[i : i + 8]) for i in range(0, 64, 8)])
    for i in range(0, len(moves), 2):
        if not slow_board.legal_squares(board, board.mover):
            board = slow_board.play(board, 64)
        square, _, _ = best_move(board, DEPTHS[level], STYLES[level], iagno.TABLE)
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


def test_the_first_moves_are_random_without_x_squares_and_fixed_by_the_seed():
    program = classical.iagno("hard", EIGHT)
    text = "------------------O--------XX------XOO--------------------------"
    board = slow_board.Board([list(text[i : i + 8]) for i in range(0, 64, 8)])
    drawn = [choose(program, board, seed)[0] for seed in range(200)]
    legal = slow_board.legal_actions(board)
    assert set(drawn) == set(legal) - {9}  # b2
    assert drawn[:9] == [choose(program, board, seed)[0] for seed in range(9)]


def slow_value(board, depth, *, is_reversed):
    """Returns the value of a position for alpha-beta by plain minimax, and the first best move."""
    own, other = board.mover, slow_board.other(board.mover)
    if slow_board.is_over(board):
        return 1000 * slow_board.score(board) * (-1 if is_reversed else 1), None
    if depth == 0:
        value = 0
        for colour, sign in ((own, 1), (other, -1)):
            squares = slow_squares(board, colour) * (-1 if is_reversed else 1)
            value += sign * (4 * len(slow_board.legal_squares(board, colour)) + squares)
        return value, None
    best, first = -(10**9), None
    for action in slow_board.legal_actions(board):
        after = slow_board.play(board, action)
        value = -slow_value(after, depth - 1, is_reversed=is_reversed)[0]
        if value > best:
            best, first = value, action
    return best, first


def slow_squares(board, colour):
    """Returns the value for a colour of corners and of squares beside empty corners."""
    total, ends = 0, (0, board.size - 1)
    for top, left in itertools.product(ends, ends):
        is_empty = board.rows[top][left] == "-"
        values = {(0, 0): 40, (0, 1): -8 * is_empty, (1, 1): -20 * is_empty}
        for row, column in itertools.product(range(board.size), repeat=2):
            if board.rows[row][column] == colour:
                apart = sorted((abs(row - top), abs(column - left)))
                total += values.get(tuple(apart), 0)
    return total


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("size", "depth", "num_boards", "min_discs"),
    [(8, 1, 40, 4), (8, 2, 10, 4), (6, 4, 8, 24), (4, 4, 40, 4)],
)
def test_alpha_beta_is_plain_minimax(size, depth, num_boards, min_discs, is_reversed):
    program = classical.alpha_beta(depth, othello.Othello(size, is_reversed=is_reversed))
    rules = host_rules.make_rules(size, is_reversed=is_reversed)
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
    program = players.parse(name, EIGHT)
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
class Recorder(classical.Program):
    """Records its seeds."""

    seen: list = dataclasses.field(default_factory=list, hash=False, compare=False)

    def choose(self, player, opponent, seed):
        self.seen.append(seed.tolist())
        return super().choose(player, opponent, seed)


def test_a_classical_program_gets_the_same_seed_at_every_ply_of_a_game():
    game = othello.Othello(4)
    recorder, random_moves = Recorder(game, "positional", 1), players.BaselinePlayer("random", game)
    recorder.seen.clear()  # of the position that compiles
    arena.play_games(game, recorder, random_moves, jax.random.key(0), num_games=6, opening_plies=2)
    assert len({seed for seeds in recorder.seen for seed in seeds}) == 6


def test_classical_players_have_names():
    for level in classical.LEVELS:
        assert players.parse(f"iagno:{level}", EIGHT) == classical.iagno(level, EIGHT)
    assert players.parse("patterns:5", EIGHT) == classical.patterns(5, EIGHT)
    four = othello.Othello(4, is_reversed=True)
    assert players.parse("alphabeta:7", four) == classical.alpha_beta(7, four)


@pytest.mark.parametrize(
    ("text", "game", "message"),
    [
        ("iagno:expert", EIGHT, "the level is 'expert', not easy, medium, hard"),
        (
            "iagno:hard",
            othello.Othello(6),
            "Iagno's tables are for Othello on 8x8, not for othello6",
        ),
        ("alphabeta:0", EIGHT, "the depth is '0', not a whole number from 1 to 60"),
    ],
)
def test_impossible_players_are_refused_by_their_message(text, game, message):
    assert refusals.message_of(players.parse, text, game) == f"player '{text}': {message}"
