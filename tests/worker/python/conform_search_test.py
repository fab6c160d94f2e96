"""What noisefloor conform makes of its runs: which lines are blamed, which words kept."""

import hashlib
import json
import math
import os
import pathlib
import sys
import tempfile
import unittest
from typing import Any, Callable, NamedTuple, Sequence
from unittest import mock

from noisefloor.conform import command, leaks, members, report
from noisefloor.conform.findings import Finding
from noisefloor.conform.members import Word
from noisefloor.conform.protocol import Ended
from noisefloor.conform.runs import Broken, Seen, Wish, Workshop
from noisefloor.member import tensors


class Shop:
    """In place of runs: what `ran` says of a wish, as outcome and events."""

    def __init__(self, ran: Callable[[Wish], tuple[Any, list[dict[str, Any]]]]) -> None:
        self._ran = ran
        self.wishes: list[Wish] = []
        self.copies: list[str] = []

    def see(self, wish: Wish) -> Seen:
        self.wishes.append(wish)
        came_to, events = self._ran(wish)
        if isinstance(came_to, int):  # Its exit code.
            return Seen(["same"] if came_to else None, "numbers", events, came_to, "no luck\n")
        return Seen(came_to, "numbers", events, 0, "")

    def see_all(self, wishes: Sequence[Wish]) -> list[Seen]:
        return [self.see(wish) for wish in wishes]

    def folder(self) -> str:
        return "/first"

    def copied(self, folder: str) -> str:
        self.copies.append(folder)
        return "/twin"


def site(kind: str, place: str, what: str = "f") -> dict[str, Any]:
    return {"event": "site", "kind": kind, "place": place, "what": what}


