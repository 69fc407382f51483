"""Smoke runs of the benchmarks on tiny batches, and checks of what they compare and count."""

import importlib
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import tiny_run

from azo.cli import command_line
from azo.games import othello
from azo.learning import network
from azo.learning import starts as azo_starts
from azo.play.engine_settings import EngineConfig
from azo.search import improvement
from benchmarks import all as every
from benchmarks import (
    baselines,
    classical,
    command,
    compilation,
    duel,
    host_evaluation,
    iteration,
    labels,
    measure,
    memory,
    networks,
    positions,
    reference_network,
    roofline,
    rules,
    search,
    selfplay,
    solver,
    start,
)

pytestmark = pytest.mark.slow

SCRIPTS = (
    classical,
    compilation,
    host_evaluation,
    iteration,
    labels,
    memory,
    networks,
    rules,
    search,
    selfplay,
    solver,
    start,
)
FOUR = othello.Othello(4)


@pytest.fixture(autouse=True)
def _short_turns(monkeypatch):
    monkeypatch.setattr(measure, "MIN_TURN_SECONDS", 0.0)
    monkeypatch.setattr(roofline, "CPU_SIDE", 16)
    monkeypatch.setattr(roofline, "CPU_LENGTH", 16)


def settings_of(module) -> type[command.Settings]:
    own = (x for x in vars(module).values() if getattr(x, "__module__", "") == module.__name__)
    return next(x for x in own if isinstance(x, type) and issubclass(x, command.Settings))


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
    with pytest.raises(ValueError) as raised:
        every.replaced(readme, "gpu", "new\n")
    assert "no lines <!-- gpu: begin --> and <!-- gpu: end -->" in str(raised.value)


def test_the_readme_has_a_place_for_the_tables_of_both_machines():
    readme = (every.FOLDER / "README.md").read_text()
    for preset in ("cpu", "gpu"):
        every.replaced(readme, preset, "")


def test_benchmark_that_fails_leaves_the_readme_as_it_was(monkeypatch, tmp_path, capsys):
    readme = tmp_path / "README.md"
    text = "<!-- tiny: begin -->\n<!-- tiny: end -->\n"
    readme.write_text(text)
    monkeypatch.setitem(every.PRESETS, "tiny", (every.Section("Wrong", "memory", "--nonsense"),))
    assert every.main(["--preset", "tiny", "--readme", str(readme)]) == 1
    assert readme.read_text() == text
    assert "benchmarks.memory --nonsense failed with exit code 2" in capsys.readouterr().err


def test_benchmark_for_which_no_time_is_left_says_so():
    assert "the time limit was reached" in every._output(every.Section("Memory", "memory"), 0.0)


def test_call_beyond_the_time_limit_is_left_out():
    calls = {"fast": lambda: jnp.zeros(1), "slow": lambda: time.sleep(0.2)}
    timings = measure.take_turns(calls, 1, limit_seconds=0.3)
    assert timings.keys() == {"fast"}


@pytest.mark.parametrize(
    ("number", "text"), [(0.01234, "0.0123"), (12.34, "12.3"), (999.6, "1,000"), (12345, "12,300")]
)
def test_numbers_have_three_digits_that_mean_something(number, text):
    assert measure.short(number) == text


def test_product_counts_two_operations_for_each_multiplication():
    work = roofline.count(jnp.matmul, jnp.ones((8, 16)), jnp.ones((16, 32)))
    assert work.flops == 2 * 8 * 16 * 32
    assert work.num_bytes == 4 * (8 * 16 + 16 * 32 + 8 * 32)


def test_search_report_has_a_row_for_each_cell_with_and_without_a_network():
    settings = search.SearchBenchConfig(
        batches=(2,), simulations=(2,), size=4, network="1x4", repeats=1
    )
    text = "\n".join(search.report(settings))
    assert text.count("| 2 x 2 |") == 2
    assert "over 60 s |" not in text


