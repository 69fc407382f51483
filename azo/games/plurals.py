"""Numbers with their nouns in messages: "1 game", "2 games"."""


def counted(number: float, noun: str, plural: str | None = None, form: str = "") -> str:
    """Returns a number and its noun, the plural unless the number is 1.

    `plural` is by default the noun with an "s"; `form` is the format of the number, such as ",".
    """
    return f"{number:{form}} {noun if number == 1 else plural or noun + 's'}"
