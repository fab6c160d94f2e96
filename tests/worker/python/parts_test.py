"""The shim's parts that need no framework and no worker."""

import contextlib
import errno
import gzip
import hashlib
import io
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Iterator
from unittest import mock

from noisefloor.member import (by_hand, checkpoint, data, draws, environment, errors, generators,
                               hardware, measures, processes, settings, tensors)
from noisefloor.member.journal import Journal
from noisefloor.member.run import Run
from noisefloor.member.sources import Source, owners

HAS_NUMPY = draws.numpy_or_none() is not None


def source(name: str = "augment", state: str = "fixed", lane: int = 0) -> Source:
    seed = str(draws.derive_seed(0, name, 0, lane))
    return Source(name, {"state": state, "block": 0, "lane": lane, "seed": seed})


def request(work: str, schema: Any = (), free: Any = ()) -> dict[str, Any]:
    made = by_hand.request([f"--work={work}", *(f"--free={name}" for name in free)],
                           settings.schema_of(schema), "script")
    return made


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said


class Settings(unittest.TestCase):
    def test_defaults_make_a_schema_with_sections_together(self) -> None:
        schema = settings.schema_of({"train.epochs": 3, "lr": 0.1, "train.name": "a", "b": True,
                                     "model.hidden": [1, 2]})
        self.assertEqual([(s["path"], s["kind"]) for s in schema],
                         [("train.epochs", "integer"), ("train.name", "text"), ("lr", "number"),
                          ("b", "boolean"), ("model.hidden", "integers")])
        with self.assertRaisesRegex(TypeError, "setting x: expected a boolean, a number"):
            settings.schema_of({"x": None})

    def test_paths_that_no_worker_takes_are_named(self) -> None:
        for path in ("seed", "kind.of", "Lr", "a..b", ".a", "a.", "", "a b", "a\n", "\u00e4", "x" * 201):
            for given in ({path: 1}, [settings.integer(path, 1)]):
                with self.assertRaisesRegex(ValueError, f"^setting {re.escape(repr(path))}: "):
                    settings.schema_of(given)
        settings.schema_of({"my.seed": 1, "seeds": 1, "a-b_c.9": 1, "x" * 200: 1})
        ours = os.path.join(os.environ["NOISEFLOOR_SOURCE"],
                            "common/trainer_protocol/schema_json.cc")
        with open(ours, encoding="utf-8") as file:
            words = re.search(r"kTaken = \{(.*?)\};", file.read(), re.S)
        assert words is not None
        self.assertEqual(re.findall('"(.*?)"', words[1]), list(settings.TAKEN))

    def test_values_are_refused_as_the_coordinator_refuses_them(self) -> None:
        bad = [(settings.integer("n", 1, 0, 9), 10, "n: expected an integer from 0 to 9, got 10"),
               (settings.integer("n", 1, 0, 9), True, "an integer"),
               (settings.integer("n", 1, 0, 9), 1.0, "an integer"),
               (settings.number("x", 1.0, 0, 9), "1", "x: expected a number from 0 to 9, got '1'"),
               (settings.number("x", 1.0, 0, 9), math.nan, "a number"),
               (settings.boolean("b", True), 1, "b: expected true or false, got 1"),
               (settings.choice("c", "p", ["p", "q"]), "r", "c: expected one of p, q, got 'r'"),
               (settings.text("t", "", 2), "abc", "t: expected a text of at most 2 bytes"),
               (settings.text("t", "", 2), "\u00e4\u00e4", "at most 2 bytes"),
               (settings.integers("l", [], 0, 3), [1, 4], "l: expected a list of integers from 0")]
        for setting, value, expected in bad:
            self.assertIn(expected, settings.problem_with(setting, value))
        good = [(settings.integer("n", 1, 0, 9), 9), (settings.number("x", 1.0, 0, 9), 0),
                (settings.boolean("b", True), False), (settings.choice("c", "p", ["p", "q"]), "q"),
                (settings.text("t", "", 2), "\u00e4"), (settings.integers("l", [], 0, 3), [0, 3])]
        for setting, value in good:
            self.assertEqual(settings.problem_with(setting, value), "")

    def test_nested_and_flat_are_each_others_reverse(self) -> None:
        flat = {"a.b.c": 1, "a.d": [1, 2], "e": "x"}
        self.assertEqual(settings.nested(flat), {"a": {"b": {"c": 1}, "d": [1, 2]}, "e": "x"})
        self.assertEqual(settings.flat(settings.nested(flat)), flat)


class ByHand(unittest.TestCase):
    schema = [settings.integer("n", 3, 0, 9), settings.number("x", 0.5), settings.text("t", "a")]

    def test_a_person_sets_frees_and_chooses(self) -> None:
        with quiet(), tempfile.TemporaryDirectory() as work:
            made = by_hand.request(["--set=n=4", "--set=x=2", "--set=t=7", "--free=init,dropout",
                                    "--replicate=2", f"--work={work}", "--data=/d"],
                                   self.schema, "script")
        specification = made["specification"]
        self.assertEqual((specification["n"], specification["x"], specification["t"]), (4, 2.0, "7"))
        self.assertIs(type(specification["x"]), float)
        noise = specification["noise"]
        self.assertEqual({name for name in noise if noise[name]["state"] == "free"},
                         {"init", "dropout"})
        self.assertEqual(noise["init"]["lane"], 3)
        self.assertEqual(noise["init"]["seed"], str(draws.derive_seed(0, "init", 0, 3)))
        self.assertEqual((noise["poke"]["state"], noise["data_order"]["state"]), ("off", "fixed"))
        self.assertEqual(made["data_root"], "/d")

    def test_mistakes_are_named(self) -> None:
        for words, expected in ((["--set=m=1"], "this script has no setting 'm'"),
                                (["--set=n=10"], "n: expected an integer from 0 to 9, got 10"),
                                (["--set=n=a"], "got 'a'"),
                                (["--free=luck"], "--free luck: expected some of init"),
                                (["--frei=init"], "unrecognized arguments")):
            with quiet() as said, self.assertRaises(SystemExit) as left:
                by_hand.request(words, self.schema, "script")
            self.assertEqual(left.exception.code, 2)
            self.assertIn(expected, said.getvalue())

    def test_help_lists_the_settings(self) -> None:
        with quiet() as said, self.assertRaises(SystemExit):
            by_hand.request(["--help"], self.schema, "script")
        self.assertIn("n = 3", said.getvalue())


