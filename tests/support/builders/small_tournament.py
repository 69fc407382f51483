"""A tournament of three quick players on 4x4, for the tests of tournament files and their games."""

import functools

from support.drivers import commands

SMALL = """
num_games = 6
games_at_once = 5
openings = { plies = 3 }
game = { size = 4 }
[[players]]
name = "random"
player = "random"
[[players]]
name = "greedy"
player = "greedy"
[[players]]
name = "rollouts"
player = "rollouts:4"
"""


main = functools.partial(commands.run, "tournament")


def write(folder, text, name="cup.toml"):
    path = folder / name
    path.write_text(text)
    return path
