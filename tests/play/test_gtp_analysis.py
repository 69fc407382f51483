"""GTP: analyses, as Lizzie and Sabaki read them."""

import threading

import numpy as np
import pytest
from support import slow_board, slow_minimax
from support.fake_engines import GAME, actions, after, random_game
from support.front_end import QUICK, GtpSession, Input, ScriptedEngine, quick_engine
from support.gtp_lines import parsed, plays

from azo.games import notation, othello

WIPE_OUT = "f5 d6 c5 f4 e3 f6 g5 e6 e7"  # 13:0 after 9 plies


def analysis(config, commands, line, num_lines):
    """Returns what is said until so many lines were seen, and then a new one was sent."""
    source = Input(line + "\n")
    session = GtpSession(quick_engine(config=config), source)
    session.asks(*commands)
    seen = []

    def speak():  # in another thread, since the analysis does not return without input
        for _ in range(num_lines):
            seen.append(session.output.wait_for("\n"))
        source.send("name\n")
        source.end()

    speaker = threading.Thread(target=speak)
    speaker.start()
    session.front_end.run()
    speaker.join()
    answer, name = "".join([*seen, session.output.take()])[:-2].rsplit("\n\n", 1)
    assert name == "= azo"
    return answer.split("\n")


@pytest.mark.parametrize("name", ["lz-analyze", "kata-analyze"])
def test_analysis_goes_on_until_the_next_line(name):
    head, *lines = analysis(QUICK, [], f"3 {name} b 1", num_lines=4)
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


@pytest.mark.parametrize("sign", [1, -1])
def test_the_numbers_of_katago_have_a_lead_for_the_side_that_is_ahead(sign):
    game = othello.Othello(is_reversed=sign < 0)
    line = analysed("kata-analyze maxmoves 1 50 B ownership true", EVALUATION, game)
    assert line == (
        "info move F5 visits 96 winrate 0.625000"
        f" scoreMean {16 * sign:.2f} scoreLead {16 * sign:.2f}"
        " prior 0.432100 lcb 0.528155 order 0 pv F5"
    )


def test_analysis_near_the_end_has_the_exact_scores_of_every_move():
    moves = random_game(3)[:-7]
    board = after(moves)
    signs = {board.mover: 1, slow_board.other(board.mover): -1, "-": 0}
    discs = np.array([[signs[c] for c in row] for row in board.rows], np.int8)
    truth = slow_minimax.move_scores(discs[None], is_reversed=False)[0]
    config = QUICK.model_copy(update={"solve_empties": 10})
    head, line = analysis(config, plays(moves), "kata-analyze", num_lines=2)
    assert head == "="
    found = {notation.parse_action(move["move"], 8): move for move in parsed(line)}
    assert set(found) == set(slow_board.legal_actions(board))
    assert len(found) >= 2
    for action, move in found.items():
        assert float(move["scoreLead"]) == float(move["scoreMean"]) == truth[action]
        assert float(move["winrate"]) == float(move["lcb"]) == (1 + np.sign(truth[action])) / 2


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
        assert ("scoreLead" in lines[-1]) == (name == "kata")
        assert sum(int(info["visits"]) for info in parsed(lines[-1])) >= 200
    assert session.ask("showboard") == plain.ask("showboard")
    session.asks("undo", "undo")
    assert session.ask("showboard") == GtpSession().ask("showboard")


def test_a_move_with_an_analysis_is_refused_as_genmove():
    session = GtpSession()
    assert session.ask("lz-genmove_analyze w") == "? no move: black is to move\n\n"
    assert session.ask("kata-genmove_analyze avoid").startswith(
        "? syntax error: 'avoid' is not supported, expected '[COLOUR] "
    )
    session.asks(*plays(actions(WIPE_OUT)))
    assert session.ask("lz-genmove_analyze") == "=\nplay pass\n\n"
