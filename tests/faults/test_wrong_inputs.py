"""Wrong input of every kind: each is read, or refused in one line, quickly and in little memory.

Bytes are mutated at random; settings and the records of runs, tournaments and queues keep a sound
grammar and get wrong content, which meets the code behind the parsers. Each reader is the code that
a command runs on the file or the flags, up to what the command shows.
"""

import contextlib
import functools
import gzip
import io
import json
import pathlib
import re
import shutil
import zipfile
import zlib

import numpy as np
import pydantic
import pytest
from support.builders import (
    fake_run,
    small_queue,
    small_tournament,
    tiny_run,
    wrong_content,
    wthor_files,
)
from support.drivers import front_end

from azo.engine import opening_book
from azo.formats import game_files, ggf, obf
from azo.games import notation, othello, variant
from azo.games.host import live_game
from azo.matches import tournament_file, tournament_runner
from azo.networks import checkpoint_folder, exported_network, network_files
from azo.opponents import players
from azo.queues import comparison, queue_runner, run_queue
from azo.report import figures, page, run_log
from azo.storage import files
from azo.training import config, curriculum, metrics
from azo.web import messages

ROOT = pathlib.Path(__file__).parents[2]
EIGHT = variant.Variant(8)
BOARD = "---------------------------OX------XO--------------------------- X"
SMALL = "-----OX--XO----- X"
SHAPES = {"params/dense/kernel": (3, 4), "params/dense/bias": (4,), "tables": (2, 9, 1)}
START = {"start/commit": "abc", "start/processor": "A CPU", "start/devices": "1 x cpu"}
_GTP = ["play b d1", "genmove w", "boardsize 4", "undo", "time_left b 3 0", "known_command x"]
_GTP += ["loadsgf x", "set_game othello", "showboard", "clear_board", "level 3", "1 name"]
_NBOARD = ["set depth 3", "move F5//1", "ping 3", "set contempt 4", "set game (;GM[Othello];)"]


@functools.cache
def seeds(folder) -> dict[str, list[bytes]]:
    """Returns sound contents of every format."""
    book = opening_book.Book(EIGHT)
    for action in (26, 37):
        book.entry(notation.parse_board(BOARD, 8), action)
    book.save(folder / "sound.book")
    played = ggf.GgfGame(8, ggf.usual_start(EIGHT), (37, 43, 18), black_score=0)
    ggf_start = BOARD.replace("X", "*").encode()
    return {
        "text": [
            b"f5d6c3d3c4f4c5b3c2e6c6b4b5d2e3a6c1b6f3f6e1d1g5f2",
            b"black: x\nwhite: y\nmoves: f5d6c3\n",
            b"(;GM[Othello]PB[x]PW[y]RE[?]TY[8]BO[8 %s]B[F5]W[D6]B[C3];)" % ggf_start,
            b"(;GM[2]SZ[8]PB[x]AB[d5][e4]AW[d4][e5];B[f5];W[d6](;B[c3])(;B[c4]))",
            b'[Black "x"]\n[White "y"]\n1. f5 d6 2. c3 {best} 33-31\n',
        ],
        "obf": [
            f"{BOARD}; F5:+2; D6:-4; % x\n".encode() * 3,
            f"board,mover,score\n{BOARD.replace(' ', ',')},4\n".encode(),
        ],
        "wtb": [wthor_files.write([played] * 3)["wtb"]],
        "csv": [b"eOthello_game_id,winner,game_moves\n1,1,f5d6c3d3c4\n2,-1,f5f6\n"],
        "book": [(folder / "sound.book").read_bytes()],
        "toml": [path.read_bytes() for path in sorted((ROOT / "configs").rglob("*.toml"))],
        "json": [config.to_json(one).encode() for one in (tiny_run.settings(), config.Config())],
        "line": [b"rollouts:100", b"alphabeta:4", b"network:x:3", b"patterns:2", b"iagno:hard"],
        "protocol": [line.encode() for line in (*_GTP, *_NBOARD)],
        "web": [
            b'{"game": "othello8", "text": "f5d6"}',
            b'{"game": "othello8", "moves": "f5d6", "start": "%s"}' % BOARD.encode(),
        ],
    }


def _written(path, content):
    path.write_bytes(content)
    return path


def _read_notation(folder, content, rng):
    text = content.decode(errors="replace")
    for parse in (notation.parse_board, notation.parse_moves, notation.parse_action):
        with contextlib.suppress(ValueError):
            parse(text, 8)
    with contextlib.suppress(ValueError):
        game_files.parse(text[:2000], EIGHT, number=rng.choice([None, 1]))
    ggf.parse(text)


