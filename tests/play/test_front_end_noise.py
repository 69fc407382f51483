"""Ten thousand lines of noise for each protocol, and a second, slow account of the game."""

import random
import re

import pytest
from support import slow_board
from support.fake_engines import GAME, random_game
from support.front_end import GtpSession, Input, NBoardSession, mutated, squares

from azo.formats import ggf
from azo.games import notation, replaying

pytestmark = pytest.mark.slow


class Replay:
    """What the game must be after the commands that were accepted, by the slow rules."""

    def __init__(self):
        self.reset(8)

    def reset(self, size):
        self.boards = []
        self.show(slow_board.start(size))

    def show(self, board):
        """Takes a board as the present one, and finds out once what may be done there."""
        self.boards.append(board)
        self.board, self.is_over = board, slow_board.is_over(board)
        self.legal = slow_board.legal_actions(board)

    def turn(self, colour):
        """Returns the board with a colour to move, None if that cannot be."""
        if self.board.mover == colour:
            return self.board
        has_pass = self.legal == [self.board.size**2]
        return slow_board.play(self.board, self.board.size**2) if has_pass else None

    def after(self, colour, action):
        """Returns the board after a move, None if it may not be played."""
        if self.is_over:
            return self.board if action == self.board.size**2 else None
        board = self.turn(colour)
        if board is None:
            return None
        legal = self.legal if board is self.board else slow_board.legal_actions(board)
        return slow_board.play(board, action) if action in legal else None

    def hears(self, name, arguments, answer):
        """Takes in an accepted command."""
        if name == "boardsize":
            self.reset(int(arguments[0]))
        elif name == "clear_board":
            self.reset(self.board.size)
        elif name == "undo":
            self.boards.pop()
            self.show(self.boards.pop())
        elif name in ("play", "genmove"):
            text = arguments[1] if name == "play" else answer.split()[-1]
            action = notation.parse_action(text, self.board.size)
            self.show(self.after(colour_of(arguments[0]), action))


def colour_of(text):
    return "X" if text[0] in "bB" else "O"


def some_gtp(rng, replay):
    size = replay.board.size
    mover = {"X": "black", "O": "w"}[replay.board.mover]
    move = notation.action_text(rng.choice(replay.legal), size)
    any_move = notation.action_text(rng.randrange(size**2 + 1), size)
    colour = rng.choice(["b", "w", "WHITE", "Black"])
    usual = [f"play {mover} {move}"] * 12 + [f"genmove {mover}"] * 4
    others = [
        f"play {colour} {any_move}",
        f"play {colour} pass",
        f"genmove {colour}",
        f"reg_genmove {colour}",
        f"lz-analyze {colour} 1",
        "kata-analyze",
        "undo",
        f"boardsize {rng.choice([4, 6, 8, 8, 19])}",
        "showboard",
        "final_score",
        "list_commands",
        f"known_command {rng.choice(['play', 'loadsgf'])}",
        f"level {rng.randrange(10)}",
        f"komi {rng.uniform(-9, 9):.1f}",
        f"time_settings {rng.randrange(9)} {rng.randrange(9)} {rng.randrange(3)}",
        f"time_left {colour} {rng.randrange(99)} {rng.randrange(3)}",
        f"set_game {rng.choice(['Othello', 'Go'])}",
    ]
    line = rng.choice([*usual, *others])
    if rng.random() < 0.02:
        line = "clear_board"
    if rng.random() < 0.2:
        line = f"{rng.randrange(10**6)} {line}"
    return mutated(rng, line) if rng.random() < 0.4 else line


