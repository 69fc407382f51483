import functools

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from support import slow_board

from azo.games import othello, protocol, tictactoe
from azo.measure import arena, players

OTHELLO4 = othello.Othello(4)
OTHELLO6 = othello.Othello(6)
TIC_TAC_TOE = tictactoe.TicTacToe()
NUM_TRACES = []


@flax.struct.dataclass
class PreferencePlayer:
    """Plays the legal action that it likes best."""

    preference: jax.Array  # [A] float32
    game: protocol.Game = flax.struct.field(pytree_node=False)

    def __call__(self, key, position, ply):
        NUM_TRACES.append(1)
        legal = self.game.legal_mask(position)
        return jnp.argmax(jnp.where(legal, self.preference[None], -jnp.inf), axis=-1)


@flax.struct.dataclass
class TablePlayer:
    """Plays tic-tac-toe from a table of best moves, by the marks of both sides."""

    table: jax.Array  # [512, 512] int32

    def __call__(self, key, position, ply):
        return self.table[position.player, position.opponent]


def fickle(game, seed):
    preference = np.random.default_rng(seed).random(game.num_actions)
    return PreferencePlayer(jnp.asarray(preference, jnp.float32), game)


def lowest(game):
    return PreferencePlayer(-jnp.arange(game.num_actions, dtype=jnp.float32), game)


def highest(game):
    return PreferencePlayer(jnp.arange(game.num_actions, dtype=jnp.float32), game)


@functools.cache
def best_moves() -> np.ndarray:
    lines = (0o700, 0o070, 0o007, 0o444, 0o222, 0o111, 0o421, 0o124)
    table = np.zeros((512, 512), np.int32)

    @functools.cache
    def solve(player, opponent):
        if any(opponent & line == line for line in lines):
            return -1
        free = [square for square in range(9) if not (player | opponent) >> square & 1]
        if not free:
            return 0
        value = {square: -solve(opponent, player | 1 << square) for square in free}
        table[player, opponent] = max(free, key=value.__getitem__)
        return max(value.values())

    assert solve(0, 0) == 0  # a draw, as everybody knows
    return table


def match(game, first, second, *, seed=0, num_games=64, opening_plies=4):
    key = jax.random.key(seed)
    return arena.play_match(
        game, first, second, key, num_games=num_games, opening_plies=opening_plies
    )


def recorded(game, first, second, *, num_games, opening_plies, seed=0):
    key = jax.random.key(seed)
    games = arena.play_games(
        game, first, second, key, num_games=num_games, opening_plies=opening_plies
    )
    return jax.device_get(games)


def test_random_players_score_one_half():
    random = players.RandomPlayer(OTHELLO6)
    result = match(OTHELLO6, random, random, num_games=2048)
    assert result.num_games == 2048
    # Four standard deviations of the mean of 2048 games, draws making it smaller still.
    assert result.score == pytest.approx(0.5, abs=4 * 0.5 / 2048**0.5)


@pytest.mark.parametrize(
    ("game", "opening_plies"), [(OTHELLO4, 2), (OTHELLO6, 3), (TIC_TAC_TOE, 2)]
)
def test_exchanging_the_players_exchanges_wins_and_losses(game, opening_plies):
    one, other = fickle(game, 1), fickle(game, 2)
    result = match(game, one, other, opening_plies=opening_plies)
    mirrored = match(game, other, one, opening_plies=opening_plies)
    assert result.num_games == 64
    assert result.wins != result.losses  # or the comparison says little
    assert (result.wins, result.draws, result.losses) == (
        mirrored.losses,
        mirrored.draws,
        mirrored.wins,
    )


@pytest.mark.parametrize("game", [OTHELLO4, TIC_TAC_TOE], ids=lambda game: game.name)
def test_a_deterministic_player_against_itself_wins_one_game_of_each_decided_opening(game):
    games = recorded(game, lowest(game), lowest(game), num_games=32, opening_plies=2)
    np.testing.assert_array_equal(games.actions[:, :16], games.actions[:, 16:])
    np.testing.assert_array_equal(games.result[:16], -games.result[16:])


