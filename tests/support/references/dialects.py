"""Texts of games and boards as programs, sites and people write them, and what each says.

`TEXTS` has the expected moves as a transcript, passes included; a start position follows if it is
not the usual one. `CONTENTS` are files in other encodings. `BOARDS` are drawings of one position.
"""

import bz2
import gzip
import json
import lzma

MOVES = "f5d6c3d3c4"
START = "---------------------------OX------XO---------------------------"
# After f5 d6 c3: white is to move.
BOARD = "------------------X--------XX------OXX-----O--------------------"
ROWS = [BOARD[i : i + 8] for i in range(0, 64, 8)]


def _rows(sign=lambda x: x, between="", form="{number} {row}"):
    shown = [between.join(map(sign, row)) for row in ROWS]
    return "\n".join(form.format(number=i, row=row) for i, row in enumerate(shown, start=1))


def _signs(black, white, empty):
    return lambda x: {"X": black, "O": white, "-": empty}[x]


_GGF = f"(;GM[Othello]PC[GGS/os]PB[ann]PW[bob]TY[8]RE[+2.000]BO[8 {START} *]"
_GGF_MOVES = "B[F5//1.2]W[d6/0.5/3]B[C3]W[D3]B[C4]"
_SGF_MOVES = ";B[f5];W[d6];B[c3];W[d3];B[c4]"
_QUEST = [{"m": x} for x in ("f5", "d6", "c3", "d3", "c4")]

