"""What comes into a script by the hands of noisefloor conform: the same, or something else."""

import concurrent.futures
import contextlib
import datetime
import glob
import importlib.util
import json
import multiprocessing.pool
import os
import pathlib
import pickle
import random
import secrets
import socket
import sys
import tempfile
import time
import unittest
import uuid
from typing import Any, Callable, Iterator, Sequence
from unittest import mock

from noisefloor.conform import checkpoints, generators, kinds, outcome, sites

HAS_TORCH = importlib.util.find_spec("torch") is not None


@contextlib.contextmanager
def held(changes: dict[str, str] | None = None, **options: Any) -> Iterator[str]:
    """As in a run with these changes; the path of what it tells."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        log = os.path.join(folder, "log")
        for table in (sites.handlers, sites.methods, sites.applies):
            stack.enter_context(mock.patch.dict(table))
        for name, value in (("_seen", set()), ("_orders", {}), ("watchers", []), ("seeding", []),
                            ("observers", []),
                            ("settings", sites.Settings(log, changes or {}, options))):
            stack.enter_context(mock.patch.object(sites, name, value))
        stack.enter_context(mock.patch.multiple(
            kinds, _counts={}, _ids={}, _readings=0, _slept=0.0))
        kinds.install()
        checkpoints.install()
        yield log


def told(log: str) -> list[dict[str, Any]]:
    if not os.path.exists(log):
        return []
    with open(log, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def call(function: Any, *args: Any, place: str = "a.py:1:0", **keywords: Any) -> Any:
    return sites.call(place, function, *args, **keywords)


class Clocks(unittest.TestCase):
    """Nobody's clock, a millisecond on at each look: moved, or faster."""

    def two(self, change: str, *clocks: Any) -> list[float]:
        with held({"clock": change} if change else {}):
            return [call(clock) for clock in clocks]

    def test_a_clock_that_is_moved_measures_the_same(self) -> None:
        for clock in (time.time, time.monotonic, time.perf_counter, time.process_time):
            one, two = self.two("", clock, clock)
            self.assertAlmostEqual(two - one, 0.001, places=6)
            moved, later = self.two("shift", clock, clock)
            self.assertAlmostEqual(moved - one, 86413.7, places=5)
            self.assertAlmostEqual(later - moved, 0.001, places=6)

    def test_a_clock_that_is_faster_begins_at_the_same_time(self) -> None:
        one, two = self.two("scale", time.time, time.time)
        self.assertAlmostEqual(two - one, 0.037, places=6)
        self.assertAlmostEqual(one - self.two("", time.time)[0], 0.036, places=6)

    def test_clocks_agree_with_each_other(self) -> None:
        wall, count, whole, short = self.two(
            "", time.time, time.monotonic, time.time_ns, time.monotonic_ns)
        begin = wall - 0.001
        self.assertAlmostEqual(count, 0.002, places=6)
        self.assertIs(type(whole), int)
        self.assertAlmostEqual(whole / 1e9 - begin, 0.003, places=5)
        self.assertAlmostEqual(short / 1e9, 0.004, places=6)
        with held():
            moment = call(datetime.datetime.now, datetime.timezone.utc)
            self.assertAlmostEqual(moment.timestamp(), begin + 0.001, places=4)
            self.assertEqual(call(datetime.date.today), datetime.date.fromtimestamp(begin))

    def test_who_sleeps_finds_it_later(self) -> None:
        with held(), mock.patch.object(time, "sleep") as sleep:
            sites.handlers[sleep] = ("sleep", kinds._sleep)
            before = call(time.time)
            call(sleep, 2.5)
            sleep.assert_called_once_with(2.5)
            self.assertAlmostEqual(call(time.time) - before, 2.501, places=5)


