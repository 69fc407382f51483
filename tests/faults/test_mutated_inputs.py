"""Mutated input of every kind: each is read, or refused in one line, quickly and in little memory.

A case is a reader, the seed of the generator and a number, which the message of a failure gives.
"""

import contextlib
import functools
import io
import json
import os
import pathlib
import random
import resource
import signal
import time
import warnings
import zlib

import numpy as np
import pydantic
import pytest
from support import fake_engines, front_end, mutations, tiny_run

from azo.cli import command_line
from azo.formats import checksums, files, game_files, ggf, obf, wthor
from azo.games import notation, othello, variant
from azo.learning import network_config, pattern_tables
from azo.measure import engine_protocols, players
from azo.measure.tournament import game_log
from azo.play import live_game, opening_book
from azo.play.web import game_reader, messages
from azo.run import (
    checkpoint_folder,
    config,
    deep_endings,
    endgame_file,
    exported_network,
    metrics,
    queue_runner,
    recovery,
    run_queue,
    tournament_file,
    validation,
)

ROOT = pathlib.Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
CASES = int(os.environ.get("AZO_MUTATIONS", "5000"))  # of each reader
SEED = int(os.environ.get("AZO_SEED", "0"))
SECONDS = 20  # of one case; a stuck reader is killed by it
MEGABYTES = 1024
EIGHT = variant.Variant(8)
GAME = othello.Othello(8)
BOARD = "---------------------------OX------XO--------------------------- X"
TRANSCRIPT = b"f5d6c3d3c4f4c5b3c2e6c6b4b5d2e3a6c1b6f3f6e1d1g5f2"
TABLES = network_config.PatternsConfig(num_features=2, hidden_units=(4,))


class TooSlowError(BaseException):
    """A case takes too long."""


def _json_lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@functools.cache
def _network(folder):
    """Writes a small pattern network on 4x4; returns its file of arrays."""
    rng = np.random.default_rng(0)
    tree = {}
    for name, shape in pattern_tables.array_shapes(TABLES, 4, 33).items():
        *sections, last = name.split("/")
        place = tree
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = rng.standard_normal(shape).astype(np.float32)
    exported_network.write_arrays(folder, tree)
    return folder / exported_network.ARRAYS


@functools.cache
def seeds(folder) -> dict[str, list[bytes]]:
    """Returns sound contents of every format."""
    game = ggf.GgfGame(8, notation.parse_board(BOARD, 8), tuple(fake_engines.actions("f5 d6 c3")))
    book = opening_book.Book(EIGHT)
    board = notation.parse_board(BOARD, 8)
    for action in fake_engines.actions("f5 d6 c4 e3"):
        with contextlib.suppress(ValueError):
            book.count(board, action, 1.0)
    book.save(folder / "sound.book")
    date = (2024, 1, 1)
    played = wthor.WthorGame("a", "b", fake_engines.actions("f5 d6 c3"), 40)
    event = {"event": "iteration", "iteration": 3, "learner/policy_loss": 1.5}
    record = {"iteration": 3, "is_retried": True, "arrays": {"params.x": 3}}
    log = {
        "opening": 0, "black": "a", "white": "b", "moves": "f5d6", "result": 1, "num_moves": [1, 1],
        "positions": [2, 2], "seconds": [0.1, 0.2],
    }  # fmt: skip
    configs = [path.read_bytes() for path in sorted((ROOT / "configs").rglob("*.toml"))]
    return {
        "text": [TRANSCRIPT, b"black: x\nwhite: y\nmoves: f5d6c3\n", ggf.to_text(game).encode()]
        + [path.read_bytes() for path in sorted(DATA.glob("*.txt"))],
        "obf": [
            f"{BOARD}; F5:+2; D6:-4; % x\n".encode() * 3,
            f"board,mover,score,best_move\n{BOARD.replace(' ', ',')},4,f5\n".encode(),
        ],
        "wtb": [wthor.write([played] * 3, "t", date)["wtb"]],
        "csv": [b"eOthello_game_id,winner,game_moves\n1,1,f5d6c3d3c4\n2,-1,f5f6\n"],
        "book": [(folder / "sound.book").read_bytes()],
        "toml": configs,
        "json": [
            config.to_json(tiny_run.settings()).encode(),
            config.to_json(config.Config()).encode(),
        ],
        "lines": [
            _json_lines(event, event),
            _json_lines(record),
            _json_lines(log),
            _json_lines({}),
        ],
        "sums": [f"{'a' * 64}  settings.json\n{'b' * 64}  network.npz\n".encode()],
        "npz": [_network(folder).read_bytes()],
        "line": [b"rollouts:100", b"alphabeta:4", b"network:x:3", b"patterns:2", b"iagno:hard"],
        "web": [
            json.dumps({"game": "othello8", "text": "f5d6"}).encode(),
            json.dumps({"game": "othello8", "moves": "f5d6", "start": BOARD}).encode(),
        ],
        "flag": (
            b"--run.seed 3 --learner.learning-rate 1e-3 --run.folder x --search.algorithm puct"
            b" --network.block-channels 8 8 --game.size 6"
        ).split(),
    }


