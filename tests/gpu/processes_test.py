"""That a trainer which hangs, falls or does not start is stopped in time and told."""
import argparse
import importlib
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

import processes

# Stands in for the trainer; a member does what its network is called.
STAND_IN = '''#!/usr/bin/env python3
import json, os, sys, time
if "NEEDED" and "NEEDED" not in os.environ.get("LD_LIBRARY_PATH", ""):
    sys.exit("error while loading shared libraries: libtorch_cpu.so")
if "--example-spec" in sys.argv:
    print("{}")
    sys.exit()
what = json.loads(sys.stdin.readline())["specification"]["model"]["name"]
events = open(int(os.environ["NOISEFLOOR_EVENTS"]), "w")
print("what it says", file=sys.stderr, flush=True)
def tell(**event):
    print(json.dumps(event), file=events, flush=True)
tell(event="hello")
if what == "hangs":
    time.sleep(60)
time.sleep(0.2)
tell(event="records", records=[[1, 1, "train_loss", 2.0]])
if what == "falls":
    os._exit(9)
tell(event="done")
events.close()
if what == "hangs at its end":
    time.sleep(60)
os._exit(7 if what == "falls at its end" else 0)
'''


class ProcessesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rows = []

    def trainer(self, needed="", minutes=5, most=30):
        program = self.folder / "trainer"
        program.write_text(STAND_IN.replace("NEEDED", needed))
        program.chmod(0o755)
        arguments = argparse.Namespace(trainer=str(program), rehearse=True, libraries="")
        deadline = processes.Deadline(minutes, most)
        return processes.Trainer(arguments, self.folder, deadline, lambda *row: self.rows.append(row))

    def run_member(self, trainer, name):
        return trainer.run({"model": {"name": name}, "hardware_class": "", "train": {"devices": 1},
                            "noise": {"kernels": {"state": "fixed"}}})

    def test_an_outcome_tells_when_records_began(self):
        outcome = self.run_member(self.trainer(), "trains")

        self.assertEqual(outcome["records"], [[1, 1, "train_loss", 2.0]])
        self.assertGreater(outcome["under_way"], outcome["began"])
        self.assertEqual(self.rows, [])

    def test_a_member_has_the_devices_and_the_workspace_of_its_class(self):
        trainer = self.trainer()
        trainer.variables.pop("CUBLAS_WORKSPACE_CONFIG", None)  # Of whoever runs this.
        seen = {}
        for hardware_class, kernels, steps in (("nvidia-h100", "fixed", 0), ("nvidia-h100", "free", 0),
                                               ("nvidia-h100", "free", 3), ("", "fixed", 0)):
            with mock.patch.object(trainer, "outcome") as outcome:
                trainer.run({"hardware_class": hardware_class, "train": {"devices": 2},
                             "noise": {"kernels": {"state": kernels}}, "measure": {"steps": steps}})
            variables = outcome.call_args.args[2]
            seen[hardware_class, kernels, steps] = (variables["CUDA_VISIBLE_DEVICES"],
                                                    variables.get("CUBLAS_WORKSPACE_CONFIG"))

        self.assertEqual(seen, {("nvidia-h100", "fixed", 0): ("0,1", ":4096:8"),
                                ("nvidia-h100", "free", 0): ("0,1", None),
                                ("nvidia-h100", "free", 3): ("0,1", ":4096:8"), ("", "fixed", 0): ("", None)})

    def test_one_that_hangs_is_stopped(self):
        trainer = self.trainer()
        trainer.deadline.most = 1
        start = time.monotonic()

        with self.assertRaisesRegex(processes.Failure, "stopped after 1 s"):
            self.run_member(trainer, "hangs")
        self.assertLess(time.monotonic() - start, 50)

    def test_one_that_is_cut_off_by_the_deadline_has_not_failed(self):
        trainer = self.trainer()
        trainer.deadline = processes.Deadline(1 / 60)

        with self.assertRaises(processes.NoTime):
            self.run_member(trainer, "hangs")
        with self.assertRaises(processes.NoTime):
            self.run_member(trainer, "trains")

    def test_one_that_falls_has_failed(self):
        with self.assertRaisesRegex(processes.Failure, "exit code 9: records: what it says"):
            self.run_member(self.trainer(), "falls")

    def test_one_that_falls_when_it_is_done_has_its_outcome_and_a_row(self):
        trainer = self.trainer()
        self.assertEqual(self.run_member(trainer, "falls at its end")["event"], "done")
        trainer.deadline.most = 15
        self.assertEqual(self.run_member(trainer, "hangs at its end")["event"], "done")

        self.assertEqual([held for _, held, _ in self.rows], [False, False])
        self.assertIn("exit code 7: what it says", self.rows[0][2])
        self.assertIn("stopped after 15 s", self.rows[1][2])

    def test_a_trainer_that_does_not_start_is_told_with_its_reason(self):
        with mock.patch("processes.torch_libraries", return_value=None):
            with self.assertRaisesRegex(processes.Failure, "--example-spec: exit code 1: error while loading"):
                self.trainer(needed="torch/lib")

    def test_libtorch_is_found_in_the_package_of_python(self):
        (self.folder / "torch/lib").mkdir(parents=True)
        (self.folder / "torch/__init__.py").write_text("raise ImportError('it need not be imported')")
        (self.folder / "torch/lib/libtorch_cuda.so").write_text("")
        with mock.patch.object(sys, "path", [str(self.folder)]):
            importlib.invalidate_caches()
            trainer = self.trainer(needed=str(self.folder / "torch/lib"))

        self.assertEqual(trainer.libraries, f"{self.folder}/torch/lib")

    def test_a_package_without_cuda_is_none(self):
        (self.folder / "torch/lib").mkdir(parents=True)
        (self.folder / "torch/__init__.py").write_text("")
        with mock.patch.object(sys, "path", [str(self.folder)]):
            importlib.invalidate_caches()
            self.assertIsNone(processes.torch_libraries())

    def test_what_it_has_started_is_stopped_with_it(self):
        start = time.monotonic()
        with self.assertRaisesRegex(processes.Failure, "sh: stopped after"):
            processes.finished(["sh", "-c", "sleep 60 & wait"], processes.Deadline(1, most=0.2))
        self.assertLess(time.monotonic() - start, 50)  # Its output ends when nobody holds it.

    def test_another_program_that_hangs_is_stopped(self):
        deadline = processes.Deadline(1, most=0.2)
        with self.assertRaisesRegex(processes.Failure, "sleep: stopped after"):
            processes.finished(["sleep", "60"], deadline)
        with self.assertRaises(processes.NoTime):
            processes.finished(["sleep", "60"], processes.Deadline(0.2 / 60))


if __name__ == "__main__":
    unittest.main()
