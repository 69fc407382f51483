"""Sets of positions: from random games, along perfect games, and from files."""

import gzip
import json

import jax
import numpy as np
import pytest
from support import slow_minimax
from support.solved_sets import random_set, squares

from azo.formats import obf
from azo.games import notation, othello
from azo.measure import position_sets

FOUR, EIGHT = othello.Othello(4), othello.Othello(8)
FOUR_REVERSED = othello.Othello(4, is_reversed=True)
NO = position_sets.NO_UTILITY
START = "-----OX--XO-----"
FFO_1 = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO--"  # 14 empty squares
PASS_ONLY = "XXXXXXXXXXXXXXO-"  # white cannot move, black can
SECOND = "----XXX--XO-----"  # after black's a2; white may play a1, c1 or a3
VARIANTS = pytest.mark.parametrize("is_reversed", [False, True])


@pytest.mark.slow
@VARIANTS
def test_positions_of_random_games_have_the_scores_of_minimax(is_reversed):
    game = othello.Othello(4, is_reversed)
    positions = random_set(game)
    boards = squares(positions.position, 4)
    assert len(positions) == len(np.unique(boards, axis=0)) == 40
    assert (np.sum(boards == 0, axis=(1, 2)) == 6).all()
    assert slow_minimax.can_play(boards).all()
    sign = -1 if is_reversed else 1
    scores = slow_minimax.scores(boards, is_reversed=is_reversed)
    np.testing.assert_array_equal(positions.utility, sign * scores)
    moves = slow_minimax.move_scores(boards, is_reversed=is_reversed)
    expected = np.where(moves == -1000, NO, sign * moves)
    np.testing.assert_array_equal(positions.move_utility[:, :16], expected)
    assert (positions.move_utility[:, 16] == NO).all()
    other = position_sets.of_random_games(game, jax.random.key(4), num_positions=40, num_empties=6)
    assert not np.array_equal(squares(other.position, 4), boards)


@pytest.mark.parametrize("num_empties", [0, 13])
def test_random_games_have_so_many_empty_squares_only(num_empties):
    with pytest.raises(ValueError) as error:
        random_set(FOUR, num_empties=num_empties)
    assert str(error.value) == f"{num_empties} empty squares: choose 1 to 12"


@VARIANTS
def test_4x4_from_its_start_has_the_known_score(is_reversed, data_folder):
    positions = random_set(othello.Othello(4, is_reversed), num_empties=12)
    assert len(positions) == 1
    solved = json.loads((data_folder / "small_boards" / "solved.json").read_text())["4x4"]
    record = solved["reversed" if is_reversed else "normal"]
    score = record["value_empties_to_winner"]
    assert positions.utility.tolist() == [score]
    assert positions.move_utility[0, [1, 4, 11, 14]].tolist() == [score] * 4


@VARIANTS
def test_perfect_games_are_perfect_as_far_as_they_are_solved(is_reversed):
    game = othello.Othello(6, is_reversed)
    lines = position_sets.perfect_games(game, max_solved=16)
    assert [len(line.moves) for line in lines] == ([32, 32] if is_reversed else [32])
    black, texts = position_sets.PERFECT_GAMES[is_reversed]
    for line, text in zip(lines, texts, strict=True):
        assert "".join(line.texts) == text
        assert line.positions.utility[0] == black
        assert set(line.positions.utility.tolist()) == {black, -black}
        is_solved = (line.positions.move_utility != NO).any(axis=1)
        assert is_solved.tolist() == [False] * 16 + [True] * 16
        best = line.positions.move_utility.max(axis=1)
        np.testing.assert_array_equal(best[is_solved], line.positions.utility[is_solved])
        for moves, row in zip(line.moves[16:], line.positions.move_utility[16:], strict=True):
            assert {row[move] for move in moves} == {row.max()}
        # All four first moves are one by symmetry; the second ones are not.
        assert line.moves[0] == {
            notation.parse_action(move, 6) for move in ["c2", "b3", "d5", "e4"]
        }
        assert len(line.moves[1]) == 1


def test_perfect_games_are_those_of_the_data_folder(data_folder):
    solved = json.loads((data_folder / "small_boards" / "solved.json").read_text())["6x6"]
    normal, reverse = solved["normal"], solved["reversed"]
    line = normal["line_6x6_coordinates"].replace("pa ", "").replace(" ", "")
    assert position_sets.PERFECT_GAMES[False] == (normal["value"], (line,))
    lines = tuple(line.replace(" ", "") for line in reverse["lines_6x6_coordinates"])
    assert position_sets.PERFECT_GAMES[True] == (reverse["value"], lines)


@pytest.mark.parametrize("game", [FOUR, othello.Othello(6, start_bits=(1 << 9, 1 << 10))])
def test_other_boards_have_no_perfect_games(game):
    with pytest.raises(ValueError) as error:
        position_sets.perfect_games(game, max_solved=12)
    assert str(error.value) == "perfect games are stored only for 6x6 from its usual start"


def problems_of(*lines):
    return list(obf.parse_lines(lines, "here"))


