"""The profile of a tiny step of self-play, on the CPU."""

import pytest

from benchmarks import profiling


@pytest.mark.slow
@pytest.mark.usefixtures("thorough_compilation")
def test_report_attributes_most_of_the_time(tmp_path):
    settings = profiling.ProfilingConfig(
        folder=tmp_path, network="1x8", batch=8, simulations=4, top=5
    )
    lines = "\n".join(profiling.report(settings)).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.endswith("% |")]
    shares = {name: float(share.strip("%")) for name, _, share in rows}
    assert shares["evaluation"] > 0
    assert shares.get(profiling.UNKNOWN, 0) < 50
    assert sum(shares.values()) == pytest.approx(100, abs=1)
