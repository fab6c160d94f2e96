"""Parts of noisefloor.member.torch, each for itself: run by torch_test where there is torch."""

import contextlib
import io
import random
import tempfile
import unittest
from typing import Any

import numpy as np
import torch
from torch import nn

import noisefloor.member as nf
from noisefloor.member import by_hand, draws, frameworks, settings, tensors
from noisefloor.member.journal import Journal
from noisefloor.member.run import Run


def made(*free: str, poke: str = "") -> Run:
    """A run whose sources are fixed but for these."""
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as work:
        asked = by_hand.request([f"--work={work}", *(f"--free={name}" for name in free)],
                                settings.schema_of(()), "script")
        if poke:
            asked["specification"]["noise"]["poke"]["state"] = poke
        return Run(asked, Journal(None, ""))


class Drawing(torch.utils.data.Dataset[Any]):
    """Of each example: its number, and what three generators give."""

    def __len__(self) -> int:
        return 7

    def __getitem__(self, i: int) -> Any:
        return torch.tensor([i, random.random(), np.random.rand(), float(torch.rand(()))],
                            dtype=torch.float64)


class Loaders(unittest.TestCase):
    @staticmethod
    def numbers(batches: Any) -> list[list[int]]:
        return [batch.tolist() for batch in batches]

    def test_the_last_batch_has_what_is_left_or_is_left_out(self) -> None:
        for drop_last, sizes in ((False, [3, 3, 1]), (True, [3, 3])):
            loader = nf.torch.Loader(made(), list(range(7)), 3, drop_last=drop_last)
            self.assertEqual(len(loader), len(sizes))
            self.assertEqual([len(batch) for batch in loader], sizes)
            self.assertEqual([len(batch) for batch in loader], sizes)

    def test_the_order_is_that_of_the_source_or_none(self) -> None:
        run = made()
        for options in ({}, {"window": 3}):
            loader = nf.torch.Loader(run, list(range(7)), 3, **options)
            for epoch in range(2):
                self.assertEqual(sum(self.numbers(loader), []),
                                 run.data_order.order(7, epoch, **options))
        loader = nf.torch.Loader(run, list(range(7)), 3, keep_order=True)
        self.assertEqual(self.numbers(loader), [[0, 1, 2], [3, 4, 5], [6]])
        for name in ("shuffle", "sampler", "batch_sampler", "generator"):
            with self.assertRaisesRegex(TypeError, f"{name}: the order of a member"):
                nf.torch.Loader(run, [1], 1, **{name: None})

    def test_each_process_has_its_share_of_each_batch(self) -> None:
        shares = []
        for rank in range(2):
            run = made()
            run.rank, run.ranks = rank, 2
            shares.append(self.numbers(nf.torch.Loader(run, list(range(8)), 3)))
        order = made().data_order.order(8, 0, 0)
        self.assertEqual(shares, [[[order[0], order[2]], [order[3], order[5]], [order[6]]],
                                  [[order[1]], [order[4]], [order[7]]]])

    def test_the_run_knows_how_far_the_epoch_is(self) -> None:
        run = made()
        loader = nf.torch.Loader(run, list(range(7)), 3)
        seen = [(run.epoch, loader.state_dict()) for _ in range(2) for _ in loader]
        self.assertEqual([epoch for epoch, _ in seen], [1 / 3, 2 / 3, 1, 1 + 1 / 3, 1 + 2 / 3, 2])
        self.assertEqual([(state["epoch"], state["batches"]) for _, state in seen],
                         [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)])
        self.assertEqual(loader.state_dict(), {"epoch": 2, "batches": 0})

    def test_an_epoch_whose_batches_are_done_is_not_over(self) -> None:
        for state, epochs in (({"epoch": 1, "batches": 3}, [1, 2]),
                              ({"epoch": 2, "batches": 0}, [2])):  # As older checkpoints have it.
            loader = nf.torch.Loader(made(), list(range(7)), 3)
            loader.load_state_dict(state)
            self.assertEqual(loader.state_dict(), state)
            seen = {epoch: len(list(loader)) for epoch in made().epochs(3, start=loader.epoch)}
            self.assertEqual(seen, {epoch: 0 if (epoch, state["batches"]) == (1, 3) else 3
                                    for epoch in epochs})

    def test_what_an_example_draws_is_of_the_example_and_the_epoch(self) -> None:
        def epochs(batch_size: int, **options: Any) -> list[list[list[float]]]:
            loader = nf.torch.Loader(made(), Drawing(), batch_size, **options)
            return [sorted(row for batch in loader for row in batch.tolist()) for _ in range(2)]
        first, second = epochs(3)
        self.assertEqual([first, second], epochs(2, keep_order=True))
        for column in (1, 2, 3):
            drawn = {row[column] for row in first + second}
            self.assertEqual(len(drawn), 14, "each example of each epoch its own")

    def test_what_a_batch_draws_is_of_the_batch(self) -> None:
        def collate(examples: list[int]) -> tuple[list[int], float]:
            return examples, random.random()
        runs = [[batch for _ in range(2) for batch in nf.torch.Loader(
            run, list(range(7)), 3, collate_fn=collate, keep_order=keep)]
            for run, keep in ((made(), True), (made(), True), (made("augment"), True))]
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(len({drawn for _, drawn in runs[0]}), 3, "the first epoch of each loader")
        self.assertNotEqual(runs[0], runs[2])

    def test_workers_begin_equally_in_all_members(self) -> None:
        told: list[int] = []
        begin, first = nf.torch._Begin(told.append), []
        for worker in (0, 1, 0):
            begin(worker)
            first.append((random.random(), np.random.rand(), float(torch.rand(()))))
        self.assertEqual((first[0], told), (first[2], [0, 1, 0]))
        self.assertFalse(set(first[0]) & set(first[1]))
        nf.torch._Begin(None)(0)
        self.assertEqual(random.random(), first[0][0])