def test_search_skips_and_says_what_would_take_too_long_or_too_much_memory():
    settings = search.SearchBenchConfig(
        batches=(2,), simulations=(2,), size=4, with_network=False, repeats=1
    )
    slow = settings.model_copy(update={"limit_seconds": 1e-9})
    assert "over 1e-09 s | over 1e-09 s | over 1e-09 s" in "\n".join(search.report(slow))
    large = settings.model_copy(update={"limit_gigabytes": 1e-9})
    assert "0.0 GB | 0.0 GB | 0.0 GB" in "\n".join(search.report(large))


def test_expected_time_follows_the_largest_smaller_cell():
    seconds = {(64, 16): 1.0, (64, 64): 5.0, (256, 800): 1000.0}
    assert search.expected_seconds(seconds, 128, 64) == 10.0
    assert search.expected_seconds(seconds, 64, 256) == 5.0 * 4**search.GROWTH
    assert search.expected_seconds(seconds, 32, 800) == 0.0


def hashed(key, position):
    return search.hashed_evaluation(FOUR, key, position)


def roots(num_games: int) -> othello.Position:
    return azo_starts.spread_games(FOUR, jax.random.key(0), num_games).position


def test_hashed_evaluations_differ_between_positions_and_stay_in_their_ranges():
    output = hashed(None, roots(12))
    assert len(np.unique(output.value)) == 12
    assert len(np.unique(output.prior_logits[0])) == FOUR.num_actions
    assert -1 <= float(output.value.min()) <= float(output.value.max()) < 1
    assert -2 <= float(output.prior_logits.min()) <= float(output.prior_logits.max()) < 2


@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
def test_search_by_mctx_with_the_same_trees_finds_what_azo_finds(algorithm):
    settings = improvement.SearchConfig(
        algorithm=algorithm, num_simulations=24, temperature=0.0, root_noise_fraction=0.0
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


@pytest.mark.parametrize(("before_ply", "plies"), [(None, [0, 1, 2, 3, 0]), (2, [0, 1, 0, 1, 0])])
def test_games_are_only_at_the_requested_plies(before_ply, plies):
    games = positions.spread(lambda number: np.arange(number) % 4, 4, 5, before_ply)
    np.testing.assert_array_equal(games, plies)


def test_plies_without_a_tree_have_the_requested_number():
    position, key = roots(4), jax.random.key(0)
    expected = jnp.zeros(4)
    now = position
    play = jax.jit(FOUR.step)
    for _ in range(3):
        action = (now.player.lower % FOUR.num_actions).astype(jnp.int32)
        step = play(now, action)
        now, output = step.position, hashed(None, step.position)
        expected += output.value + output.prior_logits.sum(axis=-1) + step.reward + step.discount
    total = search.plies_alone(FOUR, hashed, key, position, 3)
    np.testing.assert_allclose(total, expected, rtol=1e-5)  # float32 sums in another order


def test_network_as_usually_written_is_the_same_function_as_that_of_azo():
    settings = reference_network.config("2x8")
    first, later = jax.random.split(jax.random.key(0))
    variables = jax.jit(lambda key: network.init(FOUR, settings, key))(first)
    # A new network's scales are 1 and its biases and means 0, which would hide one left out.
    leaves, structure = jax.tree.flatten(variables)
    keys = jax.random.split(later, len(leaves))
    drawn = [jax.random.uniform(k, x.shape, minval=0.5) for k, x in zip(keys, leaves, strict=True)]
    mixed = [new if old.ndim == 1 else old for new, old in zip(drawn, leaves, strict=True)]
    variables = jax.tree.unflatten(structure, mixed)
    planes = FOUR.planes(roots(12))
    by_azo = jax.jit(network.build(FOUR, settings).apply)(variables, planes)
    as_usual = jax.jit(reference_network.evaluate_plainly)(variables, planes)
    assert 0.1 < float(jnp.abs(by_azo.value).max()) < 0.99
    # Winograd's convolutions round differently.
    np.testing.assert_allclose(as_usual.prior_logits, by_azo.prior_logits, atol=1e-4)
    np.testing.assert_allclose(as_usual.value, by_azo.value, atol=1e-4)


def test_network_alone_evaluates_each_position_the_requested_number_of_times():
    position, key = roots(12), jax.random.key(0)
    total = reference_network.evaluate_repeatedly(hashed, key, position, 3).sum()
    output = hashed(None, position)
    expected = 3 * (output.value.sum() + output.prior_logits.sum())
    np.testing.assert_allclose(total, expected, rtol=1e-4)  # float32 sums in another order


def test_networks_report_has_a_row_for_each_kind():
    settings = networks.NetworksBenchConfig(
        networks=("1x4", "patterns:1"), batch=4, simulations=2, repeats=1
    )
    table = networks.report(settings)[2].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]
    assert [row[0] for row in rows[2:]] == ["1x4", "patterns:1"]
    assert all(float(cell.split()[0].replace(",", "")) > 0 for row in rows[2:] for cell in row[1:])


