"""The page as an analysis board in a real browser: layout, variations, storage, links and files."""

import json
import re

import pytest
from support.drivers.web_server import maker, makers, running
from support.drivers.web_visit import SIZES, Visit
from support.references import slow_board

from azo.coach import formatting
from azo.engine import engine_settings
from azo.formats import ggf
from azo.games import notation, othello

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

_BOARDS, _ACTIONS = slow_board.random_game(6, seed=1)
_GAME = notation.transcript(_ACTIONS, 6)
_LINK = f"#othello6:{notation.transcript(_ACTIONS, 6, has_passes=True)}"
_LONG_ACTIONS = slow_board.random_game(8, seed=2)[1]
_LONG = "#" + notation.transcript(_LONG_ACTIONS, 8, has_passes=True)


@pytest.fixture(scope="module")
def port():
    with running(makers(othello.Othello(6), othello.Othello(8))) as port:
        yield port


@pytest.fixture
def visit(open_page, port):
    return open_page(port)


def _box(visit, selector):
    return visit.page.locator(selector).bounding_box()


@pytest.mark.thorough
def test_a_whole_analysed_game_fits_the_screen_without_scrolling(open_page, port):
    visit = open_page(port, _LONG, size="wide")
    visit.page.select_option("#strength", "100")
    visit.page.keyboard.press("a")
    visit.wait_for_analysis()
    visit.page.keyboard.press("Home")
    visit.page.keyboard.press(".")  # a position with moves
    assert visit.page.locator("#lines tbody tr").count() == len(visit.legal)
    sizes = visit.page.evaluate(
        "['scrollWidth', 'scrollHeight'].map((name) => document.documentElement[name])"
    )
    assert sizes == list(SIZES["wide"])
    for selector in ("#board", "#bar", ".toolbar", "#headline", "#moves", "#summary", "#analyse"):
        assert visit.is_on_screen(selector), selector
    assert _box(visit, "#moves")["height"] >= 90  # three rows of moves


_WIDEST = {
    ".cell.mapped .map": "−16.3",
    "#lines td:nth-child(2)": "−16.3",
    "#bar-text": "17",
    "#lines td:nth-child(4)": "19,438",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SIZES)
def test_no_number_is_cut_off(open_page, port, name):
    visit = open_page(port, _LONG, size=name)
    visit.page.keyboard.press("Home")
    visit.page.keyboard.press("d")
    visit.page.click("#map >> text=Discs")
    visit.page.wait_for_selector(".cell.mapped")
    for selector, text in _WIDEST.items():
        sizes = visit.page.eval_on_selector_all(
            selector,
            """(all, text) => all.map((element) => {
              element.textContent = text;
              return [element.scrollWidth, element.clientWidth];
            })""",
            text,
        )
        assert sizes
        assert all(needed <= given for needed, given in sizes), selector


@pytest.mark.thorough
def test_the_bar_shows_the_expected_score_and_the_chance_to_win(visit, port):
    engine = maker(othello.Othello(6))()
    report = engine.think(engine_settings.Limits(num_simulations=400, is_analysis=True))
    assert visit.page.get_attribute("#bar", "aria-valuetext") == "not searched"
    visit.page.keyboard.press("d")
    visit.page.keyboard.press("h")
    visit.wait_for("#details", "400 simulations")
    told = visit.page.get_attribute("#bar", "aria-valuetext").replace("−", "-")
    assert re.fullmatch(rf"black \S+ discs, wins {50 + 50 * report.value:.0f}%", told)
    assert told.split()[1] == formatting.discs(report.discs, None)
    assert visit.text("#bar-text") == f"{abs(report.discs):.0f}"
    bar, fill = _box(visit, "#bar"), _box(visit, "#bar-fill")
    share = 0.5 + round(report.discs) / 64
    assert fill["height"] / bar["height"] == pytest.approx(share, abs=0.01)


def test_continuous_analysis_deepens_and_draws_the_best_lines(open_page, port):
    visit = open_page(port, "#")
    page = visit.page
    page.select_option("#game", "othello8")
    visit.wait_for(".letters", "h")
    page.keyboard.press("d")
    page.keyboard.press("l")
    page.wait_for_selector("#board .arrow.other", state="attached")
    assert page.get_attribute("#watch", "aria-pressed") == "true"
    assert page.locator("#board .arrow.best").count() >= 1
    assert re.fullmatch(r"[+−]\d+|0", page.inner_text(".cell.best, .cell.mapped >> nth=0"))

    def visits():
        return int(re.match(r"[\d,]+", visit.text("#details"))[0].replace(",", ""))

    first = visits()
    visit.wait_until(
        f"+document.getElementById('details').textContent.replace(/,| .*/g, '') > {first}"
    )
    page.keyboard.press("l")
    assert page.locator("#board .arrow").count() == 0
    stopped = visits()
    page.wait_for_timeout(500)
    assert visits() == stopped