class Entropy(unittest.TestCase):
    def drawn(self, change: str, draw: Callable[[], Any]) -> Any:
        with held({"entropy": change} if change else {}):
            return draw()

    def test_it_is_the_same_in_baselines_and_another_where_it_is_changed(self) -> None:
        for name, draw in {
                "urandom": lambda: call(os.urandom, 5), "hex": lambda: call(secrets.token_hex),
                "bits": lambda: call(secrets.randbits, 64),
                "below": lambda: call(secrets.randbelow, 1 << 40),
                "choice": lambda: call(secrets.choice, range(1 << 40)),
                "uuid": lambda: call(uuid.uuid4),
                "system": lambda: call(random.SystemRandom).random(),
                "Random": lambda: call(random.Random).random(),
                "None": lambda: call(random.Random, None).random(),
                "seed": lambda: [call((r := random.Random(3)).seed), r.random()]}.items():
            first = self.drawn("", draw)
            self.assertEqual(self.drawn("", draw), first, name)
            self.assertNotEqual(self.drawn("other", draw), first, name)

    def test_it_has_the_form_that_was_asked_for(self) -> None:
        with held():
            self.assertEqual([len(call(os.urandom, 5)), len(call(secrets.token_bytes))], [5, 32])
            self.assertLess(call(secrets.randbits, 7), 1 << 7)
            self.assertTrue(all(call(secrets.randbelow, 3) < 3 for _ in range(20)))
            self.assertIn(call(secrets.choice, "ab"), "ab")
            self.assertNotEqual(call(os.urandom, 8), call(os.urandom, 8), "new each time")

    def test_what_has_a_seed_is_no_entropy(self) -> None:
        with held({"entropy": "other"}) as log:
            self.assertEqual(call(random.Random, 3).random(), random.Random(3).random())
            self.assertEqual(call(random.Random, x=3).random(), random.Random(3).random())
            self.assertEqual(told(log), [])


class Machines(unittest.TestCase):
    def test_numbers_names_and_cores_are_others_where_they_are_changed(self) -> None:
        with held():
            self.assertEqual(call(os.getpid), call(os.getppid))
            self.assertEqual(call(socket.gethostname), socket.gethostname())
            self.assertEqual(call(os.cpu_count), os.cpu_count())
            pid, node = call(os.getpid), call(uuid.getnode)
        with held({"process": "other", "machine": "other", "cores": "other"}):
            self.assertNotEqual(call(os.getpid), pid)
            self.assertNotEqual(call(uuid.getnode), node)
            self.assertNotEqual(call(socket.gethostname), socket.gethostname())
            self.assertEqual(call(os.cpu_count), 1 if (os.cpu_count() or 0) > 1 else 2)
            self.assertNotEqual(call(os.sched_getaffinity, 0), os.sched_getaffinity(0))

    def test_hashes_of_numbers_are_the_same_everywhere(self) -> None:
        with held({"hash": "other"}) as log:
            self.assertEqual(call(hash, 12), 12)
            self.assertEqual(call(hash, (1, 2.5)), hash((1, 2.5)))
            self.assertEqual(told(log), [])
            self.assertNotEqual(call(hash, "a"), hash("a"))
            self.assertNotEqual(call(hash, (1, "a")), hash((1, "a")))
        with held():
            self.assertEqual(call(hash, "a"), hash("a"))

    def test_addresses_are_in_the_order_of_asking(self) -> None:
        a, b = object(), object()
        for change, grows in (({}, True), ({"address": "other"}, False)):
            for first, second in ((a, b), (b, a)):
                with held(change):
                    one, two = call(id, first), call(id, second)
                    self.assertEqual(one < two, grows)
                    self.assertEqual(call(id, first), one)