class Searches(unittest.TestCase):
    def search(self, ran: Callable[[Wish], tuple[Any, list[dict[str, Any]]]],
               is_member: bool = False) -> leaks.Found:
        self.shop = Shop(ran)
        return leaks.search(self.shop, is_member, lambda text: None)  # type: ignore[arg-type]

    def found(self, *events: dict[str, Any], is_member: bool = False,
              differs: Callable[[Wish], Any]) -> list[tuple[str, str]]:
        """Places and kinds, of a script that comes to something else where a wish `differs`."""
        found = self.search(lambda wish: (["other"] if differs(wish) else ["same"], list(events)),
                            is_member)
        return [(finding.place, finding.kind) for finding in found.findings]

    def test_each_place_that_changes_the_outcome_alone_is_named(self) -> None:
        events = [site("listing", "a.py:1:0"), site("entropy", "a.py:2:0"),
                  site("sleep", "a.py:3:0")]
        guilty = {"listing", "listing@a.py:1:0"}
        self.assertEqual(self.found(*events, differs=lambda wish: guilty & set(wish.changes)),
                         [("a.py:1", "listing")])
        self.assertIn({"entropy@a.py:2:0": "other"}, [wish.changes for wish in self.shop.wishes])

    def test_where_all_at_once_change_nothing_none_is_tried_alone(self) -> None:
        self.assertEqual(self.found(site("entropy", "a.py:2:0"), differs=lambda wish: False), [])
        self.assertEqual([wish.changes for wish in self.shop.wishes if any(
            "@" in key for key in wish.changes)], [])

    def test_a_time_and_a_duration_are_told_apart(self) -> None:
        events = [site("clock", "a.py:1:0", "time.time"), site("clock", "a.py:2:0", "time.time")]
        for change, kind in (("shift", "clock"), ("scale", "clock scale")):
            self.assertEqual(self.found(*events, differs=lambda wish: change in (
                wish.changes.get("clock"), wish.changes.get("clock@a.py:2:0"))), [("a.py:2", kind)])

    def test_who_draws_from_what_nobody_seeded_is_asked_of_that_generator(self) -> None:
        def ran(wish: Wish) -> tuple[Any, list[dict[str, Any]]]:
            drawn = {"numpy": "a.py:4:0", "torch": "a.py:9:0"}.get(wish.options.get("draws", ""))
            begun = set(wish.options.get("begin", ()))
            return (["other"] if begun & {"numpy", "tensorflow", "ground"} else ["same"],
                    [{"event": "draw", "place": drawn}] if drawn else [])
        found = self.search(ran)
        self.assertEqual([(f.place, f.kind) for f in found.findings],
                         [("a.py:4", "generator"), ("", "generator")])
        self.assertIn("numpy.random, which nothing has seeded", found.findings[0].what)
        self.assertIn("TensorFlow", found.findings[1].what)
        found = self.search(ran, is_member=True)
        self.assertEqual([f.place for f in found.findings], ["a.py:4", "a.py:9"])
        self.assertIn("outside of every source", found.findings[1].what)

    def test_switches_are_read_where_they_were_set(self) -> None:
        benchmark = "torch.backends.cudnn.benchmark"
        events = [{"event": "switch", "place": "a.py:7:0", "name": benchmark},
                  {"event": "switch", "place": "a.py:8:0", "name": "DataLoader.in_order"},
                  {"event": "switch_at_end", "name": benchmark}]
        self.assertEqual(self.found(*events, differs=lambda wish: False),
                         [("a.py:8", "switch"), ("a.py:7", "switch")])
        self.assertEqual(self.found(events[0], differs=lambda wish: False), [], "off at the end")

    def test_a_script_that_differs_from_itself_is_tried_with_one_thread(self) -> None:
        runs = iter(range(1000))

        def ran(wish: Wish) -> tuple[Any, list[dict[str, Any]]]:
            events = [{"event": "twice", "place": "a.py:3:0", "operation": "index_put"}] \
                if wish.options.get("twice") else [site("listing", "a.py:5:0")]
            if wish.options.get("threads") != 1:
                return [next(runs)], events
            return ["other" if any("listing" in key for key in wish.changes) else "same"], events
        found = self.search(ran)
        self.assertEqual([(f.place, f.kind) for f in found.findings],
                         [("a.py:3", "operation"), ("a.py:5", "listing")])
        self.assertFalse(found.repeats)
        self.assertFalse(found.unexplained)
        found = self.search(lambda wish: ([next(runs)], []))
        self.assertEqual([(f.place, f.kind) for f in found.findings], [("", "unknown")])

    def test_what_differs_without_a_reason_is_unexplained(self) -> None:
        found = self.search(lambda wish: ([wish.hash_seed if wish.natural else "same"], []))
        self.assertEqual((found.repeats, found.unexplained, found.findings), (False, True, []))
        found = self.search(lambda wish: (["same"], []))
        self.assertEqual((found.repeats, found.unexplained), (True, False))
        self.assertEqual([(wish.natural, wish.hash_seed) for wish in self.shop.wishes[:4]],
                         [(True, "1"), (True, "2"), (False, "0"), (False, "0")])

    def test_a_script_that_breaks_is_not_searched(self) -> None:
        with self.assertRaisesRegex(Broken, "exit code 3:\nno luck"):
            self.search(lambda wish: (3 if wish.hash_seed == "2" else ["same"], []))
        with self.assertRaisesRegex(Broken, "there is nothing to compare"):
            self.search(lambda wish: ([] if wish.hash_seed == "2" else ["same"], []))

    def resumed(self, takes_up: str, rest: str, with_states: str,
                is_member: bool = False) -> list[Finding]:
        """Of a script that saves twice, of which the first is kept."""
        saves = [{"event": "save", "place": f"a.py:{n}:0", "path": f"/{n}"} for n in (1, 2)]

        def ran(wish: Wish) -> tuple[Any, list[dict[str, Any]]]:
            if "stop_after_save" in wish.options:
                self.assertEqual((wish.options["stop_after_save"], wish.folder), (1, "/first"))
                return ["stopped"], [saves[0], {"event": "stopped", "place": "a.py:1:0"}]
            if "restore_at_load" in wish.options:
                self.assertEqual(wish.folder, "/twin")
                return [with_states], []
            if wish.folder:
                return [rest], [{"event": "load", "path": takes_up}]
            return ["same"], saves
        return self.search(ran, is_member).findings

    def test_a_checkpoint_that_does_not_hold_all_is_named(self) -> None:
        self.assertEqual(self.resumed("/1", "same", ""), [])
        self.assertEqual(self.resumed("/9", "other", ""), [], "it does not go on by itself")
        found, = self.resumed("/1", "other", "same")
        self.assertEqual((found.place, found.kind), ("a.py:1", "checkpoint"))
        self.assertIn("the states of the generators are not in it", found.what)
        found, = self.resumed("/1", "other", "another")
        self.assertIn("it does not hold all", found.what)
        self.assertEqual(self.shop.copies, ["/first"])
        self.assertEqual(self.resumed("/1", "other", "", is_member=True), [], "it is tried as one")