class Sources(unittest.TestCase):
    def test_bodies_give_and_take_the_process_generators(self) -> None:
        random.seed(1)
        before = random.getstate()
        with source():
            self.assertEqual(owners, ["augment"])
            first = [random.random() for _ in range(3)]
            with source("dropout"):
                inner = random.random()
            last = random.random()
        self.assertEqual(owners, [])
        self.assertEqual(random.getstate(), before)
        with source():
            again = [random.random() for _ in range(4)]
        self.assertEqual(again, [*first, last], "the inner body took nothing of the outer one")
        self.assertNotIn(inner, again)

    def test_bodies_of_one_source_may_lie_inside_each_other(self) -> None:
        one = source()
        before = random.getstate()
        with one:
            first = random.random()
            with one:
                inner = random.random()
            last = random.random()
        self.assertEqual(random.getstate(), before)
        with source():
            self.assertEqual([random.random(), random.random()], [first, last])
        self.assertNotIn(inner, (first, last))

    def test_what_has_no_state_begins_anew_with_the_seed_of_what_is_around(self) -> None:
        seeds: list[int] = []
        module = mock.Mock()
        module.random.set_seed = lambda seed: seeds.append(seed << 1)
        generators.seed_all(generators.GROUND)
        with mock.patch.dict("sys.modules", {"tensorflow": module}):
            outer = source()
            with outer:
                with source("dropout"):
                    pass
        of_outer, of_inner, again, ground = seeds
        self.assertEqual(of_outer, again)
        self.assertEqual(ground, generators.GROUND & ~1)
        self.assertEqual(len({of_outer, of_inner, ground}), 3)

    def test_bodies_differ_and_lanes_differ(self) -> None:
        def drawn(*sources: Source) -> list[float]:
            values = []
            for each in sources:
                with each:
                    values.append(random.random())
            return values
        one = source()
        self.assertEqual(len(set(drawn(one, one, one))), 3)
        self.assertEqual(drawn(source(), source(lane=0)), drawn(source()) * 2)
        self.assertEqual(len(set(drawn(source(), source(lane=1), source("dropout")))), 3)

    def test_a_key_decides_alone(self) -> None:
        one = source()
        with one.at(3, 7):
            first = random.random()
        with one.at(3, 8):
            other = random.random()
        with one, one.at(3, 7):
            self.assertEqual(random.random(), first)
        self.assertNotEqual(first, other)
        self.assertEqual(one.random("a", 1).random(), source().random("a", 1).random())
        self.assertNotEqual(one.key("a", 1), one.key("a", 2))

    def test_an_error_gives_the_generators_back(self) -> None:
        before = random.getstate()
        with self.assertRaises(KeyError), source():
            random.random()
            raise KeyError
        self.assertEqual(random.getstate(), before)
        self.assertEqual(owners, [])

    def test_ranks_draw_for_themselves(self) -> None:
        def first(rank: int) -> float:
            made = Source("dropout", {"state": "fixed", "block": 0, "lane": 0, "seed": "5"}, rank)
            with made:
                return random.random()
        self.assertEqual(len({first(0), first(1), first(2)}), 3)

    def test_the_ground_is_the_same_for_all(self) -> None:
        generators.seed_all(generators.GROUND)
        first = random.random()
        generators.seed_all(generators.GROUND)
        self.assertEqual(random.random(), first)


class Events(unittest.TestCase):
    def test_records_are_numbered_and_told_before_what_follows(self) -> None:
        lines: list[str] = []
        journal = Journal(lines.append, "")
        journal.greeting = lambda: {"event": "hello"}
        journal.record(1, 0.5, "loss", 2.0)
        self.assertEqual(lines, [])
        journal.record(2, 1.0, "loss", math.nan)
        journal.tell("progress", step=2)
        journal.record(3, 1.5, "loss", -math.inf)
        journal.flush()
        events = [json.loads(line) for line in lines]
        self.assertEqual([e["event"] for e in events], ["hello", "records", "progress", "records"])
        self.assertEqual(events[1]["records"], [[1, 0.5, "loss", 2.0], [2, 1.0, "loss", "nan"]])
        self.assertEqual([events[1]["sequence"], events[3]["sequence"]], [1, 2])
        self.assertEqual(events[3]["records"][0][3], "-inf")

    def test_a_record_waits_a_second_for_others_and_no_longer(self) -> None:
        lines: list[str] = []
        with mock.patch("noisefloor.member.journal.time.monotonic") as clock:
            journal = Journal(lines.append, "")
            told = []
            for now in (100.0, 101.0, 101.5, 101.75, 102.75, 103.0):
                clock.return_value = now
                journal.record(int(now), now, "loss", 0.0)
                told.append(len(lines))
        self.assertEqual(told, [0, 0, 1, 1, 1, 2], "counted from the first that waits")
        self.assertEqual([r[1] for line in lines for r in json.loads(line)["records"]],
                         [100.0, 101.0, 101.5, 101.75, 102.75, 103.0])

    def test_no_event_has_more_records_than_a_reader_takes(self) -> None:
        lines: list[str] = []
        journal = Journal(lines.append, "")
        journal.SECONDS = math.inf
        for step in range(25000):
            journal.record(step, 0.0, "loss", 0.0)
        journal.flush()
        self.assertEqual([len(json.loads(line)["records"]) for line in lines], [10000, 10000, 5000])
        again: list[str] = []
        resumed = Journal(again.append, "")
        resumed.resume(journal.all)
        self.assertEqual(again, lines)

    def test_a_silent_journal_keeps_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            journal = Journal(None, work)
            journal.record(1, 0.5, "loss", 2.0)
            journal.keep("weights", "weights", b"x")
            journal.tell("progress")
            self.assertEqual(os.listdir(work), [])

    def test_files_are_whole_and_told(self) -> None:
        lines: list[str] = []
        with tempfile.TemporaryDirectory() as work:
            Journal(lines.append, work).keep("weights", "w.bin", b"abc")
            self.assertEqual(os.listdir(work), ["w.bin"])
        self.assertEqual(json.loads(lines[0]), {
            "event": "artifact", "kind": "weights", "path": "w.bin", "size": 3,
            "sha256": hashlib.sha256(b"abc").hexdigest()})

    def test_no_more_files_are_kept_than_a_worker_takes(self) -> None:
        lines: list[str] = []
        with tempfile.TemporaryDirectory() as work:
            journal = Journal(lines.append, work)
            with mock.patch.object(tensors, "write_whole"):
                for number in range(1000):
                    journal.keep("weights", f"{number}.bin", b"abc")
                with self.assertRaisesRegex(errors.Refused, "1000.bin: .* at most 1000 files"):
                    journal.keep("weights", "1000.bin", b"abc")
        self.assertEqual(len(lines), 1000)


