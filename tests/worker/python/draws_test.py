"""The shim's draws are those of worker/trainer/noise/README.md, with numpy and without."""

import os
import re
import unittest

from noisefloor.member import draws, tensors

README = os.path.join(os.environ["NOISEFLOOR_SOURCE"], "worker/trainer/noise/README.md")
HAS_NUMPY = draws.numpy_or_none() is not None


def _document() -> str:
    with open(README, encoding="utf-8") as file:
        return file.read()


class Draws(unittest.TestCase):
    def test_seeds_are_those_of_the_document(self) -> None:
        rows = re.findall(r"^\| (\d+) \| (\w+) \| \((\d+), (\d+)\) \| (\d+) \|$", _document(), re.M)
        self.assertEqual(len(rows), 6)
        for seed, source, block, lane, expected in rows:
            self.assertEqual(draws.derive_seed(int(seed), source, int(block), int(lane)),
                             int(expected), source)

    def test_a_block_is_random123s(self) -> None:
        words = [f"{word:08x}" for word in draws.block(1, 2, 3)]
        self.assertIn(f"`Block(1, 2, 3)` = {' '.join(words)}", _document())
        self.assertEqual(draws.stream_of("conv1.weight"), 0x69A29A2CEE47D254)

    def test_orders_are_those_of_the_document(self) -> None:
        seed = draws.derive_seed(0, "data_order", 0, 0)
        self.assertEqual(draws.order(seed, 10, 0), [4, 5, 9, 0, 3, 2, 1, 8, 7, 6])
        self.assertEqual(draws.order(seed, 10, 1), [0, 5, 4, 3, 1, 6, 7, 2, 8, 9])
        self.assertEqual(draws.order(seed, 10, 0, window=3), [1, 3, 2, 0, 6, 5, 8, 4, 7, 9])
        self.assertEqual(sorted(draws.order(seed, 10, 0, window=30)), list(range(10)))
        self.assertEqual(draws.order(seed, 0, 0), [])
        self.assertEqual(draws.order(seed, 1, 0), [0])

    def test_threads_choose_as_the_document_does(self) -> None:
        seed = draws.derive_seed(0, "threads", 0, 0)
        self.assertEqual((1, 2, 4)[draws.below(draws.bits(seed, 0, 0), 3)], 2)

    def test_keys_have_seeds_of_their_own(self) -> None:
        keys = [(), (0,), (1,), ("a",), ("a", 1), (1, "a"), ("body", 0)]
        self.assertEqual(len({draws.derived(7, key) for key in keys}), len(keys))
        self.assertNotEqual(draws.derived(7, (1,)), draws.derived(8, (1,)))


