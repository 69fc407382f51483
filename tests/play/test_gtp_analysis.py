"""GTP: analyses, as Lizzie and Sabaki read them."""

import time

import pytest
from support.fake_engines import GAME
from support.front_end import QUICK, GtpSession, Input, parsed, quick_engine
from support.scripted_engine import ScriptedEngine

from azo.games import othello


def analysis(line, num_lines):
    """Returns what is said until so many lines were seen, and then a new one was sent."""
    source = Input(line + "\n")
    session = GtpSession(source=source)
    with session.running():
        seen = [session.output.wait_for("\n") for _ in range(num_lines)]
        source.send("name\n")
        source.end()
    answer, name = "".join([*seen, session.output.take()])[:-2].rsplit("\n\n", 1)
    assert name == "= azo"
    return answer.split("\n")


@pytest.mark.parametrize("name", ["lz-analyze", "kata-analyze"])
def test_analysis_goes_on_until_the_next_line(name):
    head, *lines = analysis(f"3 {name} b 1", num_lines=10)
    assert head == "=3"
    assert len(lines) >= 3
    totals = []
    for moves in map(parsed, lines):
        assert {move["move"] for move in moves} <= {"D3", "C4", "F5", "E6"}
        assert [int(move["order"]) for move in moves] == list(range(len(moves)))
        assert all(move["pv"][0] == move["move"] for move in moves)
        totals.append(sum(int(move["visits"]) for move in moves))
    assert len(moves) == 4
    assert totals == sorted(totals)
    assert totals[-1] > totals[0]


def analysed(line, evaluation, game=GAME):
    """Returns the last line of an analysis of the start with a written evaluation."""
    session = GtpSession(ScriptedEngine(game, {0: evaluation}, QUICK))
    return session.ask(line).splitlines()[-2]


D3, C4, F5, E6 = 19, 26, 37, 44
EVALUATION = {
    "best": F5,
    "values": {D3: -1.0, C4: None, F5: 0.25, E6: 0.0},
    "prior": {D3: 0.1, C4: 0.2, F5: 0.4321, E6: 0.2679},
    "visits": {D3: 1, C4: 0, F5: 96, E6: 4},
}


def test_the_numbers_of_leela_zero_are_whole_and_moves_without_a_value_are_left_out():
    # lcb: 0.625 - 1.96 sqrt(0.625 0.375 / 96) = 0.5282 and 0.5 - 1.96 sqrt(0.25 / 4) = 0.01
    assert analysed("lz-analyze b 50 minmoves 4", EVALUATION) == (
        "info move F5 visits 96 winrate 6250 prior 4321 lcb 5282 order 0 pv F5"
        " info move E6 visits 4 winrate 5000 prior 2679 lcb 100 order 1 pv E6"
        " info move D3 visits 1 winrate 0 prior 1000 lcb 0 order 2 pv D3"
    )


def test_a_solved_move_has_its_score():
    line = analysed("kata-analyze 1", {"score": 4, "best": F5, "scores": {F5: 4}})
    assert "move F5 visits 20 winrate 0.500000 scoreMean 4.00 scoreLead 4.00" in line


@pytest.mark.parametrize("sign", [1, -1])
def test_the_numbers_of_katago_have_a_lead_for_the_side_that_is_ahead(sign):
    game = othello.Othello(is_reversed=sign < 0)
    line = analysed("kata-analyze maxmoves 1 50 B ownership true", EVALUATION, game)
    assert line == (
        "info move F5 visits 96 winrate 0.625000"
        f" scoreMean {16 * sign:.2f} scoreLead {16 * sign:.2f}"
        " prior 0.432100 lcb 0.528155 order 0 pv F5"
    )


@pytest.mark.parametrize("name", ["lz", "kata"])
def test_a_move_with_an_analysis_is_that_of_genmove_after_reports(name):
    config = QUICK.model_copy(update={"num_simulations": 200})
    plain, session = (GtpSession(quick_engine(config=config)) for _ in range(2))
    for colour in "bw":
        (move,) = plain.asks(f"genmove {colour}")
        head, *lines, played, end, _ = session.ask(f"7 {name}-genmove_analyze 1").split("\n")
        assert (head, end) == ("=7", "")
        assert played == f"play {move.removeprefix('= ').strip()}"
        assert lines
        assert "scoreLead" not in lines[-1]  # a search for the result has no discs
        assert sum(int(info["visits"]) for info in parsed(lines[-1])) >= 200
    assert session.ask("showboard") == plain.ask("showboard")
    session.asks("undo", "undo")
    assert session.ask("showboard") == GtpSession().ask("showboard")


@pytest.mark.parametrize("last", ["quit", "5 quit # now", None])
def test_a_search_ends_with_quit_and_with_the_input(last):
    source = Input("1 lz-genmove_analyze b 1\n")
    config = QUICK.model_copy(update={"num_simulations": None, "seconds": 60.0})
    session = GtpSession(quick_engine(config=config), source)
    with session.running():
        session.output.wait_for("info")  # the search has begun
        if last:
            source.send(f"name\n{last}\n")
        else:
            source.end()
    move, *rest = session.output.take().rpartition("play ")[2].split("\n\n")
    assert move in ("D3", "C4", "F5", "E6")
    assert rest[:-1] == {"quit": ["= azo", "="], None: []}.get(last, ["= azo", "=5"])


def test_a_search_of_a_script_is_complete():
    source = Input("lz-genmove_analyze b\nquit\n")
    while not source.lines.has(lambda line: line == "quit"):
        time.sleep(0.001)
    config = QUICK.model_copy(update={"num_simulations": 60})
    session = GtpSession(quick_engine(config=config), source)
    session.front_end.run()
    report = session.output.take().partition("\nplay")[0].splitlines()[-1]
    assert sum(int(move["visits"]) for move in parsed(report)) >= 59