class Asked(NamedTuple):
    free: tuple[str, ...]
    replicate: int
    number: int  # Of the training, from 0.
    stopped: bool  # Behind its first progress.


# Which hashes a source changes where it is free.
CHANGES = {"init": ("init", "logits"), "data_order": ("first_batches", "logits"), "augment": (),
           "dropout": ("logits",)}


def trained(asked: Asked) -> Ended:
    """By a script that keeps its word."""
    hashes = dict.fromkeys(("init", "first_batches", "logits", "weights"), "same")
    for source in asked.free:
        hashes.update(dict.fromkeys(CHANGES[source], f"{source} {asked.replicate}"))
    answers = tensors.npy(tensors.tensor_of([[0.0, 1.0], [2.0, 2.0]], "float32"))
    files = {"predictions.npy": answers,
             "evaluation_labels.npy": tensors.npy(tensors.tensor_of([1, 1], "int32"))}
    events: list[dict[str, Any]] = [
        {"event": "hello", "data_identity": "d", "build": "b",
         "environment": {"stack_fingerprint": "f"}},
        {"event": "records", "records": [[1, 0.5, "loss", 2.0]]},
        {"event": "artifact", "path": "predictions.npy", "size": len(answers),
         "sha256": hashlib.sha256(answers).hexdigest()}]
    measured: dict[str, Any] = {"steps": 9} if asked.stopped else {"resumed_at": [1, 4]}
    if asked.stopped:
        events.append({"event": "failed", "cause": "interrupted", "message": "m",
                       "environment": {"measured": measured}})
        return Ended(events, 14, files, "")
    loss = (math.log(1 + math.exp(-1)) + math.log(2)) / 2
    events.append({"event": "done", "hashes": hashes, "message": "", "environment": {
        "measured": measured}, "metrics": {"loss": loss, "top1": 0.5, "top5": 1.0}})
    return Ended(events, 0, files, "")


class Trainer:
    """In place of a script: `train` says what became of a training."""
    described = {"build": "b", "fingerprint": "f"}

    def __init__(self, train: Callable[[Asked], Ended]) -> None:
        self._train = train
        self._count = -1

    def train(self, free: Sequence[str] = (), replicate: int = 0, *, stop_at: str = "",
              **values: Any) -> Ended:
        assert values == {"steps": 3}, "what makes it short"
        assert stop_at in ("", "progress")
        self._count += 1
        return self._train(Asked(tuple(free), replicate, self._count, bool(stop_at)))


