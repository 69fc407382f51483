"""Damaged and hostile content, from sound content and a random number generator."""

import re
import struct
import zipfile

_TOKENS = [
    b"", b"\0", b"\xff", b"\xfe\xff", b"\xed\xa0\x80", b"\n", b"\r\n", b"\x1b[31m", b"\x85", b"nan",
    b"inf", b"-1", b"1e400", b"9" * 30, b"9" * 5000, b"[" * 300, b"{", b"]", b'"', b"'", b"\\",
    b"%s%n", b"../../../etc/passwd", b"true", b"null", "٣é🙂".encode(), b"(;", b";)", b",", b";",
]  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")


def mutated(rng, content: bytes, others: list[bytes]) -> bytes:
    """Returns content with one to four changes; pieces may come from the `others`."""
    for _ in range(rng.randrange(1, 5)):
        place, other = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        piece = rng.choice(others)
        start = rng.randrange(len(piece) + 1)
        kind = rng.randrange(8)
        if kind == 0 and content:  # a flipped bit
            byte = rng.randrange(len(content))
            flipped = bytes([content[byte] ^ 1 << rng.randrange(8)])
            content = content[:byte] + flipped + content[byte + 1 :]
        elif kind == 1:  # cut short
            content = content[:other]
        elif kind == 2:  # a part is missing
            content = content[:place] + content[other:]
        elif kind == 3:  # a part is repeated
            content = (
                content[:other] + content[place:other] * rng.randrange(1, 20) + content[other:]
            )
        elif kind == 4:  # something is inserted
            content = content[:place] + rng.choice(_TOKENS) + content[place:]
        elif kind == 5:  # random bytes
            noise = rng.randbytes(rng.randrange(1, 40))
            content = content[:place] + noise + content[place + len(noise) :]
        elif kind == 6:  # a piece of another file
            content = (
                content[:place] + piece[start : start + rng.randrange(1, 200)] + content[other:]
            )
        elif found := list(_NUMBER.finditer(content[:20_000])):  # another number
            match = rng.choice(found)
            number = rng.choice([*_TOKENS, b"%d" % rng.randrange(-(2**40), 2**40)])
            content = content[: match.start()] + number + content[match.end() :]
    return content[: 1 << 18]


def rewritten_archive(rng, path, target, others) -> None:
    """Writes a sound zip archive whose members are mutated, doubled, renamed or left out."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in source.namelist():
            content, copies = source.read(name), 1
            if rng.random() < 0.1:
                content = mutated(rng, content, others)
            if rng.random() < 0.05:
                name = mutated(rng, name.encode(), others).decode(errors="replace") or "x"
            if rng.random() < 0.05:
                content = struct.pack("<6s2BI", b"\x93NUMPY", 2, 0, 2**31) + bytes(100)
            if rng.random() < 0.05:
                copies = rng.randrange(3)
            for _ in range(copies):
                new.writestr(name[:200].replace("\0", "?"), content)
