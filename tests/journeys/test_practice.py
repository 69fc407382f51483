"""Practice on the page, and opponents like people, as people use them, at three sizes."""

import datetime
import functools
import http.server
import json
import re
import threading

import fsrs
import pytest
from support.builders import bad_cards
from support.drivers.web_visit import STATUS

from azo.cli import web
from azo.coach import deck
from azo.games import notation

_MONDAY = datetime.datetime(2026, 3, 2, 9)
_REVIEWS = [
    (3, 0),
    (3, 2),
    (1, 11),
    (3, 0),
    (3, 1),
    (3, 5),
    (1, 0),
    (1, 400),
]  # grade, days since the last
_by_size = pytest.mark.parametrize("size", ["notebook", "phone", "aside"])


def _begin(visit, days=0, minutes=0):
    visit.page.clock.set_fixed_time(_MONDAY + datetime.timedelta(days=days, minutes=minutes))
    visit.press("#games")
    number = int(visit.text("#practise").split("(")[1].split()[0])
    visit.press("#practise")
    if number:
        visit.wait_for("#status", f"({number} due)")
    return number


def _cards(visit):
    """Cards in the order of their questions."""
    cards = json.loads(visit.page.evaluate("localStorage.getItem('azo-deck')"))
    return sorted(cards, key=lambda card: card["memory"]["due"] if card["memory"] else 0)


def _best(visit):
    """The best move of the position on the board."""
    script = "document.querySelectorAll('.cell').length"
    assert visit.page.evaluate(script) == 64
    mover = visit.text("#status").split(":")[0].lower()
    boards = {_board(card): card["best"] for card in _cards(visit) if card["mover"] == mover}
    return boards["".join(visit.board)]


def _board(card):
    return notation.board_text(deck.Card.model_validate_json(json.dumps(card)).position.board, 8)[
        :64
    ]


def _answer(visit, square):
    assert visit.text("#status").endswith("due)")
    assert visit.page.text_content("#headline") == "Not searched yet"
    visit.press(visit.cell(square))
    visit.wait_for("#go-on", "Next position")
    return visit.text("#status")


def _solve_all(visit, number):
    """Finds the best move of each position that is due; returns what is said."""
    said = []
    for _ in range(number):
        visit.wait_for("#go-on", "Show answer")
        best = _best(visit)
        said.append(_answer(visit, best))
        assert said[-1].startswith(f"Solved: {best}; ")
        visit.press("#go-on")
    visit.wait_for("#message", "right on the first try")
    return [text.split("; ")[1] for text in said]


@_by_size
def test_mistakes_are_practised_for_a_week(review):
    visit = review
    number = len(visit.mistakes)
    visit.press("#keep-mistakes")
    visit.wait_for("#message", f"{number} positions to practise under “Games”")
    visit.press("#keep-mistakes")
    visit.wait_for("#message", f"0 positions to practise under “Games”, {number} were saved before")

    assert _begin(visit) == number
    visit.page.keyboard.press("h")
    assert visit.text("#message").startswith("Find the move first")
    losses = _cards(visit)[0]["losses"]
    wrong = max(losses, key=losses.get)
    best = min(losses, key=losses.get)
    said = re.fullmatch(
        rf"{wrong} loses (\d+) discs: {best} is best; again in this round", _answer(visit, wrong)
    )
    assert int(said[1]) > 3
    visit.press("#go-on")
    visit.wait_for("#go-on", "Show answer")
    assert visit.text("#status").endswith(f"({number} due)")  # asked again after the others
    visit.press("#go-on")
    visit.wait_until(f"{STATUS}.startsWith('The best move is ')")
    visit.page.reload()  # shows the game again
    visit.wait_for_moves(59)

    assert _begin(visit, minutes=1) == number - 2
    assert _solve_all(visit, number - 2) == ["again in 2 days"] * (number - 2)
    assert visit.text("#message").startswith(f"Well done: {number - 2} of {number - 2} right")
    assert len(visit.moves) == 59
    assert _begin(visit, minutes=15) == 2
    assert _solve_all(visit, 2) == ["again in 1 day"] * 2
    assert _begin(visit, days=1, minutes=20) == 2
    assert _solve_all(visit, 2) == ["again in 2 days"] * 2
    assert _begin(visit, days=2) == 0
    assert visit.text("#message") == "Nothing is due: the next position is due within a day"
    assert _begin(visit, days=5) == number
    visit.press("#stop-practice")
    visit.wait_for_moves(59)
    assert visit.page.is_visible("#undo")


