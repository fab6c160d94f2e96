#!/usr/bin/env python3
"""A trainer that is no part of noisefloor, as an example of one: the standard library is enough.

It learns by softmax regression to tell clouds of points apart, has settings of its own, and keeps
the protocol of worker/trainer/README.md. A worker offers it beside others, or alone:

    noisefloor-worker --coordinator=HOST:PORT --trainer=blobs=deploy/trainers/blobs_trainer.py
    noisefloor settings blobs
    noisefloor submit deploy/trainers/blobs.yaml
"""

import hashlib
import json
import math
import os
import platform
import random
import struct
import sys
import time

STACK = "blobs"
EXAMPLES = 200  # Of the test set.

SETTINGS = [
    {"path": "blobs.classes", "kind": "integer", "least": 2, "most": 10, "otherwise": 4,
     "help": "clouds of points, a class each"},
    {"path": "blobs.points", "kind": "integer", "least": 10, "most": 10000, "otherwise": 300,
     "help": "points to learn from"},
    {"path": "blobs.spread", "kind": "number", "least": 0, "most": 10, "otherwise": 0.8,
     "help": "standard deviation of a cloud; their centres lie on a circle of radius 1"},
    {"path": "learn.passes", "kind": "integer", "least": 0, "most": 1000, "otherwise": 3,
     "help": "passes over the points"},
    {"path": "learn.rate", "kind": "number", "least": 0, "most": 100, "otherwise": 0.1,
     "help": "of each step"},
    {"path": "learn.decay", "kind": "choice", "choices": ["none", "halve"], "otherwise": "none",
     "help": "what becomes of the rate after a pass"},
]


class Refusal(Exception):
    """A mistake of the request: the member is not tried again."""


def build():
    with open(os.path.abspath(__file__), "rb") as program:
        return hashlib.sha256(program.read()).hexdigest()


def environment():
    return {"python": platform.python_version(), "build": build(), "stack": STACK}


def describe():
    print(json.dumps({"protocol": 1, "stack": STACK, "build": build(), "probes": 1,
                      "fingerprint": "python " + platform.python_version(),
                      "environment": environment(), "settings": SETTINGS}))


def probe(hardware_class):
    works = hardware_class.startswith("cpu-")
    reason = "" if works else "it computes on processors only"
    print(json.dumps({"probes": 1, "works": works, "reason": reason, "devices": [], "facts": {}}))


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def setting(specification, path):
    for part in path.split("."):
        specification = specification[part]
    return specification


def draws(specification, source):
    """A generator for one noise source: equal lanes draw equal numbers."""
    noise = specification["noise"][source]
    if noise["state"] == "off":
        raise Refusal(f"noise.{source}: this trainer cannot do without it")
    return random.Random(int(noise["seed"]))


def cloud(generator, classes, count, spread):
    points = []
    for i in range(count):
        label = i % classes
        angle = 2 * math.pi * label / classes
        points.append((math.cos(angle) + generator.gauss(0, spread),
                       math.sin(angle) + generator.gauss(0, spread), label))
    return points


def logits(weights, point):
    return [row[0] * point[0] + row[1] * point[1] + row[2] for row in weights]


def probabilities(values):
    most = max(values)
    powers = [math.exp(value - most) for value in values]
    total = sum(powers)
    return [power / total for power in powers]


