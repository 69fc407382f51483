"""The names of `azo` for programs: lazy, typed, and used as the README uses them."""

import ast
import importlib.metadata
import pathlib
import re
import subprocess
import sys

import jax
import numpy as np
import pytest
from support.builders import tiny_run

import azo
from azo.training import metrics

_PACKAGE = pathlib.Path(azo.__file__).parent
_USER_FILE = """
import azo

engine = azo.load_engine("zero-fast", num_simulations=800)
reveal_type(engine.think().action)
reveal_type(azo.analyse_game("f5d6", engine).losses)
reveal_type(azo.solve_position("X").move_scores)
azo.load_engine(seed="strong")
reveal_type(azo.__version__)
"""


def test_importing_azo_loads_neither_jax_nor_numba():
    program = (
        "import azo, sys; assert not {'jax', 'numba'} & set(sys.modules);"
        " azo.load_engine, azo.analyse_game, azo.solve_position; assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_every_name_has_a_type():
    stub = ast.parse((_PACKAGE / "__init__.pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    typed = [alias.name for node in imports for alias in node.names]
    assert sorted(typed) == azo.__all__
    assert set(azo.__all__) <= set(dir(azo))


def test_no_name_is_that_of_a_layer():
    assert not {path.stem for path in _PACKAGE.iterdir()} & set(azo.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError) as error:
        _ = azo.solve
    assert str(error.value) == "module 'azo' has no attribute 'solve'"


@pytest.mark.thorough
def test_the_types_reach_a_program(tmp_path):
    assert (_PACKAGE / "py.typed").exists()
    program = tmp_path / "program.py"
    program.write_text(_USER_FILE)
    cache = _PACKAGE.parent / ".cache" / "mypy"
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), str(program)]
    done = subprocess.run(
        command, cwd=_PACKAGE.parent, capture_output=True, text=True, timeout=300, check=False
    )
    told = [line.partition("program.py:")[2] for line in done.stdout.splitlines()]
    assert told[:5] == [
        '5: note: Revealed type is "int"',
        '6: note: Revealed type is "tuple[azo.coach.game_analysis.AnalysedPosition, ...]"',
        '7: note: Revealed type is "dict[int, int]"',
        '8: error: Argument "seed" to "load_engine" has incompatible type "str"; expected "int"'
        "  [arg-type]",
        '9: note: Revealed type is "str"',
    ]
    assert azo.__version__ == importlib.metadata.version("azo")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: azo.load_engine(num_simulation=3), "load_engine [engine]: unknown setting 'num_s"),
        (lambda: azo.load_engine(level=21), "load_engine [level]: level 21: levels are 1 to 20"),
        (lambda: azo.run_training("tictactoe", {"run.sed": 3}), "unknown setting 'sed'. Did you"),
    ],
)
def test_a_wrong_setting_is_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.thorough
def test_positions_are_searched_in_a_batch_with_a_network():
    network = azo.load_network("zero-fast6")
    assert network.game == azo.Othello(6)
    config = azo.SearchConfig(num_simulations=16)
    result = azo.search_moves(
        network.game, network.evaluate, jax.random.key(0), network.game.start(3), config=config
    )
    assert result.policy.shape == (3, 37)
    np.testing.assert_allclose(result.policy.sum(axis=1), 1, rtol=1e-5)
    assert network.game.legal_mask(network.game.start())[result.action].all()


def test_a_run_is_trained_resumed_and_its_network_loaded(tmp_path):
    events = []

    def stop_in_the_third(event):
        events.append(event)
        if event["iteration"] == 3:
            raise KeyError("a fault of the caller")

    recipe, folder, longer = tmp_path / "a.toml", tmp_path / "run", {"run.num_iterations": 4}
    recipe.write_text(tiny_run.toml())
    with pytest.raises(KeyError, match="a fault of the caller"):
        azo.run_training(recipe, folder=folder, on_event=stop_in_the_third)
    assert events == metrics.read(folder)
    events.clear()
    assert azo.run_training(recipe, longer, folder=folder, on_event=events.append) == folder
    assert [event["iteration"] for event in events if event["event"] == "iteration"] == [3, 4]
    assert [event["iteration"] for event in metrics.read(folder, "iteration")] == [1, 2, 3, 4]
    network = azo.load_network(folder)
    evaluation = network.evaluate(jax.random.key(0), network.game.start(5))
    assert evaluation.prior_logits.shape == (5, 9)
    assert bool((abs(evaluation.value) <= 1).all())


@pytest.mark.thorough
def test_programs_for_those_who_extend_azo_run_and_a_sweep_compiles_once(
    tmp_path, monkeypatch, capsys
):
    page = (_PACKAGE.parent / "docs" / "extend.md").read_text()
    programs = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (sweep,) = [program for program in programs if "run_training" in program]
    programs.remove(sweep)
    with jax.numpy_rank_promotion("allow"):
        for program in programs:  # a search, rules, a game, networks and parts of learning
            exec(program, {"__name__": "program"})
    assert "[3 3 3 3 3 3 3 3]\n" in capsys.readouterr().out  # replies to a first move
    monkeypatch.chdir(tmp_path)
    pathlib.Path("tictactoe.toml").write_text(tiny_run.toml())
    exec(sweep.replace('"tictactoe"', '"tictactoe.toml"'))
    folders = sorted(pathlib.Path("runs").iterdir())
    assert [tiny_run.iterations(folder)[-1] for folder in folders] == [6, 6, 6]
    assert [len(metrics.read(folder, "compilation")) for folder in folders] == [1, 0, 0]


@pytest.mark.thorough
def test_an_evaluator_may_be_the_callers_and_numbers_of_a_search_traced():
    """With a uniform prior and values, the first visits follow the prior if `c_puct` is large."""
    game = azo.TicTacToe()

    def evaluate(key, position):
        batch = position.player.shape
        logits = jax.numpy.broadcast_to(jax.numpy.arange(9.0), (*batch, 9))
        return azo.Evaluation(logits, jax.numpy.zeros(batch))

    @jax.jit
    def policy(c_puct):
        puct = azo.PuctConfig(c_puct=c_puct)
        config = azo.SearchConfig(algorithm="puct", num_simulations=32, puct=puct)
        return azo.search_moves(game, evaluate, jax.random.key(0), game.start(1), config=config)

    for c_puct in (0.1, 3.0):
        puct = azo.PuctConfig(c_puct=c_puct)
        config = azo.SearchConfig(algorithm="puct", num_simulations=32, puct=puct)
        plain = azo.search_moves(game, evaluate, jax.random.key(0), game.start(1), config=config)
        np.testing.assert_array_equal(policy(c_puct).policy, plain.policy)
    assert policy._cache_size() == 1
    with pytest.raises(ValueError, match="c_puct"):
        azo.PuctConfig(c_puct=-1)
