"""As much of Tcl as DejaGnu's directives need: lists with braces, quotes and backslashes."""
from __future__ import annotations

ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "b": "\b"}


class tcl_error(ValueError):
    """The text is not a list."""


def _braced(text: str, start: int) -> tuple[str, int]:
    """The raw text between the brace at start and its partner, and the place after it."""
    depth, place = 0, start
    while place < len(text):
        char = text[place]
        if char == "\\":
            place += 1
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return text[start + 1:place], place + 1
        place += 1
    raise tcl_error(f"unmatched brace: {text!r}")


def _substituted(text: str, start: int, ends: str) -> tuple[str, int]:
    """The word from start up to a character of ends, with its backslashes replaced, and the place of that character."""
    word, place = [], start
    while place < len(text) and text[place] not in ends:
        if text[place] == "\\" and place + 1 < len(text):
            place += 1
            word.append(ESCAPES.get(text[place], text[place]))
        else:
            word.append(text[place])
        place += 1
    return "".join(word), place


def parse_list(text: str) -> list[str]:
    """The words of a list. A word in braces is kept as it is, so that it can be parsed in turn."""
    words, place = [], 0
    while place < len(text):
        if text[place].isspace():
            place += 1
        elif text[place] == "{":
            word, place = _braced(text, place)
            words.append(word)
        elif text[place] == '"':
            word, place = _substituted(text, place + 1, '"')
            if place >= len(text):
                raise tcl_error(f"unmatched quote: {text!r}")
            words.append(word)
            place += 1
        else:
            word, place = _substituted(text, place, " \t\n\r")
            words.append(word)
    return words