def test_what_was_not_solved_is_asked_again_until_it_is(open_page, port):
    visit = open_page(port)
    visit.page.clock.set_fixed_time(_MONDAY)
    visit.press("#games")
    visit.press("#add-endings")
    visit.press("#practise")
    visit.wait_for("#status", "(10 due)")
    failed, seen = [], []
    for number in range(13):  # the first three fail
        visit.wait_for("#go-on", "Show answer")
        best = _best(visit)
        seen.append("".join(visit.board))
        assert f"({10 if number < 3 else 13 - number} due)" in visit.text("#status")
        if number < 3:
            failed.append(seen[-1])
            visit.press("#go-on")
            visit.wait_until(f"{STATUS}.includes('again in this round')")
        else:
            assert _answer(visit, best).startswith(f"Solved: {best}; again in")
        visit.press("#go-on")
    assert seen[-3:] == failed
    assert visit.text("#message").startswith("7 of 10 right on the first try: the next position")
    assert "Well done" not in visit.text("#message")

    visit.page.clock.set_fixed_time(_MONDAY + datetime.timedelta(days=9))
    visit.press("#games")
    visit.press("#practise")
    visit.wait_for("#go-on", "Show answer")
    visit.press("#go-on")
    visit.wait_until(f"{STATUS}.includes('again in this round')")
    visit.press("#stop-practice")
    said = "0 of 1 right on the first try; 1 position to be asked again in ten minutes"
    assert visit.text("#message") == said


def _load(visit, tmp_path, text):
    (tmp_path / "theirs.json").write_text(text)
    visit.page.evaluate("document.getElementById('message').hidden = true")  # an earlier one
    visit.page.set_input_files("#deck-file", tmp_path / "theirs.json")
    visit.wait_until("!document.getElementById('message').hidden")
    return visit.text("#message")


def test_bad_cards_of_a_deck_are_named_and_refused(open_page, port, tmp_path):
    visit = open_page(port)
    visit.page.clock.set_fixed_time(datetime.datetime.fromtimestamp(bad_cards.NEWEST / 1000))
    assert _load(visit, tmp_path, json.dumps([bad_cards.CARD])) == "1 position loaded"
    stored = "localStorage.getItem('azo-deck')"
    before = visit.page.evaluate(stored)
    for name, text in bad_cards.BAD.items():
        said = _load(visit, tmp_path, f"[{text}]")
        assert said.startswith("0 positions loaded; refused card 1: "), name
        assert visit.page.evaluate(stored) == before, name
    for name, text in bad_cards.NO_DECKS.items():
        assert _load(visit, tmp_path, text).startswith("theirs.json is not a deck ("), name
        assert visit.page.evaluate(stored) == before, name
    for name, text in bad_cards.ODD_BUT_SOUND.items():
        assert _load(visit, tmp_path, f"[{text}]") == "1 position loaded", name
    everything = [*bad_cards.BAD.values(), json.dumps(bad_cards.OTHER)]
    said = _load(visit, tmp_path, f"[{', '.join(everything)}]")
    assert said.startswith("1 position loaded; refused card 1: losses.f4 is Infinity; card 2: ")
    assert said.endswith(f" and {len(bad_cards.BAD) - 3} more")
    assert [card["best"] for card in _cards(visit)] == ["d6", "d6", "c3"]
    visit.press("#games")
    with visit.page.expect_download() as download:
        visit.page.click("#save-deck")
    download.value.save_as(tmp_path / "deck.json")
    assert len(deck.read(tmp_path / "deck.json")) == 3  # as the terminal reads it


