"""Smoke runs of the benchmarks on tiny batches, and checks of what they compare and count."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import tiny_run
from support.drivers import refusals

from azo.cli import command_line
from azo.games import othello
from azo.learning import initial_games
from azo.networks import initial_variables, network
from azo.search import improvement
from benchmarks import all as every
from benchmarks import (
    baselines,
    compilation,
    inputs,
    iteration,
    measure,
    memory,
    networks,
    rules,
    search,
    selfplay,
    solver,
)

pytestmark = pytest.mark.slow

SCRIPTS = (compilation, iteration, memory, networks, rules, search, selfplay, solver)
FOUR = othello.Othello(4)


@pytest.fixture(autouse=True)
def _short_turns(monkeypatch):
    monkeypatch.setattr(measure, "MIN_TURN_SECONDS", 0.0)


def settings_of(module) -> type[measure.Settings]:
    own = (x for x in vars(module).values() if getattr(x, "__module__", "") == module.__name__)
    return next(x for x in own if isinstance(x, type) and issubclass(x, measure.Settings))


@pytest.mark.parametrize("module", [*SCRIPTS, every], ids=lambda module: module.__name__)
def test_wrong_flag_gives_one_line_and_exit_code_2(module, capsys):
    assert module.main(["--nonsense"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "--nonsense" in captured.err


@pytest.mark.parametrize(
    "section", [section for sections in every.PRESETS.values() for section in sections], ids=str
)
def test_flags_of_every_preset_are_understood(section):
    module = importlib.import_module(f"benchmarks.{section.module}")
    command_line.parse(settings_of(module), section.flags.split(), prog=section.module)


def test_tables_replace_only_what_stands_between_the_lines_of_their_preset():
    readme = "a\n<!-- cpu: begin -->\nold\n<!-- cpu: end -->\nb\n<!-- gpu: begin -->\nold\n"
    replaced = every.replaced(readme, "cpu", "new\n")
    assert replaced == readme.replace("old", "\nnew\n", 1)
    message = refusals.message_of(every.replaced, readme, "gpu", "new\n")
    assert "no lines <!-- gpu: begin --> and <!-- gpu: end -->" in message


@pytest.mark.parametrize(
    ("module", "flags", "expected"),
    [
        (
            search,
            "--batches 2 --simulations 2 --size 4 --network 1x4 --repeats 1",
            ["| 2 x 2 |", 'backend "mctx"'],
        ),
        (
            selfplay,
            "--cells 1x4:2 --batch 2 --num-plies 1 --repeats 1",
            [
                "| azo, 1x4, 2 simulations",
                "| 1x4, 2 simulations, against Pgx example, azo's network |",
            ],
        ),
        (
            iteration,
            "--config tiny.toml --repeats 1",
            ["| whole iteration", "| self-play and replay", "| learning, the difference"],
        ),
        (
            memory,
            "--simulations 4 --no-with-pgx",
            ["| state of a game | 16 | 16 |", "| position in the replay | 64 | 92 |"],
        ),
        (
            rules,
            "--batch 2 --plies 3 --repeats 2 --no-with-pgx",
            ["| azo 8x8, step only |", "| azo 6x6, random play |", "Pgx was left out"],
        ),
        (
            networks,
            "--networks 1x4 patterns:1 --batch 4 --simulations 2 --repeats 1",
            ["| 1x4 |", "| patterns:1 |"],
        ),
        (
            solver,
            "--size 4 --empties 5 --host-empties 5 --batch 16 --num-lanes 8 --num-devices 1"
            " --repeats 1",
            ["| 5, every move |", "| 5, score, 16 by the host |"],
        ),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_each_benchmark_reports_its_rows(module, flags, expected, monkeypatch, tmp_path):
    (tmp_path / "tiny.toml").write_text(tiny_run.toml())
    monkeypatch.chdir(tmp_path)
    settings = command_line.parse(settings_of(module), flags.split(), prog="benchmark")
    with jax.numpy_rank_promotion("allow"):  # as Pgx needs
        text = "\n".join(module.report(settings))
    assert not [row for row in expected if row not in text]


def test_search_skips_and_says_what_would_take_too_long_or_too_much_memory():
    settings = search.SearchBenchConfig(
        batches=(2,), simulations=(2,), size=4, with_network=False, repeats=1
    )
    slow = settings.model_copy(update={"limit_seconds": 1e-9})
    assert "over 1e-09 s | over 1e-09 s | over 1e-09 s" in "\n".join(search.report(slow))
    large = settings.model_copy(update={"limit_gigabytes": 1e-9})
    assert "0.0 GB | 0.0 GB | 0.0 GB" in "\n".join(search.report(large))


def hashed(key, position):
    return search.hashed_evaluation(FOUR, key, position)


def roots(num_games: int) -> othello.Position:
    return initial_games.spread_games(FOUR, jax.random.key(0), num_games).position


def test_puct_by_mctx_with_the_same_trees_finds_what_azo_finds():
    settings = improvement.SearchConfig(
        algorithm="puct",
        num_simulations=24,
        temperature=0.0,
        puct={"root_noise_fraction": 0.0},
        has_proofs=False,
    )
    position, key = roots(12), jax.random.key(1)
    by_azo = jax.jit(lambda: improvement.search(FOUR, hashed, key, position, config=settings))()
    with jax.numpy_rank_promotion("allow"):
        by_mctx = jax.jit(
            lambda: baselines.mctx_search(
                FOUR, hashed, key, position, config=settings, same_trees=True
            )
        )()
    # float32 sums in another order.
    np.testing.assert_allclose(by_azo.policy, by_mctx.action_weights, atol=1e-5)


def test_network_as_usually_written_is_the_same_function_as_that_of_azo():
    settings = inputs.config("2x8")
    first, later = jax.random.split(jax.random.key(0))
    variables = jax.jit(lambda key: initial_variables.init(FOUR, settings, key))(first)
    # A new network's scales are 1 and its biases and means 0, which would hide one left out.
    leaves, structure = jax.tree.flatten(variables)
    keys = jax.random.split(later, len(leaves))
    drawn = [jax.random.uniform(k, x.shape, minval=0.5) for k, x in zip(keys, leaves, strict=True)]
    mixed = [new if old.ndim == 1 else old for new, old in zip(drawn, leaves, strict=True)]
    variables = jax.tree.unflatten(structure, mixed)
    planes = FOUR.planes(roots(12))
    by_azo = jax.jit(network.build(FOUR, settings).apply)(variables, planes)
    as_usual = jax.jit(inputs.evaluate_plainly)(variables, planes)
    assert 0.02 < float(jnp.abs(by_azo.value).max()) < 0.99  # far above the tolerance
    # Winograd's convolutions round differently.
    np.testing.assert_allclose(as_usual.prior_logits, by_azo.prior_logits, atol=1e-4)
    np.testing.assert_allclose(as_usual.value, by_azo.value, atol=1e-4)


def test_iteration_learns_from_the_full_replay_and_not_from_the_empty_one():
    settings, mesh = tiny_run.settings(), iteration.sharding.make_mesh(1)
    loss = "learner/policy_loss"
    programs = iteration._programs(settings, tiny_run.game(), mesh, seed=0)
    for _ in range(2):  # the state that is donated is a copy
        assert np.isfinite(programs["whole"].call()[1].others[loss])
        assert np.isnan(programs["playing"].call()[1].others[loss])


def test_compilation_is_faster_from_the_cache(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(tiny_run.toml())
    table = compilation.report(compilation.CompilationBenchConfig(config=path))[0]
    seconds = [float(line.split("|")[2]) for line in table.splitlines()[2:]]
    assert seconds[1] < seconds[0]


def test_node_of_a_search_takes_no_more_bytes_than_aimed_at():
    node_bytes = memory.azo_bytes(othello.Othello(8), 100)[1]
    assert node_bytes <= memory.MAX_NODE_BYTES


def test_replaying_recorded_actions_gives_the_checksum_of_the_random_play():
    game = othello.Othello(4)
    start = game.start(8)
    keys = jax.random.split(jax.random.key(0), 2 * game.max_plies)  # each game ends twice or more
    actions, played = jax.jit(rules.azo_random_play, static_argnums=0)(game, start, keys)
    replays = (rules.azo_replay, rules.azo_replay_steps, lambda *a: rules.azo_replay_masks(*a)[0])
    for replay in replays:
        replayed = jax.jit(replay, static_argnums=0)(game, start, actions)
        np.testing.assert_array_equal(replayed, played)