class Words(unittest.TestCase):
    """What a member is held to."""

    def bad(self, train: Callable[[Asked], Ended] = trained, **described: str) -> dict[str, str]:
        trainer = Trainer(train)
        trainer.described = {**Trainer.described, **described}
        self.word = members.check(trainer, {"steps": 3}, lambda _: None)  # type: ignore[arg-type]
        return {check.name: check.words for check in self.word.checks if not check.good}

    @staticmethod
    def with_hashes(when: Callable[[Asked], bool], **hashes: str) -> Callable[[Asked], Ended]:
        def train(asked: Asked) -> Ended:
            ended = trained(asked)
            if when(asked):
                ended.events[-1]["hashes"].update(hashes)
            return ended
        return train

    def changed(self, kind: str, when: Callable[[Asked], bool] = lambda asked: True,
                **content: Any) -> Callable[[Asked], Ended]:
        """One that tells this in its events of a kind."""
        def train(asked: Asked) -> Ended:
            ended = trained(asked)
            for event in ended.events:
                if event["event"] == kind and when(asked):
                    event.update(content)
            return ended
        return train

    def test_who_keeps_it_is_told_so(self) -> None:
        self.assertEqual(self.bad(), {})
        self.assertEqual([check.name for check in self.word.checks],
                         ["control", "data", "build", "software", "files", "sources", "lanes",
                          "replicates", "stop", "going on"])
        self.assertEqual(self.word.acts, {"init": ["init", "logits"], "augment": [],
                                          "data_order": ["first_batches", "logits"],
                                          "dropout": ["logits"]})
        said = {check.name: check.words for check in self.word.checks}
        self.assertTrue(said["sources"].endswith(": init, data_order, dropout"), said)
        self.assertIn("from step 4 to the same bits", said["going on"])

    def test_two_that_should_be_equal_differ_in_the_first_thing_of_a_training(self) -> None:
        def second(asked: Asked) -> bool:
            return asked.number == 1
        for hashes, what in (({"logits": "x", "init": "x"}, "the hash init"),
                             ({"logits": "x", "first_batches": "x"}, "the hash first_batches"),
                             ({"weights": "x", "logits": "x"}, "the hash logits"),
                             ({"extra": "x"}, "the hash extra")):
            self.assertEqual(self.bad(self.with_hashes(second, **hashes)), {
                "control": f"two trainings with every source fixed differ in {what}"})
        for kind, content, what in (("done", {"metrics": {"loss": 9.0}}, "the metrics"),
                                    ("done", {"event": "diverged"}, "the ending"),
                                    ("records", {"records": []}, "the records")):
            self.assertEqual(self.bad(self.changed(kind, second, **content)), {
                "control": f"two trainings with every source fixed differ in {what}"})

    def test_what_it_is_and_has_trained_on_is_what_it_says(self) -> None:
        self.assertEqual(list(self.bad(self.changed("hello", data_identity=""))), ["data"])
        self.assertEqual(list(self.bad(build="another")), ["build"])
        self.assertEqual(list(self.bad(fingerprint="another")), ["software"])
        for name in ("init", "first_batches", "weights"):
            def train(asked: Asked) -> Ended:
                ended = trained(asked)
                ended.events[-1].get("hashes", {}).pop(name, None)
                return ended
            self.assertIn(f"there is no hash {name}: run.", self.bad(train)[name])

    def test_files_are_whole_and_give_the_metrics(self) -> None:
        for kind, content, words in (
                ("artifact", {"path": "gone"}, "gone is not there"),
                ("artifact", {"size": 1}, "predictions.npy is not as it was told"),
                ("artifact", {"sha256": "0"}, "predictions.npy is not as it was told"),
                ("done", {"metrics": {"loss": 0.5, "top1": 0.5, "top5": 1.0}}, "told was"),
                ("done", {"metrics": {"top1": 0.5, "top5": 1.0}}, "told was")):
            self.assertIn(words, self.bad(self.changed(kind, **content))["files"])

        def without(name: str) -> Callable[[Asked], Ended]:
            def train(asked: Asked) -> Ended:
                ended = trained(asked)
                ended.files.pop(name)
                return ended
            return train
        self.assertIn("there is no predictions.npy", self.bad(without("predictions.npy"))["files"])
        self.assertEqual(self.bad(without("evaluation_labels.npy")), {}, "it may")

    def test_a_source_that_moves_another_is_named(self) -> None:
        for source, hashes, words in (
                ("data_order", {"init": "x"}, "freeing data_order changes init: "),
                ("augment", {"init": "x"}, "freeing augment changes init: "),
                ("dropout", {"init": "x"}, "freeing dropout changes init: "),
                ("dropout", {"first_batches": "x"}, "freeing dropout changes first_batches: "),
                ("init", {"init": "same"}, "but not the initial parameters")):
            bad = self.bad(self.with_hashes(lambda asked: asked.free == (source,), **hashes))
            self.assertEqual(list(bad), [source])
            self.assertIn(words, bad[source])

    def test_a_source_that_ends_it_is_named(self) -> None:
        def train(asked: Asked) -> Ended:
            return trained(asked._replace(stopped=asked.stopped or asked.free == ("augment",)))
        self.assertEqual(self.bad(train), {"augment": "free, it ends with m"})

    def test_free_sources_act_and_lanes_decide(self) -> None:
        same = dict.fromkeys(("init", "first_batches", "logits", "weights"), "same")
        bad = self.bad(self.with_hashes(lambda asked: bool(asked.free), **same))
        self.assertEqual(list(bad), ["sources"])
        bad = self.bad(self.with_hashes(lambda asked: len(asked.free) > 1, **same))
        self.assertEqual(list(bad), ["replicates"])
        bad = self.bad(self.with_hashes(lambda asked: asked.number == 6, logits="x"))
        self.assertEqual(bad, {"lanes": "two trainings of one lane differ in the hash logits"})

    def test_it_stops_and_goes_on(self) -> None:
        self.assertEqual(list(self.bad(self.changed("failed", cause="bug"))), ["stop"])
        bad = self.bad(self.with_hashes(lambda asked: asked.number == 10, weights="x"))
        self.assertEqual(bad, {"going on": "after that it ends elsewhere: in the hash weights"})

        def deaf(steps: int) -> Callable[[Asked], Ended]:
            def train(asked: Asked) -> Ended:
                ended = trained(asked._replace(stopped=False))
                if asked.stopped:
                    ended.events[-1]["environment"]["measured"] = {"steps": steps}
                return ended
            return train
        self.assertIn("it came to its end after SIGTERM", self.bad(deaf(0))["stop"])
        self.assertEqual(self.bad(deaf(5)), {}, "it was too quick")

    def test_what_cannot_be_trained_cannot_be_tried(self) -> None:
        with self.assertRaisesRegex(Broken, "it ends with failed: it told no event\nno luck"):
            self.bad(lambda asked: Ended([], 1, {}, "no luck"))


