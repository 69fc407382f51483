"""A GTP engine that plays the first legal move, or misbehaves at `genmove` as its argument says."""

import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[3]))
from support.references import slow_board


def answer(text="", sign="="):
    print(f"{sign} {text}\n", flush=True)


def move_text(action, size):
    return "pass" if action == size**2 else f"{'ABCDEFGH'[action % size]}{action // size + 1}"


def misbehave(board):
    """Does what the mode says instead of, or before, answering."""
    mode, *arguments = sys.argv[1:]
    if mode == "hang":
        pathlib.Path(arguments[0]).write_text("hanging")
        time.sleep(60)
    if mode == "die":
        print("out of memory", file=sys.stderr)
        sys.exit(3)
    if mode == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "die-once" and not pathlib.Path(arguments[0]).exists():
        pathlib.Path(arguments[0]).touch()
        sys.exit(3)
    if mode == "close":
        os.close(1)
        time.sleep(60)
    if mode == "late":
        time.sleep(0.3)
    if mode == "say":
        return answer(arguments[0]) or True
    if mode == "refuse":
        return answer(arguments[0], "?") or True
    while mode == "flood":
        print("thinking\n" * 1000)
    if mode == "long-answer":
        print("= D3")
    while mode == "long-answer":
        print("and more\n" * 1000, end="")
    while mode == "one-line":
        print("thinking" * 1000, end="")
    if mode == "chatter":
        sys.stdout.write("a thought\n\n" * 50_000)
        sys.stderr.write("another thought\n" * 50_000)
    return False


def main():
    mode = sys.argv[1]
    if mode == "no-start":
        time.sleep(60)
    print("A greeting", flush=True)
    board = None
    for line in sys.stdin:
        command, *words = line.split()
        if command == "boardsize":
            size = int(words[0])
            answer("unacceptable size", "?") if size not in (6, 8) else answer()
        elif command == "clear_board":
            board = slow_board.start(size)
            answer()
        elif command == "play":
            legal = {move_text(a, board.size): a for a in slow_board.legal_actions(board)}
            if words[0].upper() != {"X": "B", "O": "W"}[board.mover] or words[1] not in legal:
                answer("illegal move", "?")
            else:
                board = slow_board.play(board, legal[words[1]])
                answer()
        elif command == "genmove":
            if not misbehave(board):
                action = slow_board.legal_actions(board)[0]
                board = slow_board.play(board, action)
                answer(move_text(action, board.size))
        elif command == "quit":
            answer()
            break
        else:
            answer("unknown command", "?")


main()
