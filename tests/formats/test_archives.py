"""Archives of games: OLIVAW's published games written in every format, random games, bad files."""

import csv
import gzip
import pathlib
import struct

import numpy as np
import pytest
from support import random_games, slow_board

from azo.formats import archives, wthor
from azo.games import notation, othello, replaying

GAMES = pathlib.Path(__file__).parents[1] / "data"


def moves_of(number):
    lines = (GAMES / f"olivaw_game{number:02}.txt").read_text().splitlines()
    return next(line.removeprefix("moves: ") for line in lines if line.startswith("moves: "))


# Black's discs at the end, the empties to the winner, as replayed by an independent program.
OLIVAW = {1: 32, 8: 27, 11: None}


@pytest.fixture(scope="module")
def replays():
    return [replaying.replay(moves_of(number), othello.Othello()) for number in OLIVAW]


def squares_of(number, length=None):
    text = moves_of(number).upper().replace("PA", "")
    return [text[i : i + 2].lower() for i in range(0, len(text), 2)][:length]


def wthor_record(squares, black_discs, exact_discs=32):
    codes = [10 * int(square[1]) + "abcdefgh".index(square[0]) + 1 for square in squares]
    moves = bytes(codes).ljust(60, b"\0")
    return struct.pack("<hhhBB", 3, 1, 2, black_discs, exact_discs) + moves


def wthor_file(records, *, num_games=None, size=8):
    num_games = len(records) if num_games is None else num_games
    header = struct.pack("<BBBBihhBBBx", 20, 26, 2, 18, num_games, 0, 2025, size, 0, 24)
    return header + b"".join(records)


def discs(replay):
    board = replay.last_board
    black, white = board.black.bit_count(), board.white.bit_count()
    return black + (64 - black - white) * (black > white)


def check(games, replays):
    assert [row[row >= 0].tolist() for row in games.action] == [[*r.actions] for r in replays]
    assert games.num_plies.tolist() == [len(replay.actions) for replay in replays]
    assert games.is_finished.tolist() == [replay.is_over for replay in replays]
    final = np.array([discs(replay) for replay in replays])
    np.testing.assert_array_equal(games.black_score, 2 * final - 64)
    np.testing.assert_array_equal(games.black_value, np.sign(final - 32))


def test_published_games_are_equal_in_every_format(replays):
    final = [discs(replay) for replay in replays]
    assert [a == b for a, b in zip(final, OLIVAW.values(), strict=True)] == [True, True, False]
    assert [replay.actions.count(64) for replay in replays] == [2, 1, 1]
    squares = [squares_of(number) for number in OLIVAW]

    records = [wthor_record(s, d) for s, d in zip(squares, final, strict=True)]
    for size in (8, 0):  # 0 in old files
        check(wthor.read(wthor_file(records, size=size), "a.wtb"), replays)

    winner = np.sign(np.array(final) - 32)
    lines = [
        f"{i},{w},{''.join(s)},1" for i, (w, s) in enumerate(zip(winner, squares, strict=True))
    ]
    text = "\n".join(["id,winner,game_moves,finished", *lines, ""])
    check(archives.read_eothello(text, "a.csv"), replays)

    # With passes as printed (of game 11 one is not), then without, with white space and a gap.
    printed = "\n".join(moves_of(number) for number in OLIVAW)
    check(archives.read_transcripts(printed, "a.txt"), replays)
    bare = "\n\n".join(" ".join(s) for s in squares)
    check(archives.read_transcripts(bare, "a.txt"), replays)


