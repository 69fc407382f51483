"""What people do on the page, from the first click to the last, in a browser at three sizes.

`Visit.press` checks after every click that the board and the button are on the screen.
"""

import pathlib
import re

import pytest
from support.drivers.web_visit import IS_OVER
from support.references import olivaw

from azo.games import variant
from azo.games.host import live_game

_FILE = pathlib.Path(__file__).parents[1] / "data" / "olivaw_game08.txt"
_EXACT_MISTAKES = [["41", "h7??", "14"], ["47", "b7?", "4"], ["56", "g1??", "24"]]
_LESSON = r"Move 41, h7: loses 14 discs\. Better was g4 \(.16\): f4 g3 b7 h7"
_by_size = pytest.mark.parametrize("size", ["notebook", "phone", "aside"])


def _saved(visit):
    with visit.page.expect_download() as download:
        visit.press("#save-text")
    return download.value.path().read_text()


def _game(visit):
    """What belongs to the game, whatever variation is on the board."""
    return (visit.moves, visit.text("#sides"), visit.mistakes, _saved(visit))


def _link(visit):
    return visit.page.evaluate("location.hash")


def _shows_a_mistake(visit, pattern):
    assert re.fullmatch(pattern, visit.text("#lesson"))
    for selector in ("#board", "#lesson", "#better", "#forward", "#undo"):
        if visit.page.locator(selector).is_visible():
            assert visit.is_on_screen(selector), selector
    assert visit.page.locator("#board .badge").count() == 1
    assert visit.page.locator("#board circle.better").count() == 1


@_by_size
def test_a_loaded_game_is_reviewed_and_what_was_better_leaves_it_alone(review):
    visit, link, game = review, _link(review), _game(review)
    assert [mark for mark in game[2] if "~" not in mark[2]] == _EXACT_MISTAKES
    assert len(game[2]) >= 4
    number = [int(ply) for ply, *_ in game[2]].index(41) + 1
    for _ in range(number):  # from the end of the game: the first one
        visit.press("#next-mistake")
    assert visit.ply == 41
    _shows_a_mistake(visit, _LESSON)
    visit.wait_for("#reasons", "Now White plays g4, which Black missed.")
    assert "better" in visit.cell("g4").get_attribute("aria-label")
    assert "mistake ??" in visit.cell("h7").get_attribute("aria-label")

    visit.press("#better")
    visit.wait_for("#status", "Instead of move 41, h7")
    assert not visit.page.is_visible("#reasons")
    assert (visit.ply, visit.variations[0][:3]) == (41, ["g4", "f4", "g3"])
    assert visit.text("#headline").endswith(", exact")  # its value is known from the mistake
    visit.press("#forward")
    assert visit.text("#headline").endswith(", exact")
    assert (_game(visit), _link(visit)) == (game, link)
    visit.press("#last")
    assert visit.text("#status").startswith("40-24 to white")
    visit.press("#next-mistake")
    assert visit.ply == 47
    _shows_a_mistake(visit, r"Move 47, b7: loses 4 discs\. Better was d8 \(.30\): .*")
    visit.press("#better")
    visit.press("#previous-mistake")
    assert visit.ply == 41
    visit.press("#better")
    visit.press("#better")  # and back
    assert (visit.ply, visit.text("#lesson") != "") == (41, True)
    visit.press("#forward")
    assert visit.text("#status").startswith("After move 42 of 59")

    visit.press(visit.page.locator("#mistakes button", has_text="56 g1"))
    _shows_a_mistake(visit, r"Move 56, g1: loses 24 discs\. Better was g2 .*")
    visit.press("#better")
    visit.press("#to-game")
    assert visit.ply == 55
    visit.press("#back")
    visit.press("#first")
    visit.press("#last")
    assert visit.text("#status").startswith("37-27 to white")
    assert (_game(visit), _link(visit)) == (game, link)


@_by_size
def test_a_mistake_is_retried_against_azo_and_the_game_stays(review):
    visit, link, game = review, _link(review), _game(review)
    visit.press(visit.page.locator("#mistakes button", has_text="41 h7"))
    visit.press("#retry")
    assert visit.text("#status") == "Find a better move than h7"
    assert visit.text("#headline") == "A better move than h7?"  # no answer is given away
    assert not visit.page.is_visible("#lines")
    assert visit.page.input_value("#human") == "black"
    visit.press(visit.cell("h7"))
    visit.wait_for("#message", "h7 is the move of the game: try again")
    assert visit.ply == 40
    visit.press(visit.cell("g4"))
    visit.wait_for("#message", "Better: g4 loses nothing; h7 lost 14")
    visit.wait_until("+document.getElementById('graph').getAttribute('aria-valuenow') >= 42")
    assert visit.wait_for_turn()  # azo answered
    visit.press(visit.cell(visit.legal[0]))
    visit.wait_until("+document.getElementById('graph').getAttribute('aria-valuenow') >= 44")
    visit.wait_for_turn()
    visit.press("#undo")
    assert visit.ply == 42
    assert (_game(visit), _link(visit)) == (game, link)
    variations = visit.variations
    visit.page.reload()
    visit.wait_for_moves(59)
    assert (visit.ply, visit.variations) == (42, variations)
    assert (_game(visit), _link(visit)) == (game, link)
    visit.press("#next-mistake")
    assert visit.ply == 47
    visit.press("#previous-mistake")
    visit.press("#better")
    visit.press("#keep")
    assert visit.moves[:41] == [*game[0][:40], "g4"]  # now the variation is the game
    assert _link(visit) != link


