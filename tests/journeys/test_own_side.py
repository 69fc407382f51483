"""A player's own games on the page: result, end, rematch, list, and what fits on the screen."""

import re

import pytest
from support.drivers.web_visit import IS_OVER

_by_size = pytest.mark.parametrize("size", ["notebook", "wide", "phone", "aside"])
_LAST_SHOWN = "document.getElementById('lines-place').getBoundingClientRect().bottom"
_IS_AZOS_ANSWER = "/^Your move/.test(document.getElementById('status').textContent)"


def _play(visit, number):
    """Plays some moves, with azo's answers."""
    for count in range(1, number + 1):
        assert visit.wait_for_turn()
        visit.press(visit.page.locator(".cell.legal").first)
        visit.wait_for_moves(2 * count)
    assert visit.wait_for_turn()


@_by_size
def test_a_game_is_told_from_the_players_own_side(open_page, port, size):
    visit = open_page(port, size=size)
    _play(visit, 4)
    visit.press("#hint")
    visit.wait_until("document.getElementById('people').textContent !== ''")
    assert re.fullmatch(r"You are (ahead|behind) by about \d+|Even", visit.text("#headline"))
    said = re.fullmatch(r"Players rated 1800 win about (\d+)% from here", visit.text("#people"))
    assert 20 <= int(said[1]) <= 80  # eight plies decide nothing between people
    visit.page.select_option("#level", "human:2200")
    assert "Players rated 2200 win about " in visit.text("#people")
    visit.page.select_option("#human", "both")
    assert re.fullmatch(r"(Black|White) about (\+\d+|0)", visit.text("#headline"))
    assert visit.text("#people").endswith(("as black", "as white"))


@_by_size
def test_a_game_ends_with_the_result_and_a_rematch(open_page, port, size):
    visit = open_page(port, size=size)
    visit.page.select_option("#game", "othello4")
    visit.wait_until("document.querySelectorAll('.cell').length === 16")
    while visit.wait_for_turn():
        number = len(visit.moves)
        assert not visit.page.is_visible("#rematch")
        visit.press(visit.page.locator(".cell.legal").first)
        visit.wait_until(
            f"document.querySelectorAll('#moves button').length > {number + 1} || {IS_OVER}"
        )
    black, white = (visit.board.count(disc) for disc in "XO")
    empty = 16 - black - white
    margin = black - white + (empty if black > white else -empty if white > black else 0)
    word = "A draw" if margin == 0 else f"You {'win' if margin > 0 else 'lose'} by {abs(margin)}"
    assert visit.text("#status").startswith(f"{word}: ")
    assert visit.text("#headline").startswith(f"{word}: ")
    visit.press("#rematch")
    visit.wait_until("document.querySelectorAll('#moves > li > button').length <= 1")
    assert visit.wait_for_turn()
    assert visit.page.input_value("#human") == "white"
    assert visit.text("#white .who") == "You"
    assert len(visit.moves) == 1  # azo has begun
    visit.press("#games")
    listed = visit.page.locator("#games-list li button").first.inner_text()
    assert listed.startswith("You (black) against azo, level 3 beginner, othello4, ")
    assert word in listed


def test_a_game_of_the_list_goes_on_with_its_side_and_level(open_page, port):
    visit = open_page(port)
    visit.page.select_option("#level", "human:1600")
    _play(visit, 2)
    moves = visit.moves
    visit.press("#new")
    visit.page.select_option("#level", "5")
    visit.page.select_option("#human", "white")
    assert visit.wait_for_turn()
    visit.press(visit.page.locator(".cell.legal").first)
    assert visit.wait_for_turn()
    visit.press("#games")
    item = visit.page.locator("#games-list li button").first
    title = "You (black) against azo, like players rated 1600, othello8"
    assert item.inner_text().startswith(title)
    visit.press(item)
    visit.wait_for_moves(4)
    assert visit.moves == moves
    assert visit.page.input_value("#level") == "human:1600"
    assert visit.page.input_value("#human") == "black"
    visit.press("#games")
    item = visit.page.locator("#games-list li button").first
    assert item.inner_text().startswith("You (white) against azo, level 5 novice, othello8")


