"""A script whose body is the training, as many are: no function for nf.main."""

import random

import noisefloor.member as nf

with nf.member({"answers": 4}, stack="body") as run:
    run.data(nf.data.identity_of([1]))
    with run.init:
        values = [[random.random(), random.random()] for _ in range(run["answers"])]
    run.initial({"values": values})
    run.step()
    run.evaluation(values, [0] * run["answers"])
    run.finish({"values": values})
