"""noisefloor conform: names the lines of leaks, leaves clean scripts alone, holds members to their word."""

import ast
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
from typing import Any

from noisefloor.conform import command, rewrite, sites

import member

HERE = os.path.dirname(os.path.abspath(__file__))
LEAKS = os.path.join(HERE, "leaks")
STRANGERS = os.path.join(HERE, "strangers")
ALL = os.environ.get("NOISEFLOOR_LEAKS_ALL") == "1"
QUICK = {"leak_04.py", "leak_10.py", "leak_13.py", "leak_16.py", "leak_17.py", "leak_18.py",
         "leak_19.py", "clean_02.py", "clean_04.py", "clean_06.py", "clean_10.py"}
CAREFUL = os.path.join(member.SCRIPTS, "plain_clouds.py")
NOISEFLOOR = os.path.join(os.environ.get("NOISEFLOOR_BIN", ""), "noisefloor")
CARELESS = os.path.join(member.SCRIPTS, "careless.py")


def conform(*words: str, folder: str | None = None) -> tuple[int, Any, str]:
    done = subprocess.run([sys.executable, "-m", "noisefloor.conform", "--output=json", *words],
                          capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


class Corpus(unittest.TestCase):
    def test_leaks_are_named_and_clean_scripts_are_not(self) -> None:
        with open(os.path.join(LEAKS, "corpus.json"), encoding="utf-8") as file:
            corpus = json.load(file)
        self.assertEqual((len(corpus["leaks"]), len(corpus["clean"])), (20, 10))
        missed, alarms = [], []
        for entry in corpus["leaks"] + corpus["clean"]:
            if not ALL and entry["file"] not in QUICK:
                continue
            python = [sys.executable] if entry["interpreter"] == "plain" else \
                member.interpreter(entry["interpreter"])
            if python is None:
                self.skipTest(f"no Python with {entry['interpreter']}")
            code, told, said = conform("--", *python, entry["file"], folder=LEAKS)
            self.assertIn(code, (0, 5), said)
            places = {finding["place"] for finding in told["findings"]}
            if "line" not in entry:
                alarms += [entry["file"]] if code != 0 else []
                continue
            lines = {entry["line"], *entry.get("related_lines", [])}
            named = places & {f"{entry['file']}:{line}" for line in lines}
            missed += [] if named and code == 5 else [(entry["file"], sorted(places))]
            if named:  # And nothing besides.
                self.assertEqual({p for p in places if p not in named}, set(), entry["file"])
        print(f"leaks missed: {missed}, false alarms: {alarms}", file=sys.stderr)
        self.assertEqual((missed, alarms), ([], []))


@unittest.skipUnless(ALL, "minutes: NOISEFLOOR_LEAKS_ALL=1")
class Strangers(unittest.TestCase):
    """Scripts of each framework as they were, and made members by the guide."""

    def both(self, name: str, framework: str, leaks: bool) -> None:
        python = member.interpreter(framework)
        if python is None:
            self.skipTest(f"no Python with {framework}")
        with tempfile.TemporaryDirectory() as folder:  # The scripts may write where they run.
            code, told, said = conform("--", *python, os.path.join(STRANGERS, f"{name}_before.py"),
                                       folder=folder)
            self.assertEqual(code, 5 if leaks else 0, said)
            self.assertEqual(bool(told["findings"]), code == 5)
            self.assertFalse(told["member"])
            code, told, said = conform("--set=epochs=1", "--", *python,
                                       os.path.join(STRANGERS, f"{name}_after.py"), folder=folder)
            self.assertEqual(code, 0, f"{told}\n{said}")
            self.assertTrue(told["conforms"] and told["member"])

    def test_torch(self) -> None:
        self.both("torch", "torch", leaks=False)  # It seeds what it draws from.

    def test_jax(self) -> None:
        self.both("jax", "jax", leaks=True)

    def test_keras(self) -> None:
        with unittest.mock.patch.dict(os.environ, {"KERAS_BACKEND": "jax"}):
            self.both("keras", "jax", leaks=True)


class Members(unittest.TestCase):
    def test_a_member_that_keeps_its_word_conforms(self) -> None:
        code, told, said = conform("--set=learn.epochs=1", "--", sys.executable, CAREFUL)
        self.assertEqual(code, 0, said)
        self.assertTrue(told["conforms"] and told["member"] and told["repeats"])
        self.assertEqual(told["sources"]["dropout"], ["logits", "weights", "weights_at/1"])
        self.assertIn("first_batches", told["sources"]["data_order"])

    def fault(self, fault: str, steps: int = 30) -> tuple[dict[str, str], dict[str, str]]:
        """What is bad of it by name, and findings by place."""
        code, told, said = conform(f"--set=fault={fault}", f"--set=steps={steps}", "--",
                                   sys.executable, CARELESS)
        self.assertEqual(code, 5, f"{fault}: {said}")
        return ({c["name"]: c["words"] for c in told["checks"] if not c["good"]},
                {f["place"]: f["what"] for f in told["findings"]})

    @staticmethod
    def line(text: str) -> str:
        with open(CARELESS, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if text in line:
                    return f"careless.py:{number}"
        raise ValueError(text)

    def test_each_fault_is_named(self) -> None:
        bad, places = self.fault("outside")
        self.assertEqual(bad, {})
        self.assertEqual(list(places), [self.line("x[0] += random.random()")])
        self.assertIn("outside of every source", places.popitem()[1])

        bad, places = self.fault("time")
        self.assertIn("first_batches", bad["control"])
        self.assertEqual(list(places), [self.line("time.time()")])

        bad, _ = self.fault("crossed")
        self.assertIn("freeing augment changes init", bad["augment"])
        bad, _ = self.fault("no data")
        self.assertIn("run.data", bad["data"])
        bad, _ = self.fault("other labels")
        self.assertIn("predictions and labels give", bad["files"])
        bad, _ = self.fault("forgets", 3000)  # So many that a signal comes between them.
        self.assertIn("it ends elsewhere", bad["going on"])
        bad, _ = self.fault("no step")
        self.assertIn("run.step()", bad["stop"])

    def test_what_does_not_run_is_said(self) -> None:
        code, told, said = conform("--set=steps=-1e400", "--", sys.executable, CARELESS)
        self.assertEqual((code, told), (1, None))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "broken.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("raise ValueError('no luck')\n")
            code, told, said = conform("--", sys.executable, path)
            self.assertEqual((code, told), (1, None))
            self.assertIn("ValueError: no luck", said)
            with open(path, "w", encoding="utf-8") as file:
                file.write("print(1)\n")
            code, _, said = conform("--", sys.executable, path)
            self.assertEqual(code, 1)
            self.assertIn("there is nothing to compare", said)


class Endings(unittest.TestCase):
    """Scripts hold a pipe while it has a reader: it is at its end when none of them is left."""

    PATIENCE = 120  # Seconds, against hanging.

    SCRIPT = """\
        import os, select, sys
        file = os.open(sys.argv[1], os.O_WRONLY)
        os.write(file, b"begun\\n")
        reader_is_gone = select.poll()
        reader_is_gone.register(file, 0)
        reader_is_gone.poll()
        """

    def ended(self, program: list[str], number: int, first: str = "") -> tuple[int, str, list[str]]:
        """Of a conform that got this signal: its exit code, what it said, what it left behind."""
        with tempfile.TemporaryDirectory() as folder:
            script, pipe, left = (os.path.join(folder, name) for name in ("s.py", "pipe", "left"))
            os.mkfifo(pipe)
            os.mkdir(left)
            with open(script, "w", encoding="utf-8") as file:
                file.write(first + textwrap.dedent(self.SCRIPT))
            process = subprocess.Popen(
                [*program, "conform", "--jobs=2", "--timeout=1000000", "--", sys.executable, script,
                 pipe], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder,
                env={**os.environ, "TMPDIR": left, "NOISEFLOOR_PYTHON": sys.executable})
            runs = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            try:
                self.assertEqual(self.next(runs)[:6], b"begun\n")
                process.send_signal(number)
                # Of all that has the same standard error.
                said = process.communicate(timeout=self.PATIENCE)[1]
                while self.next(runs):
                    pass
            finally:
                os.close(runs)
                process.kill()
            return process.returncode, said, os.listdir(left)

    def next(self, runs: int) -> bytes:
        """What they have written; empty: none of them is left."""
        ready = select.poll()
        ready.register(runs, select.POLLIN)
        self.assertTrue(ready.poll(1000 * self.PATIENCE), "they neither say anything nor end")
        return os.read(runs, 4096)

    def test_its_runs_end_with_it(self) -> None:
        python = [sys.executable, "-c", "import runpy, sys; del sys.argv[1]; "
                  "runpy.run_module('noisefloor.conform', run_name='__main__')"]
        for number in (signal.SIGINT, signal.SIGTERM):
            for first in ("", "import noisefloor.member\n"):
                code, said, left = self.ended(python, number, first)
                self.assertEqual((code, left), (130, []), said)
                self.assertTrue(said.endswith("noisefloor conform: interrupted\n"), said)
                self.assertNotIn("Traceback", said)
        self.assertEqual(self.ended(python, signal.SIGKILL)[0], -signal.SIGKILL)

    @unittest.skipUnless(os.path.exists(NOISEFLOOR), "no noisefloor in this build")
    def test_they_end_with_the_program_that_started_it(self) -> None:
        for number, expected in ((signal.SIGINT, 130), (signal.SIGTERM, 130),
                                 (signal.SIGKILL, -signal.SIGKILL)):
            code, said, left = self.ended([NOISEFLOOR], number)
            self.assertEqual((code, left), (expected, []), said)
            self.assertTrue(said.endswith("noisefloor conform: interrupted\n"), said)


class Commands(unittest.TestCase):
    def test_python_its_flags_and_the_script_are_told_apart(self) -> None:
        here = os.path.abspath(__file__)
        for words, python, script, arguments in (
                (["python3", here, "--a", "-m"], ["python3"], [here], ["--a", "-m"]),
                (["python3", "-u", "-X", "dev", here], ["python3", "-u", "-X", "dev"], [here], []),
                (["python3", "-m", "a.b", "c", "d"], ["python3"], ["-m", "a.b"], ["c", "d"]),
                (["python3", "-u", "-m", "a.b"], ["python3", "-u"], ["-m", "a.b"], []),
                ([here, "x"], [sys.executable], [here], ["x"])):
            self.assertEqual(command.parse(words), command.Command(python, script, arguments))
        for words, expected in (([], "expected a command"), (["python3"], "expected a Python"),
                                (["python3", "no.py"], "no.py: no such file"),
                                (["pyhton3", "train.py"], "pyhton3: no such program"),
                                (["python3", "-I", here], "-I: this flag"),
                                (["torchrun", "--x", "2"], "of other launchers")):
            with self.assertRaisesRegex(command.BadCommand, expected):
                command.parse(words)


class Rewriting(unittest.TestCase):
    """The same program, seen."""

    SOURCE = textwrap.dedent("""\
        import collections, dataclasses, functools
        def f(*args, key=1, **rest):
            return args, key, sorted(rest)
        class A:
            def __init__(self): self.x = [n for n in (1, 2, 3) if n]
            def __len__(self): return len(self.x)
        class B(A):
            def __init__(self):
                super().__init__()
                self.y = {k: v for k, v in zip("ab", self.x)}
        Point = collections.namedtuple("Point", "x y")
        @dataclasses.dataclass(order=True)
        class D:
            a: int = 3
            b: list = dataclasses.field(default_factory=list)
        @functools.lru_cache(maxsize=None)
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        def gen():
            got = yield f(1)
            yield from (g for g in map(str, [1, 2]))
            return got
        def caught():
            try:
                int("x")
            except ValueError as error:
                return error.__traceback__.tb_lineno
        async def later(n): return n
        async def both():
            return [await later(i) async for i in numbers()]
        async def numbers():
            for i in range(3): yield i
        import asyncio
        result = [f(*[1, 2], **{"z": 3}), len(B()), B().y, Point(1, 2), D() < D(4), fib(20),
                  list(gen()), caught(), asyncio.run(both()), f"{f(3)!r:>20}", Point.__module__,
                  (lambda *a: f(*a))(1, 2), [*range(3)], {**dict(a=1)}, max([3, 1], key=lambda v: -v)]
        match Point(1, 2):
            case Point(x=1, y=y):
                result.append(y)
        """)

    def test_it_does_the_same(self) -> None:
        plain: dict[str, Any] = {"__name__": "m"}
        exec(compile(self.SOURCE, "m.py", "exec"), plain)
        seen: dict[str, Any] = {"__name__": "m", "__nf_call__": sites.call,
                                "__nf_iter__": sites.iterated, "__nf_switch__": sites.switch}
        exec(rewrite.compiled(self.SOURCE, "m.py", "m.py"), seen)
        self.assertEqual(repr(seen["result"]), repr(plain["result"]))

    def test_places_are_lines_and_columns(self) -> None:
        calls: list[str] = []

        def call(place: str, function: Any, *args: Any, **keywords: Any) -> Any:
            calls.append(place)
            return function(*args, **keywords)
        exec(rewrite.compiled("x = 1\ny = (str(\n  int(x)))\n", "m.py", "m.py"),
             {"__nf_call__": call})
        self.assertEqual(calls, ["m.py:3:2", "m.py:2:5"])

    def test_only_what_is_a_persons_own_is_rewritten(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            real = os.path.realpath(folder)
            os.environ["NOISEFLOOR_CONFORM_ROOTS"] = real
            try:
                self.assertTrue(rewrite.is_own(os.path.join(real, "a/b.py")))
                self.assertFalse(rewrite.is_own(os.path.join(real, "v/lib/site-packages/b.py")))
                self.assertFalse(rewrite.is_own(ast.__file__))
            finally:
                del os.environ["NOISEFLOOR_CONFORM_ROOTS"]


if __name__ == "__main__":
    unittest.main()