class Protocol(unittest.TestCase):
    def test_bits_are_those_of_all_but_checkpoints(self) -> None:
        ended = trained(Asked((), 0, 0, False))
        told = json.dumps(ended.bits(), default=repr)
        ended.files["checkpoint/x"] = b"1"
        self.assertEqual(json.dumps(ended.bits(), default=repr), told)
        ended.files["weights.safetensors"] = b"1"
        self.assertNotEqual(json.dumps(ended.bits(), default=repr), told)


class Reports(unittest.TestCase):
    finding = Finding("a.py:3", "clock", "time.time()", "observed", "count steps")

    def facts(self, found: list[Finding], unexplained: bool = False, good: bool = True,
              member: bool = True) -> dict[str, Any]:
        of = leaks.Found()
        of.findings, of.unexplained, of.repeats, of.of = found, unexplained, True, "numbers"
        word = Word()
        word.say("data", True, "told")
        word.say("control", good, "words")
        word.acts = {"init": ["logits", "weights"], "augment": []}
        return report.facts(of, word if member else None, 7)

    def test_it_conforms_where_nothing_is_found_and_every_word_is_kept(self) -> None:
        self.assertTrue(self.facts([])["conforms"])
        self.assertTrue(self.facts([], member=False)["conforms"])
        self.assertFalse(self.facts([self.finding])["conforms"])
        self.assertFalse(self.facts([], unexplained=True)["conforms"])
        self.assertFalse(self.facts([], good=False)["conforms"])

    def test_people_read_what_is_bad_and_what_helps(self) -> None:
        text = report.text({**self.facts([self.finding], good=False), "seconds": 1.5})
        for line in ("good data: told", "BAD  control: words", "a.py:3: time.time() [observed]",
                     "     init free: changes logits, weights",
                     "     augment free: changes nothing", "    count steps", "1 found in 7 runs, 1.5 s; compared: numbers; "
                     "two runs as they are: equal"):
            self.assertIn(line + "\n", text + "\n")
        self.assertNotIn("Nothing comes in", text)
        self.assertNotIn("It is no member yet", text)
        text = report.text({**self.facts([], member=False), "seconds": 1})
        self.assertIn("Nothing comes in from outside", text)
        self.assertIn("It is no member yet", text)


