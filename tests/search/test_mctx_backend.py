"""The search of mctx itself gives the visits, policies and moves of azo's."""

import dataclasses

import jax
import numpy as np
import pytest
from support import thorough
from support.builders import random_games, tiny_run
from support.drivers import commands
from support.fakes import fake_evaluation

import azo
from azo.search import improvement

GAMES = (azo.TicTacToe(), azo.Othello(4), azo.Othello(6), azo.Othello(8))


def both(game, position, **settings):
    """The results of both backends for the same roots, evaluations and keys."""
    config = azo.SearchConfig(has_proofs=False, **settings)
    by_mctx = config.model_copy(update={"backend": "mctx"})
    return [fake_evaluation.search(game, position, one) for one in (config, by_mctx)]


def visits_of_azo(game, result):
    child, action = result.tree.child[:, 0], np.asarray(result.tree.moves.action[:, 0], int)
    visits = np.where(
        child >= 0,
        np.take_along_axis(
            np.asarray(result.tree.visits), np.maximum(np.asarray(child, int), 0), 1
        ),
        0,
    )
    spread = np.zeros((len(visits), game.num_actions + 1), int)
    np.put_along_axis(spread, np.where(action >= 0, action, game.num_actions), visits, 1)
    return spread[:, :-1]


@pytest.mark.parametrize("game", thorough.after_first(GAMES), ids=lambda game: game.name)
@pytest.mark.parametrize("algorithm", ["gumbel", "puct", "puct_over_visits"])
@pytest.mark.parametrize("num_simulations", thorough.after_first([7, 32]))
def test_visits_policies_and_moves_are_those_of_azo(game, algorithm, num_simulations):
    early, late = (random_games.positions(game, plies) for plies in (1, 5))
    position = jax.tree.map(lambda *x: np.concatenate(x), early, late)
    goes_on = ~np.asarray(game.is_over(position))
    assert goes_on.sum() >= 8
    azos, mctxs = both(game, position, algorithm=algorithm, num_simulations=num_simulations)
    visits = np.asarray(mctxs.tree.children_visits[:, 0])
    np.testing.assert_array_equal(visits_of_azo(game, azos)[goes_on], visits[goes_on])
    assert (visits[goes_on].sum(axis=-1) == num_simulations).all()
    np.testing.assert_array_equal(azos.action[goes_on], mctxs.action[goes_on])
    for name in ("policy", "value", "prior", "legal_mass", "raw_value"):
        one, other = (np.asarray(getattr(x, name))[goes_on] for x in (azos, mctxs))
        np.testing.assert_allclose(one, other, atol=2e-5, err_msg=name)


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
def test_the_score_is_searched_too(algorithm):
    game = azo.Othello(4)
    hashed = fake_evaluation.hashed(game)

    def evaluate(key, position):
        evaluation = hashed(key, position)
        return dataclasses.replace(evaluation, score=evaluation.value**3)

    config = azo.SearchConfig(
        algorithm=algorithm, num_simulations=24, has_proofs=False, score_share=0.4
    )
    position = random_games.positions(game, 7)
    goes_on = ~np.asarray(game.is_over(position))
    results = [
        improvement.search_moves(
            game,
            evaluate,
            jax.random.key(0),
            position,
            config=config.model_copy(update={"backend": backend}),
        )
        for backend in ("azo", "mctx")
    ]
    assert goes_on.any()
    for name in ("policy", "value"):
        one, other = (np.asarray(getattr(x, name))[goes_on] for x in results)
        np.testing.assert_allclose(one, other, atol=2e-5, err_msg=name)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "backend is 'mctx', but has_proofs is True: mctx needs False"),
        (
            {"has_proofs": False, "leaves_per_step": 2},
            "backend is 'mctx', but leaves_per_step is 2: mctx needs 1",
        ),
        (
            {"has_proofs": False, "algorithm": "examples.forced_playouts:ForcedPlayouts"},
            "backend is 'mctx', which cannot run algorithm",
        ),
    ],
)
def test_what_mctx_lacks_is_refused_in_one_line(settings, message):
    with pytest.raises(ValueError, match=message):
        azo.SearchConfig(backend="mctx", **settings)


@pytest.mark.thorough
def test_a_run_learns_by_the_search_of_mctx(tmp_path, capsys):
    search = {"backend": "mctx", "has_proofs": False}
    words = tiny_run.train(tmp_path, search={**tiny_run.SECTIONS["search"], **search})
    assert commands.run(*words) == 0
    assert tiny_run.iterations(tmp_path / "run")[-1] == 6
    explored = ["--selfplay.explored-share", "1", "--run.folder", str(tmp_path / "other")]
    assert "selfplay.explored_share learns from the trees of azo's own search" in commands.refused(
        capsys, *words[:3], *explored
    )