def test_classical_report_times_depths_and_compares_with_scores(tmp_path):
    start = f"{'-' * 27}OX{'-' * 6}XO{'-' * 27}"
    winning = f"{'X' * 62}O- X"  # the other side passes
    file = tmp_path / "positions.obf"
    file.write_text(f"{start} X; c4:0;\n{'X' * 61}OO- X; h8:64;\n{winning}; h8:64;\n")
    settings = classical.ClassicalBenchConfig(depths=(1, 3), num_positions=3, files=(file,))
    text = "\n".join(classical.report(settings)).splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text if "|" in line]
    assert [row[0] for row in rows] == ["depth", "---", "1", "3", "file", "---", file.name]
    assert 0 < float(rows[2][3].replace(",", "")) < float(rows[3][3].replace(",", ""))
    assert rows[6][1] == "3"
    assert float(rows[6][2]) > 0


def test_selfplay_report_has_speed_and_limits_and_says_that_pgx_was_left_out():
    settings = selfplay.SelfplayBenchConfig(
        cells=("1x4:2",), batch=2, num_plies=1, repeats=1, with_pgx=False
    )
    text = "\n".join(selfplay.report(settings))
    assert "| azo, 1x4, 2 simulations" in text
    assert "| 1x4, 2 simulations |" in text
    assert "Pgx was left out" in text


def test_selfplay_report_compares_with_the_example_of_pgx():
    pytest.importorskip("pgx")
    settings = selfplay.SelfplayBenchConfig(cells=("1x4:2",), batch=2, num_plies=1, repeats=1)
    with jax.numpy_rank_promotion("allow"):
        text = "\n".join(selfplay.report(settings))
    assert "| 1x4, 2 simulations, against Pgx example |" in text
    assert "| 1x4, 2 simulations, against Pgx example, azo's network |" in text


def test_example_of_pgx_shows_the_network_what_azo_shows_it_and_plays_legal_moves():
    pytest.importorskip("pgx")
    env, game = baselines.pgx_othello(), othello.Othello(8)
    batch, num_plies = 16, 3

    def even(planes):
        logits = jnp.zeros((batch, game.num_actions))
        return improvement.Evaluation(prior_logits=logits, value=jnp.zeros(batch))

    with jax.numpy_rank_promotion("allow"):
        begin = jax.jit(lambda key: baselines.pgx_begin(env, key, batch))
        state = begin(jax.random.key(0))
        _, plies = jax.jit(
            lambda key: baselines.pgx_play(
                env, even, key, state, num_simulations=4, num_plies=num_plies
            )
        )(jax.random.key(1))
    num_discs = np.asarray(plies.observation[0]).sum(axis=(1, 2, 3))
    np.testing.assert_array_equal(num_discs[:8], 4 + np.arange(8))  # no pass so early
    weight = 1 << np.arange(64, dtype=np.uint64)
    boards = np.asarray(plies.observation).reshape(num_plies * batch, 64, 2).astype(np.uint64)
    words = (boards * weight[None, :, None]).sum(axis=1, dtype=np.uint64)
    halves = np.stack([words & 0xFFFFFFFF, words >> 32], axis=-1).reshape(-1, 4).astype(np.uint32)
    position = game.unpack(jnp.asarray(halves))
    np.testing.assert_array_equal(
        game.planes(position).reshape(plies.observation.shape), plies.observation
    )
    legal = np.asarray(game.legal_mask(position))
    assert np.asarray(plies.policy).reshape(legal.shape)[~legal].max() == 0


