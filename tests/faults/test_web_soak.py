"""The web server beside slow and hostile clients; the long form is in `benchmarks/web_soak.py`."""

import pytest

from benchmarks import web_soak


@pytest.mark.faults
def test_polite_clients_are_answered_beside_slow_and_hostile_ones(capsys):
    # The caches of the searches still grow in so short a time.
    words = ["--minutes", "2", "--report-seconds", "10", "--max-growth", "0.2"]
    assert web_soak.main(words) == 0, capsys.readouterr().out
