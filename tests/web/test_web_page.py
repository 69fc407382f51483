"""The page in a real browser without a window: clicks, keys and their results."""

import re

import pytest
from support.drivers.web_server import SlowEvaluator, maker, makers, running
from support.drivers.web_visit import IS_OVER, Visit
from support.references import slow_board

from azo.engine import engine_settings
from azo.games import notation, othello
from azo.games.host import live_game


@pytest.fixture(scope="module")
def port():
    with running(makers(othello.Othello(6), othello.Othello(4), othello.Othello())) as port:
        yield port


@pytest.fixture
def visit(open_page, port):
    return open_page(port)


def _expected(moves, size=6):
    return live_game.replay(" ".join(moves), othello.Othello(size))


def test_azo_begins_if_the_player_is_white(visit):
    visit.page.select_option("#human", "white")
    visit.page.wait_for_selector("#moves li")
    assert visit.wait_for_turn()
    assert len(visit.moves) == 1
    assert visit.text("#status") == "Your move: white"


def test_pasting_opens_a_game(visit):
    ggf = "(;GM[Othello]PB[ann]PW[bob]TY[4]BO[4 ---- -O*- -*O- ---- *]B[B1]W[A1];)"
    visit.page.evaluate(
        """(text) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", text);
          document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true}));
        }""",
        ggf,
    )
    visit.wait_for("#black .who", "ann")
    visit.wait_for("#white .who", "bob")
    assert visit.moves == ["b1", "a1"]
    assert len(visit.board) == 16


def test_a_move_out_of_turn_is_refused_and_azo_can_move_at_once(browser):
    game = othello.Othello(6)
    patient = engine_settings.EngineConfig(
        num_simulations=20_000, leaves_per_step=1, solve_empties=0
    )
    with running({game: maker(game, SlowEvaluator(game), patient)}) as port:
        visit = Visit(browser, port)
        visit.cell("c2").click()
        visit.wait_for("#status", "azo is thinking")
        visit.cell("b2").click()
        assert visit.text("#message") == "Not your turn: azo is thinking"
        visit.wait_for("#seconds", "1 s")  # a sign that azo thinks, and another one
        assert visit.page.locator("#white.thinking").count() == 1
        assert not visit.page.is_visible("#lines")
        visit.page.click("#go")
        assert visit.wait_for_turn()
        assert len(visit.moves) == 2
        visit.end()


def test_the_keyboard_is_enough_to_play(visit):
    page = visit.page
    page.focus("#help")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.square") == "b3"
    page.keyboard.press("Enter")
    page.wait_for_selector("#moves li:nth-child(2)")
    visit.wait_for_turn()
    assert visit.moves[0] == "b3"
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.square") == "b4"
    page.keyboard.press("h")
    page.wait_for_selector(".cell.best")
    assert page.get_attribute(".cell.best", "data-square") in visit.legal
    page.keyboard.press("m")
    page.wait_for_selector(".cell.mapped")
    page.keyboard.press("PageUp")
    assert visit.text("#status").startswith("After move 1 of 2")
    page.keyboard.press("End")
    visit.wait_for_turn()
    page.keyboard.press("u")
    visit.wait_for_turn()
    assert visit.ply == 0
    page.keyboard.press("d")
    page.click("#map >> text=Visits")
    page.keyboard.press("h")  # a chosen map does not keep the keys to itself
    page.wait_for_selector(".cell.best")
    page.keyboard.press("?")
    assert page.is_visible("#help-dialog")
    page.keyboard.press("n")  # belongs to the dialog, not to the game
    page.keyboard.press("Escape")
    assert not page.is_visible("#help-dialog")


def test_azo_plays_itself_until_it_is_stopped(visit):
    visit.page.select_option("#game", "othello4")
    visit.page.select_option("#human", "none")
    visit.wait_until(IS_OVER)
    assert _expected(visit.moves, size=4).is_over


def test_light_and_dark_follow_the_system_and_the_button(open_page, port):
    def brightness(page):
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour))) / 3

    visit = open_page(port, color_scheme="light")
    assert brightness(visit.page) > 128
    visit.page.click("#theme")
    assert brightness(visit.page) < 128
    visit.page.reload()
    visit.page.wait_for_selector(".cell")
    assert brightness(visit.page) < 128


def _play(visit, move):
    number = len(visit.moves)
    visit.cell(move).click()
    visit.wait_until(f"document.querySelectorAll('#moves > li > button').length >= {number + 2}")
    assert visit.wait_for_turn()


def test_details_are_for_experts(visit):
    visit.page.keyboard.press("h")
    visit.page.wait_for_selector(".cell.best")
    visit.page.keyboard.press("m")
    visit.page.wait_for_selector("#lines")
    experts = ["#network", "#details", "#map >> text=Visits", "#map >> text=Policy"]
    experts += [f"#lines th >> text={name}" for name in ("Wins", "Visits", "Policy")]
    assert visit.page.locator("#lines th:visible").all_inner_texts() == ["Move", "Discs", "Line"]
    assert not any(visit.page.is_visible(selector) for selector in experts)
    visit.page.keyboard.press("m")
    assert visit.page.is_checked("[name=map][value=none]")  # a player's maps: discs, and none
    visit.page.keyboard.press("m")
    visit.page.click("#detailed")
    assert all(visit.page.is_visible(selector) for selector in experts)


