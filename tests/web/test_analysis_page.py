"""The file of an analysed game in a real browser: a published game, analysed by the command."""

import pathlib

import numpy as np
import pytest
from support.fakes import scripted_engine
from support.references import slow_board

from azo.cli import analyse
from azo.coach import game_analysis, reasons
from azo.games import notation, othello
from azo.games.host import live_game
from azo.web import analysis_page

_FILE = pathlib.Path(__file__).parents[1] / "data" / "olivaw_game08.txt"
_NUM_MOVES = 59
_PLIES = """async (moves) => {
  const { firstPly, nextPly, usualStart } = await import("rules.js");
  const plies = [firstPly(usualStart(8))];
  for (const move of moves) plies.push(nextPly(plies.at(-1), move));
  return plies;
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "game.html"
    arguments = [str(_FILE), "--html", str(file), "--engine.num-simulations", "100"]
    # On a loaded machine the first solved position takes more than the usual time.
    assert analyse.main([*arguments, "--engine.solve-seconds", "60"]) == 0
    return file.as_uri()


@pytest.fixture
def visit(open_page, address):
    return open_page(None, address)


@pytest.mark.thorough
def test_the_board_is_stepped_through_by_keys_and_buttons(visit):
    assert visit.page.title() == "Di Mattei - OLIVAW 18"
    assert (visit.ply, len(visit.moves)) == (0, _NUM_MOVES)
    boards = [slow_board.start(8)]
    for move in visit.moves:
        boards.append(slow_board.play(boards[-1], notation.parse_action(move, 8)))
    for ply in range(1, 4):
        visit.page.keyboard.press("ArrowRight")
        assert "".join(visit.board) == slow_board.text(boards[ply])
    for button, ply in (("last", 59), ("back", 58), ("first", 0), ("forward", 1)):
        visit.page.click(f"#{button}")
        assert visit.ply == ply
        assert "".join(visit.board) == slow_board.text(boards[ply])
    visit.page.keyboard.press("End")
    assert visit.text("#status") == "37-27 to white, 2 empty squares included"


def test_each_position_has_its_report(visit):
    assert visit.page.locator("#graph .dot").count() == _NUM_MOVES + 1
    assert visit.page.locator("#graph .dot.exact").count() >= 20
    visit.page.keyboard.press("m")
    for _ in range(_NUM_MOVES):
        visit.page.keyboard.press("ArrowRight")
        assert visit.text("#headline") != "Not searched yet"
        if visit.ply < _NUM_MOVES:
            assert visit.page.locator("#lines tbody tr").count() >= 1
            num_mapped = visit.page.locator(".cell.mapped").count()
            assert min(len(visit.legal), 1) <= num_mapped <= len(visit.legal)  # a pass has none
    graph = visit.page.locator("#graph").bounding_box()
    visit.page.mouse.click(graph["x"] + 35, graph["y"] + 40)
    assert visit.ply == 0


def test_the_rules_of_the_file_are_those_of_the_slow_board(visit):
    num_passes = 0
    for seed in range(20):
        boards, actions = slow_board.random_game(8, seed=seed)
        moves = [notation.action_text(action, 8) for action in actions]
        plies = visit.page.evaluate(_PLIES, moves)
        for board, ply in zip(boards, plies, strict=True):
            legal = slow_board.legal_actions(board) if not slow_board.is_over(board) else []
            assert ply == {
                "board": slow_board.text(board),
                "mover": {"X": "black", "O": "white"}[board.mover],
                "legal": [notation.action_text(action, 8) for action in sorted(legal)],
            }
        num_passes += moves.count("pass")
    assert num_passes >= 5


def test_what_needs_a_server_is_neither_shown_nor_reached_by_a_key(visit):
    before = visit.page.inner_text("body")
    for word in ("New game", "Hint", "Analyse game", "Retry", "You play"):
        assert word not in before
    for key in "nsohugalr":
        visit.page.keyboard.press(key)
    assert visit.page.inner_text("body") == before
    visit.page.keyboard.press("?")
    keys = visit.page.locator("#help-dialog dt:visible").all_inner_texts()
    assert {"b", "m", ", ."} < set(keys)
    assert not {"n", "s", "o", "h", "u", "g", "a", "l", "r"} & set(keys)


def test_the_browser_refuses_every_connection(visit):
    refused = visit.page.evaluate(
        """async () => {
          const image = new Image();
          const failed = new Promise((resolve) => (image.onerror = () => resolve(true)));
          image.src = "http://localhost:9/a.png";
          const fetched = await fetch("http://localhost:9/").then(() => false, () => true);
          return [await failed, fetched];
        }"""
    )
    assert refused == [True, True]
    assert all("Content Security Policy" in error for error in visit.errors)
    visit.errors.clear()
    visit.hosts.remove("localhost:9")


@pytest.mark.parametrize(
    ("best", "evaluations", "listed"),
    [
        # d3 is as good as f5, by symmetry; d6 loses 3.
        (
            "d3 f4 c3 d3 c4",
            [{"discs": x} for x in (5.0, 3.0, 0.0, 0.0, 0.0)],
            [["2", "d6?!", "~3"]],
        ),
        # White loses 4 discs and the win, then 9 discs of a lost game.
        (
            "f5 f4 c3 f4 c4",
            [{"score": x, "value": float(np.sign(x))} for x in (-2, 2, 2, -2, 11)],
            [["2", "d6??", "4", "turning", "point"], ["4", "d3?", "9"]],
        ),
    ],
)
def test_mistakes_are_those_of_the_analysis(
    open_page, tmp_path, monkeypatch, best, evaluations, listed
):
    game = othello.Othello()
    best_too = [each | {"best": move} for each, move in zip(evaluations, best.split(), strict=True)]
    engine = scripted_engine.ScriptedEngine(game, dict(enumerate(best_too)))
    engine.new_game(None, live_game.replay("f5d6c3d3", game).actions)
    analysis = game_analysis.analyse(engine)
    file = tmp_path / "game.html"
    monkeypatch.setattr(
        reasons, "find", lambda board, *lines, **_: [reasons.Reason("", str(lines[:2]))]
    )
    file.write_text(analysis_page.render(analysis, "a game", "a network"))
    visit = open_page(None, file.as_uri())
    assert visit.mistakes == listed
    assert [f"{p.number}" for p in analysis.losses] == [number for number, *_ in listed]
    visit.page.click("#mistakes button")
    (reason,) = visit.page.locator("#reasons li").all_inner_texts()
    (first,) = analysis.reasons(analysis.positions[int(listed[0][0]) - 1])
    assert reason == first.text
    if "turning" in listed[0]:
        title = visit.page.locator("#mistakes button").first.get_attribute("title")
        assert title == "4 discs lost; f4 was best; from here on white was behind"