@pytest.mark.parametrize(("opponent", "opening_plies"), [("random", 0), ("greedy", 1)])
def test_a_perfect_tic_tac_toe_player_never_loses(opponent, opening_plies):
    perfect = TablePlayer(jnp.asarray(best_moves()))
    other = players.parse(opponent, TIC_TAC_TOE, load=None)
    result = match(TIC_TAC_TOE, perfect, other, num_games=512, opening_plies=opening_plies)
    assert result.losses == 0
    assert result.wins > 256
    mirrored = match(TIC_TAC_TOE, other, perfect, num_games=512, opening_plies=opening_plies)
    assert mirrored.wins == 0


def test_perfect_tic_tac_toe_players_always_draw():
    perfect = TablePlayer(jnp.asarray(best_moves()))
    # No first move loses by force.
    assert match(TIC_TAC_TOE, perfect, perfect, opening_plies=1).draws == 64


@pytest.mark.parametrize(
    ("size", "is_reversed", "opening_plies"), [(4, True, 0), (4, False, 3), (6, False, 4)]
)
def test_games_replayed_in_plain_python_have_the_same_moves_and_results(
    size, is_reversed, opening_plies
):
    game = othello.Othello(size, is_reversed)
    num_games = 8
    games = recorded(
        game, lowest(game), highest(game), num_games=num_games, opening_plies=opening_plies
    )
    assert games.is_played.all()
    for index in range(num_games):
        is_first_to_move = index < num_games // 2
        board = slow_board.start(size)
        for ply, action in enumerate(games.actions[:, index]):
            place = f"game {index}, ply {ply}"
            if slow_board.is_over(board):
                assert action == -1, place
                continue
            legal = slow_board.legal_actions(board)
            if ply < opening_plies:
                assert action in legal, place
            else:
                assert action == (min(legal) if is_first_to_move else max(legal)), place
                is_first_to_move = not is_first_to_move
            board = slow_board.play(board, int(action))
        assert slow_board.is_over(board)
        result = slow_board.result(board, is_reversed=is_reversed)
        assert games.result[index] == (result if is_first_to_move else -result)


def test_openings_are_played_twice_and_differ_from_one_another():
    random = players.RandomPlayer(OTHELLO6)
    games = recorded(OTHELLO6, random, random, num_games=256, opening_plies=6)
    opening = games.actions[:6]
    np.testing.assert_array_equal(opening[:, :128], opening[:, 128:])
    # Over 10,000 openings of six plies: hardly one in 128 comes twice.
    assert len(np.unique(opening[:, :128], axis=1).T) > 120
    assert (games.actions[6:, :128] != games.actions[6:, 128:]).any(axis=0).all()


def test_openings_never_end_the_game():
    openings = arena.draw_openings(TIC_TAC_TOE, jax.random.key(0), 256, 8)
    assert not TIC_TAC_TOE.is_over(openings.position).any()
    position = TIC_TAC_TOE.start(256)
    for actions in openings.actions:
        position = TIC_TAC_TOE.step(position, actions).position
    np.testing.assert_array_equal(position.player, openings.position.player)
    np.testing.assert_array_equal(position.opponent, openings.position.opponent)


def test_first_opening_plies_are_uniform():
    openings = arena.draw_openings(TIC_TAC_TOE, jax.random.key(0), 9000, 1)
    counts = np.bincount(openings.actions[0], minlength=9)
    # 1000 expected each, five standard deviations of a binomial count.
    np.testing.assert_allclose(counts, 1000, atol=5 * (9000 * (1 / 9) * (8 / 9)) ** 0.5)