def test_a_player_resigns_and_can_take_it_back(visit):
    assert not visit.page.is_visible("#resign")
    _play(visit, "c2")
    _play(visit, visit.legal[0])
    moves = visit.moves
    visit.page.keyboard.press("Home")
    visit.press("#resign")
    assert (visit.ply, visit.text("#status")) == (4, "You resigned: white wins")
    assert not visit.page.is_visible("#resign")
    visit.page.reload()
    visit.wait_for("#status", "You resigned: white wins")
    visit.cell(visit.legal[0]).click()
    assert visit.text("#message") == "The game is over"
    visit.page.click("#games")
    assert visit.page.is_visible("#no-games")
    visit.page.keyboard.press("Escape")
    visit.press("#undo")
    assert visit.wait_for_turn()
    assert visit.moves == moves
    _play(visit, visit.legal[0])
    assert len(visit.moves) == 6


def test_a_move_that_was_taken_back_is_replaced_even_after_a_reload(visit):
    before = visit.board
    _play(visit, "c2")
    assert visit.board != before
    visit.press("#undo")
    assert (visit.ply, visit.board, len(visit.moves)) == (0, before, 2)  # the moves are kept
    assert visit.page.is_disabled("#undo")
    visit.page.reload()
    assert visit.wait_for_turn()
    visit.cell("b3").click()
    visit.page.wait_for_selector("#moves > li.variation")
    assert visit.wait_for_turn()
    assert (visit.moves[0], visit.variations[0][0]) == ("b3", "c2")
    visit.page.keyboard.press("u")
    visit.cell("c2").click()  # the first game goes on
    visit.wait_until("document.querySelector('#moves > li > button').textContent.endsWith('c2')")


@pytest.mark.thorough
def test_variations_do_not_end_the_analysis_of_the_game(open_page, port):
    moves = notation.transcript(slow_board.random_game(8, seed=2)[1], 8, has_passes=True)
    visit = open_page(port, f"#{moves}", size="notebook")
    visit.page.keyboard.press("Home")
    visit.page.keyboard.press("a")
    visit.page.wait_for_selector("#mistakes button")
    visit.page.route("**/api/think", lambda _: None)  # without an answer the analysis goes on
    visit.page.keyboard.press(".")
    visit.page.keyboard.press("b")
    visit.wait_for("#status", "Instead of")
    visit.cell(visit.legal[-1]).click()
    visit.page.wait_for_selector("#message", state="hidden")
    assert visit.text("#analyse").startswith("Stop")
    visit.page.click("#analyse")


@pytest.mark.thorough
def test_a_mistake_has_one_loss_on_the_whole_page(open_page):
    """In the list, the sentence, the table of the position before it, and the deck."""
    game, moves = othello.Othello(6), slow_board.random_game(6, seed=6)[1]
    with running(makers(game)) as port:
        text = notation.transcript(moves, 6, has_passes=True)
        visit = open_page(port, f"#othello6:{text}", size="notebook")
        page = visit.page
        page.keyboard.press("Home")
        page.keyboard.press("d")
        page.keyboard.press("a")
        visit.wait_for("#analyse", "Analyse game")
        visit.wait_until(f"document.querySelectorAll('#graph .dot').length === {len(moves) + 1}")
        visit.wait_for("#analyse", "Analyse game")
        mistakes = visit.mistakes
        assert len(mistakes) > 3
        assert any(lost.startswith("~") for _, _, lost, *_ in mistakes)
        page.click("#keep-mistakes")
        visit.wait_until("localStorage.getItem('azo-deck') !== null")  # once its lock is taken
        cards = page.evaluate("JSON.parse(localStorage.getItem('azo-deck'))")
        losses = {len(card["moves"]) + 1: card["losses"] for card in cards}
        for number, marked, lost, *_ in mistakes:
            move, size = marked.rstrip("?!"), int(lost.lstrip("~"))
            page.locator(f"#mistakes button[data-ply='{number}']").click()
            about = "about " * lost.startswith("~")
            told = f"Move {number}, {move}: loses {about}{size} disc"
            assert visit.text("#lesson").startswith(told)
            visit.wait_until("document.querySelector('#reasons li') !== null")
            assert losses[int(number)][move] == size
            page.keyboard.press("ArrowLeft")
            rows = [
                row.split("\t")[:2] for row in page.locator("#lines tbody tr").all_inner_texts()
            ]
            worth = {name: _discs(shown) for name, shown in rows}
            assert worth[rows[0][0]] - worth[move] == size
        assert not re.search(r"[+−~]\d+\.\d", page.inner_text("body"))


def _discs(text):
    return int(text.lstrip("~≤").replace("−", "-"))
