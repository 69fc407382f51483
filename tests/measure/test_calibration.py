"""What is told of values against scores, by hand and on positions whose truth is made."""

import math

import numpy as np
import pytest
from support import drawn_panels

from azo.formats import obf
from azo.games import othello
from azo.measure import calibration, exact
from azo.measure.report import calibration_figure

FOUR = othello.Othello(4)
REVERSED = othello.Othello(4, is_reversed=True)
START = "-----OX--XO-----"  # black may play b1, a2, d3 or c4
PASS_ONLY = "XXXXXXXXXXXXXXO-"  # white cannot move, black can
SECOND = "----XXX--XO-----"  # after black's a2; white may play a1, c1 or a3
Z = 1.959964  # standard normal, 97.5 %


def parsed(*lines):
    return list(obf.parse_lines(lines, "made.csv"))


def opinion(value, action):
    return exact.Opinion(np.array(value, np.float32), np.array(action), None)


def wilson(points, count):
    """The interval of a mean of points in [0, 1], by the formula, told in [-1, 1]."""
    mean = points / count
    centre, spread = (
        mean + Z**2 / (2 * count),
        Z * math.sqrt(mean * (1 - mean) / count + Z**2 / (4 * count**2)),
    )
    return tuple(2 * (centre + sign * spread) / (1 + Z**2 / count) - 1 for sign in (-1, 1))


def test_bins_worked_by_hand():
    value = np.array([-1.0, -0.7, -0.5, 0.2, 0.3, 0.4, 1.0])
    result = np.array([-1, -1, 1, 1, 0, -1, 1])
    found = calibration.calibrate(value, result, num_bins=4)
    assert [(x.low, x.high, x.count) for x in found.bins] == [
        (-1.0, -0.5, 2),
        (-0.5, 0.0, 1),  # a value on the edge belongs to the upper bin
        (0.0, 0.5, 3),
        (0.5, 1.0, 1),
    ]
    assert [x.value for x in found.bins] == pytest.approx([-0.85, -0.5, 0.3, 1.0])
    assert [x.result for x in found.bins] == [-1.0, 1.0, 0.0, 1.0]
    # Two losses; a win, a draw and a loss, which make one and a half points.
    assert found.bins[0].interval == pytest.approx((-1.0, wilson(0, 2)[1]), abs=1e-6)
    assert found.bins[2].interval == pytest.approx(wilson(1.5, 3), abs=1e-6)
    assert found.error == pytest.approx((2 * 0.15 + 1 * 1.5 + 3 * 0.3 + 0) / 7)


def test_an_empty_bin_counts_nothing():
    found = calibration.calibrate(np.array([0.9, 0.8]), np.array([1, 1]), num_bins=2)
    assert found.bins[0].count == 0
    assert math.isnan(found.bins[0].result)
    assert found.error == pytest.approx(0.15)


def test_values_that_are_the_chances_are_calibrated_and_halved_ones_are_not():
    rng = np.random.default_rng(0)
    value = rng.uniform(-1, 1, 20_000)
    result = np.where(rng.uniform(size=value.size) < (1 + value) / 2, 1, -1)
    right = calibration.calibrate(value, result)
    # A bin of 2,000 has a standard error of at most 0.022, its mean absolute value is 0.8 of that.
    assert right.error < 0.022
    assert sum(x.interval[0] <= x.value <= x.interval[1] for x in right.bins) >= 8
    # |v / 2 - v| is 1/4 on average.
    timid = calibration.calibrate(value / 2, result)
    assert timid.error == pytest.approx(0.25, abs=0.022)


def test_correlations_worked_by_hand():
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    y = np.array([-4, 2, 0, 8, 64])
    # Ranks differ by 0, 1, 1, 0, 0: 1 - 6 * 2 / (5 * 24).
    rank = calibration.rank_correlation(x, y)
    assert rank.mean == pytest.approx(0.9)
    spread = Z * math.sqrt((1 + 0.9**2 / 2) / 2)
    assert rank.interval == pytest.approx(
        (math.tanh(math.atanh(0.9) - spread), math.tanh(math.atanh(0.9) + spread)), abs=1e-6
    )
    dx, dy = x - x.mean(), y - y.mean()
    r = (dx @ dy) / math.sqrt((dx @ dx) * (dy @ dy))
    line = calibration.linear_correlation(x, y)
    assert line.mean == pytest.approx(r)
    spread = Z / math.sqrt(2)
    assert line.interval == pytest.approx(
        (math.tanh(math.atanh(r) - spread), math.tanh(math.atanh(r) + spread)), abs=1e-6
    )


@pytest.mark.parametrize(
    "correlate", [calibration.rank_correlation, calibration.linear_correlation]
)
def test_a_correlation_may_be_perfect_or_undefined(correlate):
    x = np.arange(6.0)
    assert correlate(x, 2 * x).mean == pytest.approx(1)
    assert correlate(x, -x).interval == pytest.approx((-1, -1))
    assert correlate(x, np.ones(6)) is None
    assert correlate(x[:3], x[:3]) is None


def test_nineteen_of_twenty_intervals_hold_the_rank_correlation():
    rng = np.random.default_rng(0)
    truth = 6 / math.pi * math.asin(0.7 / 2)  # of normal numbers with a correlation of 0.7
    held = 0
    for _ in range(300):
        x, noise = rng.normal(size=(2, 60))
        low, high = calibration.rank_correlation(x, 0.7 * x + math.sqrt(0.51) * noise).interval
        held += low <= truth <= high
    assert 0.90 <= held / 300 <= 0.985


