"""Games and boards as people have them: every reader, the page's too, goes through one table."""

import base64
import dataclasses
import random

import pytest
import rich.console
from support.builders import wthor_files
from support.drivers import refusals
from support.references import dialects, slow_board

from azo.formats import decoding, game_files, game_texts, ggf
from azo.games import notation, othello, variant
from azo.games.host import live_game
from azo.terminal import board_drawing
from azo.web import messages

_GAME = othello.Othello()
_START_TEXT = f"{dialects.START} X"


def _moves(game):
    return notation.transcript(game.moves, game.size, has_passes=True)


def _page(source, number=None, game=_GAME):
    request = {"game": game.name, "number": number, **source}
    body = messages.ReadRequest.model_validate_json(
        messages.ReadRequest(**request).model_dump_json()
    )
    return messages.read_json(body, game, [game])


def _file(name, content):
    return {"name": name, "content": base64.b64encode(content).decode()}


@pytest.mark.parametrize("name", dialects.TEXTS)
def test_the_moves_of_a_dialect_are_read(name):
    game = game_files.parse(dialects.TEXTS[name], _GAME)
    assert (_moves(game), game.unread) == (dialects.MOVES, "")
    assert notation.board_text(game.board, 8) == _START_TEXT


@pytest.mark.parametrize("name", dialects.TEXTS)
def test_the_page_reads_the_same_moves_pasted_and_dropped(name):
    text = dialects.TEXTS[name]
    for source in ({"text": text}, _file("game", text.encode()), _file("x.txt", text.encode())):
        read = _page(source)
        assert ("".join(read["moves"]), read["start"]) == (dialects.MOVES, None)
        assert "stopped" not in read["note"]


@pytest.mark.parametrize("name", dialects.CONTENTS)
def test_packed_files_and_other_encodings_lose_no_move(name, tmp_path):
    content = dialects.CONTENTS[name]
    (tmp_path / name).write_bytes(content)
    game = game_files.read(tmp_path / name, _GAME)
    assert (_moves(game), game.note, game.unread) == (dialects.MOVES, "", "")
    assert len(game_files.read_archives([tmp_path / name])) == 1
    read = _page(_file(name, content))
    assert ("".join(read["moves"]), read["note"]) == (dialects.MOVES, "")
    assert read["players"] == {"black": game.black, "white": game.white}


@pytest.mark.parametrize(
    ("name", "players"),
    [
        ("latin.sgf", ("Müller", "bob")),
        ("latin.ggf", ("Zoë", "bob")),
        ("sjis.sgf", ("田表", "表")),
        ("sjis-unnamed.sgf", ("田表", "表")),
        ("gbk.sgf", ("媇中", "中国")),
        ("utf16.sgf", ("田", "")),
    ],
)
def test_names_in_other_encodings_are_readable(name, players):
    text = decoding.decode(dialects.CONTENTS[name])
    (game,) = game_texts.parse(text, _GAME)
    assert (game.black, game.white) == players


@pytest.mark.parametrize("name", dialects.BOARDS)
def test_a_drawn_board_is_read(name):
    game = game_files.parse(dialects.BOARDS[name], _GAME)
    assert (notation.board_text(game.board, 8), game.moves) == (f"{dialects.BOARD} O", ())
    assert _page({"text": dialects.BOARDS[name]})["start"] == f"{dialects.BOARD} O"


@pytest.mark.parametrize("name", dialects.BOARDS)
def test_moves_after_a_board_are_moves_and_no_passes(name):
    text = dialects.BOARDS[name]
    if name == "OBF":
        text = text.partition(";")[0]
    for moves in ("d3c4f4", "d3 c4 f4", "1. d3 c4 2. f4 34-30", "Moves: D3, C4, F4"):
        game = game_files.parse(f"{text}\n{moves}", _GAME)
        assert notation.board_text(game.board, 8) == f"{dialects.BOARD} O"
        assert (_moves(game), game.unread) == ("d3c4f4", "")


def test_a_board_without_a_side_to_move_takes_the_side_that_can_play_the_moves():
    rows = "\n".join(dialects.ROWS)
    assert game_files.parse(f"{rows}\nd3", _GAME).board.is_black_to_move is False
    assert game_files.parse(rows, _GAME).board.is_black_to_move is True