def test_equal_keys_give_equal_games_and_other_keys_others():
    random = players.RandomPlayer(OTHELLO4)
    play = functools.partial(recorded, OTHELLO4, random, random, num_games=32, opening_plies=2)
    one, again, other = play(seed=1), play(seed=1), play(seed=2)
    np.testing.assert_array_equal(one.actions, again.actions)
    np.testing.assert_array_equal(one.result, again.result)
    assert (one.actions != other.actions).any()


def test_a_second_match_with_other_arrays_is_not_traced_again():
    match(OTHELLO4, lowest(OTHELLO4), highest(OTHELLO4), num_games=10)
    num_traces = len(NUM_TRACES)
    match(OTHELLO4, highest(OTHELLO4), lowest(OTHELLO4), num_games=10, seed=1)
    assert len(NUM_TRACES) == num_traces


@pytest.mark.slow
def test_players_replicated_over_all_devices_play_the_same_match():
    mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    one, other = lowest(OTHELLO4), highest(OTHELLO4)
    expected = match(OTHELLO4, one, other)
    assert match(OTHELLO4, jax.device_put(one, everywhere), other) == expected


def test_pair_scores_add_up_the_two_games_of_each_opening():
    random = players.RandomPlayer(TIC_TAC_TOE)
    games = recorded(TIC_TAC_TOE, random, random, num_games=60, opening_plies=2)
    expected = [0] * 5
    for opening in range(30):
        points = [(1 + games.result[game]) / 2 for game in (opening, opening + 30)]
        expected[int(2 * sum(points))] += 1
    result = match(TIC_TAC_TOE, random, random, num_games=60, opening_plies=2)
    assert list(result.pair_scores) == expected
    assert min(expected) > 0  # or the comparison says little


def test_a_deterministic_player_against_itself_halves_every_opening():
    result = match(OTHELLO4, lowest(OTHELLO4), lowest(OTHELLO4), num_games=32, opening_plies=2)
    assert result.pair_scores == (0, 0, 16, 0, 0)


def test_results_of_several_matches_add_up():
    one = arena.MatchResult(3, 0, 1, pair_scores=(0, 0, 1, 0, 1))
    other = arena.MatchResult(0, 1, 3, pair_scores=(1, 1, 0, 0, 0))
    assert one + other == arena.MatchResult(3, 1, 4, pair_scores=(1, 1, 1, 0, 1))
    assert one + arena.MatchResult(1, 0, 1) == arena.MatchResult(4, 0, 2)


@pytest.mark.parametrize("num_games", [-2, 0, 1, 7])
def test_a_match_needs_pairs_of_games(num_games):
    random = players.RandomPlayer(OTHELLO4)
    with pytest.raises(ValueError, match=f"num_games is {num_games}, but .* pairs"):
        match(OTHELLO4, random, random, num_games=num_games)


@pytest.mark.parametrize("opening_plies", [-1, 23, 24])
def test_openings_must_leave_the_game_undecided(opening_plies):
    random = players.RandomPlayer(OTHELLO4)
    with pytest.raises(ValueError, match=f"opening_plies is {opening_plies}: .* othello4"):
        match(OTHELLO4, random, random, num_games=2, opening_plies=opening_plies)


@pytest.mark.parametrize(("wins", "losses"), [(0, 1), (1, 0), (0, 40), (17, 3), (64, 64), (95, 5)])
def test_the_interval_without_draws_is_scipys_wilson_interval(wins, losses):
    expected = scipy.stats.binomtest(wins, wins + losses).proportion_ci(method="wilson")
    low, high = arena.MatchResult(wins, 0, losses).interval()
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_two_draws_count_as_a_win_and_a_loss():
    assert arena.MatchResult(3, 4, 1).score == 5 / 8
    assert arena.MatchResult(3, 4, 1).interval() == arena.MatchResult(5, 0, 3).interval()


def test_a_result_reads_as_wins_draws_losses_and_score():
    text = str(arena.MatchResult(120, 3, 5))
    assert text == "120/3/5 (score 0.949, 95 % 0.90 to 0.98)"
