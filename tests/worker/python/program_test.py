"""A script keeps the protocol of worker/trainer/README.md: of the standard library alone."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from typing import Sequence
from unittest import mock

from noisefloor.conform.protocol import Ended
from noisefloor.member import draws, tensors

import member

PLAIN = member.Script([sys.executable, os.path.join(member.SCRIPTS, "plain_clouds.py")])


class Describes(unittest.TestCase):
    def test_what_it_is(self) -> None:
        told = PLAIN.described
        self.assertEqual((told["protocol"], told["probes"], told["stack"]), (1, 1, "plain_clouds"))
        with open(PLAIN.command[1], "rb") as file:
            content = file.read()
        digest = hashlib.sha256(f"plain_clouds.py\0{len(content)}\0".encode() + content)
        self.assertEqual(told["build"], digest.hexdigest())
        self.assertEqual([s["path"] for s in told["settings"]],
                         ["clouds.points", "learn.rate", "learn.epochs", "learn.mischief"])
        self.assertEqual(told["environment"]["versions"]["python"],
                         ".".join(map(str, sys.version_info[:3])))

    def test_a_probe_answers_for_processors_and_not_for_gpus(self) -> None:
        for hardware, works in (("cpu-amd-sse", True), ("tpu-v4", True), ("nvidia-h200", False)):
            done = subprocess.run([*PLAIN.command, "--probe", hardware], capture_output=True,
                                  check=True, env=PLAIN.variables)
            answer = json.loads(done.stdout)
            self.assertEqual((answer["works"], bool(answer["reason"])), (works, not works))


class Trains(unittest.TestCase):
    def test_control_repeats_every_bit(self) -> None:
        first = PLAIN.reference()
        self.assertEqual([e["event"] for e in first.events if e["event"] != "records"],
                         ["hello", "progress", *["artifact"] * 3, "done"])
        self.assertEqual(set(first.outcome["hashes"]),
                         {"init", "first_batches", "weights_at/1", "logits", "weights"})
        self.assertEqual(first.bits(), PLAIN.train().bits())
        self.assertEqual(first.bits(), PLAIN.train(replicate=3).bits(), "nothing is free")
        self.assertGreater(first.outcome["metrics"]["top1"], 0.4)

    def test_a_free_source_changes_what_is_its_own(self) -> None:
        fixed = PLAIN.reference().outcome["hashes"]
        for name, changed in (("init", {"init"}), ("data_order", {"first_batches"}),
                              ("augment", {"first_batches"}), ("dropout", set()),
                              ("poke", None), ("kernels", None)):
            freed = PLAIN.train([name])
            got = {key for key in fixed if fixed[key] != freed.outcome["hashes"][key]}
            expected = set() if changed is None else {*changed, "weights_at/1", "logits", "weights"}
            self.assertEqual(got, expected, name)
            self.assertEqual(freed.bits(), PLAIN.train([name]).bits(), name)
            self.assertEqual(freed.bits() == PLAIN.train([name], 1).bits(), changed is None, name)

    def test_a_setting_is_obeyed(self) -> None:
        self.assertNotEqual(PLAIN.reference().bits(), PLAIN.train(**{"learn.rate": 0.2}).bits())
        none = PLAIN.train(**{"learn.epochs": 0})
        self.assertEqual(none.outcome["event"], "done")

    def test_a_body_is_a_training_too(self) -> None:
        body = member.Script([sys.executable, os.path.join(member.SCRIPTS, "body.py")])
        self.assertEqual(body.described["stack"], "body")
        ended = body.train(answers=5)
        self.assertEqual((ended.outcome["event"], ended.code), ("done", 0), ended.said)
        self.assertEqual(ended.bits(), body.train(answers=5).bits())
        self.assertNotEqual(ended.bits(), body.train(["init"], answers=5).bits())


FORKING = """
import multiprocessing, time
import noisefloor.member as nf

def wait(ready):
    ready.set()
    time.sleep(600)

def train(run):
    fork = multiprocessing.get_context("fork")
    ready = fork.Event()
    child = fork.Process(target=wait, args=(ready,))
    child.start()
    ready.wait()
    child.terminate()
    child.join(60)
    run.hash("ended", [float(child.exitcode or 0)])
    child.kill()
    run.step()
    run.evaluation([[1.0, 0.0]], [0])
    run.finish()