def test_ten_thousand_lines_of_noise_do_gtp_no_harm():
    rng, replay, session = random.Random(7), Replay(), GtpSession()
    accepted = refused = ends = 0
    for _ in range(10_000):
        line = some_gtp(rng, replay)
        answer = session.ask(line)
        said = re.sub(r"[\x00-\x08\x0a-\x1f\x7f]", "", line).partition("#")[0]
        words = said.replace("\t", " ").strip(" ").split(" ")
        number = words.pop(0) if re.fullmatch(r"[0-9]+", words[0]) else ""
        name, *arguments = [word for word in words if word] or [""]
        if not name and not number:
            assert answer == ""
            continue
        assert re.fullmatch(rf"[=?]{number}( [^\n]*)?(\n[^\n]+)*\n\n", answer), (line, answer)
        if answer[0] == "=":
            replay.hears(name, arguments, answer)
            accepted += 1
        else:
            refused += 1
            if re.fullmatch(r"\? illegal move .*\n\n", answer.replace(number, "", 1)):
                assert name == "play"
                action = notation.parse_action(arguments[1], replay.board.size)
                assert replay.after(colour_of(arguments[0]), action) is None
        board = session.board
        assert squares(board, replay.board.size) == slow_board.text(replay.board), line
        assert board.is_black_to_move == (replay.board.mover == "X")
        ends += replay.is_over
    assert accepted > 4000
    assert refused > 1500
    assert ends > 20


def set_game(moves):
    board = replaying.board_of(GAME.start(), is_black_to_move=True)
    return f"set game {ggf.to_text(ggf.GgfGame(8, board, tuple(moves), time='5:00'))}"


def some_nboard(rng, replay):
    move = ggf.move_text(rng.choice(replay.legal), 8)
    any_move = ggf.move_text(rng.randrange(65), 8)
    usual = [f"move {move}", f"move {move}/1.25/0.5", f"move {move}//3"] * 8
    others = [
        f"move {any_move}",
        "go",
        "go",
        f"hint {rng.randrange(6)}",
        f"ping {rng.randrange(10**4)}",
        f"set depth {rng.randrange(40)}",
        f"set contempt {rng.randrange(100)}",
        "nboard 2",
        "learn",
        "status?",
    ]
    line = rng.choice([*usual, *others])
    if rng.random() < 0.02:
        moves = random_game(rng.randrange(10))
        line = rng.choice([set_game(moves[: rng.randrange(len(moves))]), "analyze"])
    return mutated(rng, line) if rng.random() < 0.4 else line


def check_nboard(line, answers, replay):
    """Checks what was said to a line, and follows the game."""
    name, rest = [*line.split(maxsplit=1), "", ""][:2]
    rest = rest.strip()
    if answers and answers[0].startswith("status error: "):
        assert len(answers) == 1
    elif name == "ping":
        assert answers == [f"pong {int(rest)}"]
    elif name == "go":
        move = re.fullmatch(r"=== (..)/(-?\d+\.\d\d)?/\d+\.\d\d", answers[-2])[1]
        assert notation.parse_action(move, 8) in replay.legal
    elif name == "hint":
        matches = [re.match(r"search (..)\w* -?\d+\.\d\d 0 \d+ visits", a) for a in answers[1:-2]]
        assert 1 <= len(matches) <= int(rest)
        assert all(notation.parse_action(match[1], 8) in replay.legal for match in matches)
    elif name == "analyze":
        assert re.fullmatch(r"analysis \d+ -?\d+\.\d\d", answers[1])
    elif name == "learn":
        assert answers == ["learned"]
    elif name == "move":
        assert answers == []
        action = notation.parse_action(rest.partition("/")[0], 8)
        assert action in replay.legal
        replay.show(slow_board.play(replay.board, action))
    elif (name, rest[:5]) == ("set", "game "):
        replay.reset(8)
        for move in re.findall(r"\b[BW]\s*\[([^\]/]*)", rest, re.IGNORECASE):
            replay.show(slow_board.play(replay.board, notation.parse_action(move, 8)))
    elif name in ("set", "nboard"):
        assert all(re.fullmatch(r"set myname azo\d*", answer) for answer in answers)
    else:
        assert answers == []


def test_ten_thousand_lines_of_noise_do_nboard_no_harm():
    rng, replay = random.Random(8), Replay()
    source = Input("ping 1\n")  # which waits, and so ends all thinking at once
    source.lines.wait()
    session = NBoardSession(source=source)
    errors = ends = 0
    for _ in range(10_000):
        line = some_nboard(rng, replay)
        answers = session.ask(line)
        check_nboard(line, answers, replay)
        assert squares(session.board) == slow_board.text(replay.board), line
        assert session.board.is_black_to_move == (replay.board.mover == "X")
        errors += any(answer.startswith("status error") for answer in answers)
        ends += replay.is_over
        if replay.is_over:
            session.ask(set_game([]))
            replay.reset(8)
    assert errors > 500
    assert ends > 20