def test_random_games_on_a_small_board_are_those_of_the_slow_board():
    game, num_games = othello.Othello(4), 40
    positions = random_games.play(game, num_games, seed=5)
    texts, expected, scores = [], [], []
    for index in range(num_games):
        board, actions = slow_board.start(4), []
        stop = 6 if index % 4 == 0 else game.max_plies
        for action in positions.action[:stop, index]:
            if slow_board.is_over(board):
                break
            actions.append(int(action))
            board = slow_board.play(board, int(action))
        while actions[-1] == game.pass_action:  # a pass after the last move is not read back
            board = slow_board.Board(board.rows, slow_board.other(board.mover))
            actions.pop()
        texts.append(notation.transcript(actions, 4, has_passes=index % 2 == 0))
        expected.append(actions)
        sign = 1 if board.mover == "X" else -1
        scores.append((sign * slow_board.score(board), slow_board.is_over(board)))
    games = archives.read_transcripts("\n".join(texts), "a.txt", game)
    assert [row[row >= 0].tolist() for row in games.action] == expected
    assert any(16 in actions for actions in expected)
    np.testing.assert_array_equal(games.black_score, [score for score, _ in scores])
    np.testing.assert_array_equal(games.is_finished, [is_over for _, is_over in scores])
    value = [np.sign(score) if is_over else np.nan for score, is_over in scores]
    np.testing.assert_array_equal(games.black_value, value)


def test_a_record_that_stops_early_has_the_result_that_its_archive_says():
    stopped = wthor_record(squares_of(1, 20), 20)
    games = wthor.read(wthor_file([stopped]), "a.wtb")
    assert games.num_plies.tolist() == [20]
    assert games.is_finished.tolist() == [False]
    assert games.black_value.tolist() == [-1.0]
    text = "winner,game_moves\n1," + "".join(squares_of(1, 20))
    assert archives.read_eothello(text, "a.csv").black_value.tolist() == [1.0]


GOOD = wthor_record(squares_of(1), 32)
STOPPED = wthor_record(squares_of(1, 20), 20)
ILLEGAL = wthor_record(["f5", "d6", "a1"], 32)
OUTSIDE = bytearray(GOOD)
OUTSIDE[8 + 4] = 99
GAP = bytearray(GOOD)
GAP[8 + 4] = 0
TOO_MANY = bytearray(GOOD)
TOO_MANY[6] = 65


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x14" * 9, "9 bytes, but a WTHOR header has 16"),
        (wthor_file([GOOD], size=10), "games on 10x10, not 8x8"),
        (
            wthor_file([GOOD, GOOD, GOOD])[:-30],
            "record 3: cut short, 38 of 68 bytes"),
        (
            wthor_file([GOOD, GOOD], num_games=5),
            "the header says 5 games, but 2 follow"),
        (
            wthor_file([GOOD, GOOD], num_games=1),
            "the header says 1 games, but 2 follow"),
        (
            wthor_file([GOOD, ILLEGAL, GOOD]),
            "record 2: illegal move 'a1' at ply 3 (f5 d6):"
            " black may play c3, c4, c5, c6 or c7"),
        (
            wthor_file([GOOD, bytes(OUTSIDE)]),
            "record 2: byte 99 as move 5 is not a square"),
        (
            wthor_file([bytes(GAP), GOOD, bytes(GAP)]),
            "record 1: byte 0 as move 5 is not a square"),
        (
            wthor_file([bytes(TOO_MANY), GOOD]),
            "record 1: bad score: black has 65 discs"),
        (
            wthor_file([GOOD, wthor_record(squares_of(1), 31)]),
            "record 2: bad score: the record gives black 31 discs, the moves give 32"),
    ],
)  # fmt: skip
def test_a_bad_wthor_file_is_named_with_record_and_reason(content, message):
    with pytest.raises(ValueError) as error:
        wthor.read(content, "WTH_2025.wtb")
    separator = ": "
    assert str(error.value) == f"WTH_2025.wtb{separator}{message}"


