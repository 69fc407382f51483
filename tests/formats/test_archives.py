"""Archives of games: OLIVAW's published games in every format, random games, bad files."""

import csv
import gzip

import numpy as np
import pytest
from support.builders import wthor_files
from support.drivers import refusals
from support.references import olivaw, slow_board

from azo.formats import game_files
from azo.games import notation, othello
from azo.games.host import live_game, move_lists

OLIVAW = (1, 8, 11)


def squares_of(number, length=None):
    text = olivaw.moves(number).upper().replace("PA", "")
    return [text[i : i + 2].lower() for i in range(0, len(text), 2)][:length]


@pytest.fixture
def read(tmp_path):
    """Reads an archive from the content of a file of a kind."""

    def read_content(content, kind="txt", game=game_files.OTHELLO):
        path = tmp_path / f"a.{kind}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return game_files.read_archives([path], game)

    return read_content


def discs(replay):
    board = replay.board
    black, white = board.black.bit_count(), board.white.bit_count()
    return black + (64 - black - white) * (black > white)


def test_published_games_are_equal_in_every_format(read):
    replays = [live_game.replay(olivaw.moves(number), othello.Othello()) for number in OLIVAW]
    final = [discs(replay) for replay in replays]
    squares = [squares_of(number) for number in OLIVAW]
    records = [wthor_files.record(s, d) for s, d in zip(squares, final, strict=True)]
    winner = np.sign(np.array(final) - 32)
    lines = [
        f"{i},{w},{''.join(s)},1" for i, (w, s) in enumerate(zip(winner, squares, strict=True))
    ]
    read_games = [
        read(wthor_files.archive(records), "wtb"),
        read(wthor_files.archive(records, size=0), "wtb"),  # as in old files
        read("\n".join(["id,winner,game_moves,finished", *lines, ""]), "csv"),
        # With passes as printed (of game 11 one is not), then without, with spaces and a gap.
        read("\n".join(olivaw.moves(number) for number in OLIVAW)),
        read("\n\n".join(" ".join(s) for s in squares)),
    ]
    for games in read_games:
        assert [row[row >= 0].tolist() for row in games.action] == [[*r.actions] for r in replays]
        assert games.num_plies.tolist() == [len(replay.actions) for replay in replays]
        assert games.is_finished.tolist() == [replay.is_over for replay in replays]
        np.testing.assert_array_equal(games.black_score, 2 * np.array(final) - 64)
        np.testing.assert_array_equal(games.black_value, winner)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_random_games_on_a_small_board_are_those_of_the_slow_board(read, is_reversed):
    game = othello.Othello(4, is_reversed)
    texts, expected, ends = [], [], []
    for index in range(40):
        boards, actions = slow_board.random_game(4, seed=index)
        num_plies = 6 if index % 4 == 0 else len(actions)
        while actions[num_plies - 1] == game.pass_action:  # at the end it is not read back
            num_plies -= 1
        texts.append(notation.transcript(actions[:num_plies], 4, has_passes=index % 2 == 0))
        expected.append(actions[:num_plies])
        ends.append(boards[num_plies])
    games = read("\n".join(texts), game=game)
    assert [row[row >= 0].tolist() for row in games.action] == expected
    assert any(16 in actions for actions in expected)
    scores = np.array([slow_board.black_score(board) for board in ends])
    is_over = [slow_board.is_over(board) for board in ends]
    np.testing.assert_array_equal(games.black_score, scores)
    np.testing.assert_array_equal(games.is_finished, is_over)
    value = np.where(is_over, np.sign(scores) * (-1 if is_reversed else 1), np.nan)
    np.testing.assert_array_equal(games.black_value, value)


def test_a_record_that_stops_early_has_the_result_that_its_archive_says(read):
    games = read(wthor_files.archive([STOPPED]), "wtb")
    assert games.num_plies.tolist() == [20]
    assert games.is_finished.tolist() == [False]
    assert games.black_value.tolist() == [-1.0]
    text = "winner,game_moves\n1," + "".join(squares_of(1, 20))
    assert read(text, "csv").black_value.tolist() == [1.0]


