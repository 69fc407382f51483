"""Networks against exact scores: what is told of them, and the positions that it is told from."""

import functools
import gzip
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games, slow_minimax

from azo.formats import obf
from azo.games import notation, othello
from azo.learning import network
from azo.measure import exact, exact_sets, players
from azo.search import improvement

FOUR, EIGHT = othello.Othello(4), othello.Othello(8)
FOUR_REVERSED = othello.Othello(4, is_reversed=True)
NO = exact.NO_UTILITY
START = "-----OX--XO-----"
FFO_1 = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO--"  # 14 empty squares
VARIANTS = pytest.mark.parametrize("is_reversed", [False, True])


@functools.cache
def random_set(game, num_empties=6, num_positions=40):
    key = jax.random.key(3)
    return exact_sets.of_random_games(
        game, key, num_positions=num_positions, num_empties=num_empties
    )


def squares(position, size):
    """Returns `[M, n, n]` int8 as `slow_minimax` has it."""
    player, opponent = (
        random_games.to_squares(side, size) for side in (position.player, position.opponent)
    )
    return player.astype(np.int8) - opponent.astype(np.int8)


def predictor(value, utility, margin=None):
    """Returns a network that likes the moves of a higher utility, in this order of positions."""
    logits = jnp.asarray(utility, jnp.float32)
    margin = None if margin is None else jnp.asarray(margin, jnp.float32)
    return lambda _: network.Prediction(logits, jnp.asarray(value, jnp.float32), None, margin)


def small_set(utility, moves):
    rows = [[row.get(action, NO) for action in range(17)] for row in moves]
    return exact.ExactSet(FOUR.start(len(moves)), np.array(utility), np.array(rows))


def opinion(value, action, margin=None):
    return exact.Opinion(np.array(value, np.float32), np.array(action), margin)


BY_HAND = small_set([6, -4, 0, 2], [{1: 6, 4: 2, 9: -2}, {2: -4, 3: -4}, {16: 0}, {}])


def test_a_grade_worked_by_hand():
    margin = np.array([6.0, -4.0, 2.0, 0.0])
    found = exact.grade(FOUR, BY_HAND, opinion([0.5, -1, 0.25, -0.5], [4, 3, 16, 0], margin))
    assert found.value_error.mean == pytest.approx((0.5 + 0 + 0.25 + 1.5) / 4)
    assert found.right_sign.mean == pytest.approx(2 / 3)  # the third is a draw
    # Wilson's interval of 2 of 3, by its formula with 1.96 standard deviations.
    assert found.right_sign.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert (found.best_move.mean, found.best_move.count) == (0.5, 2)  # pass: no choice; unknown
    assert found.discs_lost.mean == 2.0  # 4 and 0
    # Student's t with one degree of freedom: 12.706; the mean's standard error is 2.
    assert found.discs_lost.interval == pytest.approx((2 - 25.412, 2 + 25.412), abs=1e-3)
    assert found.margin_error.mean == 1.0  # 0, 0, 2 and 2


def test_margins_are_of_discs_in_reversed_othello_too():
    margin = np.array([6.0, 4.0, 0.0, -2.0])  # right are -6, 4, 0 and -2
    found = exact.grade(FOUR_REVERSED, BY_HAND, opinion([0.0] * 4, [1, 2, 16, 0], margin))
    assert found.margin_error.mean == 3.0
    assert found.best_move.mean == 1.0


def test_nothing_is_told_of_what_nothing_is_known():
    found = exact.grade(FOUR, small_set([0], [{}]), opinion([0.5], [3]))
    assert found.value_error == exact.Estimate(0.5, None, 1)
    assert (found.right_sign, found.best_move, found.discs_lost) == (None, None, None)
    assert exact.row("name", "raw", 1, found) == "| name | 1 | raw | 0.500 | - | - | - | - |"


def test_a_row_has_means_intervals_and_counts():
    found = exact.grade(FOUR, BY_HAND, opinion([0.5, -1, 0.25, -0.5], [4, 3, 16, 0]))
    cells = exact.row("name", "raw", 1234, found).strip("| ").split(" | ")
    assert cells[:3] == ["name", "1,234", "raw"]
    assert cells[4] == "0.667, 0.208 to 0.939, of 3"
    assert cells[5].startswith("0.500, ")
    assert cells[5].endswith(", of 2")
    assert cells[6:] == ["2.00, -23.41 to 27.41", "-"]
    assert exact.HEADING.count("|") == exact.RULE.count("|") == len(cells) + 1