class Orders(unittest.TestCase):
    def test_entries_of_folders_are_in_order_or_in_the_reverse_of_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("b", "c", "a"):
                pathlib.Path(folder, name).mkdir()
                pathlib.Path(folder, "a" if name == "a" else "b", name + ".txt").touch()
            ways: dict[str, Callable[[], Any]] = {
                "listdir": lambda: call(os.listdir, folder),
                "glob": lambda: [os.path.basename(p) for p in call(glob.glob, folder + "/*")],
                "scandir": lambda: [entry.name for entry in call(os.scandir, folder)],
                "walk": lambda: next(call(os.walk, folder))[1],
                "iterdir": lambda: [p.name for p in call(pathlib.Path(folder).iterdir)],
                "Path.glob": lambda: [p.name for p in call(pathlib.Path(folder).glob, "*")]}
            for name, way in ways.items():
                with held():
                    self.assertEqual(way(), ["a", "b", "c"], name)
                with held({"listing": "other"}):
                    self.assertEqual(way(), ["c", "b", "a"], name)
            with held({"listing": "other"}):
                self.assertEqual([(os.path.basename(place), files) for place, _, files in
                                  call(os.walk, folder)][1:],
                                 [("c", []), ("b", ["c.txt", "b.txt"]), ("a", ["a.txt"])])

    def test_what_is_done_comes_in_the_order_in_which_it_was_asked_for(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = [pool.submit(pow, 2, n) for n in range(3)]
            with held():
                self.assertEqual(list(call(concurrent.futures.as_completed, asked)), asked)
            with held({"completion": "other"}):
                self.assertEqual(list(call(concurrent.futures.as_completed, asked)), asked[::-1])

    def test_workers_give_what_they_made_in_the_order_in_which_it_was_asked_for(self) -> None:
        with multiprocessing.pool.ThreadPool(2) as pool:
            for change, expected in (({}, [0, -1, -2, -3]),
                                     ({"completion": "other"}, [-3, -2, -1, 0])):
                with held(change):
                    self.assertEqual(list(call(pool.imap_unordered, int.__neg__, range(4))), expected)

    def test_sets_are_in_order_or_in_the_reverse_of_it(self) -> None:
        words = {"pear", "apple", "fig"}
        ways: dict[str, Callable[[], Any]] = {
            "for": lambda: list(sites.iterated("a.py:1:0", words)),
            "list": lambda: call(list, words), "join": lambda: call(" ".join, words).split(" "),
            "fromkeys": lambda: list(call(dict.fromkeys, words)),
            "enumerate": lambda: [word for _, word in call(enumerate, words)]}
        for name, way in ways.items():
            with held() as log:
                self.assertEqual(way(), ["apple", "fig", "pear"], name)
                self.assertEqual([event["kind"] for event in told(log)], ["set"])
            with held({"set": "other"}):
                self.assertEqual(way(), ["pear", "fig", "apple"], name)

    def test_a_set_that_was_made_of_a_list_has_its_order(self) -> None:
        for change, expected in (({}, ["pear", "apple", "fig"]), ({"set": "other"},
                                                                 ["fig", "apple", "pear"])):
            with held(change):
                made = call(set, ["pear", "apple", "fig", "apple"])
                self.assertEqual(call(list, made), expected)
                made.discard("apple")
                self.assertEqual(call(list, made), [w for w in expected if w != "apple"])
                copy = call(frozenset, made)  # As the set is walked, which is changed as well.
                self.assertEqual(call(list, copy), ["pear", "fig"])

    def test_the_one_that_is_popped_is_the_first(self) -> None:
        for change, first in (({}, "apple"), ({"set": "other"}, "pear")):
            with held(change):
                words = {"pear", "apple", "fig"}
                self.assertEqual(call(words.pop), first)
                self.assertEqual(words, {"pear", "apple", "fig"} - {first})

    def test_sets_of_numbers_have_an_order_of_their_own(self) -> None:
        with held({"set": "other"}) as log:
            self.assertEqual(call(list, {1, 2, 3}), list({1, 2, 3}))
            self.assertEqual(call(list, {"alone"}), ["alone"])
            self.assertEqual(told(log), [])


class Sites(unittest.TestCase):
    def test_one_place_of_a_kind_is_changed_alone(self) -> None:
        with held({"process@a.py:2:4": "other"}) as log:
            one = call(os.getpid, place="a.py:1:0")
            self.assertNotEqual(call(os.getpid, place="a.py:2:4"), one)
            self.assertEqual(call(os.getpid, place="a.py:3:0"), one)
            call(os.getpid, place="a.py:3:0")
            self.assertEqual([(e["event"], e["kind"], e["place"], e["what"]) for e in told(log)],
                             [("site", "process", f"a.py:{at}", "os.getpid")
                              for at in ("1:0", "2:4", "3:0")], "each is told of once")

    def test_what_a_persons_calls_give_is_observed(self) -> None:
        seen: list[Any] = []
        with held():
            sites.observers.append(lambda place, function, result: seen.append((place, result)))
            self.assertEqual(call(pow, 2, 5), 32)
        self.assertEqual(seen, [("a.py:1:0", 32)])

    def test_switches_of_frameworks_are_told(self) -> None:
        with held() as log:
            sites.switch("a.py:1:0", mock.Mock(__name__="torch.backends.cudnn", benchmark=True),
                         "benchmark")
            sites.switch("a.py:2:0", mock.Mock(__name__="mine"), "benchmark")
            sites.switch("a.py:3:0", mock.Mock(__name__="torch.backends.mkldnn",
                                               deterministic=False), "deterministic")
            self.assertEqual([(e["place"], e["name"], e["value"]) for e in told(log)],
                             [("a.py:1:0", "torch.backends.cudnn.benchmark", "True"),
                              ("a.py:3:0", "torch.backends.mkldnn.deterministic", "False")])


class Draws(unittest.TestCase):
    """Who draws from a generator that nobody has seeded."""

    def watched(self, *calls: tuple[str, Any, Sequence[Any]]) -> list[str]:
        with held() as log:
            sites.handlers.clear()
            draws = generators.Draws("random")
            sites.watchers.append(draws.watch)
            sites.seeding.append(draws.seeded)
            for place, function, args in calls:
                call(function, *args, place=place)
            return [event["place"] for event in told(log) if event["event"] == "draw"]

    def test_the_innermost_place_is_named_once(self) -> None:
        def inner() -> float:
            return float(call(random.random, place="inner"))
        self.assertEqual(
            self.watched(("pow", pow, (2, 3)), ("outer", inner, ()), ("outer", inner, ()),
                         ("more", random.gauss, (0, 1))), ["inner", "more"])

    def test_what_was_seeded_before_is_no_finding(self) -> None:
        self.assertEqual(self.watched(("a", random.random, ()), ("b", random.seed, (3,)),
                                      ("c", random.random, ())), ["a"])

    def test_bodies_of_sources_may_draw(self) -> None:
        members = mock.Mock(owners=["init"])
        with mock.patch.dict(sys.modules, {"noisefloor.member.sources": members}):
            self.assertEqual(self.watched(("a", random.random, ())), [])

    def test_loops_whose_values_are_drawn_are_named(self) -> None:
        with held() as log:
            sites.watchers.append(generators.Draws("random").watch)
            values = (random.random() for _ in range(2))
            self.assertEqual(len(list(sites.iterated("loop", values))), 2)
            self.assertEqual([event["place"] for event in told(log)], ["loop"])

    def test_generators_begin_with_another_state_where_that_is_asked_for(self) -> None:
        first = {}
        for name, begin in (("a", []), ("b", []), ("c", ["random"]), ("d", ["numpy"])):
            with held(begin=begin):
                generators.begin("random")
                first[name] = random.random()
        self.assertEqual((first["a"], first["a"]), (first["b"], first["d"]))
        self.assertNotEqual(first["a"], first["c"])


class Outcomes(unittest.TestCase):
    def of(self, *values: tuple[str, Any]) -> dict[str, Any]:
        with mock.patch.object(outcome, "_sums", {}), \
                mock.patch.object(outcome, "_is_own", return_value=True):
            for place, value in values:
                outcome.observe(place, None, value)
            return outcome.outcome()

    def test_the_order_of_values_of_a_place_does_not_count_and_each_value_does(self) -> None:
        made = self.of(("a", 0.5), ("a", 1.5), ("b", [2.5, {"x": (3.5,)}]))
        self.assertEqual((made["of"], sorted(made["digest"])), ("numbers", ["a", "b"]))
        self.assertEqual(self.of(("b", [3.5, 2.5]), ("a", 1.5), ("a", 0.5)), made)
        for other in ((("a", 0.5), ("b", 2.5), ("b", 3.5)),
                      (("a", 0.5), ("a", 1.5), ("a", 1.5), ("b", [2.5, 3.5])),
                      (("a", 2.5), ("a", 1.5), ("b", [0.5, 3.5]))):
            self.assertNotEqual(self.of(*other), made)

    def test_texts_and_whole_numbers_are_nothing_to_compare(self) -> None:
        self.assertEqual(self.of(("a", 3), ("a", "x"), ("a", True), ("a", None), ("a", [1, "y"])),
                         {"of": "nothing", "digest": {}})

    def test_floats_of_libraries_are_times(self) -> None:
        with mock.patch.object(outcome, "_sums", {}):
            outcome.observe("a", time.time, 0.5)
            self.assertEqual(outcome.outcome()["of"], "nothing")


class Checkpoints(unittest.TestCase):
    def test_generators_go_on_where_they_were(self) -> None:
        random.seed(3)
        before = checkpoints._states()
        first = random.random()
        checkpoints._restore(before)
        self.assertEqual(random.random(), first)

    def test_files_are_told_by_where_they_are(self) -> None:
        with tempfile.TemporaryDirectory() as folder, held() as log:
            path = os.path.join(folder, "x")
            with open(path, "wb") as file:
                call(pickle.dump, {"a": 1}, file)
            with open(path, "rb") as file:
                self.assertEqual(call(pickle.load, file, place="a.py:2:0"), {"a": 1})
            self.assertEqual([(e["event"], e["place"], e["path"]) for e in told(log)
                              if e["event"] != "site"],
                             [("save", "a.py:1:0", path), ("load", "a.py:2:0", path)])


@unittest.skipUnless(HAS_TORCH, "no PyTorch")
class Frameworks(unittest.TestCase):
    """The same of numpy and PyTorch."""

    def drawn(self, changes: dict[str, str], draw: Callable[[], Any]) -> Any:
        import numpy as np
        import torch
        with held(changes):
            kinds.install_numpy(np)
            kinds.install_torch(torch)
            return draw()

    def test_generators_without_a_seed_are_the_same_or_others(self) -> None:
        import numpy as np
        import torch
        generator = torch.Generator()
        for name, draw in {
                "default_rng": lambda: call(np.random.default_rng).random(),
                "None": lambda: call(np.random.default_rng, None).random(),
                "RandomState": lambda: call(np.random.RandomState).rand(),
                "np.seed": lambda: [call(np.random.seed), np.random.rand()],
                "method": lambda: [call((r := np.random.RandomState(3)).seed), r.rand()],
                "random": lambda: [call((r := random.Random(3)).seed), r.random()],
                "torch.seed": lambda: [call(torch.seed), float(torch.rand(1))],
                "seed": lambda: [call(generator.seed),
                                 float(torch.rand(1, generator=generator))]}.items():
            first = self.drawn({}, draw)
            self.assertEqual(self.drawn({}, draw), first, name)
            self.assertNotEqual(self.drawn({"entropy": "other"}, draw), first, name)
        self.assertEqual(self.drawn({"entropy": "other"}, lambda: call(
            np.random.default_rng, 5).random()), np.random.default_rng(5).random())
        self.assertEqual(self.drawn({}, lambda: call(generator.seed)), generator.initial_seed())

    def test_memory_that_nobody_has_written_has_one_value(self) -> None:
        import numpy as np
        import torch
        for make in (lambda: call(np.empty, 3), lambda: call(np.empty_like, np.ones(3)),
                     lambda: call(torch.empty, 3), lambda: call(torch.empty_like, torch.ones(3)),
                     lambda: call(torch.ones(1).new_empty, (3,))):
            self.assertEqual(self.drawn({}, make).tolist(), [0.0] * 3)
            self.assertEqual(self.drawn({"memory": "other"}, make).tolist(), [3.0] * 3)
        self.assertTrue(self.drawn({}, lambda: call(torch.empty, 3, device="meta")).is_meta)

    def test_batches_come_in_order_and_who_does_not_want_that_is_told(self) -> None:
        import torch
        for options, switches in (({"in_order": False}, ["DataLoader.in_order"]),
                                  ({"in_order": True}, []), ({}, [])):
            def load() -> Any:
                loader = call(torch.utils.data.DataLoader, [1, 2], **options)
                return loader.in_order, [e["name"] for e in told(sites.settings.log)
                                         if e["event"] == "switch"]
            self.assertEqual(self.drawn({}, load), (True, switches))

    def test_who_draws_from_their_generators_is_named(self) -> None:
        import numpy as np
        import torch
        for name, draw, seed in (("numpy", np.random.rand, np.random.seed),
                                 ("numpy", np.random.randn, np.random.seed),
                                 ("torch", lambda: torch.rand(1), torch.manual_seed)):
            with held() as log:
                draws = generators.Draws(name)
                sites.watchers.append(draws.watch)
                sites.seeding.append(draws.seeded)
                for place, function, args in (("other", random.random, ()), ("one", draw, ()),
                                              ("seed", seed, (3,)), ("two", draw, ())):
                    call(function, *args, place=place)
                self.assertEqual([(e["place"], e["generator"]) for e in told(log)], [("one", name)])

    def test_they_begin_with_another_state_where_that_is_asked_for(self) -> None:
        import numpy as np
        import torch
        for name, draw in (("numpy", np.random.rand), ("torch", lambda: float(torch.rand(1)))):
            first = []
            for begin in ([], [], ["random"], [name]):
                with held(begin=begin):
                    generators.begin(name)
                    first.append(draw())
            self.assertEqual((first[0], first[0]), (first[1], first[2]))
            self.assertNotEqual(first[0], first[3])

    def test_states_are_kept_and_taken_up(self) -> None:
        import numpy as np
        import torch
        states = checkpoints._states()
        first = np.random.rand(), float(torch.rand(1))
        checkpoints._restore(states)
        self.assertEqual((np.random.rand(), float(torch.rand(1))), first)
        with tempfile.TemporaryDirectory() as folder, held() as log:
            checkpoints.install_numpy(np)
            checkpoints.install_torch(torch)
            path = os.path.join(folder, "x")
            call(torch.save, {"a": torch.ones(1)}, path)
            self.assertEqual(call(torch.load, path)["a"], 1.0)
            call(np.save, path + ".npy", np.ones(1))
            self.assertEqual(call(np.load, path + ".npy")[0], 1.0)
            self.assertEqual([(e["event"], e["path"]) for e in told(log) if e["event"] != "site"],
                             [("save", path), ("load", path), ("save", path + ".npy"),
                              ("load", path + ".npy")])

    def compared(self, *values: Any) -> dict[str, Any]:
        with mock.patch.multiple(outcome, _sums={}, _optimisers=[], _models=[]):
            for value in values:
                outcome.observe("a", None, value)
            return outcome.outcome()

    def test_what_optimisers_train_is_compared_before_all_else(self) -> None:
        import numpy as np
        import torch
        one, two = torch.tensor([1.0]), torch.tensor([[2.0, 3.0]])
        made = self.compared(torch.optim.SGD([one, two], 0.1), torch.ones(2))
        self.assertEqual((made["of"], list(made["digest"])),
                         ("what optimisers train", ["optimiser 1"]))
        self.assertEqual(self.compared(torch.optim.SGD([two, one], 0.1)), made)
        self.assertNotEqual(self.compared(torch.optim.SGD([one, two + 1], 0.1)), made)
        same = torch.optim.SGD([two, one], 0.1)
        self.assertEqual(self.compared(same, same), made, "it is one")
        for of, value, other in (("tensors of PyTorch", torch.ones(2), torch.tensor([1.0, 2.0])),
                                 ("arrays of numpy", np.ones(2), np.array([1.0, 2.0])),
                                 ("arrays of numpy", np.float32(1), np.float32(2))):
            made = self.compared(value, 0.5)
            self.assertEqual(made["of"], of)
            self.assertEqual(self.compared(value), made)
            self.assertNotEqual(self.compared(other), made)
        for value in (torch.ones(2, dtype=torch.int64), torch.ones(0), np.ones(2, np.int64),
                      np.ones(0), torch.ones(2).to_sparse()):
            self.assertEqual(self.compared(value)["of"], "nothing")
        large = torch.zeros(200_000)
        before = self.compared(large, large.numpy())
        large += 1
        self.assertNotEqual(self.compared(large, large.numpy()), before)


if __name__ == "__main__":
    unittest.main()
