"""The client against a coordinator that serves, with the trainer that trains nothing."""

import asyncio
import hashlib
import inspect
import json
import os
import struct
import tempfile
import threading
import unittest

import grpc
import numpy
from google.rpc import error_details_pb2, status_pb2

import noisefloor.client as nf
import programs
from noisefloor.v1 import coordinator_api_pb2, coordinator_api_pb2_grpc

QUICK = {"name": "quick", "stack": "noop", "hardware": "any", "noise": ["control", "algo"],
         "replicates": 3}
LARGE = {"name": "large", "noise": ["control"], "hardware": ["cpu-of-nobody"], "replicates": 2100}


class Noop(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.local = nf.serve(worker=["--trainer=noop"])
        cls.addClassCleanup(cls.local.stop)
        cls.client = nf.Client(cls.local.address)
        cls.addClassCleanup(cls.client.close)

    def test_a_sweep_from_submission_to_its_study(self) -> None:
        sweep = self.client.submit({**QUICK, "axes": {"train.epochs": [1, 2]}, "notes": "why",
                                    "tags": {"a": "b"}}, priority=3)
        self.assertEqual((sweep.members, sweep.resumed), (12, False))
        changes = list(self.client.watch(sweep, seconds=120))
        self.assertTrue(changes[-1].sweep.ended)
        self.assertEqual(changes[-1].sweep.counts.done, 12)
        self.assertEqual((changes[-1].sweep.notes, changes[-1].sweep.tags), ("why", {"a": "b"}))
        kept = self.client.get_sweep(sweep)
        self.assertEqual((kept.name, kept.priority, kept.progress), ("quick", 3, 1.0))
        self.assertEqual(json.loads(kept.file)["notes"], "why")
        self.assertEqual([one.kind for one in self.client.get_member(f"s{kept.sweep}c0r0").events],
                         ["leased", "done"])

        members = self.client.members(sweep, full=True)
        self.assertEqual([one.member for one in members],
                         [f"s{sweep.sweep}c{c}r{r}" for c in range(4) for r in range(3)])
        self.assertEqual({one.axes["train.epochs"] for one in members}, {1, 2})
        self.assertEqual(members[0].lanes["init"], 0)
        self.assertEqual(members[0].specification["train"]["epochs"], 1)
        free = self.client.members(sweep, nf.Selection(plans=["algo"], axes={"train.epochs": 2}))
        self.assertEqual({(one.plan, one.axes["train.epochs"]) for one in free}, {("algo", 2)})
        self.assertEqual(len(free), 3)

        study = self.client.study(sweep)
        table = nf.tables.study(self.client.study_csv(sweep))
        accuracy = table[(table.table == "cohort") & (table.metric == "accuracy")]
        self.assertEqual(list(accuracy.value), [one["accuracy"]["value"] for one in study["cohorts"]])
        self.assertIn("<html", self.client.page(sweep))
        self.assertIn("quick", self.client.study_text(sweep))

    def test_what_is_wrong_with_a_sweep_is_said_with_its_place(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("name: a\nnoise: [control]\ntrain: {epochs: -1}\nreplicate: 1\n")
            file.flush()
            for ask in (self.client.submit, self.client.plan):
                with self.assertRaises(nf.BadSweep) as caught:
                    ask(file.name)
        self.assertEqual(caught.exception.reason, "BAD_SWEEP")
        places = {(one.field, one.line, one.column) for one in caught.exception.mistakes}
        self.assertEqual(places, {("train.epochs", 3, 17), ("replicate", 4, 1)})
        self.assertIn("3:17: train.epochs: expected an integer", str(caught.exception))
        with self.assertRaises(ValueError):
            self.client.submit({**QUICK, "seed": float("nan")})
        with self.assertRaises(FileNotFoundError):
            self.client.submit("nowhere.yaml")

    def test_refusals_have_their_reasons(self) -> None:
        for ask, reason, about in (
                (lambda: self.client.get_sweep(999), "SWEEP_NOT_FOUND", {"sweep": "s999"}),
                (lambda: self.client.get_member("s999c0r0"), "SWEEP_NOT_FOUND", {"sweep": "s999"}),
                (lambda: self.client.settings("forest"), "STACK_NOT_OFFERED", {"stack": "forest"}),
                (lambda: self.client.drain("nobody"), "WORKER_NOT_FOUND", {"worker": "nobody"})):
            with self.assertRaises(nf.Refused) as caught:
                ask()
            self.assertEqual((caught.exception.reason, caught.exception.about), (reason, about))
        for wrong in ("3", "s", "s1c0r0"):
            with self.assertRaises(ValueError):
                self.client.get_sweep(wrong)
        with self.assertRaisesRegex(ValueError, "no state of a member: waiting, leased"):
            self.client.members(1, nf.Selection(states=["unspecified"]))

    def test_other_programs_find_fields_where_google_puts_them(self) -> None:
        with grpc.insecure_channel(self.local.address) as channel:
            stub = coordinator_api_pb2_grpc.CoordinatorServiceStub(channel)
            with self.assertRaises(grpc.RpcError) as caught:
                stub.SubmitSweep(coordinator_api_pb2.SubmitSweepRequest(
                    file="name: a\nnoise: [control]\ntrain: {epochs: -1}\n"), timeout=60)
        status = status_pb2.Status.FromString(
            dict(caught.exception.trailing_metadata())["grpc-status-details-bin"])
        bad, info = error_details_pb2.BadRequest(), error_details_pb2.ErrorInfo()
        self.assertEqual([detail.Unpack(bad) for detail in status.details].count(True), 1)
        self.assertEqual([detail.Unpack(info) for detail in status.details].count(True), 1)
        self.assertEqual((info.domain, info.reason), ("noisefloor", "BAD_SWEEP"))
        self.assertEqual(bad.field_violations[0].field, "train.epochs")
        self.assertIn("got -1", bad.field_violations[0].description)

    def test_what_a_sweep_would_do(self) -> None:
        plan = self.client.plan(QUICK)
        self.assertEqual((plan.members, len(plan.cells)), (6, 2))
        self.assertEqual(plan.cells[0].workers, ("local",))
        self.assertEqual([(one.name, one.control, one.draws) for one in plan.plans],
                         [("control", True, 1), ("algo", False, 3)])
        self.assertIsNone(plan.plans[0].detectable_sd_ratio)
        self.assertIsNone(plan.plans[1].detectable_sd_ratio)  # Of three draws none up to 100.
        self.assertGreater(plan.plans[1].detectable_mean_shift, 1)

    def test_settings_and_workers(self) -> None:
        settings = {one.path: one for one in self.client.settings("noop")}
        epochs = settings["train.epochs"]
        self.assertEqual((epochs.kind, epochs.least), ("integer", 0))
        self.assertIn("small_cnn", settings["model.name"].choices)
        worker, = self.client.workers()
        self.assertEqual((worker.name, worker.connected, worker.draining), ("local", True, False))
        self.assertEqual(worker.stacks, ("noop",))
        self.assertIn("local", self.client.explain_worker("local"))
        self.assertEqual(self.client.version().epoch, 0)

    def test_a_sweep_goes_through_all_that_may_change(self) -> None:
        request = "once-and-again"
        sweep = self.client.submit({**LARGE, "name": "changes", "replicates": 4}, request_id=request)
        again = self.client.submit({**LARGE, "name": "changes", "replicates": 4}, request_id=request)
        self.assertEqual((again.sweep, again.resumed), (sweep.sweep, True))
        self.assertEqual(self.client.update(sweep, paused=True, notes="n", set_tags={"x": "y"},
                                            limits={"cpu-of-nobody": 2}).paused, True)
        self.assertEqual(self.client.update(sweep, priority=0).paused, True)
        self.assertEqual(self.client.update(sweep, gpu_hours=2.5).gpu_hours, 2.5)
        kept = self.client.get_sweep(sweep)
        self.assertEqual((kept.notes, kept.tags), ("n", {"x": "y"}))
        self.assertEqual(self.client.extend(sweep, replicates=6, dry_run=True).members, 2)
        self.assertEqual(self.client.extend(sweep, replicates=6).sweep.counts.waiting, 6)
        some = nf.Selection(members=[f"s{sweep.sweep}c0r1", f"s{sweep.sweep}c0r5"])
        self.assertEqual(self.client.cancel(sweep, some), 2)
        self.assertEqual(len(self.client.members(sweep, nf.Selection(states=["cancelled"]))), 2)
        self.assertEqual(self.client.retry(sweep), 2)
        self.assertIn("paused", self.client.explain_sweep(sweep))
        self.assertTrue(self.client.explain_member(f"s{sweep.sweep}c0r0"))
        with self.assertRaises(TimeoutError):
            self.client.wait(sweep, seconds=0.2)
        self.assertEqual(self.client.cancel(sweep), 6)
        self.assertEqual(self.client.wait(sweep, seconds=60).counts.cancelled, 6)
        self.client.update(sweep, archived=True)
        number = sweep.sweep
        self.assertNotIn(number, [one.sweep for one in self.client.sweeps()])
        self.assertIn(number, [one.sweep for one in self.client.sweeps(archived=True, full=True)])
        self.assertEqual(self.client.delete(sweep), 6)
        with self.assertRaises(nf.Refused):
            self.client.get_sweep(sweep)

    def test_lists_have_all_pages(self) -> None:
        sweep = self.client.submit(LARGE)
        members = self.client.members(f"s{sweep.sweep}")
        self.assertEqual([one.replicate for one in members], list(range(2100)))
        self.assertEqual(self.client.cancel(sweep), 2100)

    def test_a_watch_goes_on_from_its_token(self) -> None:
        sweep = self.client.submit(QUICK)
        self.client.wait(sweep, seconds=120)
        every = self._events(sweep)  # One that looked from now on may find it ended.
        token = every[2].number
        later = [event for change in self.client.watch(sweep, token=token, seconds=120)
                 for event in change.events]
        self.assertEqual({one.number for one in later},
                         {one.number for one in every if one.number > token})

    def _events(self, sweep: nf.Submitted) -> list[nf.Event]:
        return [event for change in self.client.watch(sweep, token=1, seconds=120)
                for event in change.events]

    def test_a_member_tells_what_it_measures(self) -> None:
        sweep = self.client.submit(QUICK)
        name = f"s{sweep.sweep}c1r2"
        curve = nf.tables.curve(self.client.watch_member(name, seconds=120))
        top1 = curve[curve.name == "test_top1"].value.iloc[-1]
        self.client.wait(sweep, seconds=120)
        self.assertIn("test_top1", set(curve.name))
        self.assertTrue(0 <= top1 <= 1)
        self.assertEqual([one.kind for one in self.client.get_member(name).events],
                         ["leased", "done"])

    def test_a_replay_is_a_sweep(self) -> None:
        sweep = self.client.submit({**QUICK, "noise": ["control"]})
        self.client.wait(sweep, seconds=120)
        replay = self.client.replay(f"s{sweep.sweep}c0r0", count=2)
        told = self.client.wait(replay, seconds=120)
        self.assertEqual((told.kind, told.of, told.counts.done), ("replay", f"s{sweep.sweep}c0r0", 2))

    def test_threads_may_share_one(self) -> None:
        sweep = self.client.submit(QUICK)
        found: list[int] = []
        def wait() -> None:
            found.append(self.client.wait(sweep, seconds=120).counts.done)
        threads = [threading.Thread(target=wait) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(found, [6] * 8)


class Asyncio(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.local = nf.serve(worker=["--trainer=noop"])
        cls.addClassCleanup(cls.local.stop)

    async def test_it_does_what_the_other_does(self) -> None:
        async with nf.AsyncClient(self.local.address) as client:
            sweeps = await asyncio.gather(*[client.submit({**QUICK, "name": f"n{i}"})
                                            for i in range(4)])
            ended = await asyncio.gather(*[client.wait(one, seconds=120) for one in sweeps])
            self.assertEqual([one.counts.done for one in ended], [6] * 4)
            self.assertEqual(len(await client.members(sweeps[0])), 6)
            self.assertEqual((await client.study(sweeps[0]))["counts"]["done"], 6)
            values = [value async for change in client.watch_member(f"s{sweeps[0].sweep}c0r0")
                      for value in change.values]
            self.assertIn("test_top1", {name for _, name, _ in values})
            with self.assertRaises(nf.BadSweep):
                await client.submit({**QUICK, "replicates": 0})
            with self.assertRaises(nf.Refused):
                async for _ in client.watch(999):
                    pass

    async def test_a_watch_may_be_left(self) -> None:
        async with nf.AsyncClient(self.local.address) as client:
            sweep = await client.submit(LARGE)
            async for change in client.watch(sweep):
                self.assertEqual(change.sweep.counts.waiting, 2100)
                break
            waiting = asyncio.create_task(client.wait(sweep))
            await client.version()
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            self.assertEqual(await client.cancel(sweep), 2100)

    def test_methods_are_the_same(self) -> None:
        def public(kind: type) -> dict[str, str]:
            return {name: str(inspect.signature(one).replace(return_annotation=""))
                    for name, one in vars(kind).items()
                    if inspect.isfunction(one) and not name.startswith("_")}
        self.assertEqual(public(nf.Client), public(nf.AsyncClient))
        self.assertIn("BadSweep", nf.Client.submit.__doc__)
        self.assertEqual(str(inspect.signature(nf.AsyncClient.members).return_annotation),
                         "list[Member]")


class Breaks(unittest.TestCase):
    def test_a_watch_lives_through_a_coordinator_that_starts_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            served = programs.Served(self, os.path.join(folder, "home"))
            with nf.Client(served.address) as client:
                sweep = client.submit({**LARGE, "replicates": 5})
                changes = client.watch(sweep)
                self.assertEqual(next(changes).sweep.counts.waiting, 5)
                served.kill()
                again = threading.Thread(target=served.start_again)
                again.start()
                with nf.Client(served.address) as other:
                    again.join()
                    self.assertEqual(other.cancel(sweep), 5)
                last = list(changes)[-1]
                self.assertEqual(last.sweep.counts.cancelled, 5)

    def test_nobody_is_waited_for_without_end(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            served = programs.Served(self, os.path.join(folder, "home"))
            with nf.Client(served.address) as client:
                sweep = client.submit(LARGE)
                changes = client.watch(sweep, patience=0.5)
                next(changes)
                served.kill()
                with self.assertRaisesRegex(nf.NoCoordinator, served.address):
                    list(changes)
                with self.assertRaises(nf.NoCoordinator):
                    client.version()


@unittest.skipUnless(os.path.exists(os.path.join(programs.BIN, "noisefloor-trainer")),
                     "there is no noisefloor-trainer")
class Ours(unittest.TestCase):
    def test_files_are_arrays_of_which_figures_and_hashes_come(self) -> None:
        with nf.serve(slots=2) as local, nf.Client(local.address) as client:
            sweep = client.submit({
                "name": "small", "noise": ["algo"], "replicates": 3, "hardware": "any",
                "data": {"name": "fashion-mnist-sample", "train_examples": 256,
                         "test_examples": 200}, "train": {"epochs": 1, "batch_size": 64}})
            self.assertEqual(client.wait(sweep, seconds=300).counts.done, 3)
            members = client.members(sweep, full=True)
            logits = numpy.stack([client.predictions(one.member) for one in members])
            self.assertEqual((logits.shape, logits.dtype), ((3, 200, 10), numpy.float32))
            answers = logits.argmax(2)
            churn = numpy.mean([(answers[a] != answers[b]).mean()
                                for a, b in ((0, 1), (0, 2), (1, 2))])
            self.assertAlmostEqual(client.study(sweep)["cohorts"][0]["churn"]["value"], churn, 12)
            labels = nf.arrays.npy(client.artifact(members[0].member, "evaluation_labels"))
            for one, said in zip(members, answers):
                self.assertAlmostEqual(one.outcome.metrics["top1"], (said == labels).mean(), 6)
                self.assertEqual(self.hash_of(client.weights(one.member)),
                                 one.outcome.hashes["weights"])
            self.assertIn("torch", json.dumps(members[0].outcome.environment))
            self.assertTrue(client.log(members[0].member))

    @staticmethod
    def hash_of(tensors: dict[str, numpy.ndarray]) -> str:
        """As the README of an export says it."""
        h = hashlib.sha256()
        for name in sorted(tensors, key=str.encode):
            t, n = tensors[name], name.encode()
            h.update(struct.pack("<Q", len(n)) + n)
            h.update(struct.pack(f"<{1 + t.ndim}Q", t.ndim, *t.shape) + t.tobytes())
        return h.hexdigest()