GOOD = wthor_files.record(squares_of(1), 32)
STOPPED = wthor_files.record(squares_of(1, 20), 20)
ILLEGAL = wthor_files.record(["f5", "d6", "a1"], 32)
LINE = "0," + "".join(squares_of(1))


def changed(place, value):
    return GOOD[:place] + bytes([value]) + GOOD[place + 1 :]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x14" * 9, "9 bytes, but a WTHOR header has 16"),
        (wthor_files.archive([GOOD, GOOD, GOOD])[:-30], "record 3: cut short, 38 of 68 bytes"),
        (wthor_files.archive([GOOD, GOOD], num_games=5),
         "record 3: the header says 5 games, but 2 follow"),
        (
            wthor_files.archive([GOOD, ILLEGAL, GOOD]),
            "record 2: illegal move 'a1' at ply 3 (f5 d6):"
            " black may play c3, c4, c5, c6 or c7"),
        (
            wthor_files.archive([GOOD, changed(12, 99)]),
            "record 2: byte 99 as move 5 is not a square",
        ),
        (wthor_files.archive([changed(6, 65), GOOD]), "record 1: bad score: black has 65 discs"),
        (
            wthor_files.archive([GOOD, wthor_files.record(squares_of(1), 31)]),
            "record 2: bad score: the record gives black 31 discs, the moves give 32"),
        ("", "empty file"),
        (f"winner,plays\n{LINE}\n", "no column game_moves; there are: winner, plays"),
        (
            f"winner,game_moves\n2,f5\n{LINE}\n",
            "record 1: bad score: winner '2' should be 1 (black), -1 (white) or 0"),
        (
            f"winner,game_moves\n{LINE}\n0,f5d6i9\n",
            "record 2: cannot read 'i9' after 2 moves: squares are a1 to h8, a pass is 'pa'"),
    ],
)  # fmt: skip
def test_a_bad_archive_is_named_with_record_and_reason(read, tmp_path, content, message):
    kind = "wtb" if isinstance(content, bytes) else "csv"
    assert refusals.message_of(read, content, kind) == f"{tmp_path / 'a'}.{kind}: {message}"


def test_wthor_knows_the_exact_score_from_24_empty_squares_on(read):
    # A game that stops before its position with 24 empty squares has no exact score.
    games = read(
        wthor_files.archive([wthor_files.record(squares_of(1), 32, 40), GOOD, STOPPED]), "wtb"
    )
    num_passes = [int((games.action[0, :n] == 64).sum()) for n in games.num_solved[:1]]
    assert games.num_solved.tolist() == [36 + num_passes[0] + 1, 36 + num_passes[0] + 1, 0]
    assert games.exact_score[:2].tolist() == [16, 0]
    assert read("f5d6c3\n").num_solved.tolist() == [0]


def test_exact_scores_of_wthor_are_those_of_its_positions(data_folder):
    with gzip.open(data_folder / "labelled/wthor_24empties.csv.gz", "rt") as lines:
        known = [row for row in csv.DictReader(lines) if row["game"].startswith("1985:")]
    games = game_files.read_archives([data_folder / "games/wthor/WTH_1985.wtb"])
    assert len(known) > 300
    for row in known:
        number = int(row["game"].split(":")[1])
        last = games.num_solved[number] - 1
        board = move_lists.replay(othello.Othello(), games.action[number, :last].tolist()).last
        sign = 1 if row["mover"] == "X" else -1
        assert sign * games.exact_score[number] == int(row["score_mover"])
        assert (64 - (board.black | board.white).bit_count()) == 24
        assert board.black == sum(1 << i for i, c in enumerate(row["board"]) if c == "X")


@pytest.mark.parametrize(
    ("years", "num_games", "num_stopped"),
    [
        ("19[78]", None, None),
        pytest.param("", 134_657, 413, marks=pytest.mark.slow),
    ],
)
def test_wthor_games_replay_to_their_scores(data_folder, years, num_games, num_stopped):
    paths = sorted((data_folder / "games/wthor").glob(f"WTH_{years}*.wtb"))
    games = game_files.read_archives(paths)
    sizes = [(path.stat().st_size - 16) // 68 for path in paths]
    assert len(games) == sum(sizes) > 9_000
    assert num_games in (None, len(games))
    assert num_stopped in (None, (~games.is_finished).sum())
