"""The page as an analysis board in a real browser: layout, variations, storage, links and files."""

import json
import re

import pytest
from support import web_games
from support.web_server import offers, running
from support.web_visit import Visit

from azo.formats import ggf
from azo.games import notation, othello
from azo.play import engine_settings

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

_BOARDS, _ACTIONS = web_games.random_game(6, seed=1)
_GAME = notation.transcript(_ACTIONS, 6)
_LINK = f"#othello6:{notation.transcript(_ACTIONS, 6, has_passes=True)}"
_LONG_ACTIONS = web_games.random_game(8, seed=2)[1]
_LONG = "#" + notation.transcript(_LONG_ACTIONS, 8, has_passes=True)
_SIZES = {"notebook": (1280, 800), "wide": (1366, 768), "phone": (390, 844), "aside": (844, 390)}


@pytest.fixture(scope="module")
def port():
    with running(offers(othello.Othello(6), othello.Othello(8))) as port:
        yield port


@pytest.fixture
def visit(browser, port):
    visit = Visit(browser, port)
    yield visit
    visit.end()


def _box(visit, selector):
    return visit.page.locator(selector).bounding_box()


def _is_inside(visit, selector):
    box, size = _box(visit, selector), visit.page.viewport_size
    return (
        box["x"] >= 0
        and box["y"] >= 0
        and box["x"] + box["width"] <= size["width"]
        and box["y"] + box["height"] <= size["height"]
    )


def _opened(browser, port, name, link=_LONG, **context):
    width, height = _SIZES[name]
    is_phone = name in ("phone", "aside")
    viewport = {"width": width, "height": height}
    return Visit(
        browser, port, link, viewport=viewport, has_touch=is_phone, is_mobile=is_phone, **context
    )


@pytest.mark.parametrize("name", ["notebook", "wide"])
def test_a_whole_analysed_game_fits_the_screen_without_scrolling(browser, port, name):
    visit = _opened(browser, port, name)
    visit.page.select_option("#strength", "100")
    visit.page.keyboard.press("a")
    visit.wait_for_analysis()
    visit.page.keyboard.press("Home")
    visit.page.keyboard.press(".")  # a position with moves
    assert visit.page.locator("#lines tbody tr").count() == 4
    width, height = _SIZES[name]
    sizes = visit.page.evaluate(
        "['scrollWidth', 'scrollHeight'].map((name) => document.documentElement[name])"
    )
    assert sizes == [width, height]
    for selector in ("#board", "#bar", ".toolbar", "#headline", "#moves", "#summary", "#analyse"):
        assert _is_inside(visit, selector), selector
    assert _box(visit, "#moves")["height"] >= 90  # three rows of moves
    visit.end()


def test_a_phone_on_its_side_shows_the_board_beside_everything_else(browser, port):
    visit = _opened(browser, port, "aside")
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 844
    for selector in ("#board", "#bar", ".players", ".toolbar", "#status"):
        assert _is_inside(visit, selector), selector
    assert _box(visit, "#board")["height"] > 350
    visit.page.locator("#moves").scroll_into_view_if_needed()
    visit.page.mouse.wheel(0, 400)
    visit.page.wait_for_timeout(100)
    assert _is_inside(visit, "#board")  # it stays while the rest scrolls
    visit.end()


_WIDEST = {
    ".cell.mapped .map": "−16.3",
    "#lines td:nth-child(2)": "−16.3",
    "#bar-text": "17",
    "#lines td:nth-child(4)": "19,438",
}


@pytest.mark.parametrize("name", _SIZES)
def test_no_number_is_cut_off(browser, port, name):
    visit = _opened(browser, port, name)
    visit.page.keyboard.press("Home")
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
    visit.end()


def test_cards_without_content_take_no_room(visit):
    assert visit.page.locator("#lines").is_hidden()
    assert visit.page.locator("#summary").is_hidden()
    assert _box(visit, "#moves-card")["height"] < 64


def test_the_bar_shows_the_expected_score_and_the_chance_to_win(visit, port):
    engine = offers()["othello6"].make_engine()
    report = engine.think(engine_settings.Limits(num_simulations=400, is_analysis=True))
    assert visit.page.get_attribute("#bar", "aria-valuetext") == "not searched"
    visit.page.keyboard.press("h")
    visit.wait_for("#details", "400 simulations")
    told = visit.page.get_attribute("#bar", "aria-valuetext").replace("−", "-")
    assert re.fullmatch(rf"black \S+ discs, wins {50 + 50 * report.value:.0f}%", told)
    assert float(told.split()[1]) == pytest.approx(report.discs, abs=0.051)
    assert visit.text("#bar-text") == f"{abs(report.discs):.1f}"
    bar, fill = _box(visit, "#bar"), _box(visit, "#bar-fill")
    share = 0.5 + report.discs / 64
    assert fill["height"] / bar["height"] == pytest.approx(share, abs=0.01)


