"""A member that takes its time, and goes on where it was stopped: its results are the same."""

import random
import time

import noisefloor.member as nf


def train(run: nf.Run) -> None:
    run.data(nf.data.identity_of([1]))
    with run.init:
        w = [random.random() for _ in range(3)]
    run.initial({"w": [w]})
    kept = run.restore() if run["keeps"] else None
    step = 0
    if kept is not None:
        w, step = kept["w"], kept["step"]
    run.progress(run["steps"])
    while step < run["steps"]:
        time.sleep(run["pause"])  # The work.
        x = random.Random(run.augment.key("x", step)).random()
        w = [0.9 * one + 0.1 * x for one in w]
        run.batch([[x]], [0])
        run.step()
        run.record(train_loss=w[0])
        step += 1
        if run["keeps"]:
            run.checkpoint({"w": w, "step": step})
    run.evaluation([[w[0], w[1]], [w[1], w[2]]], [0, 1])
    run.evaluation_set([0, 1])
    run.finish({"w": [w]})


nf.main(train, {"steps": 10, "pause": 0.05, "keeps": True}, stack="slow")
