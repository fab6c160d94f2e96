"""What a script has of the member that it trains."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from typing import Any, Callable, Iterator, Mapping

from noisefloor.member import checkpoint, draws, generators, measures, settings, tensors
from noisefloor.member.errors import Interrupted, Refused
from noisefloor.member.journal import Journal
from noisefloor.member.sources import Source

_OFF = {"state": "off", "block": 0, "lane": 0, "seed": "0"}


class Run:
    """One member's training. Made by `main` and `member`; one thread."""

    init: Source
    data_order: Source
    augment: Source
    dropout: Source
    poke: Source
    kernels: Source
    autotune: Source
    reduce_order: Source
    threads: Source
    dial: Source
    load: Source

    def __init__(self, request: dict[str, Any], journal: Journal, identity: str = "",
                 checkpoints: str | None = None, checkpoint_seconds: float = 60.0,
                 processes: int = 1) -> None:
        """`identity`: of all that a checkpoint must have been made with. `checkpoints`: a folder."""
        specification = request["specification"]
        self.member: str = request["member"]
        self.data_root: str = request["data_root"]
        self.work_directory: str = request["work_directory"]
        self.hardware_class: str = specification["hardware_class"]
        # Of several processes: nf.torch.join. Ranks decide together, by rank 0's word.
        self.rank = int(os.environ.get("RANK", "0")) if processes > 1 else 0
        self.ranks = processes
        self.agree: Callable[[bool], bool] = lambda word: word
        self.gather: Callable[[Any], list[Any]] = lambda mine: [mine]
        self.settings = {path: value for path, value in settings.flat(specification).items()
                         if path.partition(".")[0] not in ("noise", "hardware_class", "stack")}
        noise = {**{name: _OFF for name in draws.LEFT_OUT}, **specification["noise"]}
        self.sources = {name: Source(name, noise[name],
                                     self.rank if name in ("augment", "dropout") else 0)
                        for name in draws.SOURCES}
        for name, source in self.sources.items():
            setattr(self, name, source)
        self.wants_evaluation_set: bool = request["write_evaluation_set"]
        self.steps = 0
        self.step_count = 0  # Of the whole training, once it is known: tell it progress().
        self.epoch = 0.0
        self.hashes: dict[str, str] = {}
        self.metrics: dict[str, float] = {}
        self.per_class_accuracy: list[float] = []
        self.notes: list[str] = []
        self.data_identity = ""
        self.finished = False
        self.stop_asked = False  # By a signal.
        self.resumed_at: list[int] = []  # Steps, of every attempt that went on.
        self.began = time.monotonic()  # This attempt, behind its start-up.
        self._trained_before = 0.0  # Seconds, of the attempts that this one goes on from.
        self._unkept: set[int | None] = set()  # Errors of checkpoints that are told.
        self._journal = journal
        self._identity = identity
        self._checkpoints = checkpoints
        self._checkpoint_seconds = checkpoint_seconds
        self._told = time.monotonic()  # When progress was.
        self._goes_on = False  # In the middle of the first epoch that epochs() gives.
        self._last_checkpoint = time.monotonic()
        self.makes_checkpoints = False  # And keeps them: there is a folder for them.
        self._batches: dict[str, tensors.Tensor] = {}
        self._batch_count = 0
        self._evaluations = 0
        self._logits: tensors.Tensor | None = None

    def __getitem__(self, path: str) -> Any:
        """The value of a setting."""
        return self.settings[path]

    @property
    def train_seconds(self) -> float:
        """Of all attempts together, as far as they are in checkpoints."""
        return self._trained_before + time.monotonic() - self.began

    # Going on.

    def step(self) -> None:
        """An optimiser step is done. Ends the training when a signal came, unless the script makes
        checkpoints: then the next one does."""
        self.steps += 1
        self._journal.greet()
        # Also where the script says little: a worker ends what has been silent for long.
        if time.monotonic() - self._told > 10.0:
            self.progress(self.step_count)
        if self.stop_asked and self.rank == 0 and not self.makes_checkpoints:
            raise Interrupted("a signal asked to stop")

    def epochs(self, count: int, start: int = 0) -> Iterator[int]:
        """The epochs from `start` to `count` - 1; `epoch`, of records, is at the end of each that
        many. One that an interrupted attempt had begun is where the checkpoint left it."""
        for epoch in range(start, count):
            within, self._goes_on = self._goes_on and epoch < self.epoch <= epoch + 1, False
            if not within:
                self.epoch = float(epoch)
            yield epoch
            self.epoch = epoch + 1.0

    def progress(self, step_count: int) -> None:
        """How many steps there will be; 0: not known."""
        self.step_count = int(step_count)
        self._told = time.monotonic()
        self._journal.tell("progress", step=self.steps, step_count=self.step_count)

    def record(self, **values: float) -> None:
        """Measured values at this step: run.record(train_loss=0.3)."""
        for metric, value in values.items():
            self._journal.record(self.steps, self.epoch, metric, float(value))
        if self.step_count:
            self._tell_progress()

    def _tell_progress(self) -> None:
        if time.monotonic() - self._told > 1.0:
            self.progress(self.step_count)

    # What is compared.

    def data(self, identity: str) -> None:
        """64 hexadecimal digits of what is learnt from and tested on, before the first step and all
        else that is told: members of a study must have the same. nf.data and nf.data.identity_of
        make it."""
        if not re.fullmatch("[0-9a-f]{64}", identity):
            raise Refused(f"data: expected 64 hexadecimal digits, got {identity!r}")
        if identity != self.data_identity:
            self._check_not_greeted("data")
        self.data_identity = identity

    def _check_not_greeted(self, call: str) -> None:
        if self._journal.greeted:
            raise Refused(f"{call}: too late, since the member's first event, which says so, is told; "
                          f"call run.{call} before the first step and before run.progress, "
                          "run.record and what keeps files")

    def hash(self, name: str, values: Any) -> None:
        """Keeps the hash of arrays under a name, by which members are compared."""
        self.hashes[name] = tensors.hash_tensors(tensors.named_tensors(values))

    def initial(self, parameters: Any) -> None:
        """The parameters before the first step, by name; of a module of PyTorch its parameters."""
        if hasattr(parameters, "named_parameters"):
            parameters = dict(parameters.named_parameters())
        self.hash("init", parameters)

    def batch(self, inputs: Any, labels: Any) -> None:
        """What the network gets of a batch. The first four ever are hashed, the rest is ignored."""
        if self._batch_count == 4:
            return
        self._batches[f"images/{self._batch_count}"] = tensors.tensor_of(inputs, "float32")
        self._batches[f"labels/{self._batch_count}"] = tensors.tensor_of(labels, "int32")
        self._batch_count += 1
        self.hashes["first_batches"] = tensors.hash_tensors(self._batches)

    def evaluation(self, logits: Any, labels: Any, weights: Any = None, keep: bool = False,
                   keep_weights: bool = False) -> None:
        """The network's answers on the test set, {examples, classes}, and the right ones. The last
        evaluation is the member's result. keep, keep_weights: these predictions, these weights are
        kept, too."""
        if keep_weights and weights is None:
            raise Refused("evaluation: keep_weights, and no weights are given")
        answers = tensors.tensor_of(logits, "float32")
        measured = measures.measure(answers, tensors.tensor_of(labels, "int32"))
        self._evaluations += 1
        self._logits = answers
        self.metrics = measured.metrics
        few = len(measured.per_class_accuracy) <= measures.MOST_CLASSES_TOLD
        self.per_class_accuracy = measured.per_class_accuracy if few else []
        for metric, value in measured.metrics.items():
            self._journal.record(self.steps, self.epoch, "test_" + metric, value)
        self._journal.flush()
        if weights is not None:
            named = tensors.named_tensors(weights)
            self.hashes[f"weights_at/{self._evaluations}"] = tensors.hash_tensors(named)
            if keep_weights:
                self._journal.keep(f"weights-{self._evaluations}",
                                   f"weights-{self._evaluations}.safetensors",
                                   tensors.safetensors(named))
        if keep:
            self._journal.keep(f"predictions-{self._evaluations}",
                               f"predictions-{self._evaluations}.npy", tensors.npy(answers))

    def evaluation_set(self, labels: Any, images: Any = None) -> None:
        """The test set, for reports: labels, and uint8 images {examples, height, width, channels}.
        Written where it is asked for: `wants_evaluation_set`."""
        if not self.wants_evaluation_set:
            return
        kept = tensors.tensor_of(labels, "int32")
        self._journal.keep("evaluation_labels", "evaluation_labels.npy", tensors.npy(kept))
        if images is not None:
            self._journal.keep("evaluation_images", "evaluation_images.npy",
                               tensors.npy(tensors.tensor_of(images, "uint8")))

    def finish(self, weights: Any = None) -> None:
        """The training is over: what was evaluated last is its result. weights: parameters and
        buffers by name, or what has them; hashed and kept."""
        if self._logits is None:
            raise Refused("finish: the script has told no evaluation; call run.evaluation first")
        self.hashes["logits"] = tensors.hash_tensors({"logits": self._logits})
        self._journal.keep("predictions", "predictions.npy", tensors.npy(self._logits))
        if weights is not None:
            named = tensors.named_tensors(weights)
            self.hashes["weights"] = tensors.hash_tensors(named)
            self._journal.keep("weights", "weights.safetensors", tensors.safetensors(named))
        self.finished = True

    # Interruption.

    def checkpoint(self, state: Callable[[], Mapping[str, Any]] | Mapping[str, Any]) -> None:
        """Keeps the script's state (what can be pickled) where it is time to: a minute after the
        last one, or when a signal asked to stop, after which the training ends here. A function is
        called only then. Without a folder for checkpoints nothing is kept."""
        self.makes_checkpoints = self._checkpoints is not None
        due = time.monotonic() - self._last_checkpoint >= self._checkpoint_seconds
        stop = self.stop_asked
        if self.ranks > 1:
            due, stop = self.agree(due), self.agree(stop)
        if self._checkpoints is not None and (due or stop):
            self._save(state() if callable(state) else state)
        if stop:
            raise Interrupted("a signal asked to stop")

    def restore(self) -> Any:
        """The state of the checkpoint with which this attempt goes on; None: it begins anew. Call
        it where everything is made, before the first step and before progress()."""
        if self._checkpoints is None:
            return None
        if not self.makes_checkpoints:
            self._check_not_greeted("restore")  # It has said that nobody could go on.
        self.makes_checkpoints = True
        kept = checkpoint.load(self._checkpoints, self._identity)
        if kept is None:
            return None
        files = [(kind, name, checkpoint.load_file(self._checkpoints, sha256))
                 for kind, name, sha256 in kept.get("files", [])]
        if any(content is None for _, _, content in files):
            self.forget_checkpoint()  # Damaged: what lies there must not be kept again.
            return None
        if self.rank == 0:
            checkpoint.touch(self._checkpoints)  # Who cleans up sees that it is in use.
        self.steps, self.epoch, self.step_count = kept["steps"], kept["epoch"], kept["step_count"]
        self.hashes, self._batches = kept["hashes"], kept["batches"]
        self._batch_count, self._evaluations = kept["batch_count"], kept["evaluations"]
        self._logits, self.metrics = kept["logits"], kept["metrics"]
        self.per_class_accuracy = kept["per_class_accuracy"]
        self.resumed_at, self._goes_on = [*kept["resumed_at"], self.steps], True
        self._trained_before = kept.get("train_seconds", 0.0)  # Older checkpoints have none.
        for name, source in self.sources.items():
            source.entered, source.asked = kept["sources"][name]
        generators.restore(kept["generators"][self.rank])
        with self._journal.holding():  # The script may tell its data behind this call.
            self._journal.resume(kept["records"])
            for kind, name, content in files:
                self._journal.keep(kind, name, content or b"")
        if self.data_identity:
            self._journal.greet()  # What comes next may be a long evaluation, and no step.
        return kept["state"]

    def _save(self, state: Mapping[str, Any]) -> None:
        assert self._checkpoints is not None
        of_ranks = self.gather(generators.states())
        self._last_checkpoint = time.monotonic()
        if self.rank > 0:
            return
        content = checkpoint.content_of(self._identity, {
            "state": state, "steps": self.steps, "epoch": self.epoch,
            "step_count": self.step_count, "hashes": self.hashes, "batches": self._batches,
            "batch_count": self._batch_count, "evaluations": self._evaluations,
            "logits": self._logits, "metrics": self.metrics,
            "per_class_accuracy": self.per_class_accuracy,
            "resumed_at": self.resumed_at, "train_seconds": self.train_seconds,
            "generators": of_ranks,
            "records": self._journal.all, "files": self._journal.files,
            "sources": {name: (s.entered, s.asked) for name, s in self.sources.items()}})
        files = [(os.path.join(self.work_directory, name), sha256)
                 for _, name, sha256 in self._journal.files]
        try:
            checkpoint.save(self._checkpoints, content, files)
        except OSError as error:  # It costs the checkpoint and never the member.
            self._tell_unkept(error)

    def _tell_unkept(self, error: OSError) -> None:
        """Once for each kind of error: a full disk stays full for many checkpoints."""
        if error.errno in self._unkept:
            return
        self._unkept.add(error.errno)
        self.notes.append(f"no checkpoint after {self.steps} steps: {error}")
        with contextlib.suppress(OSError, ValueError):  # The log may be on the same disk.
            print(self.notes[-1], file=sys.stderr)

    def forget_checkpoint(self) -> None:
        if self._checkpoints is not None and self.rank == 0:
            checkpoint.remove(self._checkpoints)