class Checkpoints(unittest.TestCase):
    def test_another_identity_and_damage_are_no_checkpoint(self) -> None:
        with tempfile.TemporaryDirectory() as base:
            folder = checkpoint.folder_of(base, "ab" * 32)
            self.assertIsNone(checkpoint.load(folder, "ab" * 32))
            checkpoint.save(folder, checkpoint.content_of("ab" * 32, {"x": [1, 2]}))
            kept = checkpoint.load(folder, "ab" * 32)
            assert kept is not None
            self.assertEqual(kept["x"], [1, 2])
            self.assertIsNone(checkpoint.load(folder, "cd" * 32))
            path = os.path.join(folder, "checkpoint")
            with open(path, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"!")
            self.assertIsNone(checkpoint.load(folder, "ab" * 32))
            with open(path, "r+b") as file:
                file.truncate(40)
            self.assertIsNone(checkpoint.load(folder, "ab" * 32))
            checkpoint.remove(folder)
            self.assertEqual(os.listdir(base), [])

    def test_two_attempts_do_not_take_each_others_file(self) -> None:
        replace = os.replace

        def other_first(aside: str, path: str) -> None:
            with mock.patch("os.getpid", return_value=os.getpid() + 1), \
                    mock.patch("os.replace", replace):
                tensors.write_whole(path, b"other")
            replace(aside, path)

        with tempfile.TemporaryDirectory() as folder:
            with mock.patch("os.replace", other_first):
                tensors.write_whole(os.path.join(folder, "checkpoint"), b"mine")
            self.assertEqual(os.listdir(folder), ["checkpoint"])
            with open(os.path.join(folder, "checkpoint"), "rb") as file:
                self.assertEqual(file.read(), b"mine")

    def test_what_cannot_be_written_leaves_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoint")
            tensors.write_whole(path, b"before")
            for operation in ("os.fsync", "os.replace"):
                with mock.patch(operation, side_effect=OSError(errno.ENOSPC, "full")), \
                        self.assertRaises(OSError):
                    tensors.write_whole(path, b"after")
                self.assertEqual(os.listdir(folder), ["checkpoint"], operation)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), b"before")

    def test_what_killed_processes_left_goes(self) -> None:
        with tempfile.TemporaryDirectory() as base:
            folder = os.path.join(base, "of-a-member")
            left = [os.path.join(folder, name)
                    for name in ("checkpoint.part", "checkpoint.a-1.part", "kept-ab.a-1.part")]
            content = checkpoint.content_of("ab" * 32, {})
            checkpoint.save(folder, content)
            for path in left:
                with open(path, "wb"):
                    pass
            os.utime(left[1], (1e9, 1e9))
            os.utime(os.path.join(folder, "checkpoint"), (1e9, 1e9))
            checkpoint.save(folder, content)
            self.assertEqual([os.path.exists(path) for path in left], [True, False, True],
                             "one that lives writes now")
            checkpoint.remove(folder)
            self.assertEqual(os.listdir(base), [])


class Ranks(unittest.TestCase):
    def test_the_meeting_of_an_earlier_run_is_over(self) -> None:
        with tempfile.TemporaryDirectory() as work, \
                mock.patch.dict(os.environ), mock.patch("subprocess.Popen") as started:
            for _ in range(2):
                started.return_value.wait.return_value = 0
                others = processes.Processes({"work_directory": work}, 2, lambda rank, code: None)
                self.assertEqual(others.join(), "")
                meeting = os.environ["NOISEFLOOR_MEETING"].removeprefix("file://")
                self.assertEqual(started.call_args.kwargs["env"]["NOISEFLOOR_MEETING"],
                                 "file://" + meeting)
                self.assertFalse(os.path.exists(meeting))
                with open(meeting, "wb") as file:
                    file.write(b"addresses of ranks that are no more")


class Endings(unittest.TestCase):
    def test_causes(self) -> None:
        class OutOfMemoryError(RuntimeError):  # As torch.cuda has it.
            pass
        for error, cause in ((errors.Refused(), "bad_specification"), (errors.BadData(), "bad_data"),
                             (errors.LostDevice(), "lost_device"), (MemoryError(), "out_of_memory"),
                             (errors.Interrupted(), "interrupted"), (KeyboardInterrupt(), "interrupted"),
                             (OutOfMemoryError(), "out_of_memory"), (ValueError(), "bug"),
                             (RuntimeError("RESOURCE_EXHAUSTED: Out of memory"), "out_of_memory"),
                             (OSError(errno.ENOSPC, "no space"), "lost_device"),
                             (FileNotFoundError(errno.ENOENT, "no file"), "bug"),
                             (RuntimeError("CUDA error: an illegal memory access"), "lost_device"),
                             (RuntimeError("CUDA error: out of memory"), "out_of_memory"),
                             (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"),
                              "out_of_memory"),
                             (RuntimeError("DefaultCPUAllocator: can't allocate memory"),
                              "out_of_memory"),
                             (RuntimeError("CUDA error: device-side assert triggered"), "bug"),
                             (RuntimeError("cuDNN error: CUDNN_STATUS_BAD_PARAM"), "bug")):
            self.assertEqual(errors.cause_of(error), cause)
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
            self.assertEqual(errors.cause_of(OSError(number, "x")), "lost_device", number)
        self.assertEqual(errors.cause_of(RuntimeError("CUDA driver version is insufficient")),
                         "lost_device")
        self.assertEqual(errors.cause_of(RuntimeError("X_STATUS_ALLOCATION_FAILED")),
                         "out_of_memory")
        self.assertEqual(errors.cause_of_code(12), "out_of_memory")
        self.assertEqual(errors.cause_of_code(-9), "bug")

    def test_exit_codes_are_those_of_the_document(self) -> None:
        with open(os.path.join(os.environ["NOISEFLOOR_SOURCE"], "worker/trainer/README.md"),
                  encoding="utf-8") as file:
            rows = re.findall(r"^\| (1\d) \| `(\w+)` \|", file.read(), re.M)
        self.assertEqual({cause: int(code) for code, cause in rows} | {"none": 0},
                         errors.EXIT_CODES)

    def test_what_cudnn_says_is_asked_of_the_gpu(self) -> None:
        for words in ("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
                      "GET was unable to find an engine to execute this computation"):
            for answer, cause in (("CUDA error: unspecified launch failure", "lost_device"),
                                  ("CUDA error: out of memory", "out_of_memory"),
                                  ("CUDA error: device-side assert triggered", "bug")):
                torch = mock.Mock()
                torch.cuda.synchronize.side_effect = [RuntimeError(answer)]
                with mock.patch.dict(sys.modules, {"torch": torch}):
                    self.assertEqual(errors.cause_of(RuntimeError(words)), cause)
                    torch.cuda.synchronize.side_effect = None
                    self.assertEqual(errors.cause_of(RuntimeError(words)), "bug")
            self.assertEqual(errors.cause_of(RuntimeError(words), lambda: None), "bug")

    def test_an_interruption_is_not_swallowed(self) -> None:
        with self.assertRaises(errors.Interrupted):
            try:
                raise errors.Interrupted("now")
            except Exception:  # As scripts have it around a step.
                pass