class Switches(unittest.TestCase):
    @unittest.skipUnless(hasattr(torch.backends.cuda.matmul, "fp32_precision"), "an older PyTorch")
    def test_precision_is_read_by_whatever_name_it_has(self) -> None:
        backends = torch.backends
        places = (backends.cuda.matmul, backends.mkldnn.matmul, backends.cudnn.conv,
                  backends.cudnn.rnn)
        names = ("matmul_allow_tf32", "matmul_precision", "cudnn_allow_tf32")
        before = [place.fp32_precision for place in places]
        first = frameworks._read_torch(torch)
        try:
            backends.cuda.matmul.fp32_precision = "tf32"
            backends.mkldnn.matmul.fp32_precision = "ieee"
            backends.cudnn.conv.fp32_precision = "tf32"
            backends.cudnn.rnn.fp32_precision = "ieee"
            told = frameworks._read_torch(torch)
        finally:
            for place, precision in zip(places, before):
                place.fp32_precision = precision
        self.assertEqual([told[name] for name in names],
                         ["cuda tf32", "cuda tf32, mkldnn ieee", "conv tf32, rnn ieee"])
        self.assertEqual(frameworks._read_torch(torch), first)


class Weights(unittest.TestCase):
    def model(self) -> nn.Sequential:
        model = nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), nn.Linear(4, 2))
        for tensor in [*model.parameters(), *model.buffers()]:
            tensor.data.fill_(5)
        return model

    def test_what_has_no_draws_gets_what_it_begins_with(self) -> None:
        run, model = made(), self.model()
        nf.torch.initialise(run, model, "he_normal")
        for name in ("0.weight", "2.weight"):
            weight = model.state_dict()[name]
            self.assertTrue(np.array_equal(
                weight.numpy(), run.init.weight(name, tuple(weight.shape), "he_normal")), name)
        for name, value in (("0.bias", 0), ("1.weight", 1), ("1.bias", 0), ("1.running_mean", 0),
                            ("1.running_var", 1), ("1.num_batches_tracked", 0), ("2.bias", 0)):
            self.assertEqual(set(model.state_dict()[name].reshape(-1).tolist()), {value}, name)
        parameters = {name: tensors.tensor_of(p) for name, p in model.named_parameters()}
        self.assertEqual(run.hashes["init"], tensors.hash_tensors(parameters))

    def poked(self, run: Run, **options: Any) -> list[tuple[str, int, float, float]]:
        """Parameter, element in row-major order, value before and after."""
        model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
        before = {}
        for name, weights in model.state_dict().items():
            weights.copy_(torch.linspace(-1, 1, weights.numel()).reshape(weights.shape))
            before[name] = weights.clone().reshape(-1)
        nf.torch.poke(run, model, **options)
        return [(name, at, float(before[name][at]), float(weights.reshape(-1)[at]))
                for name, weights in model.state_dict().items()
                for at in (weights.reshape(-1) != before[name]).nonzero().reshape(-1).tolist()]

    def test_one_element_goes_to_the_next_float_away_from_zero(self) -> None:
        run = made(poke="fixed")
        up, down = 1 + 2.0**-23, -1 - 2.0**-23
        self.assertEqual(self.poked(run), [("0.weight", 0, -1.0, down)])
        self.assertEqual(self.poked(run, element=5), [("0.weight", 5, 1.0, up)])
        self.assertEqual(self.poked(run, parameter="1.weight", element=1), [("1.weight", 1, 1.0, up)])
        _, _, before, after = self.poked(run, element=3)[0]
        self.assertAlmostEqual(before, 0.2, places=6)
        self.assertEqual(after, float(np.nextafter(np.float32(before), np.float32(1))))
        self.assertEqual(run.poke.asked, 0)

    def test_it_is_poked_at_its_step_alone(self) -> None:
        run = made(poke="fixed")
        self.assertEqual(self.poked(run, step=2), [])
        run.steps = 2
        self.assertEqual(len(self.poked(run, step=2)), 1)
        self.assertEqual(self.poked(run), [])
        self.assertEqual(self.poked(made()), [], "it is off")

    def test_a_free_source_draws_the_element(self) -> None:
        run, model = made("poke"), nn.Linear(100, 100)
        model.weight.data.zero_()
        nf.torch.poke(run, model, element=9)
        element = draws.below(draws.bits(run.poke.seed, 0, 0), 10_000)
        self.assertEqual(model.weight.nonzero().tolist(), [[element // 100, element % 100]])
        self.assertGreater(float(model.weight.detach().max()), 0.0)
        self.assertEqual(run.poke.asked, 1)


class Draws(unittest.TestCase):
    def test_a_generator_has_the_seed_of_its_key(self) -> None:
        source = made().augment
        keys = [source.key("a", n) for n in range(8)]
        self.assertEqual([nf.torch.generator(source, "a", n).initial_seed() % 2**64
                          for n in range(8)], keys)
        self.assertEqual({key >> 63 for key in keys}, {0, 1})

    def mask(self, run: Run, name: str, step: int, count: int) -> np.ndarray:
        """By the document: a word below a quarter of 2^32 drops."""
        words = run.dropout.words(name, count, first=step << 38)
        return np.array([float(int(word) >= 1 << 30) for word in words], np.float32)

    def test_masks_are_of_the_step_and_the_layer(self) -> None:
        run = made()
        layer, x = nf.torch.Dropout(run, "drop", 0.25), torch.arange(1.0, 41.0).reshape(5, 8)
        kept = np.float32(4 / 3)
        for step in (0, 1, 1):
            run.steps = step
            expected = x.numpy().reshape(-1) * self.mask(run, "drop", step, 40) * kept
            self.assertEqual(layer(x).reshape(-1).tolist(), expected.tolist())
        run.rank = 1
        expected = x.numpy().reshape(-1) * self.mask(run, "drop/1", 1, 40) * kept
        self.assertEqual(layer(x).reshape(-1).tolist(), expected.tolist())

    def test_nothing_is_dropped_where_nothing_is_to_be(self) -> None:
        run, x = made(), torch.ones(64)
        self.assertTrue(nf.torch.Dropout(run, "drop", 0.0)(x).equal(x))
        layer = nf.torch.Dropout(run, "drop", 0.5)
        self.assertEqual(set(layer(x).tolist()), {0.0, 2.0})
        layer.eval()
        self.assertTrue(layer(x).equal(x))


class States(unittest.TestCase):
    def test_what_was_kept_is_taken_up(self) -> None:
        one, two = nn.Linear(2, 1), nn.Linear(2, 1)
        self.assertFalse(nf.torch.load(None, model=two))
        self.assertTrue(nf.torch.load(nf.torch.states(model=one)(), model=two))
        self.assertTrue(one.weight.equal(two.weight))

    def test_the_class_names_the_device(self) -> None:
        run = made()
        for of, device in (("nvidia-h200", "cuda"), ("cpu-amd-avx2", "cpu"), ("", "cpu")):
            run.hardware_class = of
            self.assertEqual(nf.torch.device(run).type, device)


if __name__ == "__main__":
    unittest.main()
