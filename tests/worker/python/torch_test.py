"""Scripts of PyTorch as members: DataLoader workers, mixed precision, several processes."""

import json
import os
import subprocess
import unittest

import member

SCRIPTS = member.SCRIPTS
PYTHON = member.interpreter("torch")


@unittest.skipIf(PYTHON is None, "no Python with torch")
class Parts(unittest.TestCase):
    def test_the_parts_work_with_numpy(self) -> None:
        assert PYTHON is not None
        done = subprocess.run([*PYTHON, "-m", "unittest", "draws_test", "parts_test",
                               "conform_parts_test", "torch_parts_test"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("skipped", done.stderr)


@unittest.skipIf(PYTHON is None, "no Python with torch")
class Clouds(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        assert PYTHON is not None
        cls.script = member.Script([*PYTHON, os.path.join(SCRIPTS, "torch_clouds.py")])

    def test_workers_of_a_loader_change_no_bit(self) -> None:
        self.assertEqual(self.script.reference().bits(), self.script.train(workers=2).bits())

    def test_free_sources_change_what_is_theirs(self) -> None:
        fixed = self.script.reference().outcome["hashes"]
        self.assertEqual(fixed, self.script.train().outcome["hashes"])
        for name, changed in (("init", {"init"}), ("data_order", {"first_batches"}),
                              ("augment", {"first_batches"}), ("dropout", set())):
            freed = self.script.train([name]).outcome["hashes"]
            got = {key for key in fixed if fixed[key] != freed[key]}
            self.assertEqual(got, {*changed, "weights_at/1", "logits", "weights"}, name)

    def test_it_goes_on_in_the_middle_of_an_epoch(self) -> None:
        self.assertEqual(self.script.train(stop_at="progress", workers=2).code, 14)
        rest = self.script.train(workers=2)
        self.assertEqual(rest.outcome["environment"]["measured"]["resumed_at"], [1])
        self.assertEqual(rest.bits(), self.script.reference().bits())

    def test_it_goes_on_behind_the_last_batch_of_an_epoch(self) -> None:
        """What the script tells at the end of that epoch is told, and of that epoch."""
        for step in (8, 16):
            half = self.script.train(stops_at=step)
            self.assertEqual(half.code, 14, half.said)
            rest = self.script.train(stops_at=step)
            self.assertEqual(rest.outcome["environment"]["measured"]["resumed_at"], [step])
            self.assertEqual(rest.bits(), self.script.reference().bits())

    def test_an_epoch_that_was_left_early_is_over(self) -> None:
        """Whoever looks at a batch first trains with whole epochs all the same."""
        code = """
import json
from noisefloor.member import by_hand, settings
from noisefloor.member.journal import Journal
from noisefloor.member.run import Run
import noisefloor.member as nf
run = Run(by_hand.request([], settings.schema_of(()), "script"), Journal(None, ""))
loader = nf.torch.Loader(run, list(range(6)), 2)
peeked = next(iter(loader)).tolist()
for batch in loader:
    break
rest = [[b.tolist() for b in loader] for _ in range(2)]
state = loader.state_dict()
other = nf.torch.Loader(run, list(range(6)), 2)
other.load_state_dict({"epoch": 2, "batches": 1})
print(json.dumps([peeked, batch.tolist(), rest, state, [b.tolist() for b in other],
                  other.epoch, [run.data_order.order(6, epoch) for epoch in range(4)]]))
"""
        assert PYTHON is not None
        done = subprocess.run([*PYTHON, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        peeked, left, rest, state, resumed, epoch, orders = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((peeked, left), (orders[0][:2], orders[1][:2]))
        self.assertEqual([sum(one, []) for one in rest], orders[2:])
        self.assertEqual(state, {"epoch": 4, "batches": 0})
        self.assertEqual((sum(resumed, []), epoch), (orders[2][2:], 3))

    def test_no_process_goes_without_an_example(self) -> None:
        code = """
from noisefloor.member import by_hand, errors, settings
from noisefloor.member.journal import Journal
from noisefloor.member.run import Run
import noisefloor.member as nf
run = Run(by_hand.request(["--work=."], settings.schema_of(()), "script"), Journal(None, ""))
run.ranks = 3
nf.torch.Loader(run, list(range(8)), 4, drop_last=True)
nf.torch.Loader(run, list(range(7)), 4)
for examples, batch in ((6, 4), (8, 2)):
    try:
        nf.torch.Loader(run, list(range(examples)), batch)
    except errors.Refused as error:
        print(error)
"""
        assert PYTHON is not None
        done = subprocess.run([*PYTHON, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[1:],
                         ["the last batch: 2 examples for 3 processes; expected one for each",
                          "batch_size: 2 examples for 3 processes; expected one for each"])

    def test_weights_are_poked_wherever_they_lie(self) -> None:
        code = """
import torch
from noisefloor.member import by_hand, settings
from noisefloor.member.journal import Journal
from noisefloor.member.run import Run
import noisefloor.member as nf
asked = by_hand.request(["--work=."], settings.schema_of(()), "script")
asked["specification"]["noise"]["poke"]["state"] = "fixed"
run = Run(asked, Journal(None, ""))
for memory in (torch.contiguous_format, torch.channels_last):
    model = torch.nn.Conv2d(3, 4, 2).to(memory_format=memory)
    before = model.weight.detach().clone()
    nf.torch.poke(run, model, element=30)
    away = model.weight.abs() > before.abs()
    print((model.weight != before).nonzero().tolist(), away.nonzero().tolist())
"""
        assert PYTHON is not None
        done = subprocess.run([*PYTHON, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[1:], ["[[2, 1, 1, 0]] [[2, 1, 1, 0]]"] * 2)

    def test_switches_are_set_and_read_back(self) -> None:
        switches = self.script.reference().outcome["environment"]["switches"]["torch"]
        self.assertTrue(switches["deterministic_algorithms"])
        self.assertFalse(switches["cudnn_benchmark"])
        freed = self.script.train(["kernels", "autotune"]).outcome["environment"]["switches"]
        self.assertFalse(freed["torch"]["deterministic_algorithms"])
        self.assertTrue(freed["torch"]["cudnn_benchmark"])

    def test_a_script_that_turns_a_switch_is_a_bug(self) -> None:
        for turns, words in (("benchmark", "switch cudnn_benchmark from False to True"),
                             ("precision", "switch matmul_allow_tf32 from False to cuda tf32")):
            ended = self.script.train(turns=turns)
            self.assertEqual((ended.outcome["cause"], ended.code), ("bug", 15), ended.said)
            self.assertIn("torch's " + words, ended.outcome["message"])

    def test_drawing_as_our_trainer_needs_no_order(self) -> None:
        """Parameters are drawn by name: making the layers in another order changes nothing."""
        ours = self.script.train(init="glorot_uniform").outcome["hashes"]["init"]
        self.assertEqual(self.script.train(init="glorot_uniform", backwards=True)
                         .outcome["hashes"]["init"], ours)
        self.assertNotEqual(self.script.train(init="he_normal").outcome["hashes"]["init"], ours)


@unittest.skipIf(PYTHON is None, "no Python with torch")
class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        assert PYTHON is not None
        cls.script = member.Script([*PYTHON, os.path.join(SCRIPTS, "ddp_clouds.py")])

    def test_two_train_together_and_go_on_together(self) -> None:
        whole = self.script.reference()
        self.assertEqual(whole.bits(), self.script.train().bits())
        half = self.script.train(stop_at="progress")
        self.assertEqual((half.code, half.outcome["cause"]), (14, "interrupted"), half.said)
        rest = self.script.train()
        self.assertEqual(rest.outcome["environment"]["measured"]["resumed_at"], [1])
        self.assertEqual(rest.bits(), whole.bits())

    def test_they_share_batches_and_draw_for_themselves(self) -> None:
        one, two = self.script.train(ranks=1), self.script.reference()
        self.assertEqual(one.outcome["hashes"]["init"], two.outcome["hashes"]["init"])
        self.assertNotEqual(one.outcome["hashes"]["weights"], two.outcome["hashes"]["weights"])

    def test_one_that_fails_ends_all(self) -> None:
        ended = self.script.train(mischief="raise")
        self.assertEqual((ended.code, ended.outcome["event"]), (15, "failed"), ended.said)
        self.assertIn("rank 1 ended with exit code 15", ended.outcome["message"])
        ended = self.script.train(mischief="no_memory")
        self.assertEqual((ended.code, ended.outcome["cause"]), (12, "out_of_memory"), ended.said)

    def test_without_a_number_of_processes_it_is_refused(self) -> None:
        ended = self.script.train(ranks=0)
        self.assertEqual(ended.outcome["cause"], "bad_specification")
        self.assertIn("processes: expected an integer from 1, got 0", ended.outcome["message"])


if __name__ == "__main__":
    unittest.main()
