"""The tutorials of deploy/tutorials do what they show, with the packages that users get."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import sys
import tempfile
import unittest

import tutorial

ROOT = os.environ["NOISEFLOOR_SOURCE"]
PACKAGES = os.environ["NOISEFLOOR_PACKAGES"]
CACHE = os.environ.get("NOISEFLOOR_CACHE", os.path.expanduser("~/.cache/noisefloor"))
sys.path.insert(0, os.path.join(ROOT, "tests/slurm"))
from cluster import Cluster  # noqa: E402


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Reading(unittest.TestCase):
    def matches(self, shown: str, printed: str, info: str = "") -> bool:
        step, = tutorial.read(f"```console{info}\n$ x\n{shown}\n```\n")
        assert isinstance(step, tutorial.Command)
        return tutorial.matches(step, printed)

    def test_what_is_printed_is_held_against_what_is_shown(self) -> None:
        self.assertTrue(self.matches("a  b", "a b\n"))
        self.assertFalse(self.matches("a b", "a c\n"))
        self.assertFalse(self.matches("a", "a\nb\n"))
        self.assertFalse(self.matches("a\nb", "a\n"))
        self.assertTrue(self.matches("a\n...", "a\nb\nc\n"))
        self.assertFalse(self.matches("a\n...\nd", "a\nb\nc\n"))
        self.assertTrue(self.matches("a ... d", "a b c d\n"))
        self.assertFalse(self.matches("a.c", "abc\n"))

    def test_numbers_may_differ_where_the_tutorial_says_so(self) -> None:
        self.assertFalse(self.matches("n = 1.5 s", "n = 2.25 s\n"))
        self.assertTrue(self.matches("n = 1.5 s", "n = 2.25 s\n", " numbers"))
        self.assertFalse(self.matches("n = 1.5 s", "n = none s\n", " numbers"))

    def test_the_exit_code_and_lines_that_go_on(self) -> None:
        first, second = tutorial.read("```console\n$ a\n> b\nc\n[5]\n$ d\n```\n")
        assert isinstance(first, tutorial.Command) and isinstance(second, tutorial.Command)
        self.assertEqual((first.text, first.shown, first.code), ("a\nb", ["c"], 5))
        self.assertEqual((second.text, second.shown, second.code, second.line), ("d", [], 0, 6))

    def test_a_stale_tutorial_fails(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            def run(text: str) -> int:
                return tutorial.run(text, folder, {"PATH": "/usr/bin:/bin"}, {})
            good = ("```text file=a\nb\n```\n"
                    "```console\n$ cd . && x=$(cat a)\n$ echo $x; false\nb\n[1]\n```")
            self.assertEqual(run(good), 2)
            for stale in (good.replace("[1]", "[2]"), good.replace("\nb\n[", "\nc\n["),
                          good.replace("false", "true"), good.replace("cat a", "cat b")):
                with self.assertRaises(AssertionError):
                    run(stale)


class Tutorials(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="nf-tutorial-")
        self.addCleanup(shutil.rmtree, self.folder)
        for packed in glob.glob(PACKAGES + "/*.whl") + glob.glob(PACKAGES + "/*.tar.gz"):
            shutil.copy(packed, self.folder)
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "TERM": "dumb",
                            "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def follow(self, name: str, least: int, here: dict[str, str]) -> None:
        with open(os.path.join(ROOT, "deploy/tutorials", name), encoding="utf-8") as file:
            count = tutorial.run(file.read(), self.folder, self.environment, here)
        self.assertGreaterEqual(count, least)

    def test_my_own_script(self) -> None:
        self.follow("my-own-script.md", 15, {})

    def test_my_slurm_cluster(self) -> None:
        if not Cluster.available():
            self.skipTest("there is no Slurm: deploy/setup --check")
        found = glob.glob(os.path.join(CACHE, "stacks/torch-*/torch"))
        cluster = Cluster()
        self.addCleanup(cluster.stop)
        self.environment.update(SLURM_CONF=cluster.environment()["SLURM_CONF"],
                                PATH=cluster.environment()["PATH"])
        self.follow("my-slurm-cluster.md", 15, {
            "login1:7077": f"127.0.0.1:{free_port()}",
            "~/env/lib/python3.11/site-packages/torch": found[0]})


if __name__ == "__main__":
    unittest.main()
