"""Display of a run, recorded from consoles of 80 columns."""

import io
import pathlib

import pytest
import rich.console

from azo.process import console


def shown(*, is_terminal):
    """Returns what a session of two iterations leaves on an 80-column display."""
    screen = rich.console.Console(
        width=80, record=True, force_terminal=is_terminal, file=io.StringIO()
    )
    with console.Console("othello6", pathlib.Path("runs/test"), screen) as display:
        display.update({"iteration": 1, "selfplay/games_per_second": 12.5}, 0.5)
        display.note("saved [checkpoint] 1")
        display.update(
            {"iteration": 2, "learner/policy_loss": 1.25, "learner/value_loss": float("nan")},
            1.0,
            match="88 % against rollouts:100",
        )
    return screen.export_text()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_console_shows_progress_speed_losses_notes_and_the_latest_match(is_terminal):
    text = shown(is_terminal=is_terminal)
    for part in ("runs/test", "iteration 2/2", "12.5", "1.250", "saved [checkpoint] 1", "88 %"):
        assert part in text


def test_time_left_counts_only_iterations_of_this_process():
    seconds = [0.0]
    screen = rich.console.Console(
        file=io.StringIO(), record=True, width=200, get_time=lambda: seconds[0]
    )
    with console.Console("x", pathlib.Path("y"), screen) as display:
        for iteration in (11, 12, 13):
            # 20 iterations by the limit that is closest, of its processor time, say.
            display.update({"iteration": iteration}, iteration / 20, match="a match")
            seconds[0] += 10
    *_, first, _, last = screen.export_text().splitlines()
    assert first == "iteration 11/20  a match  left -:--:--"
    assert last == "iteration 13/20  a match  left 0:01:10"  # 10 s each, 7 are left
