r"""Text of files whose encoding is unknown: names may be in any, moves are ASCII in all of them.

UTF-8 and UTF-16 are recognised. Otherwise the property `CA[...]` of SGF names the encoding, game by
game. Without it the text is Latin-1, or an encoding of two bytes per letter if only that leaves the
properties whole: the second byte of such a letter may be `]` or `\`, which would end a value too
early or too late.
"""

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 64  # bytes that show UTF-16 without a mark
_GAME_START = re.compile(rb"(?=\(\s*;)")
_DECLARED = re.compile(rb"\bCA\s*\[\s*([\w.:-]{1,40})\s*\]", re.IGNORECASE)
_ASIAN = ("cp932", "gb18030", "big5", "euc_kr")
_LONE_LETTER = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_WHOLE_VALUE = re.compile(r"[A-Z]\s*\[(?:\\.|[^\]\\])*+\]\s*(?=[A-Z\[;()]|$)", re.DOTALL)
_KANA = re.compile("[\u3041-\u30ff]")


def decode(content: bytes) -> str:
    """Returns the text of a file; a letter that cannot be decoded never changes what follows."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, errors="replace")
    for parity, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        sample = content[:_SAMPLE]
        if len(sample) > 3 and not any(sample[parity::2]) and any(sample[1 - parity :: 2]):
            return content.decode(encoding, errors="replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return "".join(map(_decode_part, _GAME_START.split(content)))


def _decode_part(content: bytes) -> str:
    """Returns the text of one game."""
    declared = _DECLARED.search(content)
    names = ["utf-8", declared[1].decode("ascii", errors="replace")] if declared else ["utf-8"]
    for name in names:
        try:
            return content.decode(name)
        except (UnicodeDecodeError, LookupError, ValueError):
            continue
    return _guessed(content)


def _guessed(content: bytes) -> str:
    latin = content.decode("cp1252", errors="replace")
    texts = []
    for encoding in _ASIAN:
        try:
            texts.append(content.decode(encoding))
        except UnicodeDecodeError:
            continue
    if not _LONE_LETTER.search(content):  # letters of two bytes
        texts.sort(key=lambda text: not _KANA.search(text))
        texts.append(latin)
    else:
        texts.insert(0, latin)
    return max(texts, key=lambda text: len(_WHOLE_VALUE.findall(text)))  # the first of equals
