"""Comparisons of networks with known scores, through the entry point."""

import functools
import gzip
import json

import jax
import numpy as np
import pytest
from support.drivers import commands

from azo.games import othello
from azo.networks import network, network_files

START = "-----OX--XO-----"  # 4x4

SCORED = f"{START} X; B1:-10; A2:-10; D3:-10; C4:-10;\n"  # they are equal by symmetry


main = functools.partial(commands.run, "evaluate")


def table(text):
    """Returns the cells of the rows below the heading, and the lines after the table."""
    lines = text.splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    assert rows[0][:3] == ["set", "number", "player"]
    return rows[2:], [line for line in lines if line and not line.startswith("|")]


@pytest.mark.thorough
def test_a_network_is_compared_with_the_scores_of_files(othello_net, tmp_path, capsys):
    plain, packed = tmp_path / "moves.obf", tmp_path / "scores.csv.gz"
    plain.write_text(SCORED)
    packed.write_bytes(gzip.compress(f"board,mover,score\n{START},X,-10\n".encode()))
    flags = ["--exact", plain, packed, "--solve-empties", 0]
    assert main(f"network:{othello_net}:3", *flags) == 0
    rows, rest = table(capsys.readouterr().out)
    assert rest == []
    assert [row[:3] for row in rows] == [
        [name, "1", player]
        for name in ("moves.obf", "scores.csv.gz")
        for player in ("raw", "3 simulations")
    ]
    # Black loses: the right value is -1.
    (variables, settings), game = network_files.load(othello_net), othello.Othello(4)
    apply = network.build(game, settings.network).apply
    said = jax.jit(apply)(variables, game.planes(game.start(1)))
    assert float(rows[0][3]) == pytest.approx(abs(float(said.value[0]) + 1), abs=6e-4)
    assert rows[0][4].startswith("1.000" if said.value[0] < 0 else "0.000")
    assert rows[2][3:5] == rows[0][3:5]
    assert [row[5] for row in rows] == ["1.000, 0.207 to 1.000"] * 2 + ["-"] * 2
    assert [row[6] for row in rows] == ["0.00", "0.00", "-", "-"]


def test_a_large_file_is_sampled_by_the_seed(othello_net, tmp_path, capsys):
    path = tmp_path / "many.csv"
    scores = np.random.default_rng(0).choice([-2, 2], 200)
    rows = "".join(f"{START},X,{score}\n" for score in scores)
    path.write_text(f"board,mover,score\n{rows}")
    samples = []
    for seed in (0, 0, 1):
        flags = ["--exact", path, "--limit", 20, "--solve-empties", 0, "--seed", seed]
        assert main(f"policy:{othello_net}", *flags) == 0
        samples.append(table(capsys.readouterr().out)[0][0])
    assert samples[0] == samples[1]
    assert {row[1] for row in samples} == {"20"}
    assert samples[0] != samples[2]


@pytest.mark.slow
def test_numbers_of_simulations_are_rows_and_objects(othello_net, capsys):
    flags = ["--exact", "random:6", "--limit", 40, "--simulations", 0, 3]
    assert main(othello_net, *flags) == 0
    rows, _ = table(capsys.readouterr().out)
    expected = [("random:6", player, 40) for player in ("raw", "3 simulations")]
    assert [(name, player, int(count)) for name, count, player, *_ in rows] == expected
    assert main(othello_net, *flags, "--json") == 0
    data = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["set"], one["player"], one["positions"]) for one in data] == expected
    for one, row in zip(data, rows, strict=True):
        assert f"{one['value_error']['mean']:.3f}" == row[3].split(",")[0]
        assert f"{one['rank_correlation']['mean']:.3f}" == row[8].split(",")[0]
        assert f"{one['calibration_error']:.3f}" == row[9]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("random --exact random:4", "--exact measures a network or the engine, not 'random'"),
        ("policy:{net} --exact random:4", "--exact needs a network for Othello, not for tictactoe"),
        ("{othello_net} --exact {folder}/illegal.obf", "{folder}/illegal.obf:1: a1 is illegal"),
        (
            "{othello_net} --exact {folder}/over.obf",
            "{folder}/over.obf:1: the game is over, and so are all games of positions with a score:"
            " add a position with a legal move",
        ),
        ("random --simulations 8", "--simulations is for --exact SET ..."),
    ],
)
def test_errors_in_exact_sets_are_reported(net, othello_net, tmp_path, capsys, arguments, message):
    (tmp_path / "illegal.obf").write_text(f"{START} X; A1:+2;\n")
    (tmp_path / "over.obf").write_text("XXXXXXXXXXXXXXXX X; A1:+16;\n")
    names = {"net": net, "othello_net": othello_net, "folder": tmp_path}
    words = [argument.format(**names) for argument in arguments.split()]
    assert commands.refused(capsys, "evaluate", *words) == message.format(**names)


