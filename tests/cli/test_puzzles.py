"""Networks against scores of files, by way of the entry point."""

import gzip

import jax
import numpy as np
import pytest
import scipy.stats
from support import tiny_run

from azo.cli import command_line, puzzles
from azo.games import bitboard, notation, othello
from azo.learning import network
from azo.measure import exact_sets
from azo.run import network_files

FOUR = othello.Othello(4)
SECTIONS = {"game": {"name": "othello", "size": 4}, "replay": {"capacity": 4096}}
START = "-----OX--XO-----"
PNG = b"\x89PNG\r\n\x1a\n"


def main(*arguments):
    return command_line.run_main(puzzles.main, [str(argument) for argument in arguments])


def export(folder, rules, **sections):
    settings = tiny_run.settings(**sections)
    variables = network.init(rules, settings.network, jax.random.key(0))
    network_files.save(folder, variables, settings)
    return folder


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return export(tmp_path_factory.mktemp("networks") / "othello", FOUR, **SECTIONS)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A network that does not play Othello."""
    return export(tmp_path_factory.mktemp("networks") / "tictactoe", tiny_run.game())


@pytest.fixture(scope="module")
def known():
    return exact_sets.of_random_games(FOUR, jax.random.key(3), num_positions=40, num_empties=6)


@pytest.fixture
def scored(known, tmp_path):
    """A file of solved positions, each with a best move."""
    sides = (bitboard.to_ints(known.position.player), bitboard.to_ints(known.position.opponent))
    lines = ["board,mover,score_mover,best_move"]
    for player, opponent, utility, moves in zip(
        *sides, known.utility, known.move_utility, strict=True
    ):
        board = notation.board_text(notation.Board(player, opponent, True), 4)
        best = notation.action_text(int(moves.argmax()), 4)
        lines.append(f"{board.replace(' ', ',')},{utility},{best}")
    path = tmp_path / "solved.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def table(text, first):
    """Returns the cells of the rows of the table whose heading begins so."""
    parts = [part.splitlines() for part in text.split("\n\n")]
    (lines,) = [part for part in parts if part[0].startswith(f"| {first}")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def test_values_are_compared_with_the_scores_of_a_file(net, known, scored, tmp_path, capsys):
    picture = tmp_path / "plot.png"
    flags = ["--sets", scored, "--simulations", 0, 3, "--plot", picture]
    assert main(net, *flags) == 0
    out = capsys.readouterr().out
    raw, searched = table(out, "positions from")
    assert raw[:3] == ["solved.csv.gz", "40", "raw"]
    assert searched[:3] == ["solved.csv.gz", "40", "3 simulations"]

    settings = tiny_run.settings(**SECTIONS).network
    variables = network.init(FOUR, settings, jax.random.key(0))
    said = jax.jit(network.build(FOUR, settings).apply)(variables, FOUR.planes(known.position))
    value, utility = np.asarray(said.value), known.utility
    correlation = scipy.stats.spearmanr(value, utility).statistic
    assert float(raw[3].split(",")[0]) == pytest.approx(correlation, abs=6e-3)
    is_decided = utility != 0
    right = (np.sign(value) == np.sign(utility))[is_decided].mean()
    assert raw[5].startswith(f"{right:.3f}, ")
    legal = np.asarray(FOUR.legal_mask(known.position))
    chosen = np.where(legal, np.asarray(said.prior_logits), -np.inf).argmax(axis=1)
    has_choice = legal.sum(axis=1) > 1
    found = (chosen == known.move_utility.argmax(axis=1))[has_choice]
    assert raw[6].startswith(f"{found.mean():.3f}, ")
    assert raw[6].endswith(f", of {has_choice.sum()}")

    # An untrained network calls every position even.
    bins = table(out, "solved.csv.gz: value")
    counts = [int(row[1].rpartition(" ")[2]) for row in bins if row[1] != "-"]
    assert sum(counts) == 40
    assert len(bins) == 10
    assert picture.read_bytes().startswith(PNG)


def test_a_large_file_is_sampled_by_the_seed(net, scored, capsys):
    found = []
    for seed in (0, 0, 1):
        flags = ["--sets", scored, "--simulations", 0, "--limit", 20, "--seed", seed]
        assert main(f"network:{net}", *flags) == 0
        found.append(table(capsys.readouterr().out, "positions from")[0])
    assert found[0] == found[1]
    assert {row[1] for row in found} == {"20"}
    assert found[0] != found[2]


def test_moves_are_timed_by_ply(other, capsys):
    assert main(other, "--timing", "--simulations", 0, 4) == 0
    rows = table(capsys.readouterr().out, "plies")
    assert [row[:2] for row in rows] == [["0 to 8", "raw"], ["0 to 8", "4 simulations"]]
    assert all(float(row[2]) > 0 and float(row[4]) > 0 for row in rows)
    assert rows[0][3] == "1.0"
    assert 2 < float(rows[1][3]) <= 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{net}"], "nothing to do: give --sets FILE ... or --timing"),
        (
            ["{net}:100", "--timing"],
            "{net}:100: no such folder; give a run's or an exported network's, and the numbers of"
            " simulations by --simulations",
        ),
        (
            ["{folder}", "--timing"],
            "{folder}: neither a run nor an exported network: no checkpoints/",
        ),
        (
            ["{other}", "--sets", "{folder}/plain.obf"],
            "--sets needs a network for Othello, not for tictactoe",
        ),
        (
            ["{net}", "--sets", "{folder}/none.obf"],
            "{folder}/none.obf: cannot be read: No such file or directory",
        ),
        (
            ["{net}", "--sets", "{folder}/plain.obf"],
            "{folder}/plain.obf: no position in it has a score",
        ),
        (
            ["{net}", "--sets", "{folder}/large.obf"],
            "{folder}/large.obf:2: a board of 8x8 squares, not 4x4",
        ),
        (
            ["{net}", "--sets", "{folder}/illegal.csv"],
            "{folder}/illegal.csv:2: a1 is illegal",
        ),
        (
            ["{net}", "--sets", "{folder}/over.obf"],
            "{folder}/over.obf:1: the game is over, as in all positions with a score",
        ),
        (
            ["{net}", "--timing", "--plot", "{folder}/plot.png"],
            "--plot shows what comes of --sets FILE ...: give both",
        ),
        (
            ["{net}", "--sets", "x", "--simulations", *"012345", "--plot", "{folder}/plot.png"],
            "--plot shows up to 5 numbers of simulations, not 6",
        ),
        (
            ["{net}", "--sets", "{folder}/over.obf", "--plot", "{folder}/none/plot.png"],
            "{folder}/none/plot.png: cannot write here (No such file or directory)",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(net, other, tmp_path, capsys, arguments, message):
    large = "-" * 27 + "OX------XO" + "-" * 27
    (tmp_path / "plain.obf").write_text(f"{START} X;\n")
    (tmp_path / "large.obf").write_text(f"{START} X; B1:+2;\n{large} X; D3:+0;\n")
    (tmp_path / "illegal.csv").write_text(f"board,mover,score,best_move\n{START},X,2,a1\n")
    (tmp_path / "over.obf").write_text("XXXXXXXXXXXXXXXX X; A1:+16;\n")
    names = {"net": net, "other": other, "folder": tmp_path}
    assert main(*(argument.format(**names) for argument in arguments)) == 2
    captured = capsys.readouterr()
    assert captured.err == message.format(**names) + "\n"
    assert captured.out == ""
