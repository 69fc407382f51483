"""The requests of the page, and the command that serves it."""

import ipaddress
import socket
import sys
import urllib.parse

import pytest
from support.drivers import web_server
from support.drivers.web_server import SlowEvaluator, ask, maker, makers, question, running
from support.fakes.hash_evaluator import HashEvaluator

from azo.cli import web
from azo.engine import engine_factory, engine_settings, opening_book
from azo.games import notation, othello
from azo.games.host import live_game
from azo.settings import shipped_files
from azo.web import app, messages, server


@pytest.fixture(scope="module")
def port():
    with running(makers(othello.Othello(6), othello.Othello(4, is_reversed=True))) as port:
        yield port


def test_the_settings_list_the_games_and_levels(port):
    answer = ask(port, "/api/settings").json
    assert answer["games"] == [
        {
            "name": "othello6",
            "size": 6,
            "start": "--------------OX----XO-------------- X",
            "is_reversed": False,
            "network": "a fake",
        },
        {
            "name": "othello4-reversed",
            "size": 4,
            "start": "-----OX--XO----- X",
            "is_reversed": True,
            "network": "a fake",
        },
    ]
    assert answer["levels"][0] == "beginner"
    assert len(answer["levels"]) == engine_settings.NUM_LEVELS == answer["level"]


def test_a_report_is_that_of_the_engine_and_comes_in_several_parts():
    game = othello.Othello(6)
    evaluator = SlowEvaluator(game)
    with running({game: maker(game, evaluator)}) as port:
        lines = ask(port, "/api/think", question(moves="c2", num_simulations=120)).lines
    assert len(lines) > 2
    assert [line["is_final"] for line in lines] == [False] * (len(lines) - 1) + [True]
    counts = [line["report"]["num_simulations"] for line in lines]
    assert counts == sorted(counts)
    assert counts[-1] == 120

    plain = maker(game)()
    plain.new_game(actions=[notation.parse_action("c2", 6)])
    expected = plain.think(engine_settings.Limits(num_simulations=120, is_analysis=True))
    report = lines[-1]["report"]
    assert report["move"] == notation.action_text(expected.action, 6)
    assert report["value"] == pytest.approx(expected.value)
    for move, other in zip(report["moves"], expected.moves, strict=True):
        assert move["visits"] == other.visits
        assert move["prior"] == pytest.approx(other.prior)
        assert move["line"] == [notation.action_text(action, 6) for action in other.line]


def test_a_deep_search_has_scores_for_marks_in_whole_discs():
    with running({othello.Othello(6): maker(othello.Othello(6))}) as port:
        options = {"moves": "c2", "num_simulations": 40}
        usual, deep = (
            ask(port, "/api/think", question(**options, is_deep=is_deep)).lines[-1]["report"]
            for is_deep in (False, True)
        )
    assert (usual["is_deep"], deep["is_deep"]) == (False, True)
    assert (usual["num_simulations"], deep["num_simulations"]) == (40, 160)
    discs = [report["discs"] for report in (usual, deep)]
    discs += [move["discs"] for move in deep["moves"] if move["discs"] is not None]
    assert all(number == int(number) for number in discs)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/api/read", "{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (
            "/api/think",
            question("go"),
            "no network for 'go'; there are networks for othello6, othello4-r",
        ),
        ("/api/think", question(moves="c2a1"), "illegal move a1: white may play"),
        (
            "/api/think",
            question(moves="c2" * 301),
            "moves: String should have at most 600 characters",
        ),
        ("/api/read", {"game": "othello6", "text": "xo-"}, "a board of 3 squares"),
        (
            "/api/reasons",
            {"game": "othello6", "refutation": "b3", "better": "a1"},
            "illegal move a1: black may play",
        ),
        ("/api/think", question(session="me"), "session: String should match pattern"),
        ("/api/think", question(seconds=3600), "seconds: Input should be less than or equal to 30"),
        (
            "/api/think",
            question(start=f"{'X' * 36} X"),
            "the game is over: there is no move to search",
        ),
    ],
)
def test_garbage_is_refused_with_one_line_and_the_game_goes_on(port, path, body, message):
    answer = ask(port, path, body)
    assert answer.status == 400
    assert answer.json["error"].startswith(message)
    assert "\n" not in answer.json["error"]
    assert ask(port, "/api/think", question(num_simulations=1)).lines[-1]["is_final"]


def test_an_error_of_azo_itself_is_not_called_wrong_input(port, monkeypatch):
    def fail(*_):
        raise ValueError("arrays of other shapes")

    monkeypatch.setattr(messages, "offer_json", fail)
    assert ask(port, "/api/settings").status == 500


def test_the_chosen_game_comes_first_and_its_book_is_used(monkeypatch, tmp_path):
    def load_evaluator(config):
        return HashEvaluator(othello.Othello(config.size, config.reversed))

    monkeypatch.setattr(engine_factory, "load_evaluator", load_evaluator)
    names = {"othello4-reversed": "one", "othello6": "other"}
    monkeypatch.setattr(shipped_files, "STRONGEST", names)
    game = othello.Othello(6)
    book = opening_book.Book(game)
    book.entry(live_game.LiveGame(game).start, notation.parse_action("c2", 6)).value = 0.5
    book.save(tmp_path / "book")
    makers = engine_factory.engines(
        web.WebConfig(size=6, book=tmp_path / "book", engine=web_server.QUICK)
    )
    assert list(makers) == [game, othello.Othello(4, is_reversed=True)]
    sources = [
        make().think(engine_settings.Limits(num_simulations=4)).source for make in makers.values()
    ]
    assert sources == ["book", "exact"]


def test_a_network_has_the_name_of_its_folder_and_not_its_path(monkeypatch, tmp_path):
    game, shown = othello.Othello(6), []
    monkeypatch.setattr(engine_factory, "engines", lambda _: {game: maker(game)})
    monkeypatch.setattr(engine_factory, "warm_up", lambda _: None)
    monkeypatch.setattr(app, "make_app", lambda _, network, **__: shown.append(network))
    monkeypatch.setattr(server.Server, "run", lambda *_, **__: None)
    assert web.main(["--port", "0", "--network", f"{tmp_path}/mine"]) == 0
    assert shown == ["mine"]


def test_the_server_listens_to_this_machine_alone():
    with server.listen(web.WebConfig().host, 0) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        assert server.url(listener) == f"http://127.0.0.1:{port}"
        assert server.shared_url(listener) is None


def test_a_server_for_other_machines_knows_the_address_that_they_use():
    with server.listen("0.0.0.0", 0) as listener:
        shared = server.shared_url(listener)
        if shared is None:
            pytest.skip("this machine has no network")
        host, port = urllib.parse.urlsplit(shared).hostname, listener.getsockname()[1]
        assert not ipaddress.ip_address(host).is_loopback
        with socket.create_connection((host, port), timeout=5):
            pass


def test_a_port_that_is_taken_is_named():
    with server.listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ValueError) as caught:
            web.main(["--port", str(port)])
    assert str(caught.value) == (
        f"--host 127.0.0.1 --port {port}: Address already in use; --port 0 takes a free port"
    )


def test_without_the_libraries_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "azo.web.server")
    monkeypatch.delattr("azo.web.server")
    with pytest.raises(ValueError) as caught:
        web.main([])
    assert str(caught.value) == (
        "the page needs starlette uvicorn: python -m pip install starlette uvicorn"
    )