TEXTS = {
    "plain": "f5d6c3d3c4",
    "upper case": "F5D6C3D3C4",
    "upper and lower case": "F5d6C3d3C4",
    "spaces": "f5 d6 c3 d3 c4",
    "one move per line": "f5\nd6\nc3\nd3\nc4\n",
    "windows lines": "f5 d6\r\nc3 d3\r\nc4\r\n",
    "commas": "F5, d6, C3, d3, C4",
    "hyphens": "f5-d6-c3-d3-c4",
    "slashes": "f5/d6/c3/d3/c4",
    "arrows": "f5→d6→c3→d3→c4",
    "bars": "f5|d6|c3|d3|c4",
    "dots": "f5.d6.c3.d3.c4.",
    "numbers and dots": "1. F5 d6 2. C3 d3 3. C4",
    "numbers without spaces": "1.f5 d6 2.c3 d3 3.c4",
    "numbers within": "1.f5d62.c3d33.c4",
    "three dots": "1... f5 1... d6 2... c3 2... d3 3... c4",
    "a number per move": "1 f5 2 d6 3 c3 4 d3 5 c4",
    "numbers attached": "1f5 2d6 3c3 4d3 5c4",
    "brackets after numbers": "1) f5 d6 2) c3 d3 3) c4",
    "lines with numbers": "1. f5 d6\n2. c3 d3\n3. c4",
    "result of discs": "f5 d6 c3 d3 c4 34-30",
    "result of discs with colon": "f5 d6 c3 d3 c4 34:30",
    "result of chess": "1. f5 d6 2. c3 d3 3. c4 1-0",
    "half a point": "1. f5 d6 2. c3 d3 3. c4 ½-½",
    "result of Go": "f5 d6 c3 d3 c4 B+4",
    "resignation": "f5 d6 c3 d3 c4 W+Resign",
    "result in words": "f5 d6 c3 d3 c4 Black wins 34-30",
    "result with a sign": "f5d6c3d3c4 +4",
    "result in brackets": "f5d6c3d3c4 (34-30)",
    "result before": "34-30 f5d6c3d3c4",
    "unfinished": "1. f5 d6 2. c3 d3 3. c4 *",
    "marks": "f5! d6?! c3!! d3?? c4!?",
    "comments": "f5 {tiger} d6 c3 {x (y)} d3 c4",
    "variations": "1. f5 d6 (1... f4 2. e3) 2. c3 d3 3. c4",
    "annotation glyphs": "1. f5 $1 d6 $2 2. c3 d3 3. c4",
    "clocks": "1. f5 0:03 d6 0:05 2. c3 1:00 d3 0:01 3. c4",
    "clocks in comments": "1. f5 {[%clk 0:05:00]} d6 {[%clk 0:04:59]} 2. c3 d3 3. c4",
    "colours": "B: f5 W: d6 B: c3 W: d3 B: c4",
    "colours in words": "Black F5\nWhite D6\nBlack C3\nWhite D3\nBlack C4",
    "colours as letters": "B F5 W D6 B C3 W D3 B C4",
    "plus and minus": "+f5-d6+c3-d3+c4",
    "plus, minus, result": "+f5-d6+c3-d3+c4: +02",
    "double width": "Ｆ５ｄ６Ｃ３ｄ３Ｃ４",
    "evaluations": "f5 +0.5 d6 -0.3 c3 +1 d3 -1 c4",
    "evaluations in brackets": "f5[0.00] d6[+1.25] c3(+0) d3(-2) c4(+1.5)",
    "a line below the title": "Final\n-----\nf5 d6 c3 d3 c4",
    "a table": " 1  f5   0:01\n 2  d6   0:02\n 3  c3   0:03\n 4  d3\n 5  c4",
    "a list of Python": "['f5', 'd6', 'c3', 'd3', 'c4']",
    "quotes": '"f5d6c3d3c4"',
    "in brackets": "(f5 d6 c3 d3 c4)",
    "byte-order mark": "\ufefff5d6c3d3c4\n",
    "zero-width spaces": "f5\u200bd6\u200bc3\u200bd3\u200bc4",
    "a title": "Final 2019\nf5 d6 c3\nd3 c4",
    "players and a title": "Ann - Bob: f5d6c3d3c4",
    "comment lines": "# my game\nf5d6c3d3c4\n",
    "headings of lines": "Black: ann\nWhite: bob\nDate: 2024-05-01\n\nf5 d6 c3 d3 c4",
    "fields": "Black: ann\nWhite: bob\nMoves: F5 D6 C3 D3 C4 33-31",
    "fields with lines": "black: ann\nmoves:\nf5 d6\nc3 d3 c4\nresult: 34-30",
    "PGN": '[Event "?"]\n[Black "ann"]\n[White "bob"]\n\n1. f5 d6 2. c3 d3 3. c4 1-0\n',
    "PGN of PlayOK": '[Event "?"]\n[Site "PlayOK"]\n[Black "ann"]\n[White "bob"]\n'
    '[Result "34-30"]\n\n1. f5 d6 2. c3 d3 3. c4 34-30\n',
    "GGF": f"{_GGF}{_GGF_MOVES};)",
    "GGF with a number": f"1 {_GGF}{_GGF_MOVES};)",
    "GGF without a type": f"{_GGF}{_GGF_MOVES};)".replace("TY[8]", "TY[0]"),
    "GGF with komi type": f"{_GGF}{_GGF_MOVES};)".replace("TY[8]", "TY[8k]"),
    "GGF with a strange type": f"{_GGF}{_GGF_MOVES};)".replace("TY[8]", "TY[x-1]TY[]"),
    "GGF with comments": f"{_GGF}C[one]B[F5]C[two]C[three]W[D6]B[C3]W[D3]B[C4];)",
    "GGF with times": f"{_GGF}B[F5//1.0E-4]W[D6/-1.2/]B[C3///]W[D3/1/x]B[C4/nan/inf];)",
    "GGF without a board": f"(;GM[Othello]TY[8]{_GGF_MOVES};)",
    "GGF in lines": f"{_GGF}\n{_GGF_MOVES}\n;)".replace("]", "]\n"),
    "GGF of another case": f"( ;{_GGF[2:]}{_GGF_MOVES} ; )".replace("Othello", "OTHELLO"),
    "GGF with a backslash": f"{_GGF}{_GGF_MOVES};)".replace("[bob]", "[bob\\]"),
    "GGF cut short": f"{_GGF}{_GGF_MOVES}",
    "SGF": f"(;FF[4]GM[2]SZ[8]PB[ann]PW[bob]{_SGF_MOVES})",
    "SGF with letters": "(;FF[4]GM[2]SZ[8];B[fe];W[df];B[cc];W[dc];B[cd])",
    "SGF in words": "(;FF[3]GaMe[2]SiZe[8]PlayerBlack[ann]PlayerWhite[bob]"
    ";Black[f5];White[d6];Black[c3];White[d3];Black[c4])",
    "SGF in small letters": "(;ff[4]gm[2];b[f5];w[d6];b[c3];w[d3];b[c4])",
    "SGF in spaces": "( ;\n GM [2] SZ[8]\n ; B [f5]\n ; W [ d6 ] ; B[c3];W[D3]\n;B[c4]\n )\n",
    "SGF without a game": f"(;FF[4]{_SGF_MOVES})",
    "SGF with variations": "(;GM[2];B[f5];W[d6](;B[c3];W[d3];B[c4])(;B[c4];W[d3]))",
    "SGF with deep variations": "(;GM[2](;B[f5](;W[d6](;B[c3];W[d3];B[c4]))(;W[f6]))(;B[d3]))",
    "SGF with escapes": f"(;GM[2]C[a (;B[a1\\]) \\\\]PB[x \\[7D\\]]{_SGF_MOVES})",
    "SGF with empty setup": f"(;GM[2]AB[]SZ[8:8]{_SGF_MOVES})",
    "SGF with evaluations": "(;GM[2];B[f5/1.2];W[d6/0.5/3];B[c3];W[d3];B[c4])",
    "SGF without an end": f"(;GM[2]PB[ann]{_SGF_MOVES}",
    "SGF with stray signs": f"(;GM[2]PB[ann [7D]] , {_SGF_MOVES})",
    "SGF in a nest": f"((;GM[2]{_SGF_MOVES}))",
    "CSV": "id,winner,game_moves\n1,1,f5d6c3d3c4\n",
    "CSV with semicolons": "black;white;moves\nann;bob;f5d6c3d3c4\n",
    "Othello Quest": json.dumps({"players": ["ann", "bob"], "position": {"moves": _QUEST}}),
    "Othello Quest in a list": json.dumps([{"id": 1, "position": {"moves": _QUEST}}]),
    "Othello Quest in other fields": json.dumps(
        {"ok": True, "data": {"n": 1, "games": [{"rating": 1, "position": {"moves": _QUEST}}]}}
    ),
    "Othello Quest cut short": json.dumps([{"position": {"moves": _QUEST}}])[:-3],
    "Othello Quest with spaces": json.dumps({"position": {"moves": _QUEST}}, indent=2),
    "Othello Quest with an end": json.dumps({"position": {"moves": [*_QUEST, {"m": "-"}]}}),
    "JSON with a transcript": json.dumps({"black": "ann", "transcript": MOVES}),
    "JSON with a list": json.dumps({"moves": ["f5", "d6", "c3", "d3", "c4"]}),
    "JSON of KataGo": json.dumps(
        {"id": "a", "moves": [["B", "f5"], ["W", "d6"], ["B", "c3"], ["W", "d3"], ["B", "c4"]]}
    ),
    "JSON, only a list": '["f5","d6","c3","d3","c4"]',
    "JSON, only pairs": '[["B","f5"],["W","d6"],["B","c3"],["W","d3"],["B","c4"]]',
    "a link": "http://127.0.0.1:8000/#f5d6c3d3c4",
    "a board in one line, then moves": f"{START} X f5 d6 c3 d3 c4",
    "a board in one line, moves, no side": f"{START} f5d6c3d3c4",
    "a board, semicolon, moves": f"{START} X; f5 d6 c3 d3 c4",
    "a board of GGS in a log": "/os: update .1 8 K?\n[8 "
    + f"{START} *] f5 d6 c3 d3 c4".replace("X", "*"),
    "a board in rows, then moves": "\n".join([START[i : i + 8] for i in range(0, 64, 8)])
    + " X\nf5 d6 c3 d3 c4",
    "moves, then a last position": f"f5 d6 c3 d3 c4\n\n{_rows()}\n",
}  # fmt: skip