def test_a_damaged_deck_of_the_page_is_kept_aside_and_its_sound_cards_stay(open_page, port):
    visit = open_page(port)
    sound = json.dumps(bad_cards.CARD)
    damaged = [
        *(f"[{sound}, {text}]" for text in bad_cards.BAD.values() if "4000000000000" not in text),
        f"[{sound}, {{",
        f"[{sound}, {sound[:-30]}",
    ]
    for number, text in enumerate(damaged, start=1):
        visit.page.evaluate("(text) => localStorage.setItem('azo-deck', text)", text)
        visit.page.reload()
        visit.wait_for("#message", "The deck was damaged: ")
        name = "azo-deck.damaged" if number == 1 else f"azo-deck.damaged-{number}"
        said = visit.text("#message")
        assert said.endswith(f"saved in this browser as “{name}”; 1 undamaged position is kept")
        assert visit.page.evaluate("(name) => localStorage.getItem(name)", name) == text
        assert [card["best"] for card in _cards(visit)] == ["d6"]
    visit.page.reload()
    assert not visit.page.is_visible("#message")
    visit.press("#games")
    visit.wait_for("#practise", "(1 due)")


def test_two_tabs_lose_no_card_and_the_latest_review_counts(open_page, port):
    visit = open_page(port)
    other = visit.context.new_page()
    other.goto(visit.address)
    script = """async ([from, to]) => {
      const deck = await import("/static/deck.js");
      const game = { game: "othello8", start: null, best: "d6", mover: "white" };
      for (let number = from; number < to; number++) {
        const signs = Array.from({ length: 8 }, (_, at) => "XO-"[Math.floor(number / 3 ** at) % 3]);
        const start = `${signs.join("")}-------------------OX------XO--------------------------- X`;
        await deck.add([{ ...game, start, moves: ["f5"], losses: { d6: 0 }, isEnding: false }]);
        await deck.keepReview(deck.cards()[0], true, 1e12 + number);
      }
    }"""
    for page, part in ((visit.page, [0, 100]), (other, [100, 200])):
        page.evaluate(f"(part) => {{ globalThis.done = ({script})(part); }}", part)
    for page in (visit.page, other):
        page.evaluate("globalThis.done")
    # The copy of a tab gets the last changes of the other one a little later.
    visit.page.wait_for_function("JSON.parse(localStorage.getItem('azo-deck')).length === 200")


def test_times_of_practice_are_those_of_fsrs(open_page, port):
    script = """async (reviews) => {
      const { review } = await import("/static/deck.js");
      let [memory, now, found] = [null, 0, []];
      for (const [grade, days] of reviews) {
        now += days * 24 * 60 * 60 * 1000;
        memory = review(memory, grade === 3, now);
        found.push([memory.stability, memory.difficulty]);
      }
      return found;
    }"""
    found = open_page(port).page.evaluate(script, [list(one) for one in _REVIEWS])
    scheduler = fsrs.Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    card, now = fsrs.Card(), datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
    for (grade, days), memory in zip(_REVIEWS, found, strict=True):
        now += datetime.timedelta(days=days)
        card, _ = scheduler.review_card(card, fsrs.Rating(grade), now)
        assert memory == pytest.approx([card.stability, card.difficulty], rel=1e-9)


@_by_size
def test_an_ending_is_solved_and_played_out_against_azo(open_page, port, size):
    visit = open_page(port, size=size)
    visit.press("#games")
    visit.press("#add-endings")
    visit.wait_for("#practise", "10 due")
    visit.press("#practise")
    visit.wait_for("#status", "find the only winning move (10 due)")
    best = _best(visit)
    assert _answer(visit, best).startswith(f"Solved: {best}; again in 2 days")
    visit.press("#play-out")
    visit.press(visit.cell(best))
    while visit.wait_for_turn():
        visit.press(visit.page.locator(".cell.legal").first)
    assert visit.page.is_visible("#undo")