def _gz(content):
    packer = zlib.compressobj(wbits=31)
    return packer.compress(content) + packer.flush()


def _written(path, content):
    path.write_bytes(content)
    return path


def _read_text(folder, content, rng):
    path = _written(folder / rng.choice(["a.txt", "a.ggf", "a"]), content)
    game_files.parse(files.read_text(path)[:2000], EIGHT, number=rng.choice([None, 1]))


def _read_notation(folder, content, rng):
    text = content.decode(errors="replace")
    for parse in (notation.parse_board, notation.parse_moves, notation.parse_action):
        with contextlib.suppress(ValueError):
            parse(text, 8)
    ggf.parse(text)


def _read_obf(folder, content, rng):
    is_packed = rng.random() < 0.3
    content = _gz(content) if is_packed else content
    if is_packed and rng.random() < 0.5:
        content = mutations.mutated(rng, content, [content])
    obf.read(_written(folder / ("a.obf.gz" if is_packed else "a.obf"), content))


def _read_wthor(folder, content, rng):
    list(wthor.parse(content))


def _read_archive(folder, content, rng):
    name = rng.choice(["a.txt", "a.csv", "a.wtb"])
    game_files.read_archives([_written(folder / name, content)])


def _read_book(folder, content, rng):
    magic, packed = content[:19], content[19:]
    if rng.random() < 0.7:  # sound compression of mutated tables
        with contextlib.suppress(zlib.error):
            plain = zlib.decompressobj().decompress(packed, 1 << 18)
            content = magic + zlib.compress(mutations.mutated(rng, plain, [plain]))
    book = opening_book.load(_written(folder / "a.book", content), EIGHT)
    board = notation.parse_board(BOARD, 8)
    action = book.choose(board, np.random.default_rng(0))
    if action is not None:
        game = live_game.LiveGame(EIGHT)
        if action in game.legal_actions:
            game.play(action)


def _read_settings(folder, content, rng):
    place = _written(folder / "settings.json", content)
    (folder / exported_network.ARRAYS).touch()
    with contextlib.suppress(ValueError):
        exported_network.read_settings(folder)
    config.load_file(place)


def _read_toml(folder, content, rng):
    path = _written(folder / "a.toml", content)
    kinds = [config.Config, run_queue.Queue, tournament_file.TournamentConfig]
    for kind in [*kinds, engine_protocols.ExternalEngineConfig]:
        with contextlib.suppress(ValueError):
            validation.load(kind, path, "settings")
    if rng.random() < 0.1:
        with contextlib.suppress(ValueError):
            run_queue.load(path, folder)
    with contextlib.suppress(ValueError):
        tournament_file.load_engine(path)
    config.load_file(path)


def _read_lines(folder, content, rng):
    path = _written(folder / metrics.FILE, content)
    metrics.read(folder)
    game_log.read(path, 8)
    for line in content.decode(errors="replace").split("\n"):
        for parse in (queue_runner._parse_result, deep_endings._parse, endgame_file._parse_record):
            with contextlib.suppress(
                ValueError, KeyError, TypeError, AttributeError, RecursionError
            ):
                parse(line)
    _written(folder / recovery.FILE, content)
    recovery.num_retries(folder)


def _read_sums(folder, content, rng):
    _written(folder / checksums.FILE, content)
    with contextlib.suppress(ValueError):
        checksums.verify(folder)
    place = folder / "checkpoints" / "3" / "metrics"
    place.mkdir(parents=True, exist_ok=True)
    _written(place / "metrics", content)
    checkpoint_folder.CheckpointFolder(folder).score(3)


