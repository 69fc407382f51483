"""Reading flags with tyro, whose framed messages become one line."""

import contextlib
import io
import re
from collections.abc import Callable
from typing import TypeVar

Parsed = TypeVar("Parsed")


def parse_quietly(parse: Callable[[list[str]], Parsed], flags: list[str]) -> Parsed:
    """Returns what tyro makes of the flags; its framed messages become one line."""
    if {"-h", "--help"} & set(flags):
        parse(flags)
    boxed = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxed):
            return parse(flags)
    except SystemExit:
        raise ValueError(_unbox(boxed.getvalue())) from None


def _unbox(text: str) -> str:
    """Returns the sentence in a message that tyro has framed, between its title and its hints."""
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        content = line.strip(" │")
        if re.fullmatch("[─-]{3,}", content):
            parts.append([])
        elif not content.startswith(("╭", "╰")):
            parts[-1].append(content)
    # Where standard output is not UTF-8 there is no frame, and the title is a part by itself.
    sentence = parts[0] if "╭" in text or len(parts) == 1 else parts[1]
    message = " ".join(sentence).strip().removeprefix("Error parsing ")
    return message.replace("invalid literal for int() with base 10:", "not a whole number:")