def _read_obf(folder, content, rng):
    is_packed = rng.random() < 0.3
    content = gzip.compress(content) if is_packed else content
    if is_packed and rng.random() < 0.5:
        content = wrong_content.mutated(rng, content, [content])
    obf.read(_written(folder / ("a.obf.gz" if is_packed else "a.obf"), content))


def _read_archive(folder, content, rng):
    name = rng.choice(["a.txt", "a.csv", "a.wtb"])
    game_files.read_archives([_written(folder / name, content)])


def _read_book(folder, content, rng):
    magic, packed = content[:19], content[19:]
    if rng.random() < 0.7:  # sound compression of mutated tables
        with contextlib.suppress(zlib.error):
            plain = zlib.decompressobj().decompress(packed, 1 << 18)
            content = magic + zlib.compress(wrong_content.mutated(rng, plain, [plain]))
    book = opening_book.load(_written(folder / "a.book", content), EIGHT)
    board = notation.parse_board(BOARD, 8)
    action = book.choose(board, np.random.default_rng(0))
    if action is not None and action in live_game.LiveGame(EIGHT).legal_actions:
        live_game.LiveGame(EIGHT).play(action)


def _read_toml(folder, content, rng):
    path = _written(folder / "a.toml", content)
    readers = [config.load_file, tournament_file.load, tournament_file.load_engine]
    rng.choice([*readers, lambda path: run_queue.load(path, folder)])(path)


def _read_player(folder, content, rng):
    players.parse(content.decode(errors="surrogateescape"), othello.Othello(8))


def _read_web(folder, content, rng):
    for kind in (messages.ReadRequest, messages.GameRequest, messages.ThinkRequest):
        try:
            request = kind.model_validate_json(content)
        except pydantic.ValidationError:
            continue
        if isinstance(request, messages.ReadRequest):
            with contextlib.suppress(ValueError):
                read = messages.text_json(request.text, EIGHT, [EIGHT])
                json.dumps(read, allow_nan=False)
        else:
            with contextlib.suppress(ValueError):
                start = request.start and notation.parse_board(request.start, 8)
                live_game.replay(request.moves, EIGHT, start=start or None)


@functools.cache
def _sessions():
    return [
        kind(front_end.quick_engine(4)) for kind in (front_end.GtpSession, front_end.NBoardSession)
    ]


def _read_protocol(folder, content, rng):
    gtp, nboard = _sessions()
    line = content.decode("latin-1").replace("\n", " ")
    answer = gtp.ask(line)
    assert re.fullmatch(r"([=?]\d*( [^\n]*)?(\n[^\n]+)*\n\n)?", answer), answer
    nboard.ask(line)


@functools.cache
def _events():
    events = fake_run.events(3, num_generations=2)
    events += [fake_run.rated(1), fake_run.rated(3)]
    events[0] = {**events[0], "time/processor_seconds": 3.5}
    ends = {"event": "end", "iteration": 3, "reason": "3 iterations done"}
    return [{"event": "start", "iteration": 0, **START}, *events, ends]


def _report(folder, rng):
    folder.mkdir(exist_ok=True)
    _written(folder / metrics.FILE, wrong_content.wrong_lines(rng, _events()))
    _written(folder / "settings.json", b'{"game": {"name": "othello", "size": 6}}')
    log = run_log.read(folder)
    page.summary(log)
    figures.sheets(log)


@functools.cache
def _cup(folder):
    """Plays a small tournament; returns it, and the records of its games and players."""
    text = small_tournament.SMALL.rpartition("[[players]]")[0]  # without the slowest player
    path, place = small_tournament.write(folder, text), folder / "sound"
    assert small_tournament.main(path, "--folder", place) == 0
    names = (tournament_runner.GAMES, tournament_runner.PLAYERS)
    return tournament_file.load(path), *(_records(place / name) for name in names)


def _records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def _tournament(folder, rng):
    cup, games, players = _cup(folder)
    place = folder / "cup"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / tournament_runner.GAMES).write_bytes(wrong_content.wrong_lines(rng, games))
    if rng.random() < 0.3:
        (place / tournament_runner.PLAYERS).write_bytes(wrong_content.wrong_lines(rng, players))
    tournament_runner.run(cup, place, is_playing=False)


@functools.cache
def _jobs(folder):
    queue, jobs = run_queue.load(small_queue.write(folder), folder / "runs")
    return queue, jobs, [small_queue.line_of(job) for job in jobs]