nf.main(train)
"""


class Forks(unittest.TestCase):
    def test_what_a_script_forks_ends_when_it_is_told_to(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "forking.py")
            with open(path, "w") as script:
                script.write(FORKING)
            ended = member.Script([sys.executable, path]).train()
            self.assertEqual(ended.outcome["event"], "done", ended.said)
            self.assertEqual(ended.outcome["hashes"]["ended"], tensors.hash_tensors(
                tensors.named_tensors([float(-signal.SIGTERM)])))


def stopped(free: Sequence[str], stop: signal.Signals) -> Ended:
    with mock.patch.dict(PLAIN.variables, {"CLOUDS_WAIT": "1"}):
        return PLAIN.train(free, stop_at="progress", stop=stop)


class Stops(unittest.TestCase):
    def test_it_goes_on_to_the_same_bits(self) -> None:
        whole = PLAIN.reference("dropout")
        for stop in (signal.SIGTERM, signal.SIGINT):
            half = stopped(["dropout"], stop)
            self.assertEqual((half.outcome["event"], half.outcome["cause"], half.code),
                             ("failed", "interrupted", 14), half.said)
            self.assertEqual(len(os.listdir(PLAIN.checkpoints)), 1)
            rest = PLAIN.train(["dropout"])
            self.assertEqual(len(rest.outcome["environment"]["measured"]["resumed_at"]), 1)
            self.assertEqual(rest.bits(), whole.bits())
            self.assertEqual(os.listdir(PLAIN.checkpoints), [])

    def test_another_member_does_not_go_on_with_it(self) -> None:
        stopped([], signal.SIGTERM)
        other = PLAIN.train(change=lambda request: request.update(member="s1c0r1"))
        self.assertEqual(other.outcome["environment"]["measured"]["resumed_at"], [])
        freed = PLAIN.train(["init"])
        self.assertEqual(freed.outcome["environment"]["measured"]["resumed_at"], [])
        self.assertEqual(len(PLAIN.train().outcome["environment"]["measured"]["resumed_at"]), 1)

    def test_it_leaves_while_it_waits(self) -> None:
        reader, writer = os.pipe()
        variables = {**PLAIN.variables, "NOISEFLOOR_EVENTS": str(writer)}
        for leave in ("signal", "end of input"):
            process = subprocess.Popen(PLAIN.command, stdin=subprocess.PIPE, pass_fds=[writer],
                                       env=variables)
            assert process.stdin is not None
            if leave == "signal":
                process.stdin.write(b'{"protocol"')  # It waits for the rest.
                process.stdin.flush()
                self._until_it_reads(process.pid)
                process.terminate()
            else:
                process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 14, leave)
            if leave == "signal":
                process.stdin.close()
        os.close(reader)
        os.close(writer)

    def _until_it_reads(self, process: int) -> None:
        """Until select(): from then on the signal is obeyed."""
        while True:
            with open(f"/proc/{process}/wchan", encoding="ascii") as file:
                where = file.read()
            with open(f"/proc/{process}/syscall", encoding="ascii") as file:
                number = file.read().split()[0]
            if "poll" in where or "select" in where or number in ("270", "23", "7", "271"):
                return


UNHEARD = """
import os
import noisefloor.member as nf

EVENTS = int(os.environ.get("NOISEFLOOR_EVENTS", "-1"))

def train(run):
    run.step()
    run.evaluation([[1.0, 0.0]], [0])
    run.checkpoint({})
    run.finish()
    if run["heard"]:
        return
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, EVENTS)
    if run["diverges"]:
        raise nf.Diverged("too far")

nf.main(train, {"heard": False, "diverges": False})
"""


class Outcomes(unittest.TestCase):
    def test_a_checkpoint_stays_until_the_outcome_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "unheard.py")
            with open(path, "w") as file:
                file.write(UNHEARD)
            script = member.Script([sys.executable, path], {"NOISEFLOOR_CHECKPOINT_SECONDS": "0"})
            for diverges in (False, True):
                unheard = script.train(diverges=diverges)
                self.assertNotIn(unheard.outcome["event"], ("done", "diverged"), unheard.said)
                self.assertEqual(unheard.code, 0, unheard.said)
                kept = os.listdir(script.checkpoints)
                self.assertEqual(len(kept), 1, unheard.said)
                shutil.rmtree(os.path.join(script.checkpoints, kept[0]))
            self.assertEqual(script.train(heard=True).outcome["event"], "done")
            self.assertEqual(os.listdir(script.checkpoints), [])


class Ends(unittest.TestCase):
    def check(self, mischief: str, event: str, cause: str, code: int, words: str) -> None:
        ended = PLAIN.train(**{"learn.mischief": mischief})
        self.assertEqual((ended.outcome["event"], ended.outcome["cause"], ended.code),
                         (event, cause, code), ended.said)
        self.assertIn(words, ended.outcome["message"])

    def test_as_it_went(self) -> None:
        self.check("raise", "failed", "bug", 15, "ValueError: out of luck (plain_clouds.py:")
        self.check("exit", "failed", "bug", 15, "SystemExit: 3")
        self.check("no_finish", "failed", "bad_specification", 10, "without run.finish()")
        self.check("bad_data", "failed", "bad_data", 11, "the points are blunt")
        self.check("no_memory", "failed", "out_of_memory", 12, "of this size")
        self.check("diverge", "diverged", "none", 0, "too far")
        self.check("nan", "diverged", "none", 0, "")

    def test_a_diverged_member_has_a_result(self) -> None:
        ended = PLAIN.train(**{"learn.mischief": "nan"})
        self.assertEqual(ended.outcome["metrics"]["loss"], "nan")
        self.assertIn("logits", ended.outcome["hashes"])


# A framework whose switches cannot be read.
UNREADABLE = """
import sys, types
import noisefloor.member as nf

