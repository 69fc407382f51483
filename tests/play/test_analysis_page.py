"""The file of an analysed game in a real browser: a published game, analysed by the command."""

import pathlib
import re

import pytest
from support import scripted_engine, slow_board, web_games
from support.web_visit import Visit

from azo.cli import analyse
from azo.formats import ggf
from azo.games import notation, othello, replaying
from azo.play import analysis_page, game_analysis

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

_FILE = pathlib.Path(__file__).parents[1] / "data" / "olivaw_game08.txt"
_NUM_MOVES = 59
_ENDGAME_MISTAKES = [["41", "h7??", "14"], ["47", "b7?", "4"], ["56", "g1??", "24"]]
_SIZES = [(1280, 800), (1366, 768), (390, 844), (844, 390)]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "game.html"
    arguments = [str(_FILE), "--html", str(file), "--engine.num-simulations", "100"]
    # On a loaded machine the first solved position takes more than the usual time.
    assert analyse.main([*arguments, "--engine.solve-seconds", "60"]) == 0
    return file.as_uri()


@pytest.fixture
def visit(browser, address):
    visit = Visit(browser, None, address)
    yield visit
    visit.end()


def _mistakes(visit):
    return [text.split() for text in visit.page.locator("#mistakes button").all_inner_texts()]


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


def test_the_endgame_mistakes_are_marked_listed_and_reached_by_one_key(visit):
    listed = _mistakes(visit)
    assert [mark for mark in listed if "~" not in mark[2]] == _ENDGAME_MISTAKES
    assert visit.page.locator("#graph .mistake").count() == len(listed)
    names = [text.split()[-1] for text in visit.page.locator("#moves button").all_inner_texts()]
    assert [names[int(ply) - 1] for ply, *_ in listed] == [name for _, name, _ in listed]
    reached = []
    for _ in listed:
        visit.page.keyboard.press(".")
        reached.append(visit.ply)
    assert reached == [int(ply) for ply, *_ in listed]
    visit.page.keyboard.press(",")
    assert visit.ply == reached[-2]
    visit.page.locator("#mistakes button", has_text="47 b7").click()
    assert visit.ply == 47


def test_better_lines_and_moves_of_the_reader_are_variations(visit):
    visit.page.locator("#mistakes button", has_text="56 g1").click()
    visit.page.keyboard.press("b")
    visit.page.wait_for_selector("#moves .variation")
    assert visit.variations[0][0] == "g2"
    visit.page.keyboard.press("End")
    assert visit.text("#status").startswith("49-15 to white")  # 34 discs, as before the mistake
    visit.page.keyboard.press("Home")
    visit.cell("d3").click()  # the game began with c4
    visit.wait_for("#moves .variation", "d3")
    assert (visit.ply, visit.text("#headline")) == (1, "Not searched yet")
    visit.cell("a1").click()
    assert visit.text("#message").startswith("a1 is not legal: white may play c3, ")


def test_the_rules_of_the_file_are_those_of_the_slow_board(visit):
    num_passes = 0
    for seed in range(20):
        boards, actions = web_games.random_game(8, seed=seed)
        moves = [notation.action_text(action, 8) for action in actions]
        game = visit.page.evaluate(
            "(moves) => import('api.js').then((api) => api.replay({ moves }))", moves
        )
        for board, ply in zip(boards, game["plies"], strict=True):
            legal = slow_board.legal_actions(board) if not slow_board.is_over(board) else []
            assert ply == {
                "board": slow_board.text(board),
                "mover": {"X": "black", "O": "white"}[board.mover],
                "legal": [notation.action_text(action, 8) for action in sorted(legal)],
            }
        num_passes += moves.count("pass")
    assert num_passes >= 5


def test_the_game_is_saved_as_transcript_and_ggf(visit):
    texts = []
    for kind in ("text", "ggf"):
        with visit.page.expect_download() as download:
            visit.page.click(f"#save-{kind}")
        texts.append(download.value.path().read_text())
    game = ggf.parse(texts[1])
    assert (game.black, game.white) == ("Di Mattei", "OLIVAW 18")
    assert texts[0].strip() == notation.transcript(game.moves, 8, has_passes=True)


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", _SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_it_fits_the_screen_and_axe_finds_nothing_serious(browser, address, size, scheme):
    viewport = {"width": size[0], "height": size[1]}
    visit = Visit(browser, None, address, viewport=viewport, color_scheme=scheme)
    width, height = visit.page.evaluate(
        "['scrollWidth', 'scrollHeight'].map((name) => document.documentElement[name])"
    )
    assert width == size[0]
    assert height == size[1] or min(size) == 390  # phones scroll
    visit.page.keyboard.press(".")
    visit.page.keyboard.press("b")
    visit.page.wait_for_selector("#moves .variation")
    visit.page.keyboard.press("m")
    assert visit.serious_findings() == []
    background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background))) / 3
    assert (brightness > 128) == (scheme == "light")
    visit.end()


def test_a_first_move_like_the_best_one_is_no_mistake(browser, tmp_path):
    game = othello.Othello()
    best = [notation.parse_action(move, 8) for move in ("d3", "f4", "c3", "d3", "c4")]
    discs = (5.0, 3.0, 0.0, 0.0, 0.0)  # d3 is as good as f5, by symmetry; d6 loses 3
    evaluations = {
        ply: {"discs": discs, "best": action, "visits": {action: 100}}
        for ply, (action, discs) in enumerate(zip(best, discs, strict=True))
    }
    engine = scripted_engine.ScriptedEngine(game, evaluations)
    engine.new_game(None, replaying.replay("f5d6c3d3", game).actions)
    analysis = game_analysis.analyse(engine, game_analysis.AnalysisConfig())
    file = tmp_path / "game.html"
    file.write_text(analysis_page.render(analysis, "a game", "a network"))
    visit = Visit(browser, None, file.as_uri())
    assert _mistakes(visit) == [["2", "d6?!", "~3.0"]]
    visit.end()
