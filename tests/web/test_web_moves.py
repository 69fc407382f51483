"""Moves on the page: its own rules, and one request per click, in a real browser."""

import re
import urllib.parse

import numpy as np
import pytest
from support.drivers.web_server import makers, running
from support.drivers.web_visit import Visit

from azo.games import notation, othello
from azo.games.host import live_game

_OWN_START = othello.Othello(4, start_bits=(1 << 9 | 1 << 10, 1 << 17 | 1 << 18))  # parallel
_PLAYED = [othello.Othello(4), othello.Othello(6, is_reversed=True), othello.Othello(8)]
# The plies of games, `{start, moves}`, by the page's rules, with the final score for black.
_REPLAY = """async (games) => {
  const { firstPly, nextPly } = await import("/static/rules.js");
  const { finalScore } = await import("/static/formatting.js");
  return games.map(({ start, moves }) => {
    const plies = [firstPly(start)];
    for (const move of moves) plies.push(nextPly(plies.at(-1), move));
    return { plies, score: finalScore(plies.at(-1).board) };
  });
}"""
# Clicks a square, and returns the board as it is when the click has been handled.
_CLICK = """(square) => {
  document.querySelector(`[data-square=${square}]`).click();
  const disc = ({ dataset }) => ({ black: "X", white: "O" })[dataset.disc] ?? "-";
  return [...document.querySelectorAll(".cell")].map(disc).join("");
}"""


@pytest.fixture(scope="module")
def port():
    with running(makers(*_PLAYED)) as port:
        yield port


def _random_start(rng, game):
    """Returns a board with any discs, which may be over, or begin with a pass."""
    discs = "".join(rng.choice(list("XO-"), game.size**2, p=rng.dirichlet((2, 2, 1))))
    return notation.parse_board(f"{discs} {rng.choice(list('XO'))}", game.size)


def _random_game(rng, game, start):
    live = live_game.LiveGame(game)
    live.new_game(start)
    while not live.is_over:
        live.play(int(rng.choice(live.legal_actions)))
    return live


def _described(live):
    """Returns a game as the page describes it."""

    def ply(board):
        text, mover = notation.board_text(board, live.game.size).split()
        legal = [notation.action_text(x, live.game.size) for x in live.legal_actions_at(board)]
        return {"board": text, "mover": {"X": "black", "O": "white"}[mover], "legal": legal}

    margin = live.utility(live.final_score())  # discs; a reversed game counts them as minus
    return {"plies": [ply(board) for board in live.boards], "score": margin}


def _moves(live):
    return [notation.action_text(action, live.game.size) for action in live.actions]


@pytest.mark.thorough
@pytest.mark.parametrize("size", [4, 6, 8])
def test_random_games_are_those_of_the_host(open_page, port, size):
    rng, game = np.random.default_rng(size), othello.Othello(size)
    starts = [None] * 60 + [_random_start(rng, game) for _ in range(200)]
    lives = [_random_game(rng, game, start) for start in starts]
    texts = [notation.board_text(live.start, size) for live in lives]
    games = [
        {"start": start, "moves": _moves(live)} for start, live in zip(texts, lives, strict=True)
    ]
    for found, live in zip(open_page(port).page.evaluate(_REPLAY, games), lives, strict=True):
        assert found == _described(live), live.start
    assert sum(move == "pass" for live in lives for move in _moves(live)) > 20
    assert sum(not live.actions for live in lives) > 5  # over from the start
    assert len({found.final_score() for found in lives}) > 10


@pytest.mark.thorough
@pytest.mark.parametrize("game", _PLAYED[:2], ids=lambda game: game.name)
def test_a_click_shows_its_move_at_once_and_sends_one_request(open_page, port, game):
    visit, rng = open_page(port), np.random.default_rng(1)
    visit.page.select_option("#game", game.name)
    live, sent = live_game.LiveGame(game), _requests(visit)
    while visit.wait_for_turn():
        legal = [notation.action_text(action, game.size) for action in live.legal_actions]
        assert visit.legal == legal
        sent.clear()
        shown = visit.page.evaluate(_CLICK, str(rng.choice(legal)))
        num_before = len(live.actions)
        visit.wait_for_turn()
        for action in notation.parse_moves(" ".join(visit.moves), game.size)[num_before:]:
            live.play(action)
        assert shown == notation.board_text(live.boards[num_before + 1], game.size).split()[0]
        answers = [ply % 2 and move for ply, move in enumerate(_moves(live))][num_before:]
        # A pass needs no search, so that two passes make two replies, or none.
        assert sent == ["/api/think"] * sum(move not in (0, "pass") for move in answers)
    assert live.is_over
    assert visit.board == list(_board_text(live))


