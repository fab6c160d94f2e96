"""The rows of tests/gpu/run: printed, and appended to the results as they come."""
import contextlib
import threading
import time

from processes import NoTime


def cell(text, most=700):
    """As one cell of a table; of what is long its end, which says why."""
    words = " ".join(str(text).split())
    return (words if len(words) <= most else "... " + words[-most:]).replace("|", "\\|")


class Checks:
    def __init__(self, deadline, results=None):
        """results: the file; without one nothing is written."""
        self.deadline, self.results = deadline, results
        self.count = self.failed = 0
        self.part = ""
        self.ran, self.failed_parts, self.late = set(), set(), set()
        self.lock = threading.Lock()

    def write(self, text):
        """At once, so that what is cut off keeps what it has seen."""
        if self.results is not None:
            with open(self.results, "a", encoding="utf-8") as file:
                file.write(text)

    def run(self, part, check):
        """check: says True where this machine cannot run it."""
        self.part = part
        start = time.monotonic()
        self.write(f"### {part}\n\n| Check | | Seen |\n| --- | --- | --- |\n")
        try:
            self.deadline.seconds()
            if not check():
                self.ran.add(part)
        except NoTime:
            self.late.add(part)
            self.add(part, None, "SKIPPED: no time left")
        except Exception as failure:           # Whatever it is, the other parts are still to be seen.
            self.ran.add(part)
            self.add(f"{part}: runs to its end", False, str(failure) or repr(failure))
        self.write(f"\n{time.monotonic() - start:.0f} s\n\n")

    @contextlib.contextmanager
    def guard(self, what):
        """What fails in here is a row, and the part goes on."""
        try:
            yield
        except NoTime:
            raise
        except Exception as failure:
            self.add(f"{what}: runs to its end", False, str(failure) or repr(failure))

    def add(self, what, held, seen):
        """Any thread."""
        word = {True: "held", False: "FAILED", None: "seen"}[held]
        with self.lock:
            self.count += 1
            self.failed += held is False
            if held is False:
                self.failed_parts.add(self.part)
            print(f"{word:6}  {what}: {seen}", flush=True)
            self.write(f"| {cell(what)} | {word} | {cell(seen)} |\n")
