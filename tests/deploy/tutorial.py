"""A tutorial in Markdown, run line by line: what it shows must happen.

    ```console          commands behind `$ ` (`> ` goes on with one), each with what it prints below
    ```console numbers  the same; numbers may be others
    ```python file=train.py   a file, written when the tutorial comes to it

In what is printed a line `...` stands for any lines, `...` inside a line for any text, and runs of
spaces are one space. `[5]` as the last line: the command ends with 5; without it, with 0. All
commands are of one shell, as they are for whoever follows the tutorial.
"""

from __future__ import annotations

import dataclasses
import os
import re
import select
import signal
import subprocess
import time

FENCE = re.compile(r"^```(\w+)(?: (.*))?$")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
PATIENCE = 180  # Seconds for one command.


@dataclasses.dataclass
class Command:
    line: int  # Of the tutorial, from 1.
    text: str
    numbers: bool  # May be others than those that are shown.
    shown: list[str] = dataclasses.field(default_factory=list)
    code: int = 0


@dataclasses.dataclass
class File:
    line: int
    name: str
    text: str


def read(text: str) -> list[Command | File]:
    """In order. A block that is neither is there to be read: languages without `file=`."""
    steps: list[Command | File] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        at += 1
        if fence is None:
            continue
        end = lines.index("```", at)
        kind, more = fence[1], fence[2] or ""
        if kind == "console":
            steps += commands(lines[at:end], at + 1, more == "numbers")
        elif more.startswith("file="):
            steps.append(File(at, more.removeprefix("file="), "\n".join(lines[at:end]) + "\n"))
        elif more:
            raise AssertionError(f"line {at}: ```{kind} {more}: expected file=NAME")
        at = end + 1
    return steps


def commands(lines: list[str], first: int, numbers: bool) -> list[Command]:
    found: list[Command] = []
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            found.append(Command(number, line[2:], numbers))
        elif not found:
            raise AssertionError(f"line {number}: expected a command, `$ ...`")
        elif line.startswith("> ") and not found[-1].shown:
            found[-1].text += "\n" + line[2:]
        else:
            found[-1].shown.append(line)
    for command in found:
        if command.shown and re.fullmatch(r"\[\d+\]", command.shown[-1]):
            command.code = int(command.shown.pop()[1:-1])
    return found


def pattern_of(command: Command) -> re.Pattern[str]:
    parts = []
    for line in command.shown:
        line = " ".join(line.split())
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(r".*?".join(pattern_of_text(text, command.numbers)
                                     for text in line.split("...")) + r"\n")
    return re.compile("".join(parts))


def pattern_of_text(text: str, numbers: bool) -> str:
    if not numbers:
        return re.escape(text)
    return NUMBER.pattern.join(re.escape(part) for part in NUMBER.split(text))


def matches(command: Command, printed: str) -> bool:
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    return pattern_of(command).fullmatch("".join(line + "\n" for line in lines)) is not None


class Shell:
    """One bash in a folder, until close(), which ends everything that it has begun."""

    def __init__(self, folder: str, environment: dict[str, str]) -> None:
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=folder, env=environment, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, text: str) -> tuple[str, int]:
        """What it prints, on either stream, and its exit code."""
        mark = f"end-{os.urandom(8).hex()}"
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{{\n{text}\n}} </dev/null\nprintf '\\n{mark} %d\\n' $?\n".encode())
        self._bash.stdin.flush()
        printed = b""
        until = time.monotonic() + PATIENCE
        while (end := re.search(rf"\n{mark} (\d+)\n".encode(), printed)) is None:
            printed += self._more(until, text, printed)
        return printed[:end.start()].decode(errors="replace"), int(end[1])

    def _more(self, until: float, text: str, printed: bytes) -> bytes:
        assert self._bash.stdout is not None
        ready = select.select([self._bash.stdout], [], [], max(0, until - time.monotonic()))[0]
        more = os.read(self._bash.stdout.fileno(), 1 << 16) if ready else b""
        if more:
            return more
        raise AssertionError(f"$ {text}\n{printed.decode(errors='replace')}\n"
                             + ("the shell has ended" if ready else f"no end in {PATIENCE} s"))

    def close(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._bash.pid, number)
                self._bash.wait(20)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self._bash.wait()
        for pipe in (self._bash.stdin, self._bash.stdout):
            assert pipe is not None
            pipe.close()


def run(text: str, folder: str, environment: dict[str, str], here: dict[str, str]) -> int:
    """How many commands were run. `here`: what words of the tutorial are on this machine."""
    for word, meant in here.items():
        if word not in text:
            raise AssertionError(f"the tutorial does not say {word}")
        text = text.replace(word, meant)
    shell = Shell(folder, environment)
    count = 0
    try:
        for step in read(text):
            if isinstance(step, File):
                with open(os.path.join(folder, step.name), "w", encoding="utf-8") as file:
                    file.write(step.text)
                continue
            printed, code = shell.run(step.text)
            count += 1
            if code != step.code or not matches(step, printed):
                raise AssertionError(
                    f"line {step.line}: $ {step.text}\nshown, to end with {step.code}:\n"
                    + "\n".join(step.shown) + f"\nprinted, ended with {code}:\n{printed}")
    finally:
        shell.close()
    return count