@pytest.mark.thorough
def test_former_games_are_stored_and_can_be_removed(visit):
    visit.open_game(_GAME)
    visit.wait_for_moves(len(_ACTIONS))
    visit.wait_for_analysis()
    visit.page.click("#new")
    visit.wait_for_moves(0)
    assert visit.wait_for_turn()
    assert visit.page.input_value("#human") == "black"  # it plays again
    visit.page.keyboard.press("s")
    visit.page.locator("#games-list button").first.click()
    visit.wait_for_moves(len(_ACTIONS))
    sync_api.expect(visit.page.locator("#graph .dot")).to_have_count(len(_ACTIONS) + 1)
    visit.page.click("#new")
    visit.wait_for_moves(0)  # until then, the status is that of the game that is over
    visit.page.click("#games")
    visit.page.locator("#games-list").get_by_text("Remove").click()
    assert visit.page.locator("#games-list li").count() == 0
    visit.page.keyboard.press("Escape")
    visit.page.click("#games")
    assert visit.page.locator("#no-games").is_visible()


_TREE = (
    '{"id":"1","game":"othello6","start":null,"human":"black","path":%s,"tree":{"move":null,'
    '"board":"%s","mover":"black","legal":["c2"],"searched":%s,"preferred":-1,"children":[]}}'
)
_START_TEXT = "--------------OX----XO--------------"


def _put_into_storage(visit, game):
    visit.page.add_init_script(  # runs before the scripts of the next page
        f"""{{
          const text = {json.dumps(game)};
          sessionStorage.setItem("azo", '{{"id": "1"}}');
          localStorage.setItem("azo-game-1", text);
          localStorage.setItem("azo", text);
        }}"""
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stored", "num_legal"),
    [
        ("{", 4),
        ('{"id":"1","game":"othello6","tree":{"legal":3},"path":[]}', 4),
        (_TREE % ("7", _START_TEXT, "null"), 4),
        (_TREE % ("[]", _START_TEXT, '{"discs":"many"}'), 4),
        (_TREE % ("[]", _START_TEXT, "null"), 1),  # undamaged
    ],
)
def test_damaged_storage_is_no_obstacle(visit, port, stored, num_legal):
    assert visit.wait_for_turn()
    _put_into_storage(visit, stored)
    visit.page.goto(f"http://localhost:{port}/")
    assert visit.wait_for_turn()
    assert len(visit.legal) == num_legal


def test_a_game_from_another_start_is_saved_as_transcript_and_ggf(browser):
    with running(makers(othello.Othello(4))) as port:
        visit = Visit(browser, port, "#othello4:-OX--XO---------X:a1")
        visit.wait_for_moves(1)
        texts = []
        for kind in ("text", "ggf"):
            with visit.page.expect_download() as download:
                visit.page.click(f"#save-{kind}")
            texts.append(download.value.path().read_text())
        visit.end()
    assert texts[0] == "a1\n"
    parsed = ggf.parse(texts[1])
    assert list(parsed.moves) == notation.parse_moves("a1", 4)
    assert parsed.board == notation.parse_board("-OX--XO--------- X", 4)


def test_an_opening_is_named_in_every_symmetry(open_page, port):
    squares = [divmod(action, 8) for action in notation.parse_moves("c4e3f6e6f5", 8)]
    turned = notation.transcript([8 * (7 - row) + 7 - column for row, column in squares], 8)
    visit = open_page(port, f"#{turned}")
    visit.wait_for_moves(5)
    assert visit.text("#opening") == "Tiger"
    visit.page.keyboard.press("ArrowLeft")
    assert visit.text("#opening") == "Perpendicular"


def test_gaps_in_the_graph_stay_gaps_and_values_appear_under_the_pointer(open_page, port):
    visit = open_page(port, _LINK)
    for ply in (3, 4, 8, 9):
        visit.page.locator("#moves button").nth(ply - 1).click()
        visit.page.keyboard.press("h")
        visit.wait_until(
            f"document.querySelectorAll('#graph .dot').length > {[3, 4, 8, 9].index(ply) + 1}"
        )
    lines = visit.page.locator("#graph .line")
    assert lines.count() == 3  # plies 3 and 4, 8 and 9, and the end of the game
    graph = _box(visit, "#graph")
    step = (graph["width"] - 34 - 38) / len(_ACTIONS)
    visit.page.mouse.move(graph["x"] + 34 + 4 * step, graph["y"] + 40)
    assert re.fullmatch(
        rf"4 {visit.moves[3]}\S*: black (~?[+−]\d+|~0), wins \d+%", visit.text("#graph-note")
    )
    visit.page.mouse.move(graph["x"] + 34 + 6 * step, graph["y"] + 40)
    assert visit.text("#graph-note") == "ply 6: not searched"
    assert "discs for black" in visit.text(".legend")