@unittest.skipUnless(HAS_NUMPY, "arrays need numpy")
class Arrays(unittest.TestCase):
    def test_a_dialed_gradient_is_that_of_the_document(self) -> None:
        import numpy as np
        seed = draws.derive_seed(0, "dial", 0, 0)
        self.assertIn(f"| 0 | dial | (0, 0) | {seed} |", _document())
        words = draws.words(seed, draws.stream_of("conv1.weight"), 3, first=9 * 2**36 * 4)
        self.assertIn(", ".join(map(str, words.tolist())), _document())
        z = draws.inverse_normal((words.astype(np.float64) + 0.5) * 2.0**-32).astype(np.float32)
        g = np.array([1.0, -2.5, 1.5 * 2.0**-15], np.float32)
        self.assertEqual((g + np.float32(2.0**-10) * g * z).tolist(),
                         [float.fromhex(text) for text in (
                             "0x1.ffafa6p-1", "-0x1.3fdfb4p+1", "0x1.7fd462p-15")])

    def test_blocks_at_once_are_single_blocks(self) -> None:
        many = draws.blocks(2**63 + 5, 2**40 + 1, 2**32 - 2, 5)
        for i in range(5):
            self.assertEqual(tuple(many[i].tolist()),
                             draws.block(2**63 + 5, 2**40 + 1, 2**32 - 2 + i))
        flat = many.reshape(-1)
        words = draws.words(2**63 + 5, 2**40 + 1, 9, first=(2**32 - 2) * 4 + 3)
        self.assertEqual(words.tolist(), flat[3:12].tolist())

    def test_initial_weights_are_those_of_the_document(self) -> None:
        seed = draws.derive_seed(0, "init", 0, 0)
        stream = draws.stream_of("conv1.weight")
        self.assertEqual(draws.words(seed, stream, 3).tolist(), [3932008537, 3016677309, 60901615])
        u = (draws.uniform(seed, "conv1.weight", (3,), 1.0) + 1) / 2
        self.assertEqual([float(x).hex() for x in u],
                         ["0x1.d4bb600000000p-1", "0x1.679dae0000000p-1", "0x1.d0a4000000000p-7"])
        z = draws.normal(seed, "conv1.weight", (3,), 1.0)
        self.assertEqual([float(x).hex() for x in z],
                         ["0x1.6018720000000p+0", "0x1.0fff200000000p-1", "-0x1.189c860000000p+1"])

    def test_weights_begin_by_their_fans(self) -> None:
        import numpy as np
        seed = draws.derive_seed(0, "init", 0, 0)
        for shape, fans in (((4, 6), (6, 4)), ((4, 6, 3, 5), (90, 60))):
            limit = np.float32((6 / sum(fans)) ** 0.5)
            uniform = draws.uniform(seed, "w", shape, float(limit))
            self.assertTrue((draws.weight(seed, "w", shape, "glorot_uniform") == uniform).all())
            deviation = float(np.float32((2 / fans[0]) ** 0.5))
            self.assertTrue((draws.weight(seed, "w", shape, "he_normal")
                             == draws.normal(seed, "w", shape, deviation)).all())
        with self.assertRaisesRegex(ValueError, "expected 'glorot_uniform', 'he_normal' or 'dirac'"):
            draws.weight(seed, "w", (4, 6), "zeros")

    def test_diracs_first_filters_pass_their_channels_on(self) -> None:
        import numpy as np
        seed = draws.derive_seed(0, "init", 0, 0)
        for shape in ((2, 4, 3, 5), (5, 2, 1, 2)):
            drawn = draws.weight(seed, "w", shape, "glorot_uniform")
            began = draws.weight(seed, "w", shape, "dirac")
            passed = min(shape[:2])
            expected = np.zeros((passed, *shape[1:]), np.float32)
            for i in range(passed):
                expected[i, i, shape[2] // 2, shape[3] // 2] = 1
            self.assertTrue((began[:passed] == expected).all(), shape)
            self.assertTrue((began[passed:] == drawn[passed:]).all(), shape)
        for shape in ((4, 6), (4, 6, 3)):  # No convolution of images.
            self.assertTrue((draws.weight(seed, "w", shape, "dirac")
                             == draws.weight(seed, "w", shape, "glorot_uniform")).all())

    def test_dropout_words_are_those_of_the_document(self) -> None:
        seed = draws.derive_seed(0, "dropout", 0, 0)
        drawn = draws.words(seed, draws.stream_of("drop1"), 24, first=9 << 38)
        self.assertEqual([i for i in range(24) if drawn[i] < 2**30], [1, 7, 13, 19, 22, 23])

    def test_augmentation_words_are_those_of_the_document(self) -> None:
        seed = draws.derive_seed(0, "augment", 0, 0)
        drawn = draws.words(seed, 5, 8, first=4 * 2 * 17).tolist()
        self.assertEqual(drawn[:3], [4283006578, 2785223028, 1141594090])
        self.assertEqual(drawn[4:6], [3382608108, 3695123554])

    def test_the_normal_quantile_is_right(self) -> None:
        import numpy as np
        p = np.array([0.5, 0.975, 0.025, 1e-9, 0.9])
        right = [0.0, 1.959963984540054, -1.959963984540054, -5.997807015007686, 1.2815515655446004]
        for got, expected in zip(draws.inverse_normal(p), right):
            self.assertAlmostEqual(float(got), expected, places=12)


class Hashes(unittest.TestCase):
    def test_the_hash_of_tensors_is_that_of_the_document(self) -> None:
        named = {"conv.weight": tensors.tensor_of([[0, 1, 2], [3, 4, 5]], "float32"),
                 "bn.count": tensors.tensor_of(7, "int64")}
        self.assertIn(f"`{tensors.hash_tensors(named)}`", _document())

    def test_names_shapes_and_values_count(self) -> None:
        base = tensors.hash_tensors({"a": tensors.tensor_of([1, 2], "int32")})
        for other in ({"b": tensors.tensor_of([1, 2], "int32")},
                      {"a": tensors.tensor_of([[1, 2]], "int32")},
                      {"a": tensors.tensor_of([1, 3], "int32")}):
            self.assertNotEqual(tensors.hash_tensors(other), base)


if __name__ == "__main__":
    unittest.main()