def test_an_opponent_like_people_is_chosen_and_kept(open_page, port):
    visit = open_page(port)
    visit.page.select_option("#level", "human:1600")
    visit.press(visit.page.locator(".cell.legal").first)
    assert visit.wait_for_turn()
    assert visit.text("#white .who") == "azo, like players rated 1600"
    visit.page.reload()
    visit.wait_for_moves(2)
    assert visit.page.input_value("#level") == "human:1600"
    visit.page.select_option("#game", "othello4")  # a board without levels like people
    visit.press(visit.page.locator(".cell.legal").first)
    visit.wait_for_moves(2)
    assert visit.page.input_value("#level") == "3"  # that of the server


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "practice"
    assert web.main(["--export", str(folder)]) == 0
    return folder


@_by_size
def test_the_exported_page_is_practised_from_a_file(open_page, exported, tmp_path, size):
    visit = open_page(None, (exported / "index.html").as_uri(), size=size)
    visit.page.clock.set_fixed_time(_MONDAY)
    visit.page.reload()
    assert visit.serious_findings() == []
    best, board = _best(visit), visit.board
    visit.press(visit.cell(best))
    visit.wait_for("#go-on", "Next position")
    assert visit.text("#status") == f"Solved: {best}; again in 2 days"
    assert visit.cell(best).inner_text() == "0"
    assert visit.board == board
    visit.press("#go-on")
    assert _solve_all(visit, 19) == ["again in 2 days"] * 19
    visit.press("#games")
    with visit.page.expect_download() as download:
        visit.page.click("#save-deck")
    download.value.save_as(tmp_path / "deck.json")
    assert len(deck.read(tmp_path / "deck.json")) == 20  # as the terminal reads it
    visit.page.evaluate("localStorage.clear()")
    visit.page.set_input_files("#deck-file", tmp_path / "deck.json")
    visit.wait_for("#message", "20 positions loaded")
    assert all(card["memory"] for card in _cards(visit))


def test_the_exported_page_works_without_a_network(open_page, exported):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=exported)
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        visit = open_page(served.server_port)
        assert visit.page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        served.shutdown()
    visit.page.reload()
    visit.wait_for("#status", "find the best move (20 due)")


@_by_size
def test_the_moves_of_a_game_are_guessed(review):
    visit, moves = review, review.moves
    for side in visit.page.locator("#sides tbody tr").all():
        assert re.search(r"\d{4} ± \d+|≥ \d{4}", side.inner_text())
    asks_or_ends = (
        rf"/^Move \d+: /.test({STATUS}) || !document.getElementById('go-on').checkVisibility()"
    )
    visit.press("#guess")
    visit.wait_until(rf"/^Move \d+: /.test({STATUS})")
    while visit.page.is_visible("#go-on"):
        ply = int(re.match(r"Move (\d+): ", visit.text("#status"))[1])
        assert len(visit.moves) == ply - 1  # what comes is hidden
        assert visit.text("#headline") == "Not searched yet"
        visit.press(visit.cell(moves[ply - 1]))
        visit.wait_for("#status", ", as in the game, loses ")
        assert visit.text("#status").startswith(f"{moves[ply - 1]}, as in the game, loses ")
        visit.press("#go-on")
        visit.wait_until(asks_or_ends)
    said = re.fullmatch(
        r"Your (\d+) moves lost (\d+) discs; those of the game lost (\d+)"
        r"\. You guess like players rated (\d{4} ± \d+|≥ \d{4})",
        visit.text("#message"),
    )
    assert int(said[1]) > 45
    assert said[2] == said[3]
    assert visit.moves == moves
