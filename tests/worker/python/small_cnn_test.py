"""The SmallCNN of deploy/trainers in PyTorch and JAX beside our own trainer: the same beginnings bit
for bit, and after a short training nearly the same answers."""

import io
import json
import os
import struct
import unittest
from typing import Any

import member

FOLDER = os.path.join(os.environ["NOISEFLOOR_SOURCE"], "deploy/trainers/small_cnn")
OURS = os.environ.get("NOISEFLOOR_TRAINER")
# One thread and one class for all, as a worker gives them.
VARIABLES = {"ATEN_CPU_CAPABILITY": "avx2", "DNNL_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1",
             "MKL_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
SHORT = {"data.train_examples": 256, "data.test_examples": 200, "train.batch_size": 32,
         "train.epochs": 1, "evaluate.batch_size": 200, "model.batch_norm_momentum": 0.1}
# What draws and what shapes the batches, all of it at least once.
BEGINNINGS: list[dict[str, Any]] = [
    {},
    {"model.batch_norm": False, "model.init": "he_normal", "sources.data_order.window": 40},
    {"model.init": "dirac", "augment.crop_padding": 3, "augment.flip": True, "augment.cutout": 8,
     "augment.standardise": True, "train.drop_last": True, "data.train_examples": 250,
     "sources.augment.key": "position"},
]
TRAININGS: list[dict[str, Any]] = [
    {"model.batch_norm": False, "train.optimizer.momentum": 0.9, "train.label_smoothing": 0.1,
     "train.optimizer.nesterov": True, "train.schedule.name": "cosine",
     "train.schedule.warmup_epochs": 0.5},
    {"train.optimizer.weight_decay": 0.01, "train.epochs": 2, "train.schedule.name": "step",
     "train.schedule.milestones": [1], "train.schedule.factor": 0.5},
]


def logits(ended: member.Ended) -> list[float]:
    content = ended.files["predictions.npy"]
    start = 10 + struct.unpack("<H", content[8:10])[0]
    return list(struct.unpack(f"<{(len(content) - start) // 4}f", content[start:]))


@unittest.skipIf(OURS is None, "NOISEFLOOR_TRAINER names no trainer")
class SmallCnn(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        assert OURS is not None
        cls.ours = member.Script([OURS], VARIABLES)
        cls.others = {}
        for framework in ("torch", "jax"):
            python = member.interpreter(framework)
            if python is None:
                raise unittest.SkipTest(f"no Python with {framework}")
            cls.others[framework] = member.Script(
                [*python, os.path.join(FOLDER, f"small_cnn_{framework}.py")], VARIABLES)

    def test_they_publish_our_settings(self) -> None:
        for framework, script in self.others.items():
            self.assertEqual(script.described["settings"], self.ours.described["settings"],
                             f"{framework}: make our_settings.json anew from --describe")

    def test_they_begin_alike(self) -> None:
        for values in BEGINNINGS:
            chosen = {**SHORT, **values}
            for free in ([], ["init", "data_order", "augment"]):
                hashes = self.ours.train(free, 2, **chosen).outcome["hashes"]
                for framework, script in self.others.items():
                    ended = script.train(free, 2, **chosen)
                    self.assertEqual(ended.outcome["event"], "done", ended.said)
                    for name in ("init", "first_batches"):
                        self.assertEqual(ended.outcome["hashes"][name], hashes[name],
                                         (framework, name, values))

    def test_they_learn_alike(self) -> None:
        for values in TRAININGS:
            chosen = {**SHORT, **values}
            right = self.ours.train(**chosen)
            for framework, script in self.others.items():
                ended = script.train(**chosen)
                self.assertEqual(ended.outcome["event"], "done", ended.said)
                off = max(abs(a - b) for a, b in zip(logits(right), logits(ended), strict=True))
                # JAX sums batch norm's statistics in another order than LibTorch, channels last.
                exact = framework == "torch" or not values.get("model.batch_norm", True)
                self.assertLess(off, 1e-5 if exact else 0.1, (framework, values))
                if framework == "jax":
                    self.assertGreater(off, 0.0, "rounding differs, or they are the same program")
                self.assertEqual(json.dumps(sorted(ended.outcome["metrics"])),
                                 json.dumps(sorted(right.outcome["metrics"])))

    def test_they_go_on(self) -> None:
        for framework, script in self.others.items():
            whole = script.train(**SHORT)
            self.assertEqual(script.train(stop_at="progress", **SHORT).code, 14, framework)
            rest = script.train(**SHORT)
            self.assertEqual(rest.outcome["environment"]["measured"]["resumed_at"], [1])
            self.assertEqual(rest.bits(), whole.bits(), framework)

    def test_what_they_lack_is_refused(self) -> None:
        for path, value in (("model.name", "mlp"), ("train.shards", 2),
                            ("train.optimizer.name", "adam")):
            for framework, script in self.others.items():
                ended = script.train(**{**SHORT, path: value})
                self.assertEqual(ended.outcome["cause"], "bad_specification")
                self.assertIn(f"{path}: small_cnn_{framework} has only",
                              ended.outcome["message"])

    def test_the_evaluation_set_is_ours(self) -> None:
        right = self.ours.train(**SHORT).files
        for framework, script in self.others.items():
            files = script.train(**SHORT).files
            for name in ("evaluation_labels.npy", "evaluation_images.npy"):
                self.assertEqual(self._values(files[name]), self._values(right[name]), framework)

    def _values(self, content: bytes) -> bytes:
        stream = io.BytesIO(content)
        stream.read(8)
        stream.read(struct.unpack("<H", stream.read(2))[0])
        return stream.read()


if __name__ == "__main__":
    unittest.main()
