"""The conformance test of games passes correct ones, and finds each broken promise."""

import jax.numpy as jnp
import numpy as np
import pytest

import azo
from azo.games import othello, tictactoe

RULES = tictactoe.TicTacToe


def faults(game, **settings):
    with pytest.raises(ValueError) as caught:
        azo.check_game(game, **settings)
    first, *lines = str(caught.value).splitlines()
    assert first.endswith(" breaks the protocol of a game:")
    return [line.removeprefix("- ") for line in lines]


@pytest.mark.thorough
@pytest.mark.parametrize("game", [RULES(), othello.Othello(4), othello.Othello(4, True)], ids=str)
def test_correct_games_pass(game):
    azo.check_game(game, num_games=4)


def permuted(*squares):
    return np.array([range(9), squares], np.int32)


def changed(name, change):
    """Returns a member that changes what the rules say."""
    return lambda self, *others: change(getattr(RULES, name)(self, *others))


def of_batch(planes):
    return planes ^ planes[:1] if planes.ndim == 4 and len(planes) == 3 else planes


def of_same_shapes(self, position, action):
    assert position.player.shape == action.shape
    return RULES.step(self, position, action)


def counted(self, *batch_shape):
    position = RULES.start(self, *batch_shape)
    number = np.arange(position.player.size, dtype=np.uint32).reshape(batch_shape)
    return position.replace(player=position.player + number)


def goes_on(self, position, action):
    after = RULES.step(self, position, action)
    added = self.is_over(position).astype(np.uint32)
    return after.replace(position=after.position.replace(player=after.position.player ^ added))


def no_move_at_the_end(self, position):
    return RULES.legal_mask(self, position) & ~self.is_over(position)[..., None]