def test_iteration_report_names_its_parts(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(tiny_run.toml())
    settings = iteration.IterationBenchConfig(config=path, repeats=1)
    text = "\n".join(iteration.report(settings))
    for part in ("whole iteration", "self-play and replay", "learning, the difference"):
        assert f"| {part}" in text
    assert settings.num_cores == 1


def test_iteration_learns_from_the_full_replay_and_not_from_the_empty_one():
    settings, mesh = tiny_run.settings(), iteration.placement.make_mesh(1)
    programs, _ = iteration._programs(settings, tiny_run.game(), mesh, seed=0)
    for _ in range(2):  # the state that is donated is a copy
        assert np.isfinite(programs["whole"].call()[1].losses.policy)
        assert np.isnan(programs["playing"].call()[1].losses.policy)


def test_compilation_is_faster_from_the_cache(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(tiny_run.toml())
    table = compilation.report(compilation.CompilationBenchConfig(config=path))[0]
    seconds = [float(line.split("|")[2]) for line in table.splitlines()[2:]]
    assert seconds[1] < seconds[0]


def test_memory_report_gives_the_bytes_of_a_state_and_of_a_replay_row():
    text = "\n".join(memory.report(memory.MemoryBenchConfig(simulations=4, with_pgx=False)))
    assert "| state of a game | 16 | 16 |" in text
    assert "| position in the replay | 63 | 91 |" in text


def test_node_of_a_search_takes_no_more_bytes_than_aimed_at():
    node_bytes = memory.azo_bytes(othello.Othello(8), 100)[1]
    assert node_bytes <= memory.MAX_NODE_BYTES


def test_speedup_is_taken_turn_by_turn():
    speedup = measure.speedup((1.0, 2.0, 4.0), (10.0, 40.0, 40.0))
    assert speedup == measure.Range(median=10.0, low=10.0, high=20.0)


@pytest.mark.parametrize(
    ("seconds", "processor_seconds", "is_noisy"),
    [
        ((1.0, 1.01), (1.0, 1.0), False),
        ((1.0, 1.5), (1.0, 1.5), True),
        ((1.0, 1.01), (1.0, 0.6), True),
    ],
)
def test_a_spread_or_a_share_of_the_core_beyond_the_limits_is_marked(
    seconds, processor_seconds, is_noisy
):
    timing = measure.Timing(seconds, processor_seconds, has_one_core=True)
    assert timing.is_noisy is is_noisy


def test_without_a_core_of_its_own_only_the_spread_marks_a_timing():
    assert not measure.Timing((1.0, 1.01), (0.5, 1.9), has_one_core=False).is_noisy
    assert measure.Timing((1.0, 1.5), (0.5, 1.9), has_one_core=False).is_noisy


def test_core_that_the_process_may_not_use_is_refused():
    with pytest.raises(ValueError, match="core 99999: this process may use"):
        measure.pin_to_cores(1, 99999)


@pytest.mark.parametrize("opponent", ["random", "patterns:2"])
def test_the_engine_meets_a_player_without_a_network(opponent):
    first = EngineConfig(num_simulations=4, solve_empties=0)
    config = duel.DuelConfig(first=first, opponent=opponent, num_games=2, solved_empties=10)
    (line,) = duel.report(config)
    assert f" against {opponent}: " in line
