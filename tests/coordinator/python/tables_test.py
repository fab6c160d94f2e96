"""Messages as values, values as data frames and arrays, without a coordinator."""

import dataclasses
import datetime
import struct
import tempfile
import unittest
from typing import Any

import numpy
import pandas

import noisefloor.client as nf
from noisefloor.client import values
from noisefloor.v1 import (common_pb2, coordinator_api_pb2 as api, member_pb2, record_pb2,
                           sweep_pb2)

MINUTE = datetime.datetime(1970, 1, 1, 0, 1, tzinfo=datetime.timezone.utc)

MEMBER = nf.Member("s1c0r0", 1, 0, 0, 0, "algo", "cpu", "s", {"lr": 0.1, "step": 3}, "done", 1, "w", 5, 5,
                   nf.Outcome({"top1": 0.5, "lr": 2.0}, 1.5, "", "", {"init": "ab"}, (), {}, "", ()),
                   {}, {"init": 1}, ())


class Tables(unittest.TestCase):
    def test_members_have_a_column_for_each_axis_and_metric(self) -> None:
        waiting = dataclasses.replace(MEMBER, state="waiting", outcome=None, steps=None, axes={
            "lr": 1.0, "step": 4}, lanes={})
        frame = nf.tables.members([MEMBER, waiting])
        self.assertEqual(list(frame["lr"]), [0.1, 1.0])
        self.assertEqual(list(frame["axis.step"]), [3, 4])
        self.assertEqual(list(frame["step"]), [5, 5])
        self.assertEqual(frame["metric.lr"][0], 2.0)
        self.assertEqual(frame["top1"][0], 0.5)
        self.assertTrue(numpy.isnan(frame["top1"][1]) and numpy.isnan(frame["seconds"][1]))
        self.assertEqual((frame["lane.init"][0], frame["hash.init"][0]), (1, "ab"))
        self.assertIs(frame["steps"][1], pandas.NA)
        self.assertEqual(str(frame["cell"].dtype), "Int64")
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            frame.to_parquet(file.name)
            pandas.testing.assert_frame_equal(pandas.read_parquet(file.name), frame)

    def test_no_member_is_a_table_with_its_columns(self) -> None:
        frame = nf.tables.members([])
        self.assertEqual((len(frame), "member" in frame, str(frame["cell"].dtype)), (0, True, "Int64"))

    def test_a_study_keeps_what_is_absent_and_what_is_not_finite_apart(self) -> None:
        frame = nf.tables.study(
            "table,cell,label,subject,metric,value,low,high,n,unit,detectable,detectable_kind,note\n"
            "cohort,0,\"'=lr 0.1, b\",NA,churn,nan,-inf,,6,,0.5,ratio,'quoted'\n"
            "warning,,x,,text,,,,,,,,\"'-1\"\n")
        self.assertEqual(list(frame["label"]), ["=lr 0.1, b", "x"])
        self.assertEqual(list(frame["subject"]), ["NA", ""])
        self.assertEqual(list(frame["note"]), ["'quoted'", "-1"])
        self.assertTrue(numpy.isnan(frame["value"][0]) and frame["low"][0] == -numpy.inf)
        self.assertEqual((frame["n"][0], frame["cell"][0]), (6, 0))
        self.assertIs(frame["n"][1], pandas.NA)
        self.assertEqual(str(frame["detectable"].dtype), "float64")

    def test_a_curve_is_of_the_last_attempt(self) -> None:
        def change(lease: int, *values: tuple[int, str, float]) -> nf.MemberChange:
            return nf.MemberChange("leased", 1, lease, 0, None, values, ())
        frame = nf.tables.curve([change(1, (1, "loss", 2.0)), change(2, (1, "loss", 3.0)),
                                 change(2, (2, "loss", float("nan")))])
        self.assertEqual(list(frame["step"]), [1, 2])
        self.assertEqual(frame["value"][0], 3.0)
        self.assertEqual(len(nf.tables.curve([])), 0)


