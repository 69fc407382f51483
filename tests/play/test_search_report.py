"""The expected result that a score makes likely."""

import pytest

from azo.play.engine import search_report


@pytest.mark.parametrize("size", [6, 8])
def test_a_score_and_its_likely_result_belong_together(size):
    assert search_report.likely_result(0.0, size) == 0.0
    # One deviation, 3 discs on 8x8: 84 % of a normal distribution are on one side.
    assert search_report.likely_result(3.0 * size / 8, size) == pytest.approx(0.6827, abs=1e-4)
    for utility in (-7.0, -0.2, 2.5):
        value = search_report.likely_result(utility, size)
        assert search_report.likely_utility(value, size) == pytest.approx(utility)
    assert abs(search_report.likely_utility(1.0, size)) <= size**2