CONTENTS = {
    "a.ggf.bz2": bz2.compress(f"{_GGF}{_GGF_MOVES};)".encode()),
    "a.sgf.gz": gzip.compress(TEXTS["SGF"].encode()),
    "a.txt.xz": lzma.compress(b"f5d6c3d3c4\n"),
    "A.PGN.GZ": gzip.compress(TEXTS["PGN"].encode()),
    "a.json.bz2": bz2.compress(TEXTS["Othello Quest"].encode()),
    "latin.sgf": f"(;GM[2]PB[Müller]PW[bob]{_SGF_MOVES})".encode("latin-1"),
    "latin.ggf": _GGF.replace("ann", "Zoë").encode("latin-1") + _GGF_MOVES.encode() + b";)",
    "latin.pgn": '[Black "Zoë"]\n1. f5 d6 2. c3 d3 3. c4'.encode("latin-1"),
    "latin.txt": "Schwarz: Jürgen\nf5d6c3d3c4".encode("latin-1"),
    # The second byte of 表 is a backslash in Shift-JIS; that of 媇 is a bracket in GBK.
    "sjis.sgf": f"(;CA[Shift_JIS]GM[2]PB[田表]PW[表]{_SGF_MOVES})".encode("shift_jis"),
    "sjis-unnamed.sgf": f"(;GM[2]PB[田表]PW[表]{_SGF_MOVES})".encode("shift_jis"),
    "gbk.sgf": f"(;CA[GBK]GM[2]PB[媇中]PW[中国]{_SGF_MOVES})".encode("gbk"),
    "gbk-unnamed.sgf": f"(;GM[2]PB[中媇]PW[中国]{_SGF_MOVES})".encode("gbk"),
    "wrong-charset.sgf": f"(;CA[UTF-8]GM[2]PB[田表]PW[表]{_SGF_MOVES})".encode("shift_jis"),
    "no-charset.sgf": b"(;CA[no-such]GM[2]PB[\xe9\xff\\\\]" + _SGF_MOVES.encode() + b")",
    "broken-utf8.sgf": b"(;GM[2]PB[\xe3\x81]" + _SGF_MOVES.encode() + b")",
    "utf16.sgf": f"(;GM[2]PB[田]{_SGF_MOVES})".encode("utf-16"),
    "utf16-unmarked.txt": "f5d6c3d3c4".encode("utf-16-le"),
    "utf8-sig.txt": "f5d6c3d3c4".encode("utf-8-sig"),
}  # fmt: skip

