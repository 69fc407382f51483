"""An NBoard engine that plays the first legal move, and answers in the manner of its argument."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3]))
from support.references import slow_board


def say(line):
    print(line, flush=True)


def move_text(action):
    return "PA" if action == 64 else f"{'ABCDEFGH'[action % 8]}{action // 8 + 1}"


def play(board, text):
    legal = {move_text(a): a for a in slow_board.legal_actions(board)}
    return slow_board.play(board, legal[text])


def main():
    mode = sys.argv[1]
    board = depth = None
    num_moves = 0
    say("Fake engine, version 1")
    for line in sys.stdin:
        words = line.split()
        if line.startswith("set depth "):
            depth = int(words[2])
            say(f"set myname Fake{depth}")
        elif line.startswith("set game (;GM[Othello]"):
            board = slow_board.start(8)
            squares = re.search(r"BO\[8 (\S{64}) \*\]", line)[1]
            assert squares == slow_board.text(board).replace("X", "*")
            for move in re.findall(r"(?<=\])[BW]\[(\w\w)\]", line):
                board = play(board, move)
        elif words[0] == "move":
            board = play(board, words[1])
        elif words[0] == "ping" and mode != "never-pong":
            say(f"pong {words[1]}")
        elif words[0] == "go":
            move = move_text(slow_board.legal_actions(board)[0])
            num_moves += 1
            say("status thinking")
            if (mode == "once-counted" and num_moves == 1) or mode == "blanks":
                say("nodestats 10 0.01")
                say(f"nodestats {1000 * depth + num_moves} 0.02")
            if mode == "blanks":
                say(f"=== {move.lower()} -1.00 0.0")
            else:
                say(f"=== {move}/-1.00/0.0")
            if mode == "once-counted" and num_moves == 1:
                say("nodestats 99 0.03")
            say("status waiting")
        elif words[0] == "quit":
            break


main()
