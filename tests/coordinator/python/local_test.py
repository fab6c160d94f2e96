"""A coordinator for a notebook: it is there, and it goes."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import noisefloor.client as nf
import programs

CHILD = """
import sys, noisefloor.client as nf
local = nf.serve(sys.argv[1], worker=["--trainer=noop"])
client = nf.Client(local.address)
sweep = {"name": "a", "noise": ["control"], "stack": "noop", "hardware": "any", "replicates": 2}
print(client.submit(sweep).members, flush=True)
sys.stdin.read()
"""

OF_ITS_OWN = """
import sys, noisefloor.client as nf
print(nf.serve(worker=None).home, flush=True)
sys.stdin.read()
"""


class Serve(unittest.TestCase):
    def test_it_ends_with_whoever_is_killed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = os.path.join(folder, "home")
            child = subprocess.Popen([sys.executable, "-c", CHILD, home], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
            self.assertEqual(child.stdout.readline(), "2\n")
            child.send_signal(signal.SIGKILL)
            child.communicate()
            # The data directory can be opened again when its coordinator has gone: its lock says so.
            with nf.serve(home, worker=None) as local, nf.Client(local.address) as client:
                self.assertEqual(client.get_sweep().counts.members, 2)
                self.assertFalse(any(one.connected for one in client.workers()))

    def test_what_is_temporary_goes(self) -> None:
        local = nf.serve(worker=None)
        self.assertTrue(os.path.isdir(local.home))
        local.stop()
        self.assertFalse(os.path.exists(local.home))
        local.stop()

    def test_what_is_temporary_goes_with_whoever_is_killed(self) -> None:
        child = subprocess.Popen([sys.executable, "-c", OF_ITS_OWN], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        home = child.stdout.readline().strip()
        self.assertTrue(os.path.isdir(home))
        child.send_signal(signal.SIGKILL)
        child.communicate()  # What holds it has the same standard error: it has ended, too.
        self.assertFalse(os.path.exists(home))

    def test_it_has_as_many_slots_as_it_is_told(self) -> None:
        with nf.serve(slots=3, worker=["--trainer=noop"]) as local:
            with nf.Client(local.address) as client:
                self.assertEqual([one.slots for one in client.workers()], [3])

    def test_why_it_does_not_start_is_said(self) -> None:
        with self.assertRaisesRegex(nf.NoCoordinator, "--bogus"):
            nf.serve(worker=["--bogus"])
        with nf.serve(worker=None) as local:
            with self.assertRaisesRegex(nf.NoCoordinator, f"in use by the coordinator at {local.address}"):
                nf.serve(local.home, worker=None)
        with tempfile.TemporaryDirectory() as folder:
            path = os.environ["PATH"]
            os.environ["PATH"], binaries = folder, os.environ.pop("NOISEFLOOR_BIN")
            try:
                with (mock.patch.object(tempfile, "tempdir", folder),
                      self.assertRaisesRegex(nf.NoCoordinator, "no program noisefloor on the path")):
                    nf.serve()
            finally:
                os.environ["PATH"], os.environ["NOISEFLOOR_BIN"] = path, binaries
            self.assertEqual(os.listdir(folder), [])

    def test_a_home_that_wants_tokens_is_served_without_a_worker(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = os.path.join(folder, "home")
            programs.run("noisefloor", "access", "init", f"--home={home}",
                         "--address=localhost:7077", os.path.join(folder, "access"),
                         env={**os.environ, "HOME": folder})
            with self.assertRaisesRegex(nf.NoCoordinator, "`noisefloor access init`.* worker=None"):
                nf.serve(home)
            with nf.serve(home, worker=None) as local, nf.Client(home=local.home) as client:
                self.assertEqual(client.who_am_i().role, "admin")

    def test_a_program_that_cannot_be_run_leaves_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as programs, tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(programs, "noisefloor"), "w", encoding="utf-8") as file:
                file.write("none")
            with (mock.patch.dict(os.environ, {"NOISEFLOOR_BIN": programs}),
                  mock.patch.object(tempfile, "tempdir", folder),
                  self.assertRaises(nf.NoCoordinator)):
                nf.serve(worker=None)
            self.assertEqual(os.listdir(folder), [])