def test_an_engine_with_exact_leaves_finds_all_results_and_best_moves(capsys):
    settings = {"has-proofs": False, "prior-temperature": 10.0}
    flags = [f"--engine.{name}={value}" for name, value in settings.items() if value is not False]
    flags += ["--engine.no-has-proofs", "--limit", 8]
    assert main("engine:zero-fast6:200", "--exact", "random:8", *flags) == 0
    ((*heads, _, right_sign, best_move, lost, _, _, _),), _ = table(capsys.readouterr().out)
    assert heads == ["random:8", "8", "engine, 200 simulations"]
    assert (right_sign[:6], best_move[:6], lost[:5]) == ("1.000,", "1.000,", "0.00,")


def test_an_engine_is_measured_by_simulations(capsys):
    flags = ["--exact", "random:8", "--limit", 3, "--simulations", 1, 2]
    assert main("engine:zero-fast6", *flags) == 0
    rows, _ = table(capsys.readouterr().out)
    expected = [["random:8", "3", f"engine, {count} simulations"] for count in (1, 2)]
    assert [row[:3] for row in rows] == expected
    words = ["evaluate", "engine:zero-fast6", *flags, "--simulations", 0]
    assert "at least 1 simulation" in commands.refused(capsys, *words)


def test_alphabeta_is_measured_by_the_moves_that_it_plays(capsys):
    flags = ["--exact", "random:14", "--limit", 12]
    rows = {}
    for kind in ("puct", "alphabeta"):
        assert main("engine:zero-fast", *flags, "--simulations", 300, "--engine.search", kind) == 0
        (rows[kind],), _ = table(capsys.readouterr().out)
    assert rows["puct"][2] == "engine, 300 simulations"
    assert rows["alphabeta"][2] == "alpha-beta, 300 simulations"
    assert rows["alphabeta"][3:] != rows["puct"][3:]
    assert float(rows["alphabeta"][5].split(",")[0]) > 0.5  # best moves
    again = main("engine:zero-fast", *flags, "--simulations", 300, "--engine.search", "alphabeta")
    assert again == 0  # positions do not depend on those before
    assert table(capsys.readouterr().out)[0] == [rows["alphabeta"]]


def test_a_time_limit_names_the_row_of_an_engine(capsys):
    flags = ["--exact", "random:8", "--limit", 2, "--engine.seconds", 0.05]
    assert main("engine:zero-fast", *flags) == 0
    ((_, _, name, *_),), _ = table(capsys.readouterr().out)
    assert name == "engine, 0.05 s"


@pytest.mark.parametrize("words", [["--exact", "random:8"], ["random", "--num-games", 2]])
def test_alphabeta_without_its_evaluation_is_refused(capsys, words):
    words = ["evaluate", "engine:zero-fast6", *words, "--engine.search", "alphabeta"]
    message = "--engine.search alphabeta has no effect with zero-fast6, which has no alphabeta.npz"
    assert commands.refused(capsys, *words) == message


def test_a_forced_move_has_no_error_in_discs(tmp_path, capsys):
    forced = "OOOO----XOOXXX-XOOOOX--X-OXXXXXXXXOXXXXXXXXOXXXXXXXXXXXXXXXXX-X- X; A4:-14;"
    (tmp_path / "one.obf").write_text(f"{forced}\n")
    flags = ["--simulations", 10, "--engine.search", "alphabeta"]
    assert main("engine:zero-fast", "--exact", tmp_path / "one.obf", *flags) == 0
    ((*_, disc_error, _, _),), _ = table(capsys.readouterr().out)
    assert disc_error == "-"
