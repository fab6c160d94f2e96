"""Values as data frames and arrays, without a coordinator."""

import dataclasses
import struct
import tempfile
import unittest

import numpy
import pandas

import noisefloor.client as nf

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
