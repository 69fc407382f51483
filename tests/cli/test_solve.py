"""Files of endgames: lines, comparisons with the file, messages."""

import gzip
import json

import pytest
from support.drivers import commands, refusals

from azo.cli import solve

_START = "-----OX--XO-----"  # 4x4: black loses by 10, white wins by 10
_FFO_1 = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"


@pytest.fixture
def run(capsys):
    """Runs the command; returns the exit code and the lines."""

    def run(path, *flags):
        code = solve.main([str(path), *flags])
        return code, capsys.readouterr().out.splitlines()

    return run


def _message(path, *flags):
    return refusals.message_of(solve.main, [str(path), *flags])


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.obf"
    path.write_text(
        f"% 4x4\n{_START} X; B1:-10; A2:-10; % the start\n\n{_START} O; A3:-10; B4:-10;\n"
    )
    return path


def test_each_position_has_a_line(run, small):
    code, lines = run(small, "--max-empties", "12")
    assert code == 0
    assert len(lines) == 3
    for line, number in zip(lines, (2, 4), strict=False):
        words = line.split()
        assert words[:4] == [str(number), "12", "empties", "-10"]
        assert words[5:7] == [words[5], "nodes"]
        assert int(words[5].replace(",", "")) > 1000
        assert line.endswith("exact  as in the file")
    assert lines[2].startswith(f"{small}: 2 solved, ")
    assert lines[2].endswith("2 of 2 agree with the file")


def test_every_move_is_listed_best_first(run, tmp_path):
    path = tmp_path / "one.obf"
    path.write_text(f"{_FFO_1}; G8:+18; H1:+12; --:-127;\n")
    code, lines = run(path, "--every-move")
    assert code == 0
    assert "g8:+18 h1:+12 h7:+6 a2:+6 a3:+4 b1:-4 a4:-22 g2:-24" in lines[0].replace(
        "a2:+6 h7:+6", "h7:+6 a2:+6"
    )


def test_scores_that_differ_from_the_file_give_exit_code_1(run, tmp_path):
    path = tmp_path / "wrong.obf"
    path.write_text(f"{_START} X; B1:-8; A2:-10;\n{_START} X;\n")
    code, lines = run(path, "--every-move")
    assert code == 1
    assert "DIFFERS: the file says -8; the file says -8 for b1, not -10" in lines[0]
    assert lines[1].endswith("-10")  # nothing to compare
    assert lines[2].endswith("0 of 1 agree with the file")


def test_reversed_solves_for_fewer_discs(run, small, tmp_path):
    path = tmp_path / "reversed.csv.gz"
    path.write_bytes(gzip.compress(f"board,mover,score_mover\n{_START},X,-4\n".encode()))
    code, lines = run(path, "--reversed")
    assert code == 0
    assert lines[0].endswith("exact  as in the file")


def test_results_may_be_json(run, small):
    code, lines = run(small, "--json")
    assert code == 0
    first, second = map(json.loads, lines)
    assert (second["line"], second["lower"], second["upper"]) == (4, -10, -10)
    assert (first["board"], second["board"]) == (f"{_START} X", f"{_START} O")


def test_a_limit_is_reported(run, tmp_path):
    path = tmp_path / "one.obf"
    path.write_text(f"{_FFO_1}; G8:+18;\n")
    code, lines = run(path, "--max-nodes", "100")
    assert code == 0
    assert "-64..+64" in lines[0]
    assert lines[0].endswith("unsolved: a limit was reached")
    assert ", 1 unsolved, " in lines[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " the file has no positions"),
        ("XO X;", "1: board of 2 squares; boards have 16 (4x4), 36 (6x6) or 64 (8x8)"),
        (
            f"{_START} X; B1:+2; Z9:+4;",
            "1: cannot read move and score 'Z9:+4': unknown move 'Z9': squares are a1 to d4, a"
            " pass is 'pass'",
        ),
        (
            "-----O---XO----- X;",
            "1: impossible board: c2 is empty, but the centre squares always have discs",
        ),
        ("board,side\n", " no column 'mover'; there are: board, side"),
        (f"board,mover,score\n{_START},X,ten", "2: score 'ten' is not a whole number"),
    ],
)
def test_errors_in_a_file_are_reported(tmp_path, text, message):
    path = tmp_path / "bad.obf"
    path.write_text(text)
    assert _message(path) == f"{path}:{message}"


def test_lines_that_cannot_be_read_do_not_close_the_others(tmp_path, capsys):
    path = tmp_path / "some.obf"
    bad = [f"{'-' * 100} X;", "XO X;", f"{_START} X; Z9:+4;", "what"]
    path.write_bytes("\n".join([*bad, f"{_START} X; % Müller"]).encode("latin-1"))
    assert commands.run("solve", path) == 0
    shown = capsys.readouterr()
    assert "1 solved" in shown.out
    assert shown.err.startswith(
        f"left out: {path}:1: a 10x10 board; azo plays 4x4, 6x6 and 8x8; {path}:2: board of 2 squ"
    )
    assert shown.err.endswith("; and 1 more\n")


def test_a_position_with_too_many_empty_squares_is_refused(small):
    assert _message(small, "--max-empties", "11") == (
        f"{small}:2: 12 empty squares, but --max-empties is 11; raise it, or leave such positions"
        " out with --skip-larger"
    )


def test_positions_with_too_many_empty_squares_may_be_left_out(run, small):
    code, lines = run(small, "--max-empties", "11", "--skip-larger")
    assert code == 0
    assert lines == [f"{small}: 0 solved, 0 nodes in 0.00 s"]