@VARIANTS
def test_a_network_that_is_always_right_or_always_wrong(is_reversed):
    game = othello.Othello(4, is_reversed)
    known = random_set(game)
    result, score = np.sign(known.utility), known.utility * (-1 if is_reversed else 1)
    right = predictor(result, known.move_utility, score / 16)
    found = exact.grade(game, known, exact.raw_opinion(game, right, known.position))
    assert found.value_error.mean == 0
    assert found.right_sign.mean == found.best_move.mean == 1
    assert found.discs_lost.mean == found.margin_error.mean == 0
    wrong = predictor(-result, -known.move_utility, -score / 16)
    found = exact.grade(game, known, exact.raw_opinion(game, wrong, known.position))
    assert found.value_error.mean == 2 * np.mean(result != 0)
    assert found.right_sign.mean == 0
    assert found.margin_error.mean == np.mean(2 * np.abs(score))
    legal = np.where(known.move_utility == NO, 1000, known.move_utility)
    lost = known.utility - legal.min(axis=1)
    has_choice = (known.move_utility != NO).sum(axis=1) > 1
    assert found.discs_lost.mean == lost[has_choice].mean() > 4
    assert found.best_move.mean == np.mean(lost[has_choice] == 0) < 0.2
    assert found.best_move.count == has_choice.sum() > 20


def test_a_search_that_knows_all_plays_best_moves_and_says_the_result():
    known = random_set(FOUR, num_empties=4, num_positions=24)

    def solve(position):
        boards = squares(position, 4)
        moves = slow_minimax.move_scores(boards, is_reversed=False)
        result = np.sign(slow_minimax.scores(boards, is_reversed=False))
        return np.pad(moves, ((0, 0), (0, 1))).astype(np.float32), result.astype(np.float32)

    def evaluate(key, position):
        del key
        count = position.player.lower.shape[0]
        shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((count, 17), (count,))]
        moves, result = jax.pure_callback(solve, shapes, position)
        return improvement.Evaluation(100.0 * moves, result)

    config = improvement.SearchConfig(algorithm="puct", num_simulations=4)
    search = functools.partial(exact.searched_opinion, FOUR, evaluate, config=config)
    found = exact.grade(FOUR, known, jax.jit(search)(jax.random.key(0), known.position))
    assert found.value_error.mean == 0
    assert found.right_sign.mean == found.best_move.mean == 1
    assert found.discs_lost.mean == 0


def test_opinions_are_those_of_the_network_and_of_a_search_with_it(monkeypatch):
    config = network.NetworkConfig(
        num_blocks=0, num_channels=4, value_units=4, has_margin_head=True
    )
    variables = jax.jit(functools.partial(network.init, FOUR, config))(jax.random.key(1))
    search = improvement.SearchConfig(algorithm="puct", num_simulations=1)
    player = players.NetworkPlayer(variables, FOUR, config, search)
    known, key = random_set(FOUR), jax.random.key(0)
    monkeypatch.setattr(exact, "_BATCH", 16)  # of 40 positions
    found = exact.opinions(FOUR, player, key, known)
    assert list(found) == ["raw", "1 simulations"]

    predict = functools.partial(network.build(FOUR, config).apply, variables, method="predict")
    said = predict(FOUR.planes(known.position))
    np.testing.assert_allclose(found["raw"].value, said.value, atol=1e-5)
    np.testing.assert_allclose(found["raw"].margin, 16 * said.margin, atol=1e-4)
    legal = np.asarray(FOUR.legal_mask(known.position))
    likeliest = np.where(legal, said.prior_logits, -np.inf).argmax(axis=1)
    np.testing.assert_array_equal(found["raw"].action, likeliest)
    # One simulation looks at the likeliest move, and takes the mean with the root's own value.
    step = jax.jit(FOUR.step)(known.position, likeliest)
    behind = np.where(step.discount == 0, step.reward, -predict(FOUR.planes(step.position)).value)
    np.testing.assert_array_equal(found["1 simulations"].action, likeliest)
    np.testing.assert_allclose(found["1 simulations"].value, (said.value + behind) / 2, atol=1e-5)
    alone = exact.opinions(FOUR, players.PolicyPlayer(variables, FOUR, config), key, known)
    assert list(alone) == ["raw"]


@VARIANTS
def test_positions_of_random_games_have_the_scores_of_minimax(is_reversed):
    game = othello.Othello(4, is_reversed)
    known = random_set(game)
    boards = squares(known.position, 4)
    assert len(known) == len(np.unique(boards, axis=0)) == 40
    assert (np.sum(boards == 0, axis=(1, 2)) == 6).all()
    assert slow_minimax.can_play(boards).all()
    sign = -1 if is_reversed else 1
    scores = slow_minimax.scores(boards, is_reversed=is_reversed)
    np.testing.assert_array_equal(known.utility, sign * scores)
    moves = slow_minimax.move_scores(boards, is_reversed=is_reversed)
    expected = np.where(moves == -1000, NO, sign * moves)
    np.testing.assert_array_equal(known.move_utility[:, :16], expected)
    assert (known.move_utility[:, 16] == NO).all()
    other = exact_sets.of_random_games(game, jax.random.key(4), num_positions=40, num_empties=6)
    assert not np.array_equal(squares(other.position, 4), boards)