def test_continuous_analysis_deepens_and_draws_the_best_lines(browser, port):
    visit = Visit(browser, port, "#")
    page = visit.page
    page.select_option("#game", "othello8")
    visit.wait_for(".letters", "h")
    page.keyboard.press("l")
    page.wait_for_selector("#board .arrow.other", state="attached")
    assert page.get_attribute("#watch", "aria-pressed") == "true"
    assert page.locator("#board .arrow.best").count() >= 1
    assert re.fullmatch(r"[+−]?\d+\.\d", page.inner_text(".cell.best, .cell.mapped >> nth=0"))

    def visits():
        return int(re.match(r"[\d,]+", visit.text("#details"))[0].replace(",", ""))

    first = visits()
    visit.wait_until(
        f"+document.getElementById('details').textContent.replace(/,| .*/g, '') > {first}"
    )
    visit.cell("f5").click()  # azo answers, and the new position is searched
    visit.wait_for_moves(2)
    visit.wait_for_turn()
    page.wait_for_selector("#board .arrow", state="attached")
    page.keyboard.press("l")
    assert page.locator("#board .arrow").count() == 0
    stopped = visits()
    page.wait_for_timeout(500)
    assert visits() == stopped
    visit.end()


def test_continuous_analysis_ends_in_a_solved_position(browser, port):
    visit = Visit(browser, port, _LINK)
    visit.page.locator("#moves button").nth(len(_ACTIONS) - 6).click()
    visit.page.keyboard.press("l")
    visit.wait_for("#headline", "exact")
    visit.wait_until("document.getElementById('details').textContent.startsWith('solved')")
    assert visit.page.locator(".cell.mapped").count() == len(visit.legal)
    visit.end()


def test_a_reload_loses_neither_variations_nor_reports(browser, port):
    visit = Visit(browser, port, _LINK)
    visit.page.select_option("#strength", "100")
    visit.page.keyboard.press("a")
    visit.wait_for_analysis()
    visit.page.locator("#moves > li > button").nth(5).click()
    other = next(move for move in visit.legal if move != visit.moves[6])
    visit.cell(other).click()
    visit.page.wait_for_selector("#moves .variation")
    before = visit.moves, visit.variations, visit.ply, visit.board
    dots = visit.page.locator("#graph .dot").count()
    assert before[1:3] == ([[other]], 7)
    visit.page.reload()
    visit.page.wait_for_selector("#moves .variation")
    assert (visit.moves, visit.variations, visit.ply, visit.board) == before
    assert visit.page.locator("#graph .dot").count() == dots
    visit.end()


def test_former_games_are_stored_and_can_be_removed(visit):
    visit.open_game(_GAME)
    visit.wait_for_moves(len(_ACTIONS))
    visit.wait_for_analysis()
    visit.page.click("#new")
    visit.wait_for_turn()
    assert (visit.moves, visit.page.input_value("#human")) == ([], "black")  # it plays again
    visit.page.keyboard.press("s")
    visit.page.locator("#games-list button").first.click()
    visit.wait_for_moves(len(_ACTIONS))
    sync_api.expect(visit.page.locator("#graph .dot")).to_have_count(len(_ACTIONS) + 1)
    visit.page.click("#new")
    visit.wait_for_turn()
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


@pytest.mark.parametrize(
    "damaged",
    [
        "{",
        "3",
        '{"id":"1","game":"othello6","tree":{"legal":3},"path":[]}',
        _TREE % ("7", _START_TEXT, "null"),
        _TREE % ("[]", _START_TEXT, '{"discs":"many"}'),
    ],
)
def test_damaged_storage_is_no_obstacle(browser, port, damaged):
    visit = Visit(browser, port)
    assert visit.wait_for_turn()
    _put_into_storage(visit, damaged)
    visit.page.goto(f"http://localhost:{port}/")
    assert visit.wait_for_turn()
    assert len(visit.legal) == 4
    visit.end()


def test_undamaged_storage_is_shown(browser, port):
    """The test above tests damage, not the form of its entries."""
    visit = Visit(browser, port)
    _put_into_storage(visit, _TREE % ("[]", _START_TEXT, "null"))
    visit.page.goto(f"http://localhost:{port}/")
    assert visit.wait_for_turn()
    assert visit.legal == ["c2"]
    visit.end()