@pytest.mark.parametrize("size", [4, 6, 8])
@pytest.mark.parametrize("seed", range(6))
def test_azo_reads_its_own_drawings(size, seed):
    game, rules = live_game.LiveGame(othello.Othello(size)), othello.Othello(size)
    _, actions = slow_board.random_game(size, seed=seed)
    game.new_game(None, actions[: 3 + 2 * seed])
    board = game.board
    assert game_texts.parse(notation.diagram(board, size), rules)[0].board == board
    assert game_texts.parse(notation.board_text(board, size), rules)[0].board == board
    mover = "black" if board.is_black_to_move else "white"
    for terminal in (
        {"no_color": True},
        {"force_terminal": True, "color_system": "truecolor", "legacy_windows": False},
    ):
        for width in (30, 100):
            console = rich.console.Console(width=width, record=True, quiet=False, **terminal)
            signs = board_drawing.symbols(console)
            lines = board_drawing.board(board, size, game.legal_actions, game.actions[-1], signs)
            notes = [f"{signs.black} black  2  you", f"ply 3: {mover} to move", "last move: a1"]
            with console.capture() as capture:
                console.print(board_drawing.beside(lines, notes, signs, width))
            (read,) = game_texts.parse(capture.get(), rules)
            assert (read.board, read.moves) == (board, ())