class Member:
    def __init__(self, request, events):
        self.request = request
        self.events = events
        self.training = request["specification"]
        self.sequence = 0
        self.hashes = {}

    def tell(self, event, **content):
        self.events.write(json.dumps({"event": event, **content}) + "\n")
        self.events.flush()

    def records(self, records):
        self.sequence += 1
        self.tell("records", sequence=self.sequence, records=records)

    def keep(self, kind, name, content):
        path = os.path.join(self.request["work_directory"], name)
        with open(path, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self.tell("artifact", kind=kind, path=name, size=len(content),
                  sha256=hashlib.sha256(content).hexdigest())

    def run(self):
        began = time.monotonic()
        classes = setting(self.training, "blobs.classes")
        spread = setting(self.training, "blobs.spread")
        passes = setting(self.training, "learn.passes")
        rate = setting(self.training, "learn.rate")
        points = cloud(random.Random(1), classes, setting(self.training, "blobs.points"), spread)
        test = cloud(random.Random(2), classes, EXAMPLES, spread)
        identity = hashlib.sha256(repr((points, test)).encode()).hexdigest()
        self.tell("hello", protocol=1, stack=STACK, build=build(), environment=environment(),
                  data_identity=identity)

        init = draws(self.training, "init")
        order = draws(self.training, "data_order")
        weights = [[init.gauss(0, 0.1) for _ in range(3)] for _ in range(classes)]
        self.hashes["init"] = hashlib.sha256(repr(weights).encode()).hexdigest()
        for epoch in range(passes):
            shuffled = list(points)
            order.shuffle(shuffled)
            loss = 0.0
            for x, y, label in shuffled:
                chances = probabilities(logits(weights, (x, y)))
                loss -= math.log(max(chances[label], 1e-300))
                for k in range(classes):
                    slope = rate * (chances[k] - (k == label))
                    weights[k][0] -= slope * x
                    weights[k][1] -= slope * y
                    weights[k][2] -= slope
            if setting(self.training, "learn.decay") == "halve":
                rate /= 2
            steps = (epoch + 1) * len(points)
            self.records([[steps, epoch + 1, "train_loss_epoch", loss / len(points)]])
            self.tell("progress", step=steps, step_count=passes * len(points))
        self.finish(weights, test, passes * len(points), passes, time.monotonic() - began)

    def finish(self, weights, test, steps, passes, seconds):
        answers = [logits(weights, point) for point in test]
        loss = 0.0
        right = [0] * len(weights)
        seen = [0] * len(weights)
        for answer, (_, _, label) in zip(answers, test):
            loss -= math.log(max(probabilities(answer)[label], 1e-300)) / len(test)
            seen[label] += 1
            right[label] += answer.index(max(answer)) == label
        top1 = sum(right) / len(test)
        self.records([[steps, passes, "test_loss", loss], [steps, passes, "test_top1", top1]])
        rows = b"".join(struct.pack(f"<{len(answer)}f", *answer) for answer in answers)
        self.hashes["logits"] = hashlib.sha256(rows).hexdigest()
        self.hashes["weights"] = hashlib.sha256(repr(weights).encode()).hexdigest()
        self.keep("predictions", "predictions.npy",
                  npy("<f4", (len(test), len(weights)), rows))
        if self.request["write_evaluation_set"]:
            labels = struct.pack(f"<{len(test)}i", *[label for _, _, label in test])
            self.keep("evaluation_labels", "evaluation_labels.npy",
                      npy("<i4", (len(test),), labels))
        self.tell("done", cause="none", message="", train_seconds=seconds, environment=environment(),
                  hashes=self.hashes, metrics={"loss": loss, "top1": top1},
                  per_class_accuracy=[r / s for r, s in zip(right, seen)])


def npy(kind, shape, content):
    """The format of numpy.save, version 1.0."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content


def train():
    events = os.fdopen(int(os.environ.get("NOISEFLOOR_EVENTS", "1")), "w")
    line = sys.stdin.readline()
    if not line.strip():
        return 14  # It was not needed any more.
    request = json.loads(line)
    member = Member(request, events)
    try:
        given = request.get("specification_sha256", "")
        made = hashlib.sha256(canonical(request["specification"]).encode()).hexdigest()
        if given and given != made:
            raise Refusal("specification_sha256: it is not of this specification")
        if request["specification"]["stack"] not in ("", STACK):
            raise Refusal(f"stack: this is {STACK}")
        member.run()
        return 0
    except Refusal as refusal:
        member.tell("failed", cause="bad_specification", message=str(refusal), train_seconds=0,
                    environment=environment(), hashes={}, metrics={}, per_class_accuracy=[])
        return 10


def main():
    if sys.argv[1:] == ["--describe"]:
        describe()
    elif len(sys.argv) == 3 and sys.argv[1] == "--probe":
        probe(sys.argv[2])
    elif not [word for word in sys.argv[1:] if word not in ("--gpu", "--no-cache")]:
        return train()
    else:
        print(f"{sys.argv[0]}: expected --describe, --probe CLASS or a request on standard input",
              file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