def _read_arrays(folder, content, rng):
    target = folder / exported_network.ARRAYS
    if rng.random() < 0.5:
        source = _written(folder / "sound.npz", seeds(folder)["npz"][0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile warns of two members with one name
            mutations.rewritten_archive(rng, source, target, seeds(folder)["json"])
    else:
        _written(target, content)
    (folder / checksums.FILE).unlink(missing_ok=True)
    exported_network.read_arrays(folder, pattern_tables.array_shapes(TABLES, 4, 33))


def _read_player(folder, content, rng):
    def load(path):
        if not pathlib.Path(path).is_dir():
            raise FileNotFoundError("no such folder")
        raise ValueError("no network")

    players.parse(content.decode(errors="surrogateescape"), GAME, load)


def _read_web(folder, content, rng):
    for kind in (messages.ReadRequest, messages.GameRequest, messages.ThinkRequest):
        try:
            request = kind.model_validate_json(content)
        except pydantic.ValidationError:
            continue
        if isinstance(request, messages.ReadRequest):
            with contextlib.suppress(ValueError):
                game_reader.read(request.text, EIGHT, [EIGHT])
        else:
            with contextlib.suppress(ValueError):
                game = game_reader.replay(EIGHT, request.moves, request.start)
                json.dumps(messages.game_json(game), allow_nan=False)


@functools.cache
def _sessions():
    ended = front_end.ended_input().lines
    engines = front_end.quick_engine(4), front_end.quick_engine(4)
    output = front_end.Output()
    return front_end.GtpSession(engines[0]), front_end.nboard.NBoardServer(
        engines[1], ended, output.write
    )


_GTP = ["play b d1", "genmove w", "boardsize 4", "undo", "time_left b 3 0", "known_command x"]
_GTP += ["loadsgf x", "set_game othello", "showboard", "clear_board", "lz-analyze 1", "1 name"]
_NBOARD = ["set depth 3", "move F5//1", "ping 3", "set contempt 4", "set game (;GM[Othello];)"]


def _read_protocol(folder, content, rng):
    gtp, nboard = _sessions()
    gtp.ask(front_end.mutated(rng, rng.choice(_GTP)))
    line = front_end.mutated(rng, rng.choice(_NBOARD))
    nboard.answer(line)


def _read_flags(folder, content, rng):
    words = [
        mutations.mutated(rng, word, [content]) if rng.random() < 0.3 else word
        for word in rng.sample(seeds(folder)["flag"], rng.randrange(1, 7))
    ]
    argv = [os.fsdecode(word.replace(b"\0", b"")) for word in words]
    if {"--help", "-h"} & set(argv) or any(word.startswith("--tyro") for word in argv):
        return
    command_line.parse(
        config.Config, argv, prog="azo train", load_file=lambda path: tiny_run.settings()
    )


READERS = {  # by name: the reader, the formats of its seeds, and a divisor of its number of cases
    "notation": (_read_notation, ["text"], 1),
    "obf": (_read_obf, ["obf"], 1),
    "wthor": (_read_wthor, ["wtb"], 1),
    "book": (_read_book, ["book"], 1),
    "settings": (_read_settings, ["json"], 1),
    "toml": (_read_toml, ["toml"], 1),
    "lines": (_read_lines, ["lines"], 1),
    "sums": (_read_sums, ["sums", "json"], 1),
    "arrays": (_read_arrays, ["npz"], 5),
    "players": (_read_player, ["line"], 1),
    "web": (_read_web, ["web", "text"], 1),
    "protocols": (_read_protocol, ["line"], 1),
    "text": (_read_text, ["text"], 20),
    "archive": (_read_archive, ["text", "csv", "wtb"], 20),
    "flags": (_read_flags, ["json"], 20),
}


def run_cases(name, folder, number):
    """Runs cases of a reader; returns how many were read and how many refused."""
    reader, formats, _ = READERS[name]
    sound = [content for kind in formats for content in seeds(folder)[kind]]
    others = [content for contents in seeds(folder).values() for content in contents]
    counts = {"read": 0, "refused": 0}

    def too_slow(*_):
        raise TooSlowError

    previous = signal.signal(signal.SIGALRM, too_slow)
    try:
        for case in range(number):
            rng = random.Random(f"{SEED} {name} {case}")
            content = mutations.mutated(rng, rng.choice(sound), others)
            shown = io.StringIO()
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                with contextlib.redirect_stderr(shown):
                    read = functools.partial(reader, folder, content, rng)
                    code = command_line.run_main(lambda _, read=read: read(), [])
            except BaseException as error:
                raise AssertionError(f"{name}, seed {SEED}, case {case}: {error!r}") from error
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            text = shown.getvalue()
            assert all(x.isprintable() or x == "\n" for x in text), (name, case, text)
            assert max(map(len, text.split("\n"))) < 3000, (name, case, text)
            counts["refused" if code else "read"] += 1
    finally:
        signal.signal(signal.SIGALRM, previous)
    return counts


def _check(name, folder, number):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    counts = run_cases(name, folder, number)
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{name}: {number} cases, {counts}, {seconds:.0f} s, {grown:.0f} MiB more, seed {SEED}")
    assert grown < MEGABYTES


@pytest.mark.parametrize("name", READERS)
def test_a_few_mutated_inputs_are_read_or_refused_in_one_line(name, tmp_path):
    _check(name, tmp_path, 20 if READERS[name][2] == 1 else 5)


@pytest.mark.faults
@pytest.mark.parametrize("name", READERS)
def test_mutated_inputs_are_read_or_refused_in_one_line(name, tmp_path):
    _check(name, tmp_path, CASES // READERS[name][2])