class Measures(unittest.TestCase):
    logits = [[2.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 3.0, 2.0], [5.0, 0.0, 1.0]]
    labels = [0, 1, 2, 0]

    def both(self) -> Iterator[measures.Measured]:
        answers = tensors.tensor_of(self.logits, "float32")
        right = tensors.tensor_of(self.labels, "int32")
        with mock.patch.object(draws, "numpy_or_none", return_value=None):
            yield measures.measure(answers, right)
        yield measures.measure(answers, right)

    def test_known_answers(self) -> None:
        loss = sum(math.log(sum(math.exp(v - row[k]) for v in row))
                   for row, k in zip(self.logits, self.labels)) / 4
        for measured in self.both():
            self.assertAlmostEqual(measured.metrics["loss"], loss, places=12)
            self.assertEqual(measured.metrics["top1"], 0.5, "of equal logits the first is chosen")
            self.assertEqual(measured.metrics["top5"], 1.0)
            self.assertEqual(measured.per_class_accuracy, [1.0, 0.0, 0.0])

    def test_the_fifth_answer_is_among_five_and_the_sixth_is_not(self) -> None:
        row = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
        for rank in range(7):
            self.logits, self.labels = [row], [rank]
            for measured in self.both():
                self.assertEqual(measured.metrics["top5"], float(rank <= 4), rank)
                self.assertEqual(measured.metrics["top1"], float(rank == 0), rank)

    def test_a_class_has_the_share_of_its_own_examples(self) -> None:
        self.logits = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
        self.labels = [0, 0, 0, 0, 1]
        for measured in self.both():
            self.assertEqual(measured.per_class_accuracy, [0.75, 1.0])
            self.assertEqual(measured.metrics["top1"], 0.8)

    def test_nothing_is_right_among_nans(self) -> None:
        self.logits = [[math.nan, 0.0], [0.0, math.nan]]
        self.labels = [0, 1]
        for measured in self.both():
            self.assertTrue(math.isnan(measured.metrics["loss"]))
            self.assertEqual(measured.metrics["top1"], 0.0)

    def test_classes_without_examples_have_no_accuracy(self) -> None:
        self.logits, self.labels = [[1.0, 0.0, 0.0]], [1]
        for measured in self.both():
            self.assertTrue(math.isnan(measured.per_class_accuracy[0]))
            self.assertEqual(measured.per_class_accuracy[1], 0.0)

    def test_what_does_not_fit_is_refused(self) -> None:
        for logits, labels in (([[1.0, 2.0]], [0, 1]), ([[1.0, 2.0]], [2]), ([1.0], [0]), ([], [])):
            with self.assertRaisesRegex(errors.Refused, "evaluation: "):
                measures.measure(tensors.tensor_of(logits, "float32"),
                                 tensors.tensor_of(labels, "int32"))


class Files(unittest.TestCase):
    def test_safetensors_are_of_the_two_types_that_reports_read(self) -> None:
        named = {"b": tensors.tensor_of([1, 2, 3], "uint8"), "a": tensors.tensor_of([1.5], "float32"),
                 "n": tensors.tensor_of(7, "int64"), "c": tensors.tensor_of([2.5, 1], "float64"),
                 "h": tensors.Tensor("bfloat16", (2,), b"\xc0\x3f\x00\xc0"),
                 "u": tensors.Tensor("uint32", (1, 1), b"\1\0\0\x80"),
                 "f": tensors.Tensor("bool", (2,), b"\1\0")}
        numpys = (draws.numpy_or_none(), None)
        for numpy in numpys:
            with mock.patch.object(draws, "numpy_or_none", return_value=numpy):
                content = tensors.safetensors(named)
            size = struct.unpack("<Q", content[:8])[0]
            header = json.loads(content[8:8 + size])
            self.assertEqual(size % 8, 0)
            self.assertEqual(list(header), ["__metadata__", "b", "f", "n", "u", "a", "c", "h"])
            body = content[8 + size:]
            values = {}
            for name in "bfnuach":
                begin, end = header[name]["data_offsets"]
                kind = {"I64": "q", "F32": "f"}[header[name]["dtype"]]
                count = (end - begin) // struct.calcsize(kind)
                values[name] = struct.unpack(f"<{count}{kind}", body[begin:end])
            self.assertEqual(values, {"b": (1, 2, 3), "f": (1, 0), "n": (7,), "u": (0x80000001,),
                                      "a": (1.5,), "c": (2.5, 1.0), "h": (1.5, -2.0)})
            self.assertEqual(header["u"]["shape"], [1, 1])
            self.assertEqual(header["n"]["shape"], [])

    @unittest.skipUnless(HAS_NUMPY, "numpy reads it")
    def test_npy_is_what_numpy_reads(self) -> None:
        import numpy as np
        for kind in ("float32", "int32", "uint8"):
            content = tensors.npy(tensors.tensor_of([[1, 2], [3, 4]], kind))
            read = np.load(io.BytesIO(content))
            self.assertEqual((read.dtype, read.tolist()), (np.dtype(kind), [[1, 2], [3, 4]]))
        self.assertEqual(tensors.tensor_of(np.arange(6).reshape(2, 3).T, "float32").data,
                         struct.pack("<6f", 0, 3, 1, 4, 2, 5), "row-major, whatever the strides")
        self.assertEqual(tensors.tensor_of(np.array([1], ">i4")).data, b"\1\0\0\0")

    def test_a_damaged_file_is_the_datas_fault(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x")
            packed = bytearray(gzip.compress(bytes(range(256)) * 8))
            packed[10] = 0xff  # Behind the header: no kind of block.
            with open(path + ".gz", "wb") as file:
                file.write(packed)
            with self.assertRaises(errors.BadData):
                data._content(path)

    def test_iterators_are_lists_of_their_arrays(self) -> None:
        listed = tensors.named_tensors([[1.5], [2]])
        for values in (iter([[1.5], [2]]), {"a": [1.5], "b": [2]}.values(), (v for v in ([1.5], [2]))):
            self.assertEqual(tensors.named_tensors(values), listed)

    @unittest.skipUnless(HAS_NUMPY, "what is no array")
    def test_objects_have_no_bytes(self) -> None:
        import numpy as np
        records = np.zeros(2, [("a", "i4"), ("b", "i8")])
        for values, name in ((object(), "object"), ({1, 2}, "set"), (records, "ndarray"),
                             (records.view(np.recarray), "recarray"), (np.array([None, 1]), "ndarray")):
            with self.assertRaisesRegex(errors.Refused, f"an array of numbers, got {name} "):
                tensors.named_tensors({"x": values})
        self.assertEqual(tensors.tensor_of(np.array([1, 2], object), "int32"),
                         tensors.tensor_of([1, 2], "int32"), "numbers, whatever holds them")

    def test_ragged_lists_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "equal lengths"):
            tensors.tensor_of([[1, 2], [3]])