def _styled(moves, rng):
    """Returns moves in a random style: case, separators, numbers, marks, a result, passes."""
    between = rng.choice(["", " ", "\n", ", ", "-", "  \t", "; ", " / ", ".", "\r\n"])
    number = rng.choice(["", "{n}. ", "{n}.", "{n}) ", "{n}... ", "{n}: ", "{n} "])
    written = []
    for index, move in enumerate(moves):
        text = notation.action_text(move, 8)
        if text == "pass":
            text = rng.choice(["pass", "PA", "ps", "--", ""])
            if not text:
                continue
        text = rng.choice([str.upper, str.lower, str.title])(text)
        prefix = number.format(n=index // 2 + 1) if number and index % 2 == 0 else ""
        mark = rng.choice(["", "", "!", "?", " {a (b) 1}"])
        written.append(f"{prefix}{text}{mark}")
    gap = between if not number or between.strip("-.") or between in (" ", "\n") else " "
    return gap.join(written) + rng.choice(["", "\n", " 33-31", "\n1-0", " B+2", " *", " (34-30)"])


@pytest.mark.parametrize("seed", range(60))
def test_random_games_in_random_styles_are_read_whole(seed):
    rng = random.Random(seed)
    _, actions = slow_board.random_game(8, seed=seed)
    while actions[-1] == 64:
        actions = actions[:-1]
    text = _styled(actions, rng)
    game = game_files.parse(text, _GAME)
    assert (list(game.moves), game.unread) == (actions, ""), text
    read = _page({"text": text})
    assert read["moves"] == [notation.action_text(action, 8) for action in actions], text


_TEN = "10 " + "-" * 44 + "O*--------*O" + "-" * 44
_GGF = dialects.TEXTS["GGF"]
_RECORD = wthor_files.record(["f5", "d6", "c3"], 32)
_COLLECTIONS = {
    "a.ggf": (_GGF + _GGF.replace(f"8 {dialects.START}", _TEN) + _GGF, "GGF: a 10x10 board"),
    "b.ggf": (_GGF + _GGF.replace("GM[Othello]", "GM[Amazons]") + _GGF, "GGF: the game is"),
    "c.ggf": (_GGF + _GGF.replace("B[F5", "KB[F5") + _GGF, "GGF: KB[F5//1.2] is a move of"),
    "d.ggf": (_GGF + _GGF.replace("B[F5", "B[Z9") + _GGF, "GGF: move 1, B[Z9//1.2]: unknown"),
    "a.sgf": ("(;GM[2];B[f5])(;GM[1]SZ[19];B[pd])(;GM[2];B[d3])", "SGF: the game is Go (GM[1])"),
    "b.sgf": ("(;GM[2];B[f5])\n(;GM[2]SZ[10];B[f5])(;GM[2];B[d3])", "SGF: a 10x10 board"),
    "c.sgf": ("(;GM[2];B[f5]\n(;GM[1];B[pd]\n(;GM[2];B[d3])", "SGF: the game is Go (GM[1])"),
    "a.pgn": ('[Black "x"]\nf5\n\n[FEN "8/8"]\n1. f5\n\n[Black "y"]\nd3', "a game from a start"),
    "b.pgn": ('[Black "x"]\nf5\n[Black "n"]\n[Black "y"]\nd3', "no moves follow the headings"),
    "a.csv": ("winner,game_moves\n1,f5d6\n7,f5d6\n1,d3", "bad score: winner '7'"),
    "b.csv": ("winner,game_moves\n1,f5d6\n1\n1,d3", "1 field, but the heading has 2 columns"),
    "a.wtb": (wthor_files.archive([_RECORD, _RECORD[:9] + b"\x63" + _RECORD[10:], _RECORD]),
              "byte 99 as move 2 is not a square"),
    "a.obf": (f"{dialects.BOARD} O;\n{'-' * 100} O;\n{dialects.BOARD} O;", "a 10x10 board"),
    "b.obf": (f"{dialects.BOARD} O;\n{dialects.BOARD} O; q9:1\n{dialects.BOARD} O;",
              "cannot read move and score"),
    "a.txt": ("f5f6\nhello\nd3c5f6", "cannot read 'hello' after 0 moves"),
    "b.txt": ("f5d6\nf5f5\nf5f6", "illegal move 'f5' at ply 2"),
    "c.txt": ("moves: f5\nmoves: hello\nmoves: d3", "cannot read 'hello' after 0 moves"),
    "a.json": ('{"games":[{"moves":["f5"]},{"moves":["q9"]},{"moves":["d3"]}]}', "move 1: unknown"),
    "b.json": ('[{"moves":"f5"},{"size":10,"moves":"f5"},{"moves":"d3"}]', "a 10x10 board"),
    "c.json": ('{"moves":"f5"}\n{"moves":[7]}\n{"moves":"d3"}\n', "move 1 is 7, not a square"),
}  # fmt: skip


@pytest.fixture(params=_COLLECTIONS)
def collection(request, tmp_path):
    content, reason = _COLLECTIONS[request.param]
    path = tmp_path / request.param
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path, reason


def test_one_game_that_cannot_be_read_does_not_close_the_others(collection):
    path, reason = collection
    first, third = (game_files.read(path, _GAME, number=number) for number in (1, 3))
    assert third.moves or third.board != ggf.usual_start(_GAME)
    assert first.size == 8
    message = refusals.message_of(game_files.read, path, _GAME)
    assert "2 games in it: choose one by its number" in message
    assert f"game 2: {reason}" in message
    assert reason in refusals.message_of(game_files.read, path, _GAME, number=2)


def test_an_archive_is_read_without_the_games_that_cannot_be_and_names_them(collection):
    path, reason = collection
    if path.suffix == ".obf":
        return  # positions, which are no games from the start
    lines = []
    games = game_files.read_archives([path], on_left_out=lines.append)
    assert len(games) == 2
    (line,) = lines
    assert line.startswith(f"{path}: left out: game 2: {reason}")
    assert f"record 2: {reason}" in refusals.message_of(game_files.read_archives, [path])


def test_the_page_opens_the_others_and_lists_what_it_leaves_out(collection):
    path, reason = collection
    if reason.startswith("illegal"):
        return  # the page opens such a game up to the bad move
    source = _file(path.name, path.read_bytes())
    read = _page(source)
    assert (read["numbers"], len(read["titles"])) == ([1, 3], 2)
    assert read["left_out"].startswith(f"game 2: {reason}")
    assert f"left out: game 2: {reason}" in read["note"]
    assert "game 3 of 3" in _page(source, number=3)["note"]
    with pytest.raises(ValueError, match=r"\w"):
        _page(source, number=2)


@pytest.mark.parametrize("kind", ["ggf", "sgf", "txt"])
def test_the_first_game_may_be_the_unreadable_one(kind, tmp_path):
    bad = {"ggf": "(;GM[Go];)", "sgf": "(;GM[1];B[pd])", "txt": "hello"}[kind]
    good = {"ggf": _GGF, "sgf": "(;GM[2];B[f5];W[d6])", "txt": "f5d6"}[kind]
    (tmp_path / f"a.{kind}").write_text(f"{bad}\n{good}\n")
    game = game_files.read(tmp_path / f"a.{kind}", _GAME)
    assert _moves(game).startswith("f5d6")
    assert game.note
    assert _page({"text": f"{bad}\n{good}"})["moves"][:2] == ["f5", "d6"]


def test_a_collection_without_a_readable_game_says_why():
    text = "(;GM[1];B[pd])(;GM[1];B[pd])(;GM[2]SZ[10])"
    expected = (
        "none of the 3 games can be read: games 1, 2: SGF: the game is Go (GM[1]), not Othello"
        " (GM[2]); game 3: SGF: a 10x10 board; azo plays 4x4, 6x6 and 8x8"
    )
    assert refusals.message_of(game_texts.parse, text, _GAME) == expected


def test_many_unreadable_games_are_listed_briefly():
    text = "".join(f"(;GM[{number}];B[f5])" for number in (2, *[1] * 50, *range(20, 60)))
    note = game_files.parse(text, _GAME).note
    assert note.startswith("games 2, 3, 4 and 47 more: SGF: the game is Go (GM[1])")
    assert note.endswith("; and 38 more")
    assert len(note) < 400


def test_games_of_another_size_are_left_out_for_a_network():
    text = _GGF + ggf.to_text(ggf.GgfGame(6, ggf.usual_start(variant.Variant(6)), (16,)))
    assert (
        "game 2: a game of othello6, but the network plays othello8"
        in game_files.parse(text, _GAME).note
    )
    read = _page({"text": text})
    assert read["titles"] == [game_texts.title(game_texts.parse(_GGF, _GAME)[0])]
    assert "no network for 6x6" in read["left_out"]


@pytest.mark.parametrize(
    "text", ["(;GM[2])", "(;GM[2]PB[ann];C[no move])", "(;GM[2];Schwarz[f5])", "(;GM[Othello];)"]
)
def test_a_game_without_moves_says_so(text):
    game = game_files.parse(text, _GAME)
    assert (game.moves, game.note) == ((), "no moves in it: azo looks for B[...] and W[...]")
    assert "no moves in it" in _page({"text": text})["note"]


@pytest.mark.parametrize("text", ["(;)", "(;FF[4]PB[ann])", "( ; )", "(;C[hello])"])
def test_properties_that_are_no_game_are_refused(text):
    assert "neither the name of a game" in refusals.message_of(game_texts.parse, text, _GAME)


def test_the_moves_before_a_bad_one_in_a_file_are_opened_by_the_page():
    for text in (
        "(;GM[2];B[f5];W[d6];B[f9])",
        _GGF.replace("B[C3]", "B[C9]"),
        '{"moves":["f5","d6","c9"]}',
        "f5 d6 won!",
    ):
        read = _page({"text": text})
        assert read["moves"] == ["f5", "d6"]
        assert read["note"].startswith("stopped: ")


def test_the_example_of_othello_quest_is_read_with_its_players():
    text = (
        '{"players":["ann",{"name":"bob"}],"position":{"moves":[{"m":"f5"},{"m":"d6"},{"m":"-"}]}}'
    )
    game = game_files.parse(text, _GAME)
    assert (_moves(game), game.black, game.white) == ("f5d6", "ann", "bob")


def test_a_pass_in_othello_quest_is_a_pass():
    _, actions = slow_board.random_game(8, seed=next(_seeds_with_a_pass()))
    moves = ",".join(
        '{"m":"-"}' if action == 64 else f'{{"m":"{notation.action_text(action, 8)}","t":1}}'
        for action in actions
    )
    game = game_files.parse(f'[{{"position":{{"moves":[{moves}]}}}}]', _GAME)
    expected = list(actions)
    while expected[-1] == 64 and len(game.moves) < len(expected):
        expected.pop()  # after the end
    assert list(game.moves) == expected
    assert 64 in game.moves


def _seeds_with_a_pass():
    for seed in range(1000):
        _, actions = slow_board.random_game(8, seed=seed)
        if 64 in actions[:-2]:
            yield seed


def test_a_file_of_the_page_is_cut_at_a_line(tmp_path):
    text = "f5d6c3\nf5f6e6\n" * (messages.MAX_FILE_TEXT // 14 + 50)
    read = _page(_file("a.txt", text.encode()))
    assert read["is_beginning"]
    assert len(read["titles"]) == messages.MAX_FILE_TEXT // 7
    packed = dict(_file("a.txt.xz", b"no xz"))
    assert refusals.message_of(_page, packed).startswith("a.txt.xz: cannot be unpacked: ")
    binary = _file("a.pdf", b"%PDF\0\1")
    assert refusals.message_of(_page, binary).startswith("a.pdf is not a game: azo reads ")


def test_boards_of_other_sizes_are_refused_by_their_size():
    for text in (_TEN + " *", "[" + _TEN + " *]", _TEN[3:] + " *", _TEN[3:] + "\nX"):
        message = refusals.message_of(game_texts.parse, text, _GAME)
        assert message == "a 10x10 board; azo plays 4x4, 6x6 and 8x8"


@pytest.mark.parametrize("number", [3, 5, 8, 9, 16, 25, 36, 64, 65, 80, 100])
@pytest.mark.parametrize("sign", "-=_*.")
def test_a_line_below_a_title_is_no_board(number, sign):
    text = f"Final\n{sign * number}\nf5 d6 c3 d3 c4\n{sign * number}\n"
    game = game_files.parse(text, _GAME)
    assert (_moves(game), game.unread) == (dialects.MOVES, "")
    assert notation.board_text(game.board, 8) == _START_TEXT


def test_reversed_games_keep_their_rules():
    rules = dataclasses.replace(variant.Variant(8), is_reversed=True)
    (game,) = game_texts.parse(f"{dialects.BOARD} O d3", rules)
    assert game.is_reversed
    assert _moves(game) == "d3"