class Jax(types.ModuleType):
    @property
    def config(self):
        raise RuntimeError("mixed settings")

def train(run):
    sys.modules["jax"] = Jax("jax")
    run.step()
    run.evaluation([[1.0, 0.0]], [0])
    run.finish()

if WHEN == "before":
    sys.modules["jax"] = Jax("jax")
nf.main(train)
"""


class Switches(unittest.TestCase):
    def test_one_that_cannot_be_read_is_a_bug_with_its_words(self) -> None:
        for when, events in (("before", ["failed"]),
                             ("within", ["hello", "records", "artifact", "failed"])):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "unreadable.py")
                with open(path, "w") as script:
                    script.write(f"WHEN = {when!r}\n" + UNREADABLE)
                ended = member.Script([sys.executable, path]).train()
            self.assertEqual([e["event"] for e in ended.events], events, ended.said)
            self.assertEqual((ended.outcome["cause"], ended.code), ("bug", 15), ended.said)
            self.assertIn("RuntimeError: mixed settings", ended.outcome["message"])
            self.assertIn("Traceback", ended.said)


class Refuses(unittest.TestCase):
    def refused(self, expected: str, change: object) -> None:
        ended = PLAIN.train(change=change)
        self.assertEqual((ended.code, ended.outcome["cause"]), (10, "bad_specification"))
        self.assertIn(expected, ended.outcome["message"])

    def test_what_it_does_not_know(self) -> None:
        def at(path: str, value: object) -> object:
            def change(request: dict) -> None:
                *sections, last = path.split(".")
                inner = request
                for section in sections:
                    inner = inner[section]
                if value is None:
                    del inner[last]
                else:
                    inner[last] = value
            return change
        self.refused("protocol: expected 1, got 2", at("protocol", 2))
        self.refused("request: specification is missing", at("specification", None))
        self.refused("stack: this is plain_clouds, not other", at("specification.stack", "other"))
        self.refused("learn.rate: missing", at("specification.learn.rate", None))
        self.refused("learn.luck: this script has no such setting", at("specification.learn.luck", 1))
        self.refused("learn.rate: expected a number from 0 to 10, got 11",
                     at("specification.learn.rate", 11))
        self.refused("specification_sha256: it is not of this", at("specification_sha256", "00"))

    def test_the_hash_is_of_the_bytes_that_came(self) -> None:
        """Another program writes 0.1 or 1e-1, and keys in its own order."""
        text = ""

        def change(request: dict) -> None:
            nonlocal text
            text = json.dumps(request["specification"])
            request["specification_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        self.assertEqual(PLAIN.train(change=change).outcome["event"], "done")

    def test_what_is_no_request(self) -> None:
        for line in ("{", "[1]", "7"):
            done = subprocess.run(PLAIN.command, input=line, capture_output=True, text=True,
                                  env={**PLAIN.variables, "NOISEFLOOR_EVENTS": "1"})
            self.assertEqual(done.returncode, 10, done.stderr)
            self.assertEqual(json.loads(done.stdout)["cause"], "bad_specification")


class ByHand(unittest.TestCase):
    def run_it(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*PLAIN.command, *words], capture_output=True, text=True,
                              env={k: v for k, v in PLAIN.variables.items()
                                   if k != "NOISEFLOOR_CHECKPOINTS"}, stdin=subprocess.DEVNULL)

    def test_a_person_may_run_it(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            done = self.run_it(f"--work={work}", "--set=learn.epochs=1")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("done\n", done.stdout)
            self.assertIn("top1", done.stdout)
            self.assertIn("predictions.npy", os.listdir(work))
            again = self.run_it("--set", "learn.epochs=1", f"--work={work}")
            self.assertEqual(again.stdout, done.stdout)
            freed = self.run_it("--set=learn.epochs=1", "--free=init", f"--work={work}")
            self.assertNotEqual(freed.stdout, done.stdout)

    def test_mistakes_are_told(self) -> None:
        done = self.run_it("--set=learn.rate=11")
        self.assertEqual(done.returncode, 2)
        self.assertIn("learn.rate: expected a number from 0 to 10, got 11", done.stderr)
        failed = self.run_it("--set=learn.mischief=raise")
        self.assertEqual(failed.returncode, 15)
        self.assertIn("ValueError: out of luck", failed.stderr)


class Sources(unittest.TestCase):
    def test_the_specification_names_every_source(self) -> None:
        self.assertEqual(set(PLAIN.reference().outcome["environment"]["measured"]["sources"]),
                         set(draws.SOURCES))


if __name__ == "__main__":
    unittest.main()
