"""The program that a script becomes: what it answers to a worker, and how it runs by hand."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import select
import signal
import sys
import threading
import time
import traceback
from typing import Any, Callable, Iterator, NoReturn

from noisefloor.member import by_hand, checkpoint, environment, frameworks, generators, probe
from noisefloor.member import settings as settings_of
from noisefloor.member.errors import EXIT_CODES, Diverged, Refused, cause_of, cause_of_code
from noisefloor.member.journal import Journal, number
from noisefloor.member.processes import Processes, request_of_rank
from noisefloor.member.run import Run

MOST_REQUEST = 4 << 20  # Bytes.


def main(train: Callable[[Run], None], settings: settings_of.Settings = (), *,
         stack: str = "", processes: int | str = 1) -> NoReturn:
    """Trains one member with `train` and ends the process.

    settings: what sweep files may set, made by nf.integer, nf.number ...; or a mapping of paths to
    defaults. stack: the name that sweeps call this trainer by; else that of the script's file.
    Under a worker the process ends without what atexit would call: close what is to be kept.
    processes: how many train together, or the setting that says it; nf.torch.join brings them
    together. The command line is ours: see `python SCRIPT --help`.
    """
    with member(settings, stack=stack, processes=processes) as run:
        train(run)
    sys.exit(0)


@contextlib.contextmanager
def member(settings: settings_of.Settings = (), *, stack: str = "",
           processes: int | str = 1) -> Iterator[Run]:
    """The same for a script that has no such function: its body is the training. The process ends
    behind the body, however that went, and before it where a worker only asks what the script is:
    nothing that follows is run. Under a worker it ends at once, without what atexit would call and
    without files that are not flushed: what is to be kept must be closed in the body."""
    script = os.path.abspath(getattr(sys.modules["__main__"], "__file__", sys.argv[0]))
    program = _Program(script, stack or _stem(script), settings_of.schema_of(settings), processes)
    run = program.begin(sys.argv[1:])
    try:
        yield run
    except BaseException as error:  # Told to the worker, then the process ends by its exit code.
        if isinstance(error, SystemExit) and error.code in (None, 0) and run.finished:
            program.end(run)
        else:
            program.fail(run, error)
    program.end(run)


def _stem(script: str) -> str:
    return os.path.splitext(os.path.basename(script))[0]


class _Program:
    def __init__(self, script: str, stack: str, schema: list[settings_of.Setting],
                 processes: int | str) -> None:
        self._script = script
        self._wanted_processes = processes
        self._is_rank_0 = True
        self._others: Processes | None = None  # Of rank 0.
        self._run: Run | None = None
        self._stack = stack
        self._schema = schema
        # What the worker was told by --describe was known at this point, too.
        self._build = environment.build_of(script)
        self._fingerprint = environment.fingerprint()
        self._switches: dict[str, Any] = {}
        self._journal: Journal | None = None
        self._by_hand = False

    # Before the training.

    def begin(self, arguments: list[str]) -> Run:
        if arguments == ["--describe"]:
            print(json.dumps(self._describe()))
            sys.exit(0)
        if len(arguments) == 2 and arguments[0] == "--probe":
            print(json.dumps(probe.probe(arguments[1])))
            sys.exit(0)
        of_rank = request_of_rank()
        if of_rank is not None:
            self._is_rank_0 = False
            return self._begin(of_rank)
        asked = [word for word in arguments if word not in ("--gpu", "--no-cache")]
        request = self._read_request() if not asked else None
        if request is None:
            request = by_hand.request(asked, self._schema, self._stack)
            self._by_hand = True
        return self._begin(request)

    def _read_request(self) -> dict[str, Any] | None:
        """None: nobody asks for a member, a person runs the script."""
        of_worker = "NOISEFLOOR_EVENTS" in os.environ
        if not of_worker and sys.stdin.isatty():
            return None
        with _obeying(lambda: sys.exit(EXIT_CODES["interrupted"])):
            line = _read_line()
        if not line.strip():
            if of_worker:
                sys.exit(EXIT_CODES["interrupted"])  # It was not needed any more.
            return None
        return self._parse(line)

    def _parse(self, line: str) -> dict[str, Any]:
        try:
            request: dict[str, Any] = json.loads(line)
            if not isinstance(request, dict):
                raise Refused("request: expected an object")
            missing = {"protocol", "member", "specification", "work_directory"} - set(request)
            if missing:
                raise Refused(f"request: {sorted(missing)[0]} is missing")
            if request["protocol"] != 1:
                raise Refused(f"protocol: expected 1, got {request['protocol']!r}")
            actual = _hash_of_specification(line)
            if request.setdefault("specification_sha256", actual) not in ("", actual):
                raise Refused("specification_sha256: it is not of this specification")
            request["specification_sha256"] = actual
        except (ValueError, Refused) as error:
            self.refuse(str(error))
        return {"data_root": "", "write_evaluation_set": False, "attempt": 1, **request}

    def _begin(self, request: dict[str, Any]) -> Run:
        events = int(os.environ.pop("NOISEFLOOR_EVENTS", "-1"))
        if events >= 0:
            os.set_inheritable(events, False)  # Of what the script starts nobody writes there.
        write = by_hand.show if self._by_hand else _writer_to(events if events >= 0 else 1)
        journal = Journal(write if self._is_rank_0 else None, request["work_directory"])
        self._journal = journal
        specification = request["specification"]
        # Control replicates have equal specifications: the member's name tells them apart.
        of_member = (request["member"], request["specification_sha256"], self._build,
                     self._fingerprint)
        identity = hashlib.sha256("\n".join(of_member).encode()).hexdigest()
        base = os.environ.get("NOISEFLOOR_CHECKPOINTS", "")
        try:
            self._check(specification)
            processes = self._processes(specification)
            if processes > 1 and self._is_rank_0:
                self._others = Processes(request, processes, self._rank_failed)
            run = Run(request, journal, identity,
                      checkpoint.folder_of(base, identity) if base else None,
                      float(os.environ.get("NOISEFLOOR_CHECKPOINT_SECONDS", "60")), processes)
            generators.seed_all(generators.GROUND)
            self._switches = frameworks.set_switches(run)
        except Exception as error:
            self._end_before(error)
        self._run = run
        self._watch_for_stop(run)
        journal.greeting = lambda: self._hello(run)
        run.began = time.monotonic()
        return run

    def _processes(self, specification: dict[str, Any]) -> int:
        wanted = self._wanted_processes
        count = settings_of.flat(specification)[wanted] if isinstance(wanted, str) else wanted
        if type(count) is not int or count < 1:
            raise Refused(f"processes: expected an integer from 1, got {count!r}")
        return count

    def _rank_failed(self, rank: int, code: int) -> NoReturn:
        """Also in a thread, where the training waits for a process that is no more."""
        assert self._run is not None
        self._outcome(self._run, "failed", cause_of_code(code),
                      f"rank {rank} ended with exit code {code}")

    def _check(self, specification: dict[str, Any]) -> None:
        if specification.get("stack") not in ("", None, self._stack):
            raise Refused(f"stack: this is {self._stack}, not {specification['stack']}")
        values = {path: value for path, value in settings_of.flat(specification).items()
                  if path.partition(".")[0] not in ("noise", "hardware_class", "stack")}
        known = {setting["path"]: setting for setting in self._schema}
        for path in sorted(set(known) ^ set(values)):
            raise Refused(f"{path}: {'missing' if path in known else 'this script has no such setting'}")
        for path, value in values.items():
            problem = settings_of.problem_with(known[path], value)
            if problem:
                raise Refused(problem)

    def _watch_for_stop(self, run: Run) -> None:
        def note(number: int, frame: Any) -> None:
            run.stop_asked = True
        noted = [signal.SIGTERM] if self._by_hand else [signal.SIGTERM, signal.SIGINT]
        before = {number: signal.signal(number, note) for number in noted}

        def obey() -> None:
            for number, handler in before.items():
                with contextlib.suppress(ValueError):  # Forked from another thread than the main.
                    signal.signal(number, handler)
        # Processes that the script forks, such as a Pool's, are to end when they are told to.
        os.register_at_fork(after_in_child=obey)

    def _hello(self, run: Run) -> dict[str, Any]:
        """Said late, with the identity of data that were read by then."""
        return {"event": "hello", "protocol": 1, "stack": self._stack, "build": self._build,
                "environment": self._environment(), "data_identity": run.data_identity,
                "resumes": run.makes_checkpoints}

    def _describe(self) -> dict[str, Any]:
        facts = environment.environment(self._script, self._stack, {})
        return {"protocol": 1, "probes": 1, "stack": self._stack, "build": facts["build"],
                "fingerprint": facts["stack_fingerprint"], "environment": facts,
                "settings": self._schema}

    def _environment(self) -> dict[str, Any]:
        facts = environment.environment(self._script, self._stack, self._switches)
        return {**facts, "build": self._build, "stack_fingerprint": self._fingerprint}

    # After it.

    def end(self, run: Run) -> NoReturn:
        """It came to its end."""
        if not self._is_rank_0:
            self._leave(0)
        if not run.finished:
            self.fail(run, Refused("the script ended without run.finish()"))
        try:
            frameworks.check_switches(run, self._switches)
        except Refused as error:
            self._outcome(run, "failed", "bug", str(error))
        except Exception as error:
            self.fail(run, error)
        wrong = self._others.join() if self._others else ""
        if wrong:
            self._outcome(run, "failed", "bug", wrong)
        kind = "done" if math.isfinite(run.metrics["loss"]) else "diverged"
        self._outcome(run, kind, "none", "")

    def fail(self, run: Run, error: BaseException) -> NoReturn:
        first = self._others.stop() if self._others is not None else None
        if first is not None and cause_of(error) == "bug":  # We have only noticed it.
            self._rank_failed(*first)
        if isinstance(error, Diverged):
            self._outcome(run, "diverged", "none", str(error))
        cause = cause_of(error)
        if cause == "bug":
            traceback.print_exception(type(error), error, error.__traceback__)
        self._outcome(run, "failed", cause, self._words_of(error))

    def _end_before(self, error: Exception) -> NoReturn:
        """What was raised before there is a member."""
        cause = cause_of(error)
        if cause == "bug":
            traceback.print_exception(type(error), error, error.__traceback__)
        self.refuse(self._words_of(error), cause)

    def refuse(self, why: str, cause: str = "bad_specification") -> NoReturn:
        """Before there is a member."""
        if self._journal is None:
            events = int(os.environ.get("NOISEFLOOR_EVENTS", "-1"))
            self._journal = Journal(_writer_to(events if events >= 0 else 1), "")
        print(f"{os.path.basename(self._script)}: {why}", file=sys.stderr)
        self._journal.tell("failed", cause=cause, message=_cut(why), hashes={}, metrics={},
                           per_class_accuracy=[], train_seconds=0, environment=self._environment())
        self._leave(EXIT_CODES[cause])

    def _words_of(self, error: BaseException) -> str:
        words = f"{type(error).__name__}: {error}" if cause_of(error) == "bug" else str(error)
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if os.path.dirname(frame.filename) == os.path.dirname(self._script):
                return f"{words} ({os.path.basename(frame.filename)}:{frame.lineno})"
        return words

    def _outcome(self, run: Run, kind: str, cause: str, message: str) -> NoReturn:
        assert self._journal is not None
        measured = {"sources": {name: source.asked for name, source in run.sources.items()},
                    "resumed_at": run.resumed_at, "steps": run.steps, "notes": run.notes}
        facts = {**self._environment(), "measured": measured}
        with contextlib.suppress(OSError):
            self._journal.tell(
                kind, cause=cause, message=_cut(message), hashes=run.hashes, environment=facts,
                metrics={name: number(value) for name, value in run.metrics.items()},
                per_class_accuracy=[number(value) for value in run.per_class_accuracy],
                train_seconds=run.train_seconds)
            if kind != "failed":  # Behind the event: whoever is killed before it goes on.
                run.forget_checkpoint()
        self._leave(EXIT_CODES[cause])

    def _leave(self, code: int) -> NoReturn:
        """Without taking apart what the kernel takes apart faster, and without threads that
        libraries have left behind keeping the process."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and self._by_hand or "COVERAGE_RUN" in os.environ:
            sys.exit(code)
        os._exit(code)


def _cut(message: str) -> str:
    """To the bytes that a worker takes."""
    return message.encode(errors="replace")[:10000].decode(errors="ignore")


def _hash_of_specification(line: str) -> str:
    """Of the very bytes that came: another program may write numbers otherwise."""
    key = '"specification":'
    start = line.index(key) + len(key)
    while line[start] in " \t":
        start += 1
    _, end = json.JSONDecoder().raw_decode(line, start)
    return hashlib.sha256(line[start:end].encode()).hexdigest()


def _writer_to(descriptor: int) -> Callable[[str], None]:
    def write(line: str) -> None:
        rest = memoryview(line.encode())
        while rest:
            rest = rest[os.write(descriptor, rest):]
    return write


def _read_line() -> str:
    """Up to a newline or the end, waiting in a way that a signal ends."""
    content = b""
    while b"\n" not in content and len(content) <= MOST_REQUEST:
        select.select([0], [], [])
        piece = os.read(0, 1 << 16)
        if not piece:
            break
        content += piece
    return content.decode().partition("\n")[0]


@contextlib.contextmanager
def _obeying(stop: Callable[[], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, lambda number, frame: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