class Environments(unittest.TestCase):
    def test_secrets_are_no_variables_that_matter(self) -> None:
        kept = {"CUDA_VISIBLE_DEVICES": "0", "XLA_FLAGS": "a", "OMP_NUM_THREADS": "2",
                "TF_CUDNN_DETERMINISTIC": "1", "PYTHONHASHSEED": "0"}
        left = {"TF_VAR_password": "x", "TF_TOKEN_app": "x", "AWS_SECRET_ACCESS_KEY": "x",
                "WANDB_API_KEY": "x", "HF_TOKEN": "x", "JAX_TOKEN": "x", "PYTHON_PASSWORD": "x"}
        with mock.patch.dict(os.environ, {**kept, **left}, clear=True):
            self.assertEqual(environment.variables(), kept)

    def test_the_build_is_of_the_script_and_what_it_imports_beside_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "train.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write("x = 1\n")
            first = environment.build_of(script)
            beside = mock.Mock(__file__=os.path.join(folder, "net.py"))
            with open(beside.__file__, "w", encoding="utf-8") as file:
                file.write("y = 1\n")
            self.assertEqual(environment.build_of(script), first, "it is not imported")
            with mock.patch.dict("sys.modules", {"net": beside}):
                second = environment.build_of(script)
                with open(beside.__file__, "w", encoding="utf-8") as file:
                    file.write("y = 2\n")
                self.assertEqual(len({first, second, environment.build_of(script)}), 3)

    def test_the_uncommitted_diff_is_kept(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(environment.repository(folder))
            path = os.path.join(folder, "train.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("x = 1\n")
            for words in (["init", "-q"], ["add", "."],
                          ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "c"]):
                subprocess.run(["git", "-C", folder, *words], check=True)
            clean = environment.repository(folder)
            assert clean is not None
            self.assertEqual((clean["changed"], len(clean["commit"])), (False, 40))
            with open(path, "w", encoding="utf-8") as file:
                file.write("x = 2\n")
            changed = environment.repository(folder)
            assert changed is not None
            self.assertTrue(changed["changed"])
            self.assertIn("+x = 2", changed["diff"])
            self.assertTrue(changed["diff_is_whole"])

    def test_a_class_asks_libraries_for_its_kernels(self) -> None:
        with mock.patch.dict(os.environ, {"ATEN_CPU_CAPABILITY": "avx2", "XLA_FLAGS": "--a=1"}):
            wanted = hardware.wanted()
        self.assertIn("--xla_cpu_max_isa=AVX2", wanted["XLA_FLAGS"])
        self.assertIn("--a=1", wanted["XLA_FLAGS"])
        self.assertEqual(wanted["OPENBLAS_CORETYPE"], "Haswell")
        self.assertIn("AVX512F", wanted["NPY_DISABLE_CPU_FEATURES"])
        for capability, isa, core, left_alone, used in (
                ("default", "SSE4_2", "Nehalem", ["AVX", "FMA3", "AVX2", "AVX512F"], []),
                ("avx2", "AVX2", "Haswell", ["AVX512F", "AVX512_SKX"], ["AVX", "FMA3", "AVX2"]),
                ("avx512", "AVX512", "SkylakeX", [], ["AVX2", "AVX512F", "AVX512_SKX"])):
            with mock.patch.dict(os.environ, {"ATEN_CPU_CAPABILITY": capability}, clear=True):
                wanted = hardware.wanted()
            self.assertEqual(wanted["XLA_FLAGS"], f"--xla_cpu_max_isa={isa} "
                                                  "--xla_cpu_multi_thread_eigen=false")
            self.assertEqual(wanted["OPENBLAS_CORETYPE"], core)
            self.assertEqual({wanted[name] for name in wanted if "NUM" in name}, {"1"})
            disabled = wanted.get("NPY_DISABLE_CPU_FEATURES", "").split()
            self.assertLessEqual(set(left_alone), set(disabled), capability)
            self.assertFalse(set(used) & set(disabled), capability)
        with mock.patch.dict(os.environ, {"ATEN_CPU_CAPABILITY": "avx2",
                                          "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"}, clear=True):
            self.assertEqual(hardware.wanted()["XLA_FLAGS"], "--xla_cpu_max_isa=SSE4_2 "
                             "--xla_cpu_multi_thread_eigen=false", "who says one means it")
        with mock.patch.dict(os.environ, {}, clear=True):
            self.assertEqual(hardware.wanted(), {})


class Runs(unittest.TestCase):
    """What a run tells and keeps."""

    def made(self, work: str, **options: Any) -> tuple[Run, list[dict[str, Any]]]:
        events: list[dict[str, Any]] = []
        with quiet():
            journal = Journal(lambda line: events.append(json.loads(line)), work)
            return Run(request(work, {"lr": 0.5}), journal, "ab" * 32, **options), events

    def test_settings_are_read_by_path(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            run, _ = self.made(work)
            self.assertEqual(run["lr"], 0.5)
            self.assertNotIn("noise.init.seed", run.settings)

    def test_steps_are_signs_of_life(self) -> None:
        with tempfile.TemporaryDirectory() as work, mock.patch("time.monotonic") as now:
            now.return_value = 100.0
            run, events = self.made(work)
            run._journal.greeting = lambda: {"event": "hello"}
            run.steps = 7  # As of a checkpoint.
            run.step()
            self.assertEqual([e["event"] for e in events], ["hello"])
            now.return_value = 111.0
            for _ in range(3):
                run.step()
            self.assertEqual(events[1:], [{"event": "progress", "step": 9, "step_count": 0}])

    def test_of_very_many_classes_accuracies_are_not_told(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            for classes, told in ((10000, 10000), (10001, 0)):
                run, _ = self.made(work)
                run.evaluation([[1.0] + [0.0] * (classes - 1)], [0])
                self.assertEqual(len(run.per_class_accuracy), told)
                self.assertEqual(run.metrics["top1"], 1.0)

    def test_an_identity_is_a_hash(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            run, _ = self.made(work)
            for wrong in ("", "ab", "AB" * 32, "ab" * 33):
                with self.assertRaisesRegex(errors.Refused, "64 hexadecimal digits"):
                    run.data(wrong)
            run.data("ab" * 32)

    def test_what_the_first_event_says_is_not_changed_behind_it(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            for tell in (lambda run: run.progress(4), lambda run: run.step(),
                         lambda run: run.evaluation([[1.0, 0.0]], [0]),
                         lambda run: run.evaluation_set([0])):
                run, events = self.made(work, checkpoints=os.path.join(work, "kept"))
                run._journal.greeting = lambda: {"event": "hello", "data": run.data_identity}
                run.data("ab" * 32)
                tell(run)
                self.assertEqual(events[0], {"event": "hello", "data": "ab" * 32})
                run.data("ab" * 32)
                with self.assertRaisesRegex(errors.Refused, "call run.data before the first step"):
                    run.data("cd" * 32)
                with self.assertRaisesRegex(errors.Refused, "call run.restore before the first"):
                    run.restore()

    def test_what_goes_on_tells_its_data_behind_the_checkpoint(self) -> None:
        with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as other:
            folder = os.path.join(work, "checkpoints")
            run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
            run.evaluation([[1.0, 0.0]], [0], keep=True)
            run.checkpoint({})
            again, events = self.made(other, checkpoints=folder)
            again._journal.greeting = lambda: {"event": "hello", "data": again.data_identity}
            again.restore()
            again.data("ab" * 32)
            self.assertEqual(events, [])
            again.step()
            self.assertEqual(events[0], {"event": "hello", "data": "ab" * 32})
            self.assertEqual([e["event"] for e in events[1:]], ["records", "artifact"])

    def test_an_epoch_that_was_begun_is_where_the_checkpoint_left_it(self) -> None:
        for kept, first in ((1.5, 1.5), (2.0, 2.0), (1.0, 1.0), (2.5, 1.0)):
            with tempfile.TemporaryDirectory() as work:
                folder = os.path.join(work, "kept")
                run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
                run.epoch = kept
                run.checkpoint({})
                again, _ = self.made(work, checkpoints=folder)
                again.restore()
                self.assertEqual([again.epoch for _ in again.epochs(4, start=1)], [first, 2.0, 3.0])
                self.assertEqual([again.epoch for _ in again.epochs(1)], [0.0])
                again.epoch = 1.0
                self.assertEqual([again.epoch for _ in again.epochs(1)], [0.0])

    def test_only_the_first_four_batches_are_hashed(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            run, _ = self.made(work)
            for i in range(4):
                run.batch([[float(i)]], [i])
            four = run.hashes["first_batches"]
            run.batch([[9.0]], [9])
            self.assertEqual(run.hashes["first_batches"], four)
            named = {}
            for i in range(4):
                named[f"images/{i}"] = tensors.tensor_of([[float(i)]], "float32")
                named[f"labels/{i}"] = tensors.tensor_of([i], "int32")
            self.assertEqual(four, tensors.hash_tensors(named))

    def test_without_an_evaluation_there_is_no_end(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            run, _ = self.made(work)
            with self.assertRaisesRegex(errors.Refused, "call run.evaluation first"):
                run.finish()

    def test_the_result_is_the_last_evaluation(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            run, events = self.made(work)
            run.evaluation([[1.0, 0.0]], [1], weights={"w": [1.0]}, keep_weights=True)
            run.evaluation([[0.0, 1.0]], [1], keep=True)
            with self.assertRaisesRegex(errors.Refused, "no weights are given"):
                run.evaluation([[0.0, 1.0]], [1], keep_weights=True)
            run.finish({"w": [2.0]})
            self.assertEqual(run.metrics["top1"], 1.0)
            self.assertEqual(run.hashes["weights_at/1"],
                             tensors.hash_tensors({"w": tensors.tensor_of([1.0])}))
            self.assertEqual([e["kind"] for e in events if e["event"] == "artifact"],
                             ["weights-1", "predictions-2", "predictions", "weights"])
            with open(os.path.join(work, "weights-1.safetensors"), "rb") as kept:
                self.assertEqual(kept.read(), tensors.safetensors(
                    {"w": tensors.tensor_of([1.0])}))
            self.assertEqual(sorted(os.listdir(work)),
                             ["predictions-2.npy", "predictions.npy", "weights-1.safetensors",
                              "weights.safetensors"])

    def test_a_stop_ends_at_the_step_or_at_the_next_checkpoint(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            run, _ = self.made(work)
            run.stop_asked = True
            with self.assertRaises(errors.Interrupted):
                run.step()
            folder = os.path.join(work, "kept")
            run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=1000.0)
            run.step()
            run.checkpoint({"at": 1})
            self.assertFalse(os.path.exists(folder), "it is not time to")
            run.record(loss=1.0)
            run.batch([[1.0]], [1])
            run.stop_asked = True
            run.step()
            with self.assertRaises(errors.Interrupted):
                run.checkpoint(lambda: {"at": 2})
            again, events = self.made(work, checkpoints=folder, checkpoint_seconds=1000.0)
            self.assertEqual(again.restore(), {"at": 2})
            self.assertEqual((again.steps, again.resumed_at), (2, [2]))
            self.assertEqual(again.hashes, run.hashes)
            self.assertEqual([e["records"] for e in events], [[[1, 0.0, "loss", 1.0]]])

    def test_a_checkpoint_behind_the_last_evaluation_has_its_result(self) -> None:
        with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as other:
            folder = os.path.join(work, "kept")
            run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
            run.evaluation([[0.25, 0.5], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0]], [1, 0, 0, 1])
            run.checkpoint({})
            again, _ = self.made(other, checkpoints=folder)
            again.restore()
            for of in (run, again):
                of.finish()
            self.assertEqual(again.metrics["top1"], 0.75)
            self.assertEqual(again.metrics, run.metrics)
            self.assertEqual(again.per_class_accuracy, run.per_class_accuracy)
            self.assertEqual(again.hashes, run.hashes)
            with open(os.path.join(work, "predictions.npy"), "rb") as was, \
                    open(os.path.join(other, "predictions.npy"), "rb") as now:
                self.assertEqual(was.read(), now.read())

    def test_where_an_attempt_was_is_where_the_next_one_goes_on(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "kept")
            run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
            run.progress(40)
            run.epoch = 2.5
            run.batch([[1.0]], [1])
            run.step()
            run.checkpoint({})
            again, events = self.made(work, checkpoints=folder)
            again.restore()
            again.record(loss=1.0)
            again.progress(again.step_count)
            self.assertEqual(events[-2]["records"], [[1, 2.5, "loss", 1.0]])
            self.assertEqual(events[-1], {"event": "progress", "step": 1, "step_count": 40})
            for of in (run, again):
                of.batch([[2.0]], [2])
            self.assertEqual(again.hashes, run.hashes, "its second batch is the second")

    def test_a_test_set_is_kept_where_it_is_asked_for(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            for wanted, files in ((False, []), (True, ["evaluation_images", "evaluation_labels"])):
                run, events = self.made(work)
                run.wants_evaluation_set = wanted
                run.evaluation_set([3, 4], [[[[5]]], [[[6]]]])
                self.assertEqual(sorted(e["kind"] for e in events), files)
                self.assertEqual(sorted(os.listdir(work)), [name + ".npy" for name in files])
            for name, kind, values, shape in (("labels", "int32", [3, 4], (2,)),
                                              ("images", "uint8", [5, 6], (2, 1, 1, 1))):
                with open(os.path.join(work, f"evaluation_{name}.npy"), "rb") as file:
                    kept = tensors.tensor_of(values, kind)._replace(shape=shape)
                    self.assertEqual(file.read(), tensors.npy(kept))

    def test_a_checkpoint_that_is_gone_on_from_is_in_use(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "kept")
            run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
            run.checkpoint({})
            os.utime(folder, (1.0, 1.0))
            again, _ = self.made(work, checkpoints=folder)
            self.assertEqual(again.restore(), {})
            self.assertGreater(os.stat(folder).st_mtime, 1e9, "or it is removed as stale")

    def test_a_minute_passes_between_two_checkpoints(self) -> None:
        with tempfile.TemporaryDirectory() as work, \
                mock.patch("noisefloor.member.run.time.monotonic") as clock:
            clock.return_value = 1000.0
            run, _ = self.made(work, checkpoints=os.path.join(work, "kept"),
                               checkpoint_seconds=60.0)
            asked: list[float] = []

            def state() -> dict[str, float]:
                asked.append(clock.return_value)
                return {}

            for now in (1059.0, 1061.0, 1062.0, 1120.0, 1121.0):
                clock.return_value = now
                run.checkpoint(state)
            self.assertEqual(asked, [1061.0, 1121.0])

    def test_checkpoints_come_by_time_and_go_at_the_end(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "kept")
            run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
            with run.augment:
                first = random.random()
            state = random.getstate()
            run.step()
            run.checkpoint({"at": 1})
            self.assertTrue(os.path.exists(folder))
            random.seed(99)
            again, _ = self.made(work, checkpoints=folder)
            again.restore()
            self.assertEqual(random.getstate(), state)
            with again.augment:
                self.assertNotEqual(random.random(), first, "bodies go on to be counted")
            again.forget_checkpoint()
            self.assertFalse(os.path.exists(folder))
            self.assertIsNone(again.restore())

    def test_files_that_were_told_of_go_on_too(self) -> None:
        with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as other:
            folder = os.path.join(work, "checkpoints")
            run, events = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
            run.evaluation([[1.0, 0.0]], [0], weights={"w": [1.0]}, keep=True, keep_weights=True)
            run.step()
            run.checkpoint({})
            told = [e for e in events if e["event"] == "artifact"]

            again, events = self.made(other, checkpoints=folder, checkpoint_seconds=0.0)
            again.restore()
            self.assertEqual([e for e in events if e["event"] == "artifact"], told)
            for name in ("predictions-1.npy", "weights-1.safetensors"):
                with open(os.path.join(work, name), "rb") as was, \
                        open(os.path.join(other, name), "rb") as now:
                    self.assertEqual(was.read(), now.read())
            again.step()
            again.checkpoint({})
            self.assertEqual(len(os.listdir(folder)), 3, "each is kept once")

            lost = [name for name in os.listdir(folder) if name.startswith("kept-")][0]
            with open(os.path.join(folder, lost), "ab") as file:
                file.write(b"x")
            third, _ = self.made(other, checkpoints=folder)
            self.assertIsNone(third.restore(), "what is damaged is begun anew")
            self.assertFalse(os.path.exists(folder))

    def test_an_attempt_that_goes_on_counts_evaluations_on(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "checkpoints")
            run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
            run.evaluation([[1.0, 0.0]], [0], weights={"w": [1.0]}, keep=True)
            run.checkpoint({})

            again, events = self.made(work, checkpoints=folder)
            again.restore()
            again.evaluation([[0.0, 1.0]], [0], weights={"w": [2.0]}, keep=True)
            self.assertEqual([e["kind"] for e in events if e["event"] == "artifact"],
                             ["predictions-1", "predictions-2"])
            for at, weight in ((1, 1.0), (2, 2.0)):
                self.assertEqual(again.hashes[f"weights_at/{at}"],
                                 tensors.hash_tensors({"w": tensors.tensor_of([weight])}))

    def test_a_second_interruption_keeps_what_came_before_the_first(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            for loss in (3.0, 2.0):
                run, _ = self.made(work, checkpoints=os.path.join(work, "kept"),
                                   checkpoint_seconds=0.0)
                run.restore()
                run.step()
                run.record(loss=loss)
                run.checkpoint({})
            third, events = self.made(work, checkpoints=os.path.join(work, "kept"))
            third.restore()
            self.assertEqual([e["records"] for e in events],
                             [[[1, 0.0, "loss", 3.0], [2, 0.0, "loss", 2.0]]])
            self.assertEqual(third.resumed_at, [1, 2])

    def test_a_checkpoint_that_cannot_be_written_costs_no_member(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "kept")
            run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
            run.evaluation([[1.0, 0.0]], [0], keep=True)
            full = OSError(errno.ENOSPC, "No space left on device")
            with quiet() as said:
                for error in (full, full, PermissionError(errno.EACCES, "Permission denied")):
                    run.step()
                    with mock.patch("os.fsync", side_effect=error):
                        run.checkpoint({})
            self.assertEqual(run.notes, [
                "no checkpoint after 1 steps: [Errno 28] No space left on device",
                "no checkpoint after 3 steps: [Errno 13] Permission denied"])
            self.assertEqual(said.getvalue().splitlines(), run.notes)
            self.assertEqual(os.listdir(folder), [])
            run.checkpoint({"at": 3})
            again, _ = self.made(work, checkpoints=folder)
            self.assertEqual(again.restore(), {"at": 3}, "it is tried again")

    def test_no_folder_for_checkpoints_costs_no_member(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "a file", "kept")
            with open(os.path.dirname(folder), "wb"):
                pass
            run, _ = self.made(work, checkpoints=folder)
            run.stop_asked = True
            with quiet(), self.assertRaises(errors.Interrupted):
                run.checkpoint({})
            self.assertIn("no checkpoint after 0 steps: [Errno 20]", run.notes[0])

    def test_a_state_that_cannot_be_kept_is_a_bug(self) -> None:
        class Unwilling:
            def __reduce__(self) -> str:
                raise OSError(errno.EACCES, "not me")

        with tempfile.TemporaryDirectory() as work:
            run, _ = self.made(work, checkpoints=os.path.join(work, "kept"),
                               checkpoint_seconds=0.0)
            with self.assertRaisesRegex(OSError, "not me"):
                run.checkpoint({"x": Unwilling()})

    def test_seconds_are_of_all_attempts(self) -> None:
        with tempfile.TemporaryDirectory() as work, mock.patch("time.monotonic") as clock:
            folder = os.path.join(work, "kept")
            for began, kept, total in ((1000.0, 7.0, 9.0), (50.0, 5.0, 14.0)):
                clock.return_value = began
                run, _ = self.made(work, checkpoints=folder, checkpoint_seconds=0.0)
                run.restore()
                clock.return_value = began + kept
                run.checkpoint({})
                clock.return_value = began + kept + 2.0
                self.assertEqual(run.train_seconds, total)

            content = checkpoint.load(folder, "ab" * 32)
            assert content is not None
            del content["train_seconds"]  # As older ones are.
            checkpoint.save(folder, checkpoint.content_of("ab" * 32, content))
            clock.return_value = 0.0
            run, _ = self.made(work, checkpoints=folder)
            self.assertEqual(run.restore(), {})
            clock.return_value = 3.0
            self.assertEqual(run.train_seconds, 3.0)

    def test_without_a_folder_nothing_is_kept(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            run, _ = self.made(work)
            run.checkpoint({"at": 1})
            self.assertEqual(os.listdir(work), [])
            self.assertIsNone(run.restore())


@unittest.skipUnless(HAS_NUMPY, "data sets need numpy")
class DataSets(unittest.TestCase):
    def test_data_of_another_identity_are_not_trained_on(self) -> None:
        root = os.path.join(os.environ["NOISEFLOOR_SOURCE"], "deploy/data")
        run = mock.Mock(data_root=root, settings={"data.identity": "0" * 64})
        with self.assertRaisesRegex(errors.BadData, "its identity is [0-9a-f]{64}, expected 0000"):
            data.load(run, "fashion-mnist-sample")
        run.data.assert_not_called()

    def test_the_sample_has_the_identity_of_the_document(self) -> None:
        root = os.path.join(os.environ["NOISEFLOOR_SOURCE"], "deploy/data")
        readme = os.path.join(os.environ["NOISEFLOOR_SOURCE"], "worker/trainer/noise/README.md")
        with tempfile.TemporaryDirectory() as work, quiet():
            run = Run(request(work, {"data.name": "fashion-mnist-sample"}), Journal(None, work))
            run.data_root = "/nowhere:" + root
            loaded = data.load(run, test_examples=10)
            with open(readme, encoding="utf-8") as file:
                self.assertIn(f"`{loaded.identity}`", file.read())
            self.assertEqual(run.data_identity, loaded.identity)
            self.assertEqual(loaded.test.images.shape, (10, 1, 28, 28))
            with self.assertRaisesRegex(errors.BadData, "expected at least 999999 examples"):
                data.load(run, train_examples=999999)
            with self.assertRaisesRegex(errors.BadData, "expected one of cifar10"):
                data.load(run, "imagenet")
            run.data_root = "/nowhere"
            with self.assertRaisesRegex(errors.BadData, "no folder fashion-mnist-sample in /nowhere"):
                data.load(run)

    def test_the_labels_of_cifar100_are_the_fine_ones(self) -> None:
        with tempfile.TemporaryDirectory() as work, quiet():
            folder = os.path.join(work, "cifar-100-binary")
            os.mkdir(folder)
            for name, rows in (("train.bin", [(3, 42), (4, 77)]), ("test.bin", [(5, 99)])):
                with open(os.path.join(folder, name), "wb") as file:
                    for coarse, fine in rows:  # Every pixel says the label that is right.
                        file.write(bytes([coarse, fine]) + bytes([fine]) * 3072)
            run = Run(request(work, {"data.name": "cifar100"}), Journal(None, work))
            run.data_root = work
            loaded = data.load(run)
            for split, labels in ((loaded.train, [42, 77]), (loaded.test, [99])):
                self.assertEqual(sorted(split.labels.tolist()), labels)
                self.assertEqual(split.images[:, 2, 31, 31].tolist(), split.labels.tolist())

    def test_cifar10_is_learnt_from_five_files_and_tested_on_one(self) -> None:
        with tempfile.TemporaryDirectory() as work, quiet():
            folder = os.path.join(work, "cifar-10-batches-bin")
            os.mkdir(folder)
            names = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
            for label, name in enumerate(names):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(bytes([label]) + bytes([label]) * 3072)
            run = Run(request(work, {"data.name": "cifar10"}), Journal(None, work))
            run.data_root = work
            loaded = data.load(run)
            self.assertEqual(loaded.classes, 10)
            for split, labels in ((loaded.train, [0, 1, 2, 3, 4]), (loaded.test, [5])):
                self.assertEqual(sorted(split.labels.tolist()), labels)
                self.assertEqual(split.images[:, 0, 0, 0].tolist(), split.labels.tolist())

    def test_the_first_so_many_are_of_each_part_its_own(self) -> None:
        root = os.path.join(os.environ["NOISEFLOOR_SOURCE"], "deploy/data")
        run = mock.Mock(data_root=root, settings={})
        whole = data.load(run, "fashion-mnist-sample")
        few = data.load(run, "fashion-mnist-sample", train_examples=3, test_examples=2)
        self.assertEqual((len(whole.train.labels), len(whole.test.labels)), (6000, 1000))
        for name, count in (("train", 3), ("test", 2)):
            got, all_of = getattr(few, name), getattr(whole, name)
            self.assertEqual(got.labels.tolist(), all_of.labels[:count].tolist())
            self.assertEqual(got.images.tolist(), all_of.images[:count].tolist())
        self.assertEqual(few.identity, whole.identity, "it is of the whole set")

    def test_a_label_of_no_class_is_bad_data(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for label, is_class in ((9, True), (10, False)):
                with open(os.path.join(folder, "a.bin"), "wb") as file:
                    file.write(bytes([label]) + bytes(3072))
                if is_class:
                    self.assertEqual(data._read_cifar(folder, ["a.bin"], 1, 10).labels[0], label)
                    continue
                with self.assertRaisesRegex(errors.BadData, "1 labels that do not fit"):
                    data._read_cifar(folder, ["a.bin"], 1, 10)

    def test_own_arrays_have_an_identity(self) -> None:
        self.assertEqual(data.identity_of([1, 2], [3]), data.identity_of([1, 2], [3]))
        self.assertNotEqual(data.identity_of([1, 2], [3]), data.identity_of([3], [1, 2]))


@unittest.skipUnless(HAS_NUMPY, "no numpy")
class Schedules(unittest.TestCase):
    """The rates of PyTorch and Keras, and the bits that schedule_test.cc has of our trainer's."""

    def test_every_step_has_our_trainers_rate(self) -> None:
        from noisefloor.member import images
        rest = dict(milestones=[], factor=0.1, factors="", every_epochs=10, power=1, start=0.2,
                    peak=0.23, end=0.0, warmup_epochs=0.0)
        for name, bits in (("schedules", 18064884016399333438),
                           ("keras_schedules", 15669270919180636187)):
            folder = os.path.join(os.environ["NOISEFLOOR_SOURCE"],
                                  "tests/worker/trainer/torch/optim_reference")
            with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
                cases = json.load(file)
            found = 0
            for case in cases:
                run: Any = {"train.optimizer.learning_rate": 0.8, "train.epochs": 9,
                            **{"train.schedule." + key: value
                               for key, value in {**rest, **case}.items()}}
                for step, expected in enumerate(case["rates"]):
                    rate = images.learning_rate(run, step, 4)
                    self.assertAlmostEqual(rate, expected, delta=1e-14, msg=f"{case} {step}")
                    found = found * 1099511628211 + struct.unpack("<Q", struct.pack("<d", rate))[0]
            self.assertEqual(found % 2**64, bits)


if __name__ == "__main__":
    unittest.main()