@pytest.mark.parametrize("is_variation", [False, True])
def test_a_player_resigns_after_an_undo(open_page, port, is_variation):
    visit = open_page(port)
    _play(visit, 3)
    moves = visit.moves
    if is_variation:
        visit.press("#back")
        visit.press("#back")
        other = next(move for move in visit.legal if move != moves[4])
        visit.press(visit.cell(other))
        assert visit.wait_for_turn()
    else:
        visit.press("#undo")
    ply = visit.ply
    visit.press("#resign")
    assert (visit.ply, visit.text("#status")) == (ply, "You resigned: white wins")
    assert not visit.page.is_visible("#resign")
    assert len(visit.moves) == (6 if is_variation else 4)
    visit.page.reload()
    visit.wait_for("#status", "You resigned: white wins")
    visit.press("#undo")
    visit.wait_until(_IS_AZOS_ANSWER)
    visit.wait_for_moves(6)
    assert visit.ply == ply
    visit.press(visit.page.locator(".cell.legal").first)
    assert visit.wait_for_turn()


@_by_size
def test_dialogs_open_at_their_top(open_page, port, size):
    visit = open_page(port, size=size)
    for button, dialog in (
        ("help", "help"),
        ("games", "games"),
        ("open", "open"),
        ("edit", "edit"),
    ):
        visit.page.click(f"#{button}")
        assert visit.page.evaluate(f"document.getElementById('{dialog}-dialog').scrollTop") == 0
        assert visit.is_on_screen(f"#{dialog}-dialog h2 >> nth=0")
        visit.page.keyboard.press("Escape")


def test_levels_like_people_are_offered_only_where_people_are_known(open_page, port):
    visit = open_page(port)
    group = "document.querySelector('#level optgroup').hidden"
    assert not visit.page.evaluate(group)
    visit.page.select_option("#level", "human:1800")
    visit.page.select_option("#game", "othello4")
    visit.wait_until("document.querySelectorAll('.cell').length === 16")
    assert visit.page.evaluate(group)
    assert visit.page.input_value("#level") == "3"
    visit.press(visit.page.locator(".cell.legal").first)
    assert visit.wait_for_turn()
    visit.page.select_option("#game", "othello8")
    visit.wait_until("document.querySelectorAll('.cell').length === 64")
    assert not visit.page.evaluate(group)


@pytest.mark.parametrize("size", ["notebook", "wide"])
def test_a_mistake_its_text_and_five_moves_are_in_sight(review):
    visit = review
    for button in visit.page.locator("#mistakes button").all():
        visit.press(button)
        visit.page.locator("#reasons li").first.wait_for()
        for selector in ("#board", "#lesson"):
            assert visit.is_on_screen(selector)
        rows = visit.page.locator("#lines tbody tr")
        shown = visit.page.evaluate(_LAST_SHOWN)
        for row in range(min(5, rows.count())):
            assert visit.is_on_screen(rows.nth(row)), row
            box = rows.nth(row).bounding_box()
            assert box["y"] + box["height"] <= shown + 1, row
        assert visit.is_on_screen("#analyse")
        assert not visit.page.is_visible("#why")


@pytest.mark.parametrize("size", ["phone", "aside"])
def test_a_phone_goes_to_the_reasons(review):
    visit = review
    visit.press(visit.page.locator("#mistakes button", has_text="41 h7"))
    visit.wait_for("#reasons", "White plays g4, which Black missed.")
    visit.press("#why")
    assert visit.is_on_screen("#reasons li >> nth=0")
    assert visit.is_on_screen("#lesson")
    visit.press("#next-mistake")
    visit.press("#first")
    assert not visit.page.is_visible("#why")


@pytest.mark.parametrize("size", ["notebook"])
def test_a_retry_goes_on_against_azo_also_after_a_look_at_what_was_better(review):
    visit = review
    visit.press(visit.page.locator("#mistakes button", has_text="41 h7"))
    visit.press("#better")
    visit.press("#better")  # and back
    visit.press("#retry")
    visit.press(visit.cell("g4"))
    visit.wait_for("#message", "Better: g4 loses nothing; h7 lost 14")
    assert visit.ply == 42  # with the answer
    better = visit.variations[0][2]  # the next move of the better line
    for _ in range(2):
        assert visit.wait_for_turn()
        ply = visit.ply
        visit.press(visit.cell([move for move in visit.legal if move != better][-1]))
        visit.wait_until(
            f"+document.getElementById('graph').getAttribute('aria-valuenow') >= {ply + 2}"
        )
