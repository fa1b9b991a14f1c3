"""The examples of a document, and the comparison of a program's output with the output that a document shows.

An example is a fenced block with a language. `<!-- not run: reason -->` before it excludes it, and
`<!-- numbers vary: reason -->` says that only the words of its output are compared.
"""

import re
from dataclasses import dataclass

LANGUAGES = {"sh", "console", "python", "output", "yaml", "json", "c", "text"}
NOTE = re.compile(r"<!-- (not run|numbers vary):\s*(.*?)\s*-->$")
FENCE = re.compile(r"```(\w*)$")
COMMAND = re.compile(r" {4}(\$|anybit|build/release/bin/anybit|make|cmake|gcc|pip|python|CC=\w+) ")
OWN = re.compile(r"^(\$ )?(.*/)?(anybit|import anybit)\b", re.MULTILINE)  # text blocks are for other tools
NUMBER = re.compile(r"(?<![\w.])([-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)( %)?")
CLOSE = 0.02  # of a number
CLOSE_PERCENT = 0.3  # of 100: six images in 2,000


class Bad(Exception):
    """A document that breaks the rules for examples, or an example that does not give the output that it shows."""


@dataclass
class Block:
    language: str
    text: str
    line: int  # of its first line of text
    not_run: str | None = None
    numbers_vary: str | None = None


@dataclass
class Step:
    """A command of a transcript, and the lines shown after it."""
    command: str
    shown: list[str]


def blocks_of(document: str) -> list[Block]:
    found, notes, lines = [], {}, enumerate(document.splitlines(), 1)
    for number, line in lines:
        if note := NOTE.match(line):
            if not note[2]:
                raise Bad(f"line {number}: '{note[1]}' without a reason")
            notes[note[1]] = note[2]
            continue
        if fence := FENCE.match(line):
            if fence[1] not in LANGUAGES:
                raise Bad(f"line {number}: a block of language '{fence[1]}', which is none of {sorted(LANGUAGES)}")
            text = []
            for _, inner in lines:
                if inner == "```":
                    break
                text.append(inner + "\n")
            else:
                raise Bad(f"line {number}: a block without an end")
            if fence[1] == "text" and OWN.search("".join(text)):
                raise Bad(f"line {number}: an example of ours as text, which is not run")
            found.append(Block(fence[1], "".join(text), number + 1, notes.get("not run"), notes.get("numbers vary")))
        elif COMMAND.match(line):
            raise Bad(f"line {number}: an indented command is not run: put it between ```sh and ```")
        if line and notes:
            if not fence:
                raise Bad(f"line {number}: {sorted(notes)} belongs to no example")
            notes = {}
    return found


def steps_of(transcript: str) -> list[Step]:
    """The commands after `$`, each with the output shown; a backslash continues a command."""
    steps = []
    for line in transcript.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        elif not steps:
            raise Bad(f"a transcript begins with a command, not with '{line}'")
        elif steps[-1].command.endswith("\\") and not steps[-1].shown:
            steps[-1].command += "\n" + line
        else:
            steps[-1].shown.append(line)
    return steps


def alike(shown: str, given: str, numbers_vary: bool) -> bool:
    """Equal words, and numbers that differ by no more than the rounding of other CPUs explains."""
    def words(line):
        return " ".join(NUMBER.sub(r"#\2", line).split())

    def close(one, other):
        a, b = (float(found[0].replace(",", "").replace("−", "-")) for found in (one, other))
        return abs(a - b) <= min(CLOSE * max(abs(a), abs(b)), CLOSE_PERCENT if one[1] else float("inf"))
    return words(shown) == words(given) and (
        numbers_vary or all(map(close, NUMBER.findall(shown), NUMBER.findall(given))))


def missing(shown: list[str], given: list[str], numbers_vary: bool) -> str | None:
    """The first line shown that is missing from the output, in order; a line with only … stands for any lines."""
    place, gap = 0, False
    for line in shown:
        if line.strip() == "…":
            gap = True
            continue
        last = len(given) if gap else min(place + 1, len(given))
        at = next((i for i in range(place, last) if alike(line, given[i], numbers_vary)), None)
        if at is None:
            return line
        place, gap = at + 1, False
    return None if gap or place == len(given) else f"nothing more, before '{given[place]}'"