LINE = "0," + "".join(squares_of(1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty file"),
        ("winner,game_moves\n", "no game after the heading"),
        (
            f"result,game_moves\n{LINE}\n",
            "no column winner; there are: result, game_moves"),
        (
            f"winner,game_moves\n{LINE}\n1\n",
            "record 2: 1 fields, but there are 2 columns"),
        (
            f"winner,game_moves\n2,f5\n{LINE}\n",
            "record 1: bad score: winner '2' is none of 1 (black), -1 (white) and 0"),
        (
            f"winner,game_moves\n{LINE}\n1{LINE[1:]}\n",
            "record 2: bad score: the record says +1 for black, the moves give +0"),
        (
            f"winner,game_moves\n{LINE}\n0,f5d6i9\n",
            "record 2: cannot read 'i9' after 2 moves: squares are a1 to h8, a pass is 'pa'"),
        (
            f"winner,game_moves\n{LINE}\n0,f5d6c3pass\n0,{LINE[2:]}a1\n",
            "record 2: illegal move 'pass' at ply 4 (f5 d6 c3): "
            "white may play d3, f3, f4 or g5"),
    ],
)  # fmt: skip
def test_a_bad_csv_is_named_with_record_and_reason(text, message):
    with pytest.raises(ValueError) as error:
        archives.read_eothello(text, "games.csv")
    assert str(error.value) == f"games.csv: {message}"


def test_bad_transcripts_are_named_by_line():
    text = "f5d6\n\nf5d7\n"
    with pytest.raises(ValueError) as error:
        archives.read_transcripts(text, "a.txt")
    message = "a.txt: record 3: illegal move 'd7' at ply 2 (f5): white may play f4, d6 or f6"
    assert str(error.value) == message
    with pytest.raises(ValueError) as error:
        archives.read_transcripts("\n \n", "a.txt")
    assert str(error.value) == "a.txt: no game in it"


def test_wthor_knows_the_exact_score_from_24_empty_squares_on():
    # A game that stops before its position with 24 empty squares has no exact score.
    games = wthor.read(wthor_file([wthor_record(squares_of(1), 32, 40), GOOD, STOPPED]), "a.wtb")
    num_passes = [int((games.action[0, :n] == 64).sum()) for n in games.num_solved[:1]]
    assert games.num_solved.tolist() == [36 + num_passes[0] + 1, 36 + num_passes[0] + 1, 0]
    assert games.exact_score[:2].tolist() == [16, 0]
    transcripts = archives.read_transcripts("f5d6c3\n", "a.txt")
    assert transcripts.num_solved.tolist() == [0]


def test_exact_scores_of_wthor_are_those_of_its_positions(data_folder):
    with gzip.open(data_folder / "labelled/wthor_24empties.csv.gz", "rt") as lines:
        known = [row for row in csv.DictReader(lines) if row["game"].startswith("1985:")]
    games = wthor.read((data_folder / "games/wthor/WTH_1985.wtb").read_bytes(), "WTH_1985.wtb")
    assert len(known) > 300
    for row in known:
        number = int(row["game"].split(":")[1])
        last = games.num_solved[number] - 1
        replay = replaying.replay_actions(games.action[number, :last].tolist(), othello.Othello())
        board = replay.last_board
        sign = 1 if row["mover"] == "X" else -1
        assert sign * games.exact_score[number] == int(row["score_mover"])
        assert (64 - (board.black | board.white).bit_count()) == 24
        assert board.black == sum(1 << i for i, c in enumerate(row["board"]) if c == "X")


def test_joined_archives_keep_order():
    first = archives.read_transcripts("f5d6c3\n", "a.txt")
    second = wthor.read(wthor_file([GOOD]), "a.wtb")
    both = archives.join([first, second])
    assert both.num_plies.tolist() == [3, *second.num_plies]
    np.testing.assert_array_equal(both.black_value, [np.nan, 0])


@pytest.mark.parametrize(
    ("years", "num_games", "num_stopped"),
    [
        ("19[78]", None, None),
        pytest.param("", 134_657, 413, marks=pytest.mark.slow),
    ],
)
def test_wthor_games_replay_to_their_scores(data_folder, years, num_games, num_stopped):
    paths = sorted((data_folder / "games/wthor").glob(f"WTH_{years}*.wtb"))
    several = [wthor.read(path.read_bytes(), path.name) for path in paths]
    games = archives.join(several)
    sizes = [(path.stat().st_size - 16) // 68 for path in paths]
    assert [len(one.action) for one in several] == sizes
    assert num_games in (None, len(games.action))
    assert num_stopped in (None, (~games.is_finished).sum())
    assert len(games.action) > 9_000
