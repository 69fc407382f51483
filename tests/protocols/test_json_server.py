"""The JSON engine in one process: what it answers, in which order, and how queries end."""

import json
import math
import threading

import pytest
from support.drivers.front_end import quick_engine
from support.fakes.hash_evaluator import HashEvaluator
from support.references import slow_board

from azo.engine import engine_settings, live_engine
from azo.games import notation, othello
from azo.games.host import live_game
from azo.protocols import json_server

GAME = othello.Othello(6)
REVERSED = othello.Othello(6, is_reversed=True)
CONFIG = engine_settings.EngineConfig(num_simulations=40, solve_empties=12, probe_nodes=0)
MOVES = "c2d2e2b4a5f1"  # 6x6


class Session:
    """A server with an input that can look at its output."""

    def __init__(self, *games, num_threads=1):
        makers = {
            game: lambda game=game: live_engine.Engine(HashEvaluator(game), CONFIG)
            for game in games or (GAME,)
        }
        self.answers, self._changed = [], threading.Condition()
        self.server = json_server.JsonServer(makers, self._take, num_threads=num_threads)

    def _take(self, text):
        assert text.endswith("}\n")
        with self._changed:
            self.answers.append(json.loads(text))
            self._changed.notify_all()

    def wait_for(self, **fields):
        """Returns the first answer with these fields."""

        def match():
            return next((x for x in self.answers if fields.items() <= x.items()), None)

        with self._changed:
            assert self._changed.wait_for(match, 60), self.answers
            return match()

    def ask(self, *queries):
        """Returns the answers to queries that arrive together."""
        self.server.run(map(json.dumps, queries))
        return self.answers

    @property
    def order(self):
        """The final answers in their order."""
        return [
            (x["id"], x["turnNumber"]) for x in self.answers if x.get("isDuringSearch") is False
        ]


LONG = {"maxVisits": 10**9, "reportDuringSearchEvery": 0.01}  # a search until it is stopped


def test_positions_are_analysed_as_by_the_engine():
    actions = slow_board.random_game(6, seed=0)[1][:22]
    assert GAME.pass_action not in actions
    moves = notation.transcript(actions, 6)
    answers = Session().ask({"id": "a", "moves": moves, "analyzeTurns": list(range(21))})
    assert [x["turnNumber"] for x in answers] == list(range(21))
    for answer in answers:
        engine = live_engine.Engine(HashEvaluator(GAME), CONFIG)
        engine.new_game(None, actions[: answer["turnNumber"]])
        position = engine.think(CONFIG.limits(is_analysis=True))
        root, best = answer["rootInfo"], position.moves[0]
        assert root["scoreLead"] == pytest.approx(position.discs, abs=1e-5)
        assert root["winrate"] == pytest.approx((1 + position.value) / 2, abs=1e-5)
        assert root["isExact"] == (position.score is not None)
        assert root["board"] == notation.board_text(position.board, 6)
        info = answer["moveInfos"][0]
        assert info["pv"] == [notation.action_text(move, 6) for move in best.line]
        assert (info["visits"], info["order"]) == (best.visits, 0)
        assert info["prior"] == pytest.approx(best.prior, abs=1e-5)