def _results(folder, rng):
    queue, jobs, lines = _jobs(folder)
    match = {"wins": 2, "draws": 0, "losses": 2, "pair_scores": [0, 1, 0, 1, 0]}
    job, line = jobs[3], lines[3] | {"versus": match, "against": "a"}
    job.folder.mkdir(parents=True, exist_ok=True)
    (job.folder / queue_runner.RESULT).write_bytes(wrong_content.wrong_json(rng, line))
    results = queue_runner.read_results(jobs)
    comparison.table(results, queue.arms, queue.seeds)


def _settings(folder, content, rng):
    if rng.random() < 0.5:
        tree = json.loads(config.to_json(tiny_run.settings(run={"folder": str(folder)})))
        content = wrong_content.wrong_json(rng, tree)
    (folder / "settings.json").write_bytes(content)
    (folder / exported_network.ARRAYS).touch()
    readers = [
        lambda: config.load_file(folder / "settings.json"),
        lambda: exported_network.read_settings(folder),
        lambda: curriculum._has_ended(tiny_run.settings(run={"folder": str(folder)})),
        lambda: network_files.load_settings(folder),
    ]
    rng.choice(readers)()


def _record(folder, rng):
    """The record of a checkpoint, with sound checksums."""
    place = checkpoint_folder.folder_of(folder, 3)
    place.mkdir(parents=True, exist_ok=True)
    record = {"iteration": 3, "num_devices": 1, "score": 0.5, "versions": {"jax": "1"}}
    _written(place / checkpoint_folder.RECORD, wrong_content.wrong_json(rng, record))
    files.write_checksums(place)
    checkpoint_folder.best_step(folder)


def _network(folder, rng):
    """An archive of arrays of which one has another type, shape, order, name or compression."""
    wrong = rng.choice(list(SHAPES))
    methods = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    changes = [
        lambda x: x.astype(rng.choice(["f2", "f8", "i4", ">f4", "U8", "O", "c8", "M8[s]"])),
        lambda x: x[..., :-1],
        lambda x: x.reshape(-1),
        lambda x: x[None],
        lambda x: np.asfortranarray(x),
        lambda x: np.where(rng.random() < 0.5, np.nan, x).astype(np.float32),
        lambda x: np.zeros(0, np.float32),
        lambda x: np.rec.fromarrays([x.reshape(-1)], names="a"),
        lambda x: x,
    ]
    with zipfile.ZipFile(folder / exported_network.ARRAYS, "w") as archive:
        for name, shape in SHAPES.items():
            content, array = io.BytesIO(), np.ones(shape, np.float32)
            array = rng.choice(changes)(array) if name == wrong else array
            np.lib.format.write_array(content, array, rng.choice([None, None, (2, 0), (3, 0)]))
            if name == wrong and rng.random() < 0.2:
                name = rng.choice(["../x", "", "a/b", name + "/x", name.rpartition("/")[0]])
            method = rng.choice(methods) if name == wrong else zipfile.ZIP_STORED
            archive.writestr(f"{name}.npy", content.getvalue(), method)
    packed = bytearray((folder / exported_network.ARRAYS).read_bytes())
    if rng.random() < 0.5:
        packed[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
    (folder / exported_network.ARRAYS).write_bytes(packed)
    exported_network.read_arrays(folder, SHAPES)


def _bytes(reader, *formats):
    """Returns a reader of mutated bytes of some formats."""

    def read(folder, rng):
        sound = [content for kind in formats for content in seeds(folder)[kind]]
        others = [content for contents in seeds(folder).values() for content in contents]
        return reader(folder, wrong_content.mutated(rng, rng.choice(sound), others), rng)

    return read


READERS = {  # by name: the reader, and a divisor of its number of cases
    "notation": (_bytes(_read_notation, "text"), 3),
    "obf": (_bytes(_read_obf, "obf"), 3),
    "book": (_bytes(_read_book, "book"), 3),
    "settings.json": (_bytes(_settings, "json"), 2),
    "toml": (_bytes(_read_toml, "toml"), 3),
    "players": (_bytes(_read_player, "line"), 3),
    "web": (_bytes(_read_web, "web", "text"), 3),
    "protocols": (_bytes(_read_protocol, "protocol"), 3),
    "archive": (_bytes(_read_archive, "text", "csv", "wtb"), 20),
    "metrics": (_report, 150),
    "games.jsonl and players.jsonl": (_tournament, 25),
    "result.json": (_results, 10),
    "checkpoint.json": (_record, 15),
    "network.npz": (_network, 5),
}


@pytest.mark.parametrize("name", READERS)
@wrong_content.few_and_many_cases
def test_wrong_inputs_are_read_or_refused_in_one_line(name, number, tmp_path):
    reader, divisor = READERS[name]
    wrong_content.check(name, lambda rng: reader(tmp_path, rng), number // divisor)
