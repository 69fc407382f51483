"""Lessons from a published game, with the network that comes with azo, and accessibility."""

import pathlib
import time

import pytest
from support.web_server import running
from support.web_visit import Visit

from azo.cli import web
from azo.play import engine_factory
from azo.play.web import sessions

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

_FILE = pathlib.Path(__file__).parents[1] / "data" / "olivaw_game08.txt"
_SIZES = [(1280, 800), (1366, 768), (390, 844), (844, 390)]


@pytest.fixture(scope="module")
def port():
    # On a loaded machine the first solved position takes more than the usual time.
    engine = web.WebConfig().engine.model_copy(update={"solve_seconds": 60.0})
    makers = engine_factory.engines(web.WebConfig(engine=engine))
    engine_factory.warm_up(next(iter(makers.values()))())
    offered = {game.name: sessions.Offer(game, "azo's own", make) for game, make in makers.items()}
    with running(offered, level=3) as port:
        yield port


@pytest.fixture(scope="module")
def lesson(browser, port, request):
    """The page after the analysis of game 8, and the seconds that it took."""
    visit = Visit(browser, port, viewport={"width": 1280, "height": 800})
    begin = time.perf_counter()
    visit.open_game(_FILE.read_text())
    visit.wait_for_moves(59)
    visit.wait_for_analysis()
    visit.seconds = time.perf_counter() - begin
    yield visit
    visit.end()


def _marks(visit):
    return [text.split() for text in visit.page.locator("#mistakes button").all_inner_texts()]


def test_the_three_endgame_mistakes_are_marked_and_listed(lesson, capsys):
    with capsys.disabled():
        print(f" [60 positions analysed in {lesson.seconds:.1f} s]")
    buttons = lesson.page.locator("#moves > li > button")
    shown = {ply: buttons.nth(ply - 1).inner_text().split()[-1] for ply in (41, 47, 56)}
    assert shown == {41: "h7??", 47: "b7?", 56: "g1??"}
    assert [mark for mark in _marks(lesson) if "~" not in mark[2]] == [
        ["41", "h7??", "14"],
        ["47", "b7?", "4"],
        ["56", "g1??", "24"],
    ]
    assert lesson.text("#status") == "37-27 to white, 2 empty squares included"
    assert lesson.page.locator("#graph .mistake").count() == len(_marks(lesson))


def test_each_mistake_is_one_key_away(lesson):
    plies = [int(ply) for ply, *_ in _marks(lesson)]
    assert {41, 47, 56} <= set(plies)
    lesson.page.keyboard.press("Home")
    forward = []
    for _ in plies:
        lesson.page.keyboard.press(".")
        forward.append(lesson.ply)
        moves, here = (
            lesson.page.locator(selector).bounding_box()
            for selector in ("#moves", "#moves [aria-current]")
        )
        assert moves["y"] <= here["y"] <= moves["y"] + moves["height"] - here["height"]
    assert forward == plies
    lesson.page.keyboard.press(".")
    assert lesson.text("#message") == "No later mistake"
    backward = [lesson.ply]
    for _ in plies[1:]:
        lesson.page.keyboard.press(",")
        backward.append(lesson.ply)
    assert backward == plies[::-1]
    lesson.page.locator("#mistakes button", has_text="47 b7").click()
    assert lesson.ply == 47


def test_the_summary_counts_choices_marks_and_discs_of_each_side(lesson):
    rows = [row.split("\t") for row in lesson.text("#sides").splitlines() if "\t" in row]
    rows = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    for colour, is_white in (("Black", False), ("White", True)):
        # A forced pass is a ply here: black moves at odd plies before and after it.
        own = [mark for mark in _marks(lesson) if (int(mark[0]) % 2 == 0) == is_white]
        counts = [sum(mark[1].lstrip("abcdefgh12345678") == sign for mark in own)
                  for sign in ("?!", "?", "??")]  # fmt: skip
        accuracy, choices, lost, *shown = rows[colour]
        assert [int(count) for count in shown] == counts
        assert accuracy == f"{round(100 * (1 - sum(counts) / int(choices)))}%"
        listed = sum(float(mark[2].lstrip("~")) for mark in own)
        assert float(lost.lstrip("~")) >= listed - 0.05 * len(own)


def test_what_was_better_is_shown_as_a_variation(lesson):
    lesson.page.locator("#mistakes button", has_text="56 g1").click()
    lesson.page.keyboard.press("b")
    lesson.page.wait_for_selector("#moves .variation")
    assert lesson.variations == [["g2", *lesson.variations[0][1:]]]
    assert len(lesson.variations[0]) > 1  # the line goes on
    assert lesson.ply == 56
    assert lesson.text("#message") == "g2 was better than g1: step on with →"
    assert lesson.text("#headline").endswith(", exact") or lesson.text("#headline") == (
        "Not searched yet"
    )
    lesson.page.keyboard.press("End")
    assert lesson.text("#status").startswith("49-15 to white")  # 34 discs, as before the mistake


def test_a_mistake_is_retried_against_azo(lesson):
    lesson.page.locator("#mistakes button", has_text="41 h7").click()
    lesson.page.keyboard.press("r")
    assert lesson.text("#message") == "Find a better move than h7"
    assert lesson.text("#headline") == "A better move than h7?"  # no answer is given away
    assert lesson.page.input_value("#human") == "black"
    lesson.cell("h7").click()
    lesson.wait_for("#message", "h7 is the move of the game: try again")
    assert lesson.ply == 40
    lesson.cell("g4").click()
    lesson.wait_for("#message", "Better: g4 loses nothing; h7 lost 14")
    lesson.wait_until("+document.getElementById('graph').getAttribute('aria-valuenow') >= 42")
    assert lesson.wait_for_turn()  # azo answered
    lesson.page.select_option("#human", "both")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", _SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_axe_finds_nothing_serious(browser, port, size, scheme):
    viewport = {"width": size[0], "height": size[1]}
    visit = Visit(browser, port, viewport=viewport, color_scheme=scheme)
    visit.page.select_option("#strength", "100")
    assert visit.wait_for_turn()
    assert visit.serious_findings() == [], "before a game"
    visit.cell("f5").click()
    visit.wait_for_moves(2)
    assert visit.wait_for_turn()
    visit.page.keyboard.press("l")
    visit.page.wait_for_selector("#board .arrow", state="attached")
    assert visit.serious_findings() == [], "during a game"
    visit.page.keyboard.press("l")
    visit.page.evaluate("location.hash = '#c4e3f6e6f5c5c3c6d3'")
    visit.wait_for_moves(9)
    visit.page.keyboard.press("a")
    visit.wait_for_analysis()
    visit.page.keyboard.press("ArrowLeft")
    assert visit.serious_findings() == [], "after an analysis"
    for key in ("?", "o", "s"):
        visit.page.keyboard.press(key)
        assert visit.serious_findings() == [], f"dialog {key}"
        visit.page.keyboard.press("Escape")
    visit.end()