def test_a_link_opens_a_game_and_follows_the_moves(browser, port):
    visit = Visit(browser, port, "#othello6:c2b2")
    visit.wait_for_moves(2)
    assert visit.moves == ["c2", "b2"]
    move = visit.legal[0]
    visit.cell(move).click()
    visit.wait_for_moves(3)
    visit.wait_until(f"location.hash === '#othello6:c2b2{move}'")
    visit.page.evaluate("location.hash = '#f5d6c3'")
    visit.wait_for_moves(3)
    visit.wait_until("document.querySelectorAll('.cell').length === 64")
    assert visit.moves == ["f5", "d6", "c3"]
    visit.end()


def test_a_wrong_link_is_explained_and_a_game_begins(browser, port):
    visit = Visit(browser, port, "#othello6:c2c2")
    visit.wait_for("#message", "move 2: illegal move c2: white may play b2 d2 b4")
    assert visit.wait_for_turn()
    visit.forgive_refusals()
    visit.end()


@pytest.mark.parametrize("start", [None, "-OX--XO--------- X"])
def test_games_are_saved_as_transcript_and_ggf(browser, start):
    game = othello.Othello(4)
    moves = "b1c1" if start is None else "a1"
    board = "" if start is None else "-OX--XO---------X:"
    with running(offers(game)) as port:
        visit = Visit(browser, port, f"#othello4:{board}{moves}")
        visit.wait_for_moves(len(moves) // 2)
        texts = []
        for kind in ("text", "ggf"):
            with visit.page.expect_download() as download:
                visit.page.click(f"#save-{kind}")
            texts.append(download.value.path().read_text())
        visit.end()
    assert texts[0] == f"{moves}\n"
    parsed = ggf.parse(texts[1])
    assert list(parsed.moves) == notation.parse_moves(moves, 4)
    usual = notation.Board(*game.start_discs, is_black_to_move=True)
    assert parsed.board == (usual if start is None else notation.parse_board(start, 4))


_TIGER = "c4e3f6e6f5"


@pytest.mark.parametrize(
    "turn", [lambda r, c: (r, c), lambda r, c: (c, r), lambda r, c: (7 - r, 7 - c)]
)
def test_an_opening_is_named_in_every_symmetry(browser, port, turn):
    squares = [turn(*divmod(action, 8)) for action in notation.parse_moves(_TIGER, 8)]
    turned = notation.transcript([8 * row + column for row, column in squares], 8)
    visit = Visit(browser, port, f"#{turned}")
    visit.wait_for_moves(5)
    assert visit.text("#opening") == "Tiger"
    visit.page.keyboard.press("ArrowLeft")
    assert visit.text("#opening") == "Perpendicular"
    visit.end()


def test_all_named_openings_can_be_played(visit, port):
    text = visit.page.evaluate("fetch('/static/openings.js').then((answer) => answer.text())")
    openings = re.findall(r"^([a-h1-8]{4,}) (.*?)`?;?$", text, re.MULTILINE)
    assert len(openings) == 60
    assert len({name for _, name in openings}) == 60
    for moves, name in openings:
        visit.page.evaluate(f"location.hash = '#{moves}'")
        visit.wait_until(f"document.getElementById('opening').textContent === `{name}`")
        assert "".join(visit.moves) == moves


def test_gaps_in_the_graph_stay_gaps_and_values_appear_under_the_pointer(browser, port):
    visit = Visit(browser, port, _LINK)
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
        rf"4 {visit.moves[3]}\S*: black [+−]?\d+(\.\d)?, wins \d+%", visit.text("#graph-note")
    )
    visit.page.mouse.move(graph["x"] + 34 + 6 * step, graph["y"] + 40)
    assert visit.text("#graph-note") == "ply 6: not searched"
    assert "discs for black" in visit.text(".legend")
    visit.end()


def test_notes_are_not_red_and_errors_are(visit):
    def colour():
        return visit.page.evaluate("getComputedStyle(document.getElementById('message')).color")

    def look():
        return visit.page.get_attribute("#message", "role"), colour()

    visit.cell("a1").click()
    alarm = look()
    visit.cell("c2").click()
    visit.wait_for_moves(2)
    visit.wait_for_turn()
    visit.page.keyboard.press(".")
    assert visit.text("#message") == "No mistakes are known: analyse the game first"
    note = look()
    assert (alarm[0], note[0]) == ("alert", "status")
    assert alarm[1] != note[1] == visit.page.evaluate("getComputedStyle(document.body).color")


def test_star_points_are_drawn_on_eight_squares_only(visit):
    assert visit.page.locator("#board .star").count() == 0
    visit.page.select_option("#game", "othello8")
    visit.wait_for(".letters", "h")
    cell, star = (_box(visit, selector) for selector in ("[data-square=b2]", ".star >> nth=0"))
    assert star["x"] + star["width"] / 2 == pytest.approx(cell["x"] + cell["width"], abs=1)
    assert star["y"] + star["height"] / 2 == pytest.approx(cell["y"] + cell["height"], abs=1)
