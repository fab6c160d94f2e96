"""Scripts of JAX and Keras as members."""

import os
import subprocess
import unittest

import member

SCRIPTS = member.SCRIPTS
PYTHONS = {"jax": member.interpreter("jax"),
           "tensorflow": member.interpreter("tensorflow")}


@unittest.skipIf(PYTHONS["jax"] is None, "no Python with jax")
class Parts(unittest.TestCase):
    def test_the_parts_work(self) -> None:
        assert PYTHONS["jax"] is not None
        done = subprocess.run([*PYTHONS["jax"], "-m", "unittest", "keras_parts_test"],
                              env={**os.environ, "KERAS_BACKEND": "jax"}, capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class KerasClouds:
    """On one backend."""
    backend = ""

    @classmethod
    def setUpClass(cls) -> None:
        python = PYTHONS[cls.backend]
        if python is None:
            raise unittest.SkipTest(f"no Python with {cls.backend}")
        cls.script = member.Script([*python, os.path.join(SCRIPTS, "keras_clouds.py")],
                                   {"KERAS_BACKEND": cls.backend})

    def test_free_sources_change_what_is_theirs(self) -> None:
        fixed = self.script.reference().outcome["hashes"]
        self.assertEqual(fixed, self.script.train().outcome["hashes"])
        for name, changed in (("init", {"init"}), ("data_order", {"first_batches"}),
                              ("augment", {"first_batches"}), ("dropout", set())):
            freed = self.script.train([name]).outcome["hashes"]
            got = {key for key in fixed if fixed[key] != freed[key]}
            self.assertEqual(got - {"weights"}, {*changed, "weights_at/1", "logits"} - {"weights"},
                             name)

    def test_it_goes_on_at_the_end_of_an_epoch(self) -> None:
        half = self.script.train(stop_at="progress")
        self.assertEqual(half.code, 14, half.said)
        rest = self.script.train()
        self.assertEqual(rest.outcome["environment"]["measured"]["resumed_at"], [8])
        self.assertEqual(rest.bits(), self.script.reference().bits())

    def test_layers_draw_from_init_where_the_script_leaves_it_to_them(self) -> None:
        own = self.script.train(init="").outcome["hashes"]["init"]
        self.assertEqual(own, self.script.train(init="", lr=0.2).outcome["hashes"]["init"])
        self.assertNotEqual(own, self.script.train(["init"], init="").outcome["hashes"]["init"])
        self.assertNotEqual(own, self.script.reference().outcome["hashes"]["init"])

    def test_a_second_shuffle_is_refused(self) -> None:
        ended = self.script.train(shuffle=True)
        self.assertEqual(ended.outcome["event"], "failed")
        self.assertIn("shuffle=False", ended.said)


class OnJax(KerasClouds, unittest.TestCase):
    backend = "jax"

    def test_processes_of_a_loader_are_refused(self) -> None:
        self.assertIn("JAX does not survive", self.script.train(workers=2).outcome["message"])


class OnTensorFlow(KerasClouds, unittest.TestCase):
    backend = "tensorflow"

    def test_processes_of_a_loader_change_no_bit(self) -> None:
        self.assertEqual(self.script.train(workers=2).bits(), self.script.reference().bits())


@unittest.skipIf(PYTHONS["jax"] is None, "no Python with jax")
class Jax(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        assert PYTHONS["jax"] is not None
        cls.script = member.Script([*PYTHONS["jax"], os.path.join(SCRIPTS, "jax_clouds.py")])

    def test_free_sources_change_what_is_theirs(self) -> None:
        fixed = self.script.reference()
        self.assertEqual(fixed.bits(), self.script.train().bits())
        for name, changed in (("init", {"init"}), ("data_order", {"first_batches"}),
                              ("dropout", set())):
            freed = self.script.train([name]).outcome["hashes"]
            got = {key for key, value in fixed.outcome["hashes"].items() if value != freed[key]}
            self.assertEqual(got, {*changed, "weights_at/1", "logits", "weights"}, name)

    def test_it_goes_on_to_the_same_bits(self) -> None:
        self.assertEqual(self.script.train(stop_at="progress").code, 14)
        rest = self.script.train()
        self.assertEqual(rest.outcome["environment"]["measured"]["resumed_at"], [8])
        self.assertEqual(rest.bits(), self.script.reference().bits())

    def test_what_xla_is_told_is_recorded(self) -> None:
        of_class = member.Script(self.script.command, {"ATEN_CPU_CAPABILITY": "default"})
        switches = of_class.reference().outcome["environment"]["switches"]["jax"]
        self.assertIn("--xla_cpu_max_isa=SSE4_2", switches["xla_flags"])
        self.assertFalse(switches["enable_x64"])


if __name__ == "__main__":
    unittest.main()