class Messages(unittest.TestCase):
    """Each figure of a message is that of its value."""

    def test_a_sweep(self) -> None:
        given = sweep_pb2.Sweep(notes="why", tags={"a": "b"})
        message = api.SweepSummary(
            id=1, name="tiny", kind="replay", of="s2c3r4", owner="ada", submitted_unix_seconds=60,
            cells=5, waiting=1, leased=2, done=3, diverged=4, failed=5, cancelled=6, retries=7,
            progress=10.5, paused=True, priority=-8, weight=9, gpu_hours=1.5, gpu_hours_used=0.5,
            hardware=["cpu"], undecided=True, specification_sha256="5bec", mean_member_seconds=2.5,
            expected_seconds_left=3.5)
        found = values.sweep(message, given, file="f", resolved_file="r")
        self.assertEqual(found, nf.SweepInfo(
            sweep=1, name="tiny", kind="replay", of="s2c3r4", owner="ada", submitted=MINUTE,
            cells=5, counts=nf.Counts(waiting=1, leased=2, done=3, diverged=4, failed=5,
                                      cancelled=6),
            retries=7, progress=0.5, paused=True, archived=False, priority=-8, weight=9,
            gpu_hours=1.5, gpu_hours_used=0.5, hardware=("cpu",), undecided=True,
            specification_sha256="5bec", mean_member_seconds=2.5, expected_seconds_left=3.5,
            notes="why", tags={"a": "b"}, file="f", resolved_file="r"))
        self.assertEqual((found.counts.members, found.counts.ended, found.ended), (21, 18, False))
        none = values.sweep(api.SweepSummary(archived=True))
        self.assertEqual((none.progress, none.mean_member_seconds, none.expected_seconds_left,
                          none.archived, none.paused), (0, None, None, True, False))

    def test_that_it_has_ended_is_said_when_no_more_is_decided(self) -> None:
        def ended(**counts: Any) -> bool:
            return values.sweep(api.SweepSummary(**counts)).ended
        for word in ("done", "diverged", "failed", "cancelled"):
            self.assertTrue(ended(**{word: 1}), word)
        for word in ("waiting", "leased"):
            self.assertFalse(ended(done=1, **{word: 1}), word)
        self.assertFalse(ended(done=1, undecided=True))

    def test_a_plan(self) -> None:
        message = api.PlanSweepResponse(
            cells=[api.PlannedCell(cell=1, plan="algo", hardware="cpu", stack="s", block=2,
                                   replicates=3, workers=["w"])],
            plans=[api.PlannedPlan(name="algo", replicates=4, blocks=5, cells=6, members=7, draws=8,
                                   control=True, detectable_sd_ratio=1.5,
                                   detectable_mean_shift=2.5)],
            members=9, steps=10, expected_seconds=3.5, expected_from="others",
            specification_sha256="5bec", warnings=["long"])
        self.assertEqual(values.plan(message), nf.Plan(
            cells=(nf.PlannedCell(1, {}, "algo", "cpu", "s", 2, 3, ("w",)),),
            plans=(nf.PlannedPlan(name="algo", replicates=4, blocks=5, cells=6, members=7, draws=8,
                                  control=True, detectable_sd_ratio=1.5,
                                  detectable_mean_shift=2.5),),
            members=9, steps=10, expected_seconds=3.5, expected_from="others",
            specification_sha256="5bec", warnings=("long",)))

    def test_a_member_and_what_happens_to_it(self) -> None:
        event = api.Event(number=1, unix_micros=60_000_000, kind=api.EVENT_KIND_LOST,
                          member="s1c2r3", attempt=4, worker="w", caller="ada", text="so")
        told = nf.Event(number=1, time=MINUTE, kind="lost", member="s1c2r3", attempt=4, worker="w",
                        caller="ada", text="so")
        free, off = common_pb2.SOURCE_STATE_FREE, common_pb2.SOURCE_STATE_OFF
        message = member_pb2.Member(
            id="s1c2r3", sweep=1, cell=2, replicate=3, block=4, plan="algo", hardware="cpu",
            stack="s", state=common_pb2.MEMBER_STATE_FAILED, attempt=5, worker="w", step=6,
            step_count=7, specification='{"a": 1}', sources={
                "init": member_pb2.SourceLane(lane=8, state=free),
                "dial": member_pb2.SourceLane(lane=9, state=off)},
            outcome=record_pb2.Outcome(
                metrics={"top1": 0.5}, train_seconds=1.5, cause="bug", message="why",
                hashes={"init": "ab"}, per_class_accuracy=[0.25], environment='{"b": 2}',
                data_identity="9e", artifacts=[
                    record_pb2.Artifact(kind="log", path="l", sha256="cd", size=10),
                    record_pb2.Artifact(kind="weights", collected_unix_seconds=60)]))
        found = values.member(message, [event])
        self.assertEqual(found, nf.Member(
            member="s1c2r3", sweep=1, cell=2, replicate=3, block=4, plan="algo", hardware="cpu",
            stack="s", axes={}, state="failed", attempt=5, worker="w", step=6, steps=7,
            outcome=nf.Outcome(
                metrics={"top1": 0.5}, train_seconds=1.5, cause="bug", message="why",
                hashes={"init": "ab"}, per_class_accuracy=(0.25,), environment={"b": 2},
                data_identity="9e", artifacts=(nf.Artifact("log", "l", "cd", 10, None),
                                               nf.Artifact("weights", "", "", 0, MINUTE))),
            specification={"a": 1}, lanes={"init": 8}, events=(told,)))
        change = values.member_change(api.WatchMemberResponse(
            state=common_pb2.MEMBER_STATE_LEASED, lease=1, attempt=2, step=3, steps=4,
            values=[api.RecordedValue(step=5, name="loss", value=6.5)], events=[event]))
        self.assertEqual(change, nf.MemberChange(
            state="leased", attempt=2, lease=1, step=3, steps=4, values=((5, "loss", 6.5),),
            events=(told,)))

    def test_limits_are_of_settings_that_have_them(self) -> None:
        def limits(kind: Any) -> tuple[float | None, float | None]:
            found = values.setting(api.SettingDescription(path="a", kind=kind, least=1, most=9))
            return found.least, found.most
        self.assertEqual(limits(api.SETTING_KIND_INTEGER), (1, 9))
        self.assertEqual(limits(api.SETTING_KIND_NUMBER), (1, 9))
        self.assertEqual(limits(api.SETTING_KIND_TEXT), (None, 9))
        self.assertEqual(limits(api.SETTING_KIND_CHOICE), (None, None))