_SPACED = "\n".join(f"{i} {' '.join(row)} {i}" for i, row in enumerate(ROWS, start=1))
_LETTERS = "  a b c d e f g h"
BOARDS = {
    "one line": f"{BOARD} O",
    "one line of small letters": f"{BOARD.lower()} o",
    "b and w": f"{BOARD.translate(str.maketrans('XO', 'bw'))} w",
    "B and W in rows": _rows(_signs("B", "W", "."), form="{row}") + "\nW",
    "stars": _rows(_signs("*", "O", "-"), " ") + "\nO to move",
    "at and zero": _rows(_signs("@", "0", "."), " ") + "\nNext: 0",
    "hashes": _rows(_signs("#", "O", "_"), form="{row}") + "\nWhite to play",
    "GGS": f"[8 {' '.join(ROWS)} O]".replace("X", "*"),
    "GGS without spaces": f"[8 {BOARD} O]".replace("X", "*"),
    "BO of GGF": f"BO[8 {BOARD} O]".replace("X", "*"),
    "rows with spaces": " ".join(ROWS) + " O",
    "rows with slashes": "/".join(ROWS) + " O",
    "coordinates": f"{_LETTERS}\n{_SPACED}\n{_LETTERS}\nwhite (O) to move",
    "coordinates without spaces": _rows() + "\nTurn: white",
    "a border": "+--------+\n" + _rows(form="|{row}|") + "\n+--------+\nwhite to move",
    "a border with coordinates": "  a b c d e f g h\n +-----------------+\n"
    + _rows(_signs("X", "O", " "), " ", "{number}| {row} |{number}")
    + "\n +-----------------+\nWhite's turn",
    "a grid": " +-+-+-+-+-+-+-+-+\n"
    + "\n +-+-+-+-+-+-+-+-+\n".join(
        f"{i}|{'|'.join(' ' if x == '-' else x for x in row)}|" for i, row in enumerate(ROWS, 1))
    + "\n +-+-+-+-+-+-+-+-+\n  a b c d e f g h\nside to move: O",
    "discs": _rows(_signs("●", "○", "·"), " ", "{row}") + "\n○ to move",
    "emoji": _rows(_signs("⚫", "⚪", "🟩"), form="{row}") + "\nwhite to move",
    "digits": _rows(_signs("1", "2", "0"), " ", "{row}") + "\nwhite to move",
    "white first": "White to move\n\n" + _rows(form="{row}"),
    "OBF": f"{BOARD} O; C5:+2; d3:-4; % a comment",
    "from below": "\n".join(f"{8 - i} {row}" for i, row in enumerate(reversed(ROWS)))
    + "\n  abcdefgh\nwhite to move",
}  # fmt: skip