# Faults that show side by side, to compile fewer programs: members of a game, then its faults.
GROUPS = [
    ({"__hash__": None}, "the check of constants fails: TypeError: unhashable type: 'Broken'"),
    (
        {
            "__eq__": lambda self, other: False,
            "__hash__": RULES.__hash__,
            "scores": np.array([-2, 0, 1], np.int32),
            "max_legal": 10,
            "num_slots": 11,
            "square_symmetries": permuted(*[0] * 9),
            "action_symmetries": permuted(*range(9))[:1],
        },
        "is not equal to itself",
        "scores are not int32, ascending, each with its negative",
        "max_legal is not in 1 to num_actions",
        "num_slots is not in 1 to max_legal",
        "square_symmetries are not permutations",
        "action_symmetries are not int32 of shape [2, 9]",
    ),
    (
        {
            "scores": np.array([-200, 200], np.int32),
            "square_symmetries": permuted(*range(9))[:, ::-1].copy(),
        },
        "the largest of scores is not in 1 to 127",
        "square_symmetries do not begin with the identity",
    ),
    ({"square_symmetries": permuted(*range(1, 9), 0)}, "the symmetries are not a group"),
    (
        {
            "start": counted,
            "result": changed("result", lambda x: x > 0),
            "planes": changed("planes", lambda x: x[..., 0]),
        },
        "start does not repeat one position",
        "result is not float32 of shape [...]",
        "planes is not bool or float32 of shape [..., 3, 3, 3]",
    ),
    (
        {"legal_mask": lambda self, p: np.asarray(p.player)[..., None] < 9},
        "the check of calls fails: TracerArrayConversionError",
    ),
    (
        {
            "planes": changed("planes", of_batch),
            "play": changed("play", lambda x: x.replace(player=x.player.astype(np.int32))),
        },
        "functions of one position differ from those of a batch",
        "step changes the shapes or types of a position",
    ),
    ({"step": of_same_shapes}, "the check of calls fails: AssertionError"),
    (
        {
            "max_legal": 8,
            "final_score": changed("final_score", lambda x: 2 * x),
            "random_action": changed("random_action", lambda x: 0 * x),
            "greedy_action": changed("random_action", lambda x: 0 * x),
            "step": changed("step", lambda x: x.replace(reward=-x.reward)),
            "unpack": lambda self, packed: RULES.unpack(self, packed[..., ::-1]),
        },
        "more legal actions than max_legal (ply 0)",
        "final_score is not one of scores (ply ",
        "random_action is illegal (ply ",
        "greedy_action is illegal (ply ",
        "reward is not the mover's result on the last ply, and 0 before it",
        "unpack does not give back what was packed (ply 1)",
    ),
    (
        {
            "final_score": changed("final_score", lambda x: -x),
            "step": changed("step", lambda x: x.replace(discount=-x.discount)),
            "legal_actions": changed("legal_actions", lambda x: x[..., ::-1]),
            "action_symmetries": np.tile(np.arange(9, dtype=np.int32), (8, 1)),
        },
        "result is not the sign of final_score",
        "discount is not -1 before the last ply, and 0 on and after it (ply 0)",
        "legal_actions are not those of legal_mask, ascending, then -1 (ply 0)",
        "planes do not commute with the symmetries (ply 1)",
    ),
    (
        {
            "step": goes_on,
            "planes": changed("planes", lambda x: x / np.float32(0)),
            "max_plies": 7,
        },
        "a finished game changes",
        "planes are not finite (ply ",
        "a game has more plies than max_plies (ply 7)",
    ),
    (
        {
            "legal_mask": no_move_at_the_end,
            "square_symmetries": permuted(3, 4, 5, 0, 1, 2, 6, 7, 8),
        },
        "legal_mask has no legal action",
        "is_over does not commute with the symmetries",
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: ", ".join(group[0]))
def test_each_fault_is_found(group):
    members, *expected = group
    plies = {"max_plies": members["max_plies"]} if "max_plies" in members else {}
    found = faults(type("Broken", (RULES,), members)(**plies), num_games=8)
    for fault in expected:
        assert any(line.startswith(fault) for line in found), (fault, found)


def test_all_that_is_missing_is_named():
    (line,) = faults(object())
    assert line.startswith("lacks action_symmetries, board_shape, final_score,")


class _Doors(tictactoe.TicTacToe):
    """Tic-tac-toe whose first move is in the middle row, by actions that are no squares."""

    has_square_actions = False

    def legal_mask(self, position):
        """Returns the empty squares, of the first move those of the middle row."""
        legal = super().legal_mask(position)
        is_empty = ~self.planes(position).any(axis=(-3, -2, -1))
        middle = jnp.arange(9) // 3 == 1
        is_free = jnp.broadcast_to(middle, legal.shape) | ~is_empty[..., None]
        return legal & (is_free | self.is_over(position)[..., None])

    square_symmetries = np.array([range(9), [6, 7, 8, 3, 4, 5, 0, 1, 2]], np.int32)
    action_symmetries = square_symmetries


@pytest.mark.thorough
@pytest.mark.parametrize(
    "table",
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8],  # the identity: moves do not follow the board
        [2, 1, 0, 5, 4, 3, 8, 7, 6],  # the other mirror
        [8, 7, 6, 5, 4, 3, 2, 1, 0],  # the rotation
        [3, 4, 5, 0, 1, 2, 6, 7, 8],  # the first moves do not commute, though the planes do
        [6, 7, 8, 3, 5, 4, 0, 1, 2],  # one pair is swapped
        [6, 7, 2, 3, 4, 5, 0, 1, 8],  # one pair stays
    ],
)
def test_wrong_symmetries_of_actions_are_found_where_the_planes_of_the_start_commute(table):
    azo.check_game(_Doors())
    wrong = type("Wrong", (_Doors,), {"action_symmetries": np.array([range(9), table], np.int32)})
    assert any("commute with the symmetries" in fault for fault in faults(wrong()))


@pytest.mark.thorough
def test_symmetries_of_square_actions_are_those_of_the_squares():
    game = othello.Othello(4)
    table = np.array(game.action_symmetries)
    diagonal = np.append(np.arange(16).reshape(4, 4).T.ravel(), 16)
    conjugate = diagonal[table[:, diagonal]].astype(np.int32)
    # It keeps the group, and all symmetries that keep the start position.
    assert (conjugate == table).all(axis=1).sum() == 4
    fault = "action_symmetries do not move squares as square_symmetries do"
    for changed in (conjugate, table[[0] * 8]):
        wrong = type("Wrong", (othello.Othello,), {"action_symmetries": changed})(4)
        assert any(line.startswith(fault) for line in faults(wrong))
    swapped = type(
        "Wrong", (othello.Othello,), {"action_symmetries": table[[0, 2, 1, *range(3, 8)]]}
    )
    assert faults(swapped(4)) == [
        "the symmetries are not a group: the product of two is not a symmetry"
    ]