def test_the_end_of_a_game_and_a_pass_have_answers_and_passes_may_be_left_out():
    games = (slow_board.random_game(6, seed=seed)[1] for seed in range(50))
    live = live_game.LiveGame(GAME)
    live.new_game(None, next(moves for moves in games if GAME.pass_action in moves[:-1]))
    written = notation.transcript(live.actions, 6)
    turns = list(range(len(written) // 2 + 1))
    answers = Session().ask({"id": "a", "moves": written, "analyzeTurns": turns})
    discs = [x["rootInfo"]["board"].count("-") for x in answers]
    assert discs == sorted(discs, reverse=True)
    assert len(set(discs)) == len(turns)  # a turn for each disc
    assert any(x["moveInfos"][0]["move"] == "pass" for x in answers[:-1])
    sign = 1 if live.board.is_black_to_move else -1
    assert answers[-1]["moveInfos"] == []
    assert answers[-1]["rootInfo"]["scoreLead"] == sign * live.final_score()
    assert answers[-1]["rootInfo"]["isExact"]


def test_rates_are_those_of_the_side_to_move_and_the_lead_is_in_discs_to_win_by():
    query = {"id": "a", "game": REVERSED.name, "moves": "c2", "includePolicy": True, "maxVisits": 9}
    [answer] = Session(GAME, REVERSED).ask(query | {"analysisPVLen": 0})
    assert answer["rootInfo"]["currentPlayer"] == "W"
    for move in answer["moveInfos"]:
        assert (move["winrate"] > 0.5) == (move["scoreLead"] > 0)
        assert move["pv"] == [move["move"]]
    policy = answer["policy"]
    assert len(policy) == 37
    assert math.fsum(p for p in policy if p >= 0) == pytest.approx(1, abs=1e-4)
    assert {move["prior"] for move in answer["moveInfos"]} <= set(policy)
    assert policy.count(-1) > 20


def test_positions_of_higher_priority_come_first_and_a_query_can_be_terminated():
    session = Session()

    def lines():
        yield {"id": "long", **LONG}
        session.wait_for(id="long", isDuringSearch=True)
        yield {"id": "low", "moves": MOVES, "analyzeTurns": [1, 0], "priority": -1}
        yield {"id": "none", "moves": MOVES, "analyzeTurns": [0, 1, 2]}
        yield {"id": "high", "priority": 7}
        yield {"id": "t", "action": "terminate", "terminateId": "none", "turnNumbers": [0, 2]}
        session.wait_for(id="none", turnNumber=2, noResults=True)
        yield {"id": "u", "action": "terminate", "terminateId": "long"}

    session.server.run(map(json.dumps, lines()))
    order = "none 0, none 2, long 0, high 0, none 1, low 0, low 1"
    assert session.order == [(x.split()[0], int(x[-1])) for x in order.split(", ")]
    stopped = session.wait_for(id="long", isDuringSearch=False)
    assert stopped["rootInfo"]["visits"] > 0
    echo = {"id": "u", "action": "terminate", "terminateId": "long"}
    assert echo in session.answers


def test_terminate_all_ends_what_is_analysed_and_what_waits():
    session = Session(num_threads=2)

    def lines():
        for name in "abc":
            yield {"id": name, **LONG}
        session.wait_for(id="a", isDuringSearch=True)
        session.wait_for(id="b", isDuringSearch=True)
        yield {"id": "t", "action": "terminate_all"}
        session.wait_for(id="a", isDuringSearch=False)
        yield {"id": "a", "maxVisits": 1}  # the id is free again

    session.server.run(map(json.dumps, lines()))
    assert sorted(session.order) == [("a", 0), ("a", 0), ("b", 0), ("c", 0)]
    assert session.wait_for(id="c")["noResults"]


def test_an_error_of_azo_is_an_answer_and_the_other_queries_go_on(capsys):
    def broken():
        raise RuntimeError("no device")

    session = Session()
    session.server._makers[REVERSED] = broken
    session.server._games[REVERSED.name] = REVERSED
    session.ask({"id": "a", "game": REVERSED.name}, {"id": "b"})
    failed = session.wait_for(id="a")
    assert failed["error"] == "azo failed at this position; see its standard error"
    assert (failed["turnNumber"], failed["isDuringSearch"]) == (0, False)
    assert "RuntimeError: no device" in capsys.readouterr().err
    assert session.wait_for(id="b")["moveInfos"]


def test_actions_are_answered_while_too_many_queries_are_unfinished(monkeypatch):
    monkeypatch.setattr(json_server, "_MAX_UNFINISHED", 3)
    session = Session()

    def lines():
        for number in range(8):
            yield {"id": str(number), "moves": MOVES, "analyzeTurns": [0, 1], **LONG}
        yield {"id": "7", **LONG}
        session.wait_for(id="7", field="id")  # it waits already
        assert len(session.server._tasks) == 3
        yield {"id": "t", "action": "terminate", "terminateId": "6"}
        session.wait_for(id="6", turnNumber=1, noResults=True)
        yield {"id": "u", "action": "terminate", "terminateId": "5", "turnNumbers": [1]}
        session.wait_for(id="5", turnNumber=1, noResults=True)
        yield {"id": "v", "action": "terminate_all"}
        session.wait_for(id="7", turnNumber=1, noResults=True)
        for number in range(4):
            yield {"id": f"later {number}", "maxVisits": 1}

    session.server.run(map(json.dumps, lines()))
    expected = [(str(number), turn) for number in range(8) for turn in (0, 1)]
    assert sorted(session.order) == sorted([*expected, *((f"later {x}", 0) for x in range(4))])


def test_queries_beyond_the_limit_are_all_answered(monkeypatch):
    monkeypatch.setattr(json_server, "_MAX_UNFINISHED", 2)
    monkeypatch.setattr(json_server, "_MAX_BACKLOG", 100)  # characters
    session = Session(num_threads=2)
    queries = [{"id": str(number), "maxVisits": 1} for number in range(30)]
    queries[20]["moves"] = "a1"  # an error at its turn
    session.ask(*queries)
    assert len(session.order) == 29
    assert session.wait_for(id="20")["field"] == "moves"


def answers_of(*queries, **options):
    """Returns the final answers to queries, by id and turn."""
    answers = Session(**options).ask(*queries)
    finals = (x for x in answers if x.get("isDuringSearch") is False)
    return {(x["id"], x["turnNumber"]): x for x in finals}


def test_visits_have_the_limit_asked_for_and_answers_do_not_depend_on_other_queries():
    actions = slow_board.random_game(6, seed=0)[1][:22]
    moves = notation.transcript(actions, 6)
    turns = list(range(19))
    query = {"moves": moves, "maxVisits": 50}
    alone = {
        turn: answers_of({"id": "a", "analyzeTurns": [turn], **query})["a", turn] for turn in turns
    }
    for order, options in ((turns, {}), (turns[::-1], {}), (turns[9:] + turns, {"num_threads": 3})):
        before = [{"id": "b", "moves": moves, "maxVisits": 333, "analyzeTurns": turns[::3]}]
        before += [{"id": "c", "moves": moves[:4], "priority": 3, "reportDuringSearchEvery": 1e-6}]
        query_a = {"id": "a", "analyzeTurns": order, **query}
        answers = answers_of(*before, query_a, before[0] | {"id": "d"}, **options)
        assert {turn: answers["a", turn] for turn in turns} == alone
    searched = [x["rootInfo"]["visits"] for x in alone.values() if not x["rootInfo"]["isExact"]]
    assert len(searched) > 3
    assert set(searched) == {50}
    assert max(x["rootInfo"]["visits"] for x in alone.values()) <= 50


def test_moves_with_colours_an_initial_player_and_stones_are_those_of_katago():
    stones = [["W", "c3"], ["W", "d4"], ["B", "c4"], ["b", "d3"]]
    usual = answers_of({"id": "a", "moves": "c2d2", "maxVisits": 9})["a", 2]
    same = (
        {"moves": [["B", "c2"], ["W", "d2"]]},
        {"moves": [["b", "C2"], ["w", "D2"]], "boardXSize": 6, "boardYSize": 6},
        {"moves": ["c2", "d2"], "initialStones": [], "initialPlayer": "B"},
        {"moves": "c2d2", "initialStones": stones},
        {"moves": [["B", "c2"], ["W", "d2"]], "initialStones": stones, "initialPlayer": "b"},
    )
    for query in same:
        assert answers_of({"id": "a", "maxVisits": 9, **query})["a", 2] == usual, query
    for query in ({"initialPlayer": "W"}, {"moves": [["W", "d2"]], "analyzeTurns": [0]}):
        answer = answers_of({"id": "a", "maxVisits": 9, **query})["a", 0]
        assert answer["rootInfo"]["currentPlayer"] == "W"
        assert answer["rootInfo"]["board"].endswith(" O")


def test_passes_left_out_between_moves_with_colours_are_played():
    games = (slow_board.random_game(6, seed=seed)[1] for seed in range(50))
    live = live_game.LiveGame(GAME)
    live.new_game(None, next(moves for moves in games if GAME.pass_action in moves[:-1]))
    coloured = [
        ["B" if board.is_black_to_move else "W", notation.action_text(action, 6)]
        for board, action in zip(live.boards, live.actions, strict=False)
        if action != GAME.pass_action
    ]
    [answer] = answers_of({"id": "a", "moves": coloured}).values()
    assert answer["rootInfo"]["board"].split()[0] == notation.board_text(live.board, 6).split()[0]


@pytest.mark.parametrize("num_moves", [2, 22])  # searched, solved
def test_allowed_and_avoided_moves_restrict_the_first_move(num_moves):
    live = live_game.LiveGame(GAME)
    live.new_game(None, slow_board.random_game(6, seed=0)[1][:num_moves])
    player = "B" if live.board.is_black_to_move else "W"
    moves = notation.transcript(live.actions, 6)
    query = {"id": "a", "moves": moves, "maxVisits": 60}
    [free] = answers_of(query).values()
    best, *others = [x["move"] for x in free["moveInfos"]]
    assert len(others) > 1
    allow = {"allowMoves": [{"player": player, "moves": others[:2], "untilDepth": 1}]}
    avoid = {"avoidMoves": [{"player": player, "moves": [best, *others[2:]]}]}
    [allowed] = answers_of(query | allow).values()
    assert {x["move"] for x in allowed["moveInfos"]} == set(others[:2])
    assert allowed["rootInfo"]["isExact"] == free["rootInfo"]["isExact"] == (num_moves == 22)
    assert allowed["rootInfo"]["visits"] <= 60
    if num_moves == 22:
        scores = {x["move"]: x["scoreLead"] for x in free["moveInfos"]}
        assert allowed["rootInfo"]["scoreLead"] == max(scores[x] for x in others[:2])
    assert answers_of(query | avoid) == {("a", len(moves) // 2): allowed}
    other = {"player": "BW"[player == "B"], "moves": [best]}
    assert answers_of(query | {"allowMoves": [other]}) == {("a", len(moves) // 2): free}


@pytest.mark.parametrize("every", [None, 1e-6])
def test_the_server_ends_quietly_when_nobody_reads_its_answers(capsys, every):
    def write(text):
        raise BrokenPipeError

    reports = {} if every is None else {"reportDuringSearchEvery": every}
    server = json_server.JsonServer({othello.Othello(): quick_engine}, write, num_threads=2)
    with pytest.raises(BrokenPipeError):
        server.run(
            json.dumps({"id": str(n), "maxVisits": 1 if n == 1 else 10**9} | reports)
            for n in range(5)
        )
    assert capsys.readouterr().err == ""