@_by_size
def test_a_game_is_played_reviewed_and_gone_on_with(open_page, port, size):
    visit = open_page(port, size=size)
    for name, value in (("game", "othello4"), ("level", "20")):
        visit.page.select_option(f"#{name}", value)  # scrolls to it
        assert visit.is_on_screen("#board")
        assert visit.is_on_screen(f"#{name}")
    visit.wait_until("document.querySelectorAll('.cell').length === 16")
    steps = visit.page.locator(".steps").bounding_box()
    visit.press(visit.cell("a1"))
    assert visit.text("#message").startswith("a1 is not legal: black may play")
    assert visit.page.locator(".steps").bounding_box() == steps  # a message moves nothing
    assert visit.is_on_screen("#message")
    while visit.wait_for_turn():
        num_moves = len(visit.moves)
        visit.press(visit.cell(visit.legal[-1]))
        visit.wait_until(
            f"document.querySelectorAll('#moves button').length > {num_moves + 1} || {IS_OVER}"
        )
    played = visit.moves
    assert visit.text("#status").startswith(visit.text("#headline"))
    discs = [visit.board.count(disc) for disc in "XO"]
    assert [int(visit.text(f"#{colour} .count")) for colour in ("black", "white")] == discs
    visit.press("#analyse")
    visit.wait_for_analysis()
    visit.press("#next-mistake")
    best = re.search(r"Better was (\S+) ", visit.text("#lesson"))[1]
    link, game = _link(visit), _game(visit)
    visit.press("#retry")
    visit.press(visit.cell(best))
    visit.wait_for("#message", "Better: ")
    assert (visit.moves, _game(visit), _link(visit)) == (played, game, link)
    visit.press("#to-game")
    visit.press("#last")
    visit.press("#undo")  # a game that is over stays as it is
    other = [move for move in visit.legal if move != visit.moves[visit.ply]]
    if other:
        visit.press(visit.cell(other[0]))
        visit.wait_until("document.querySelectorAll('#moves > li.variation').length >= 2")
    assert (_game(visit), _link(visit)) == (game, link)
    visit.press("#new")
    visit.wait_for_moves(0)
    assert visit.wait_for_turn()


@pytest.mark.parametrize("size", ["notebook"])
def test_keys_step_through_the_game_and_its_mistakes(review):
    visit, keyboard = review, review.page.keyboard
    plies = [int(ply) for ply, *_ in visit.mistakes]
    keyboard.press("Home")
    reached = []
    for _ in plies:
        keyboard.press(".")
        reached.append(visit.ply)
    assert reached == plies
    keyboard.press(".")
    assert visit.text("#message") == "No later mistake"
    for ply in reversed(plies[:-1]):
        keyboard.press(",")
        assert visit.ply == ply

    visit.press(visit.cell("a1"))  # the keys are not the square's after a click
    visit.press(visit.cell("a1"))
    for key, ply in (("ArrowRight", plies[0] + 1), ("ArrowLeft", plies[0]), ("b", plies[0])):
        keyboard.press(key)
        assert visit.ply == ply
    visit.wait_for("#status", "Instead of")
    keyboard.press("Escape")
    assert visit.ply == plies[0] - 1


@pytest.mark.parametrize("size", ["notebook"])
def test_the_summary_counts_choices_marks_and_discs_of_each_side(review):
    game = live_game.replay(olivaw.moves(8), variant.Variant(8))
    rows = [row.split("\t") for row in review.text("#sides").splitlines() if "\t" in row]
    rows = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    for colour, is_white in (("Black", False), ("White", True)):
        # A forced pass is a ply here: black moves at odd plies before and after it.
        own = [mark for mark in review.mistakes if (int(mark[0]) % 2 == 0) == is_white]
        counts = [sum(mark[1].lstrip("abcdefgh12345678") == sign for mark in own)
                  for sign in ("?!", "?", "??")]  # fmt: skip
        accuracy, _, lost, *shown = rows[colour]
        assert [int(count) for count in shown] == counts
        turns = [board for board in game.boards if board.is_black_to_move != is_white]
        choices = sum(len(game.legal_actions_at(board)) > 1 for board in turns)
        assert accuracy == f"{round(100 * (1 - sum(counts) / choices))}%"
        listed = sum(float(mark[2].lstrip("~")) for mark in own)
        assert float(lost.lstrip("~")) >= listed - 0.05 * len(own)


@pytest.mark.parametrize(
    ("size", "scheme"),
    [("notebook", "light"), ("notebook", "dark"), ("phone", "dark"), ("aside", "light")],
)
def test_axe_finds_nothing_serious(open_page, port, analysed, size, scheme):
    context = {"storage_state": analysed, "color_scheme": scheme}
    visit = open_page(port, size=size, **context)
    visit.press(visit.cell("f5"))
    visit.wait_for_moves(2)
    assert visit.wait_for_turn()
    visit.page.keyboard.press("l")
    visit.page.wait_for_selector("#board .arrow", state="attached")
    visit.press(visit.cell("a1"))
    assert visit.page.is_visible("#message")
    assert visit.serious_findings() == [], "during a game"
    visit.page.keyboard.press("l")
    visit.press("#games")
    assert visit.serious_findings() == [], "stored games"
    visit.press("#games-list button:has-text('OLIVAW')")
    visit.wait_for_moves(59)
    visit.press("#next-mistake")
    assert visit.page.is_visible("#lesson")
    assert visit.serious_findings() == [], "a mistake"
    visit.press("#better")
    visit.press("#detailed")
    visit.wait_for("#status", "Instead of")
    assert visit.serious_findings() == [], "a variation, with details"
    for key in "?o" if size == "notebook" else "":
        visit.page.keyboard.press(key)
        assert visit.serious_findings() == [], f"dialog {key}"
        visit.page.keyboard.press("Escape")
