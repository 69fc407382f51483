"""A tournament of three quick players on 4x4, for the tests of tournament files and their games."""

from azo.cli import command_line, tournament

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


def main(*arguments):
    return command_line.run_main(tournament.main, [str(argument) for argument in arguments])


def write(folder, text, name="cup.toml"):
    path = folder / name
    path.write_text(text)
    return path
