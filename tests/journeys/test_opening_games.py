"""A reader opens games of files and links, and sets up a position, in a browser."""

import pytest
from support.builders import wthor_files
from support.drivers.web_server import makers, running
from support.drivers.web_visit import SIZES, Visit
from support.references import dialects

from azo.formats import ggf
from azo.games import othello, variant
from azo.web import messages

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

_DROP = """(files) => {
  const dataTransfer = new DataTransfer();
  for (const {name, type, bytes} of files) {
    dataTransfer.items.add(new File([new Uint8Array(bytes)], name, {type}));
  }
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer, bubbles: true}));
}"""


_PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true}));
}"""


@pytest.fixture(scope="module")
def port():
    with running(makers(othello.Othello(), othello.Othello(4))) as port:
        yield port


def _drop(visit, files, kind=""):
    dropped = [{"name": name, "type": kind, "bytes": list(files[name])} for name in files]
    visit.page.evaluate(_DROP, dropped)


def _players(visit):
    return visit.text("#black .who"), visit.text("#white .who")


def test_a_game_of_an_archive_is_chosen_by_name_and_kept_with_its_players(open_page, port):
    visit = open_page(port)
    start = ggf.usual_start(variant.Variant())
    games = [ggf.GgfGame(8, start, (37, 43, 18), "Ann", f"Żoé {n}") for n in range(300)]
    games.append(ggf.GgfGame(8, start, (19, 18), "Zoé", "Bob", black_score=-16))
    files = wthor_files.write(games)
    _drop(visit, {"WTH.wtb": files["wtb"]})
    visit.wait_for("#choose-title", "301 games in WTH.wtb; also open WTH.JOU for the names")
    visit.page.keyboard.press("Escape")
    assert visit.moves == []  # nothing was chosen
    _drop(visit, {"WTH.wtb": files["wtb"], "WTH.JOU": files["JOU"]})
    visit.page.wait_for_selector("dialog[open] #choose-list")
    visit.page.keyboard.type("zoé bob")
    assert visit.page.locator("#choose-list button").all_inner_texts() == [
        "301. Zoé – Bob, 24-40, d3 c3 …"
    ]
    visit.page.keyboard.press("Enter")
    visit.wait_for_moves(2)
    visit.wait_for("#message", "Game 301 of 301 in WTH.wtb")
    assert _players(visit) == ("Zoé", "Bob")
    visit.page.reload()
    visit.wait_for_moves(2)
    assert _players(visit) == ("Zoé", "Bob")
    with visit.page.expect_download() as download:
        visit.page.click("#save-ggf")
    saved = ggf.parse(download.value.path().read_text())
    assert (saved.black, saved.white) == ("Zoé", "Bob")
    visit.page.select_option("#human", "black")
    assert _players(visit)[0] == "You"


def test_sgf_and_pgn_files_open_and_other_files_say_why_not(open_page, port):
    visit = open_page(port)
    sgf = "(;GM[2]SZ[8]PB[Müller]PW[bob];B[f5];W[d6];B[a1];W[c3])"
    _drop(visit, {"game.sgf": sgf.encode("latin-1")})
    visit.wait_for("#message", "Stopped at move 3: illegal move a1: black may play c3 c4 c5")
    assert (visit.moves, _players(visit)) == (["f5", "d6"], ("Müller", "bob"))
    _drop(visit, {"two.pgn": b'[Black "x"]\r\n1. f5 f6 1-0\r\n\r\n[Black "y"]\r\n1. d3 c3 *\r\n'})
    visit.page.get_by_role("button", name="2. y - ?, d3 c3").click()
    visit.wait_for("#message", "Game 2 of 2")
    assert (visit.moves, _players(visit)) == (["d3", "c3"], ("y", "White"))
    for files, kind, message in [
        (
            {"board.png": b"\x89PNG\r\n\x1a\n\0\0"},
            "image/png",
            "board.png is a picture, not a game",
        ),
        ({"a.pdf": b"%PDF\0\1"}, "", "a.pdf is not a game: azo reads transcripts, GGF, SGF"),
        ({"cut.wtb": bytes(9)}, "", "cut.wtb is damaged: the header is cut short"),
        ({"cut.wtb": bytes(100)}, "", "cut.wtb is damaged: game 1: no moves; the header says"),
    ]:
        _drop(visit, files, kind)
        visit.wait_for("#message", message)
    assert visit.moves == ["d3", "c3"]
    visit.forgive_refusals()
    num_games = messages.MAX_FILE_TEXT // 7
    _drop(visit, {"many.txt": b"f5d6c3\nf5f6e6\n" * num_games})
    visit.wait_for("#choose-title", f"{num_games} games in the beginning of many.txt")
    assert not visit.serious_findings()


def test_dropped_files_in_any_encoding_and_packing_open(open_page, port):
    visit = open_page(port)
    for name, content in dialects.CONTENTS.items():
        visit.page.evaluate(_PASTE, "d3c3")
        visit.wait_for_moves(2)
        _drop(visit, {name: content})
        visit.wait_for_moves(5)
        assert "".join(visit.moves) == dialects.MOVES, name
    visit.forgive_refusals()


def test_pasted_dialects_and_boards_open(open_page, port):
    visit = open_page(port)
    names = ("numbers and dots", "result of Go", "SGF in words", "Othello Quest", "GGF with times")
    for name in names:
        visit.page.evaluate(_PASTE, "d3c3")
        visit.wait_for_moves(2)
        visit.page.evaluate(_PASTE, dialects.TEXTS[name])
        visit.wait_for_moves(5)
        assert "".join(visit.moves) == dialects.MOVES, name
    visit.page.evaluate(_PASTE, dialects.BOARDS["GGS"])
    visit.wait_until("document.querySelectorAll('.cell.legal').length > 0")
    visit.wait_for_moves(0)
    assert "".join(visit.board) == dialects.BOARD
    visit.forgive_refusals()


def test_a_collection_opens_without_the_games_that_cannot_be_read(open_page, port):
    visit = open_page(port)
    ten = "10 " + "-" * 100 + " *"
    ggf_text = dialects.TEXTS["GGF"]
    bad = ggf_text.replace(f"8 {dialects.START} *", ten)
    _drop(visit, {"two.ggf": (ggf_text + bad).encode()})
    visit.wait_for("#message", "Left out: game 2: GGF: a 10x10 board; azo plays 4x4, 6x6 and 8x8")
    assert "".join(visit.moves) == dialects.MOVES
    _drop(visit, {"three.sgf": b"(;GM[1];B[pd])(;GM[2];B[f5])(;GM[2];B[d3];W[c3])"})
    visit.wait_for("#choose-title", "2 games in three.sgf; left out: game 1: SGF: the game is Go")
    visit.page.keyboard.type("d3 c3")
    visit.page.keyboard.press("Enter")
    visit.wait_for("#message", "Game 3 of 3")
    assert visit.moves == ["d3", "c3"]
    records = [wthor_files.record(["f5", "d6"], 32), wthor_files.record(["d3"], 32)]
    archive = bytearray(wthor_files.archive(records))
    archive[16 + 8] = 99
    _drop(visit, {"one.wtb": bytes(archive)})
    visit.wait_for("#message", "Left out: game 1: byte 99 is not a square")
    assert visit.moves == ["d3"]
    visit.forgive_refusals()


def test_links_say_who_can_open_them_and_damaged_ones_are_explained(browser, port):
    visit = Visit(browser, port, "#%zz")
    visit.wait_for("#message", "is not a link to a game of azo web")
    assert visit.wait_for_turn()
    visit.page.evaluate("location.hash = '#othello8:f5d6a1'")
    visit.wait_for("#message", "Stopped at move 3: illegal move a1")
    assert visit.moves == ["f5", "d6"]
    visit.page.evaluate("location.hash = '#othello10:f5'")
    visit.wait_for("#message", "is not a link to a game of azo web")
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.page.click("#link")
    visit.wait_for("#message", "The link works only on this machine: start azo web with --host")
    visit.forgive_refusals()
    visit.end()
    address = "http://192.0.2.7:8000"
    with running(makers(othello.Othello()), address=address) as shared_port:
        visit = Visit(browser, shared_port, "#f5")
        visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
        visit.page.click("#link")
        visit.wait_for("#message", "Copied")
        assert visit.page.evaluate("navigator.clipboard.readText()") == f"{address}/#f5"
        visit.end()


@pytest.mark.parametrize("size", SIZES)
def test_a_position_is_set_up_by_clicks_and_keys_and_played_on(open_page, port, size):
    width, height = SIZES[size]
    scheme = "dark" if height < 800 else "light"
    visit = open_page(port, "#f5d6", size=size, color_scheme=scheme)
    visit.wait_for_moves(2)
    shown = visit.board
    visit.page.keyboard.press("e")
    assert visit.board == [*shown, *shown]  # also in the editor
    for selector in ("#edit-board", "#edit-use", "#edit-swap"):
        box = visit.page.locator(selector).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height
        assert box["x"] + box["width"] <= width
    assert not [found for found in visit.serious_findings() if "edit-" in found[1]]

    visit.page.click("#edit-empty")
    visit.page.click("#edit-use")
    visit.wait_for("#edit-error", "Neither side has a move in this position")
    visit.page.locator("#edit-board [data-square=a2]").click()  # black
    visit.page.keyboard.press("Enter")  # and empty again
    visit.page.keyboard.press("ArrowUp")
    visit.page.keyboard.type("xox-")
    assert visit.text("#edit-count") == "2 black, 1 white, 61 empty"
    visit.page.keyboard.press("Backspace")
    visit.page.keyboard.press("Delete")
    visit.page.keyboard.press("Backspace")
    assert visit.text("#edit-count") == "1 black, 1 white, 62 empty"
    visit.page.click("#edit-mirror")
    visit.page.click("#edit-turn")
    visit.page.click("#edit-swap")
    visit.page.locator("#edit-mover").get_by_text("White").click()
    visit.page.click("#edit-use")
    visit.wait_until("document.querySelectorAll('.cell.legal').length === 1")
    # a1 black and b1 white: mirrored to h1 and g1, turned to h8 and h7, colours swapped
    assert "".join(visit.board) == "-" * 55 + "X" + "-" * 7 + "O"
    assert visit.legal == ["h6"]
    visit.cell("h6").click()
    visit.wait_for("#status", "64-0 to white")
    visit.page.reload()
    visit.wait_for_moves(1)
    assert visit.moves == ["h6"]