def test_best_moves_are_those_that_a_file_names_or_scores():
    found = calibration.of_problems(
        FOUR,
        [
            *parsed(f"{START} X; B1:+2; A2:+2; D3:+0; C4:-4;", f"{START} X; B1:+2;"),
            *parsed("board,mover,score,best_move", f"{START},X,-3,D3", f"{START},X,5,"),
            *parsed("board,mover,score,best_move", f"{PASS_ONLY},O,-16,pass"),
        ],
    )
    moves = [np.flatnonzero(row).tolist() for row in found.is_best]
    # b1 is 1, a2 is 4, d3 is 11. One score of four moves does not tell the best; a pass is forced.
    assert moves == [[1, 4], [], [11], [], []]
    assert found.known.utility.tolist() == [2, 2, -3, 5, -16]


def test_fewer_discs_win_in_reversed_othello():
    scored = parsed(f"{START} X; B1:+2; A2:+2; D3:+0; C4:-4;")
    found = calibration.of_problems(REVERSED, scored)
    assert np.flatnonzero(found.is_best).tolist() == [14]  # c4
    assert found.known.utility.tolist() == [4]


def test_finished_games_are_left_out_and_the_others_keep_their_moves():
    over = "X" * 16
    lines = ["board,mover,score,best_move", f"{over},X,16,a1", f"{SECOND},O,2,c1"]
    found = calibration.of_problems(FOUR, parsed(*lines))
    assert len(found) == 1
    assert np.flatnonzero(found.is_best).tolist() == [2]


def test_a_named_move_must_be_legal_and_readable():
    lines = ["board,mover,score,best_move", f"{START},X,2,b1", f"{START},X,2,a1"]
    with pytest.raises(ValueError) as error:
        calibration.of_problems(FOUR, parsed(*lines))
    assert str(error.value) == "3: a1 is illegal"
    with pytest.raises(ValueError) as error:
        parsed(*lines[:2], f"{START},X,2,e1")
    assert str(error.value) == (
        "made.csv:3: unknown move 'e1': squares are a1 to d4, a pass is 'pass'"
    )


def fit_by_hand():
    utility = np.array([6, -4, 0, 2])
    known = exact.ExactSet(FOUR.start(4), utility, np.full((4, 17), exact.NO_UTILITY))
    is_best = np.zeros((4, 17), bool)
    is_best[0, [1, 4]] = is_best[1, 4] = is_best[3, 11] = True
    labels = calibration.Labels(known, is_best)
    said = opinion([0.5, -1, 0.2, -0.5], [4, 1, 11, 11])
    return labels, said, calibration.judge(labels, said)


def test_a_fit_worked_by_hand():
    _, _, found = fit_by_hand()
    assert found.rank_correlation.mean == pytest.approx(0.8)  # of the ranks one pair is swapped
    assert (found.right_sign.mean, found.right_sign.count) == (pytest.approx(2 / 3), 3)
    assert (found.best_move.mean, found.best_move.count) == (pytest.approx(2 / 3), 3)
    # Four bins of one: |0.5 - 1|, |-1 + 1|, |0.2 - 0|, |-0.5 - 1|.
    assert found.calibration.error == pytest.approx((0.5 + 0 + 0.2 + 1.5) / 4)


def test_tables_show_the_fit():
    _, _, found = fit_by_hand()
    cells = calibration.row("set", "raw", 1234, found).strip("| ").split(" | ")
    assert cells[:3] == ["set", "1,234", "raw"]
    assert cells[3].startswith("0.800, ")
    assert cells[5:] == ["0.667, 0.208 to 0.939, of 3"] * 2 + ["0.550"]
    table = calibration.bin_table("set", {"raw": found, "again": found})
    assert table[0] == "| set: value | result, raw | result, again |"
    assert len(table) == 12
    low, high = wilson(1, 1)
    assert table[9] == f"| +0.4 to +0.6 | {f'+1.00, {low:+.2f} to {high:+.2f}, of 1 | ' * 2}"[:-1]
    assert table[3] == "| -0.8 to -0.6 | - | - |"


def test_pictures_show_bins_and_where_values_lie_by_score():
    labels, said, fit = fit_by_hand()
    opinions = {"raw": (said, fit), "9 simulations": (said, fit)}
    curves, colours = calibration_figure.sheet([("set", labels, opinions)]).panels
    lines = drawn_panels.curves(curves)
    assert list(lines) == ["raw", "9 simulations", "as predicted"]
    np.testing.assert_allclose(lines["raw"], [[-1, -0.5, 0.2, 0.5], [-1, 1, 0, 1]])
    assert len(curves.collections) == 1
    interval = np.array([wilson(points, 1) for points in (0, 1, 0.5, 1)]).T
    np.testing.assert_allclose(drawn_panels.band(curves), interval, atol=1e-6)
    assert colours.get_title() == "set: 9 simulations"
    fields = drawn_panels.fields(colours)
    # Values 0.5, 0.2, -0.5 and -1 in rows of 0.1 from 1 down; scores in columns of 8 from -64.
    filled = np.argwhere(np.nan_to_num(fields)).tolist()
    assert filled == [[5, 9], [8, 8], [15, 8], [20, 8]]
    assert np.nansum(fields) == pytest.approx(100)


def test_files_of_the_data_folder_are_read(data_folder):
    takizawa = obf.read(data_folder / "labelled" / "takizawa_50empties.csv.gz")
    assert len(takizawa) == 2055
    assert {problem.num_empties for problem in takizawa} == {50}
    named = obf.read(data_folder / "endgame" / "flippy_eg_13_22.csv.gz")[:200]
    found = calibration.of_problems(othello.Othello(), named)
    assert len(found) == 200
    assert (found.is_best.sum(axis=1) == 1).all()  # all these have a choice
