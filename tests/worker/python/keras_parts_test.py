"""Parts of noisefloor.member.keras and .jax, each for itself: run by keras_test in a Python that has
them."""

import contextlib
import io
import json
import tempfile
import unittest
from typing import Any
from unittest import mock

import noisefloor.member as nf
import jax
import keras
import numpy as np

from noisefloor.member import by_hand, settings, tensors
from noisefloor.member.journal import Journal
from noisefloor.member.run import Run


def made(events: Any = None) -> Run:
    """A run with every source fixed."""
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as work:
        asked = by_hand.request([f"--work={work}"], settings.schema_of(()), "script")
        return Run(asked, Journal(None if events is None else events.append, ""))


class Loaders(unittest.TestCase):
    x = np.arange(14.0, dtype=np.float32).reshape(7, 2)
    y = np.arange(7)

    def loader(self, run: Run, **options: Any) -> Any:
        return nf.keras.Loader(run, self.x, self.y, 3, **options)

    def test_the_last_batch_has_what_is_left_or_is_left_out(self) -> None:
        for drop_last, sizes in ((False, [3, 3, 1]), (True, [3, 3])):
            loader = self.loader(made(), drop_last=drop_last)
            self.assertEqual(len(loader), len(sizes))
            self.assertEqual([len(loader[i][1]) for i in range(len(loader))], sizes)
        self.assertEqual(len(nf.keras.Loader(made(), self.x[:6], self.y[:6], 3)), 2)

    def test_the_order_is_that_of_the_source(self) -> None:
        run = made()
        for options in ({}, {"window": 3}):
            loader = self.loader(run, **options)
            for epoch in range(2):
                batches = [loader[i] for i in range(3)]
                order = run.data_order.order(7, epoch, **options)
                self.assertEqual(np.concatenate([y for _, y in batches]).tolist(), order)
                self.assertTrue(np.array_equal(np.concatenate([x for x, _ in batches]),
                                               self.x[order]))
                loader.on_epoch_end()

    def test_batches_out_of_order_are_refused(self) -> None:
        loader = self.loader(made())
        loader[0], loader[1], loader[0]
        with self.assertRaisesRegex(ValueError, "shuffle=False"):
            loader[2]

    def test_what_an_example_draws_is_of_the_example_and_the_epoch(self) -> None:
        def epochs(window: int) -> list[dict[int, float]]:
            loader = self.loader(made(), window=window, transform=lambda x: x + np.random.rand())
            told = []
            for _ in range(2):
                batches = [loader[i] for i in range(3)]
                told.append({int(label): float(x[0] - self.x[label, 0])
                             for xs, ys in batches for x, label in zip(xs, ys)})
                loader.on_epoch_end()
            return told
        first, second = epochs(0)
        self.assertEqual([first, second], epochs(1))
        self.assertEqual(len({*first.values(), *second.values()}), 14)

    def test_workers_that_would_share_or_not_live_are_refused(self) -> None:
        for workers in (1, 2):
            with self.assertRaisesRegex(ValueError, "JAX does not survive"):
                self.loader(made(), workers=workers, use_multiprocessing=True)
        with self.assertRaisesRegex(ValueError, "on jax Keras carries .* into other epochs"):
            self.loader(made(), workers=2)
        with mock.patch.object(keras.backend, "backend", lambda: "torch"):
            for options in ({"workers": 2}, {"workers": 1, "use_multiprocessing": True}):
                with self.assertRaisesRegex(ValueError, "on torch Keras carries"):
                    self.loader(made(), **options)
        with mock.patch.object(keras.backend, "backend", lambda: "tensorflow"):
            with self.assertRaisesRegex(ValueError, "threads share their generators"):
                self.loader(made(), workers=2, transform=lambda x: x)
            self.loader(made(), workers=2, use_multiprocessing=True, transform=lambda x: x)
            self.loader(made(), workers=2)


class Weights(unittest.TestCase):
    def test_kernels_are_our_trainers_with_channels_last(self) -> None:
        run = made()
        model = keras.Sequential([
            keras.Input((8, 8, 3)), keras.layers.Conv2D(5, (2, 4), name="conv"),
            keras.layers.BatchNormalization(name="norm"), keras.layers.Flatten(),
            keras.layers.Dense(4, name="dense")])
        nf.keras.initialise(run, model, "he_normal")
        conv = np.asarray(model.get_layer("conv").kernel)
        ours = run.init.weight("conv.weight", (5, 3, 2, 4), "he_normal")
        for out, channel, y, x in ((4, 2, 1, 3), (0, 1, 0, 2), (3, 0, 1, 0)):
            self.assertEqual(conv[y, x, channel, out], ours[out, channel, y, x])
        self.assertEqual(conv.shape, (2, 4, 3, 5))
        dense = np.asarray(model.get_layer("dense").kernel)
        ours = run.init.weight("dense.weight", dense.shape[::-1], "he_normal")
        self.assertTrue(np.array_equal(dense, ours.T))
        self.assertEqual(np.asarray(model.get_layer("norm").gamma).tolist(), [1.0] * 5)
        self.assertEqual(run.hashes["init"], tensors.hash_tensors(
            {v.path: tensors.tensor_of(np.asarray(v)) for v in model.trainable_variables}))

    def test_those_of_jax_are_too(self) -> None:
        run = made()
        made_of = nf.jax.initialise(run, {"a.weight": (4, 3), "n.weight": (3,), "n.bias": (2,)})
        self.assertTrue(np.array_equal(made_of["a.weight"], run.init.weight(
            "a.weight", (4, 3), "glorot_uniform")))
        self.assertEqual((made_of["n.weight"].tolist(), made_of["n.bias"].tolist()),
                         ([1.0] * 3, [0.0] * 2))
        self.assertEqual(run.hashes["init"], tensors.hash_tensors(
            {name: tensors.tensor_of(np.asarray(value)) for name, value in made_of.items()}))

    def test_seeds_and_keys_are_of_their_names(self) -> None:
        source = made().dropout
        for name in ("a", "b", "c", "d"):
            self.assertEqual(nf.keras.seed(source, name, 1), source.key(name, 1) % 2**31)
        keys = [jax.random.key_data(nf.jax.key(source, name)).tolist() for name in ("a", "b", "a")]
        self.assertEqual(keys[0], keys[2])
        self.assertNotEqual(keys[0], keys[1])
        state = {"a": [jax.numpy.ones(2), 3.0]}
        host = nf.jax.to_host(state)
        self.assertIs(type(host["a"][0]), np.ndarray)
        self.assertEqual(nf.jax.to_device(host)["a"][0].tolist(), [1.0, 1.0])


