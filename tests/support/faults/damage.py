"""Damage to files, as by a faulty disk, a crash or a hand."""

import random


def delete(path):
    path.unlink()


def truncate(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def empty(path):
    path.write_bytes(b"")


def zero(path):
    path.write_bytes(bytes(path.stat().st_size))


def flip(path, bit=None):
    """Inverts a bit, by default one that depends on the size of the file alone."""
    content = bytearray(path.read_bytes())
    bit = random.Random(len(content)).randrange(8 * len(content)) if bit is None else bit
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


KINDS = (delete, truncate, empty, zero, flip)


def files(folder):
    """Returns all files below a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def contents(folder):
    """Returns the bytes of the files below a folder by their paths in it, without locks."""
    kept = (path for path in files(folder) if not path.name.endswith(".lock"))
    return {path.relative_to(folder): path.read_bytes() for path in kept}