@pytest.mark.parametrize("num_empties", [0, 13])
def test_random_games_have_so_many_empty_squares_only(num_empties):
    with pytest.raises(ValueError) as error:
        random_set(FOUR, num_empties=num_empties)
    assert str(error.value) == f"{num_empties} empty squares: 1 to 12 can be had and solved here"


@VARIANTS
def test_4x4_from_its_start_has_the_known_score(is_reversed, data_folder):
    known = random_set(othello.Othello(4, is_reversed), num_empties=12)
    assert len(known) == 1
    solved = json.loads((data_folder / "small_boards" / "solved.json").read_text())["4x4"]
    found = solved["reversed" if is_reversed else "normal"]
    score = found["value_empties_to_winner"]
    assert known.utility.tolist() == [score]
    assert known.move_utility[0, [1, 4, 11, 14]].tolist() == [score] * 4


@VARIANTS
def test_perfect_games_are_perfect_as_far_as_they_are_solved(is_reversed, monkeypatch):
    monkeypatch.setattr(exact_sets, "_MAX_BATCHED", 0)  # numba is compiled already
    game = othello.Othello(6, is_reversed)
    lines = exact_sets.perfect_games(game, max_solved=16)
    assert [len(line.moves) for line in lines] == ([32, 32] if is_reversed else [32])
    black, texts = exact_sets.PERFECT_GAMES[is_reversed]
    for line, text in zip(lines, texts, strict=True):
        assert "".join(line.texts) == text
        assert line.known.utility[0] == black
        assert set(line.known.utility.tolist()) == {black, -black}
        is_solved = (line.known.move_utility != NO).any(axis=1)
        assert is_solved.tolist() == [False] * 16 + [True] * 16
        best = line.known.move_utility.max(axis=1)
        np.testing.assert_array_equal(best[is_solved], line.known.utility[is_solved])
        for moves, row in zip(line.moves[16:], line.known.move_utility[16:], strict=True):
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
    assert exact_sets.PERFECT_GAMES[False] == (normal["value"], (line,))
    lines = tuple(line.replace(" ", "") for line in reverse["lines_6x6_coordinates"])
    assert exact_sets.PERFECT_GAMES[True] == (reverse["value"], lines)


@pytest.mark.parametrize("game", [FOUR, othello.Othello(6, start_bits=(1 << 9, 1 << 10))])
def test_other_boards_have_no_perfect_games(game):
    with pytest.raises(ValueError) as error:
        exact_sets.perfect_games(game, max_solved=12)
    assert str(error.value) == "perfect games are known of 6x6 from its usual start alone"


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
        known = exact_sets.of_problems(game, problems, max_solved=0)
        best = [-10, -10, -6] if sign > 0 else [10, 12, 10]
        assert known.utility.tolist() == best
        moves = known.move_utility
        assert moves[0, [1, 4, 11, 14]].tolist() == [-10 * sign] * 4
        assert (moves != NO).sum(axis=1).tolist() == [4, 0, 4]
        assert moves[2, notation.parse_action("b4", 4)] == -6 * sign


def test_moves_that_a_file_does_not_tell_are_solved():
    problems = problems_of("board,mover,score", f"{START},X,-10", f"{START},O,-10")
    assert (exact_sets.of_problems(FOUR, problems, max_solved=11).move_utility == NO).all()
    known = exact_sets.of_problems(FOUR, problems, max_solved=12)
    assert known.move_utility[0, [1, 4, 11, 14]].tolist() == [-10] * 4
    assert (known.move_utility != NO).sum(axis=1).tolist() == [4, 4]


def test_a_scored_move_that_is_illegal_is_told():
    with pytest.raises(ValueError) as error:
        exact_sets.of_problems(FOUR, problems_of("", f"{START} X; A1:-10"), max_solved=0)
    assert str(error.value) == "2: a1 is illegal"


# Positions, and those that list two moves or more: counted with grep.
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
    known = exact_sets.of_problems(EIGHT, problems, max_solved=0)
    assert len(known) == num_positions
    right = predictor(np.sign(known.utility), known.move_utility)
    found = exact.grade(EIGHT, known, exact.raw_opinion(EIGHT, right, known.position))
    assert (found.value_error.mean, found.right_sign.mean) == (0, 1)
    assert (found.best_move.count if found.best_move else 0) == num_choices
    if num_choices:
        assert (found.best_move.mean, found.discs_lost.mean) == (1, 0)