class Callbacks(unittest.TestCase):
    """While model.fit runs: two epochs of three batches."""

    def test_steps_epochs_and_losses_are_told(self) -> None:
        lines: list[str] = []
        run = made(lines)
        x, y = Loaders.x, Loaders.y.astype(np.float32)
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="fc")])
        nf.keras.initialise(run, model)
        model.compile(keras.optimizers.SGD(0.0, momentum=0.9), "mse")
        got: list[Any] = []

        class Watched(nf.keras.Loader):  # type: ignore[name-defined,misc]
            def __getitem__(self, index: int) -> Any:
                got.append(super().__getitem__(index))
                return got[-1]
        loader = Watched(run, x, y, 3)
        callback, epochs = nf.keras.Callback(run, loader), []
        states: list[Any] = []
        step = run.step
        run.step = lambda: (step(), epochs.append(run.epoch))  # type: ignore[assignment]
        run.checkpoint = lambda make: states.append(make())  # type: ignore[assignment]
        history = model.fit(loader, epochs=2, initial_epoch=callback.restore(model), shuffle=False,
                            verbose=0, callbacks=[callback])
        self.assertEqual(epochs, [1 / 3, 2 / 3, 1, 1 + 1 / 3, 1 + 2 / 3, 2])
        self.assertEqual((run.steps, run.step_count), (6, 6))
        # Before it Keras looks at the first one.
        for epoch, batches in enumerate((got[-6:-3], got[-3:])):
            self.assertEqual(np.concatenate([labels for _, labels in batches]).tolist(),
                             run.data_order.order(7, epoch))
        named = {}
        for i, (images, labels) in enumerate(got[-6:-3]):
            named[f"images/{i}"] = tensors.tensor_of(images, "float32")
            named[f"labels/{i}"] = tensors.tensor_of(labels, "int32")
        self.assertEqual(run.hashes["first_batches"], tensors.hash_tensors(named))
        run._journal.flush()
        self.assertEqual([state["epoch"] for state in states], [1, 2])
        self.assertEqual(len(states[0]["variables"]), len(model.variables)
                         + len(model.optimizer.variables))
        records = [r for line in lines for event in [json.loads(line)]
                   if event["event"] == "records" for r in event["records"]]
        self.assertEqual([(record[0], record[1], record[3]) for record in records],
                         [(3 * at, at, loss) for at, loss in enumerate(history.history["loss"], 1)])

    def test_an_epoch_has_its_own_order_however_it_is_come_by(self) -> None:
        run = made()
        run.checkpoint = lambda make: None  # type: ignore[assignment]
        trained: list[tuple[int, int]] = []

        class Watching(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
                self.epoch = epoch

            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                trained.append((self.epoch, loader.epoch))
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        loader = nf.keras.Loader(run, Loaders.x, Loaders.y, 4)
        watching = [nf.keras.Callback(run, loader), Watching()]

        def fit(first: int, end: int, **options: Any) -> None:
            model.fit(loader, initial_epoch=first, epochs=end, shuffle=False, verbose=0,
                      callbacks=watching, **options)
        fit(0, 2)
        fit(2, 3)
        fit(3, 5, validation_data=loader)
        model.evaluate(loader, verbose=0)
        fit(7, 8)
        self.assertEqual(trained, [(e, e) for e in (0, 1, 2, 3, 4, 7) for _ in range(2)])

    def test_what_was_kept_is_taken_up(self) -> None:
        run = made()
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
        loader = nf.keras.Loader(run, Loaders.x, Loaders.y, 3)
        callback = nf.keras.Callback(run, loader)
        run.restore = lambda: None  # type: ignore[assignment]
        self.assertEqual((callback.restore(model), loader.epoch), (0, 0))
        variables = [*model.variables, *model.optimizer.variables]
        values = [np.full(v.shape, i, v.dtype) for i, v in enumerate(variables)]
        run.restore = lambda: {"epoch": 4, "variables": values}  # type: ignore[assignment]
        self.assertEqual((callback.restore(model), loader.epoch), (4, 4))
        for variable, value in zip(variables, values):
            self.assertEqual(np.asarray(variable).tolist(), value.tolist())


if __name__ == "__main__":
    unittest.main()
