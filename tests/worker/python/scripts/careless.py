"""A member that breaks its word as it is asked to."""

import random
import time

import noisefloor.member as nf

LUCK = random.Random(4)


def train(run: nf.Run) -> None:
    fault = run["fault"]
    if fault != "no data":
        run.data(nf.data.identity_of([1]))
    with run.init:
        w = [[random.gauss(0, 1) for _ in range(3)] for _ in range(2)]
    if fault == "crossed":
        with run.augment:
            w[0][0] += random.random()
    run.initial({"w": w})
    if fault == "forgets":
        run.restore()  # And what it gives is not looked at.
    run.progress(run["steps"])
    for _ in range(run["steps"]):
        with run.augment:
            x = [random.random() for _ in range(3)]
        if fault == "outside":
            x[0] += random.random()
        if fault == "time":
            x[0] += time.time() % 1.0
        run.batch([x], [0])
        w[0] = [a + 0.1 * b for a, b in zip(w[0], x)]
        if fault == "no step":
            time.sleep(0.001)
            continue
        run.step()
        if fault == "forgets":
            run.checkpoint({"nothing": 0})
    answers = [[sum(w[k]) for k in range(2)] for _ in range(4)]
    run.evaluation(answers, [0, 1, 0, 1])
    run.evaluation_set([1, 1, 1, 1] if fault == "other labels" else [0, 1, 0, 1])
    run.finish({"w": w})


nf.main(train, {"fault": "", "steps": 30})