class Folders(unittest.TestCase):
    def test_a_run_has_what_the_working_folder_has_and_leaves_it_as_it_is(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, size in (("small", 1 << 20), ("large", (1 << 20) + 1)):
                pathlib.Path(folder, name).write_bytes(bytes(size))
            for name in ("data", "__pycache__"):
                pathlib.Path(folder, name).mkdir()
            shop = Workshop(command.Command(["python3"], ["a.py"], []), 1, 1.0)
            try:
                with mock.patch.object(os, "getcwd", return_value=folder):
                    one, two = shop.folder(), shop.folder()
                self.assertNotEqual(one, two)
                self.assertEqual(sorted(os.listdir(one)), ["data", "large", "small"])
                self.assertEqual([os.path.islink(os.path.join(one, name))
                                  for name in ("data", "large", "small")], [True, True, False])
                pathlib.Path(one, "small").write_text("changed")
                twin = shop.copied(one)
                pathlib.Path(one, "small").unlink()
                self.assertEqual(pathlib.Path(twin, "small").read_text(), "changed")
                self.assertEqual(os.path.getsize(os.path.join(folder, "small")), 1 << 20)
            finally:
                shop.close()
            self.assertFalse(os.path.exists(one))


class Commands(unittest.TestCase):
    def script(self, folder: str, name: str, text: str) -> str:
        path = os.path.join(folder, name)
        pathlib.Path(path).write_text(text, encoding="utf-8")
        return path

    def test_a_member_imports_the_shim_itself_or_by_a_module_beside_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.script(folder, "study.py", "from noisefloor import member\n")
            self.script(folder, "other.py", "import os\n")
            for text, is_member in (("import noisefloor.member as nf\n", True),
                                    ("if True:\n    from noisefloor.member import main\n", True),
                                    ("from study import main\n", True), ("import other\n", False),
                                    ("# import noisefloor.member\n", False),
                                    ("import noisefloor.client\n", False)):
                path = self.script(folder, "train.py", text)
                self.assertEqual(command.parse([sys.executable, path]).is_member(), is_member, text)

    def test_a_member_may_be_a_package(self) -> None:
        files = {
            "train.py": "import mine.train\n",
            "stranger.py": "'''import noisefloor.member'''\nimport mine\nfrom noisefloor import x\n",
            "newer.py": "from noisefloor import member as nf\nno Python that we know\n",
            "mine/__init__.py": "",
            "mine/__main__.py": "from .train import main\n",
            "mine/train.py": "from . import steps, train\n",
            "mine/steps.py": "from .deep.more import one\n",
            "mine/deep/__init__.py": "from .. import nothing\n",
            "mine/deep/more.py": "from noisefloor import (\n    member as nf)\n"}
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "mine/deep"))
            for name, text in files.items():
                self.script(folder, name, text)
            self.addCleanup(os.chdir, os.getcwd())
            os.chdir(folder)
            for words, is_member in ((["train.py"], True), (["-m", "train"], True),
                                     (["-m", "mine"], True), (["-m", "mine.train"], True),
                                     (["newer.py"], True), (["stranger.py"], False),
                                     (["-m", "stranger"], False), (["-m", "mine.deep"], False),
                                     (["-m", "not_there"], False)):
                asked = command.parse([sys.executable, *words])
                self.assertEqual(asked.is_member(), is_member, words)

    def test_a_script_names_its_python(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for first, python in (("#!/usr/bin/env python3\n", ["python3"]),
                                  ("#!/opt/bin/python -u\n", ["/opt/bin/python", "-u"]),
                                  ("x = 1\n", [sys.executable])):
                path = self.script(folder, "train.py", first)
                self.assertEqual(command.parse([path, "a"]),
                                 command.Command(python, [path], ["a"]))


if __name__ == "__main__":
    unittest.main()