def _requests(visit):
    """Returns a list to which the paths of later requests by the page's scripts are added."""
    paths = []

    def keep(request):
        if request.resource_type == "fetch":
            paths.append(urllib.parse.urlsplit(request.url).path)

    visit.page.on("request", keep)
    return paths


def test_a_move_is_shown_while_the_server_is_slow(open_page, port):
    visit = open_page(port)
    visit.page.select_option("#game", "othello8")
    held = []
    visit.page.route("**/api/think", lambda route: held.append(route))
    shown = visit.page.evaluate(_CLICK, "f5")
    after = live_game.replay("f5", othello.Othello())
    assert shown == _board_text(after)
    assert visit.text("#status") == "White: azo is thinking…"
    assert visit.moves == ["f5"]
    held[0].continue_()
    assert visit.wait_for_turn()
    assert len(visit.moves) == 2


def test_both_sides_play_to_the_end_without_a_server(browser, port):
    game = othello.Othello(4)
    visit = Visit(browser, port)
    visit.page.select_option("#human", "both")
    visit.page.select_option("#game", game.name)
    sent = _requests(visit)
    visit.page.route("**/api/**", lambda route: route.abort())
    live, rng = live_game.LiveGame(game), np.random.default_rng(2)
    while not live.is_over:
        live.play(int(rng.choice(live.legal_actions)))
        assert visit.page.evaluate(_CLICK, _moves(live)[-1]) == _board_text(live)
        if live.legal_actions == (game.pass_action,):
            live.play(game.pass_action)
        visit.wait_for_moves(len(live.actions))
    assert "pass" in visit.moves
    assert re.match(r"\d+-\d+ to |8-8, a draw", visit.text("#status"))
    visit.press("#new")
    visit.wait_for_moves(0)
    assert visit.legal == ["b1", "a2", "d3", "c4"]
    assert sent == []
    visit.end()


def test_a_stopped_server_is_reported_and_the_game_goes_on_when_it_is_back(browser):
    with running(makers()) as port:
        visit = Visit(browser, port)
        assert visit.wait_for_turn()
    visit.cell("c2").click()
    visit.wait_for("#message", "azo does not answer: is the server still running?")
    assert visit.text("#status") == "White: azo waits; “Go on” lets it move"
    assert visit.board == list(_board_text(live_game.replay("c2", othello.Othello(6))))
    with running(makers(), port=port):
        visit.press("#go")
        assert visit.wait_for_turn()
        assert (visit.moves[0], len(visit.moves)) == ("c2", 2)
    visit.errors = [error for error in visit.errors if "ERR_CONNECTION_REFUSED" not in error]
    visit.end()


def test_a_start_of_its_own_belongs_to_the_game(browser):
    """The network of a game with another start knows no usual one."""
    with running(makers(_OWN_START)) as port:
        visit = Visit(browser, port)
        live = live_game.LiveGame(_OWN_START)
        assert visit.board == list(_board_text(live))
        assert visit.legal == [notation.action_text(x, 4) for x in live.legal_actions]
        visit.page.evaluate(_CLICK, visit.legal[0])
        assert visit.wait_for_turn()
        assert len(visit.moves) == 2
        assert ":" not in visit.page.evaluate("location.hash").partition(":")[2]  # no start
        moves = visit.moves
        visit.page.reload()
        visit.wait_for_moves(2)
        assert visit.moves == moves
        visit.press("#new")
        visit.wait_for_moves(0)
        assert visit.board == list(_board_text(live))
        visit.end()


def _board_text(live):
    return notation.board_text(live.board, live.game.size).split()[0]