def test_scores_of_a_file_are_taken_as_they_are():
    problems = problems_of(
        f"{START} X; B1:-10; A2:-10; D3:-10; C4:-10;",
        f"{START} X; B1:-10; A2:-12;",  # not all moves
        f"{START} O; A3:-10; B4:-6; C1:-8; D2:-10;",
        "XXXXXXXXXXXXXXXX X; pass:+16",  # finished: left out
    )
    for game, sign in ((FOUR, 1), (FOUR_REVERSED, -1)):
        positions = position_sets.of_problems(game, problems, max_solved=0)
        best = [-10, -10, -6] if sign > 0 else [10, 12, 10]
        assert positions.utility.tolist() == best
        moves = positions.move_utility
        assert moves[0, [1, 4, 11, 14]].tolist() == [-10 * sign] * 4
        assert (moves != NO).sum(axis=1).tolist() == [4, 0, 4]
        assert moves[2, notation.parse_action("b4", 4)] == -6 * sign


def test_moves_that_a_file_does_not_tell_are_solved():
    problems = problems_of("board,mover,score", f"{START},X,-10", f"{START},O,-10")
    assert (position_sets.of_problems(FOUR, problems, max_solved=11).move_utility == NO).all()
    positions = position_sets.of_problems(FOUR, problems, max_solved=12)
    assert positions.move_utility[0, [1, 4, 11, 14]].tolist() == [-10] * 4
    assert (positions.move_utility != NO).sum(axis=1).tolist() == [4, 4]


def test_a_scored_move_that_is_illegal_is_refused():
    with pytest.raises(ValueError) as error:
        position_sets.of_problems(FOUR, problems_of("", f"{START} X; A1:-10"), max_solved=0)
    assert str(error.value) == "2: a1 is illegal"


# Numbers of positions, and of positions that list two moves or more: counted with grep.
@pytest.mark.parametrize(
    ("name", "num_positions", "num_choices"),
    [
        ("ffo.obf", 64, 64),
        ("edax_full_20.obf.gz", 819, 806),
        ("regab_20.csv.gz", 798, 0),
        ("wthor_exact_18_26.obf.gz", 130, 128),
    ],
)
def test_files_of_the_data_folder(data_folder, name, num_positions, num_choices):
    raw = (data_folder / "endgame" / name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    problems = list(obf.parse_lines(text.splitlines(), name))
    positions = position_sets.of_problems(EIGHT, problems, max_solved=0)
    assert len(positions) == num_positions
    assert positions.is_best.any(axis=1).sum() == num_choices


def test_best_moves_are_those_that_a_file_names_or_scores():
    positions = position_sets.of_problems(
        FOUR,
        max_solved=0,
        problems=[
            *problems_of(f"{START} X; B1:+2; A2:+2; D3:+0; C4:-4;", f"{START} X; B1:+2;"),
            *problems_of("board,mover,score,best_move", f"{START},X,-3,D3", f"{START},X,5,"),
            *problems_of("board,mover,score,best_move", f"{PASS_ONLY},O,-16,pass"),
        ],
    )
    moves = [np.flatnonzero(row).tolist() for row in positions.is_best]
    # b1 is 1, a2 is 4, d3 is 11. One score of four moves does not tell the best; a pass is forced.
    assert moves == [[1, 4], [], [11], [], []]
    assert positions.utility.tolist() == [2, 2, -3, 5, -16]


def test_fewer_discs_win_in_reversed_othello():
    scored = problems_of(f"{START} X; B1:+2; A2:+2; D3:+0; C4:-4;")
    positions = position_sets.of_problems(FOUR_REVERSED, scored, max_solved=0)
    assert np.flatnonzero(positions.is_best).tolist() == [14]  # c4
    assert positions.utility.tolist() == [4]


def test_finished_games_are_left_out_and_the_others_keep_their_moves():
    over = "X" * 16
    lines = ["board,mover,score,best_move", f"{over},X,16,a1", f"{SECOND},O,2,c1"]
    positions = position_sets.of_problems(FOUR, problems_of(*lines), max_solved=0)
    assert len(positions) == 1
    assert np.flatnonzero(positions.is_best).tolist() == [2]


def test_a_named_move_must_be_legal_and_readable():
    lines = ["board,mover,score,best_move", f"{START},X,2,b1", f"{START},X,2,a1"]
    with pytest.raises(ValueError) as error:
        position_sets.of_problems(FOUR, problems_of(*lines), max_solved=0)
    assert str(error.value) == "3: a1 is illegal"
    with pytest.raises(ValueError) as error:
        problems_of(*lines[:2], f"{START},X,2,e1")
    assert str(error.value) == ("here:3: unknown move 'e1': squares are a1 to d4, a pass is 'pass'")


def test_files_of_the_data_folder_are_read(data_folder):
    takizawa = obf.read(data_folder / "labelled" / "takizawa_50empties.csv.gz")
    assert len(takizawa) == 2055
    assert {problem.num_empties for problem in takizawa} == {50}
    named = obf.read(data_folder / "endgame" / "flippy_eg_13_22.csv.gz")[:200]
    positions = position_sets.of_problems(othello.Othello(), named, max_solved=0)
    assert len(positions) == 200
    assert (positions.is_best.sum(axis=1) == 1).all()  # all these have a choice