class Arrays(unittest.TestCase):
    def file(self, header: bytes, data: bytes) -> bytes:
        return struct.pack("<Q", len(header)) + header + data

    def test_tensors_by_hand(self) -> None:
        found = nf.arrays.safetensors(self.file(
            b'{"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},'
            b'"h":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},'
            b'"s":{"dtype":"I64","shape":[],"data_offsets":[12,20]}}',
            struct.pack("<2f", 1.5, -2.0) + b"\x80\x3f\xc0\xff" + struct.pack("<q", -7)))
        self.assertEqual(found["w"].tolist(), [[1.5], [-2.0]])
        self.assertEqual(found["h"][0], 1.0)
        self.assertTrue(numpy.isnan(found["h"][1]))
        self.assertEqual((found["h"].dtype, found["s"].item()), (numpy.dtype("<f4"), -7))

    def test_what_is_no_file_of_tensors_is_refused(self) -> None:
        for data in (b"", b"1234567", self.file(b"", b"")[:8] + b"x", b"\xff" * 9):
            with self.assertRaises(ValueError):
                nf.arrays.safetensors(data)
        with self.assertRaisesRegex(ValueError, "w: numpy has no F8_E4M3"):
            nf.arrays.safetensors(self.file(
                b'{"w":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}', b"x"))
        with self.assertRaises(ValueError):
            nf.arrays.npy(b"nothing")
