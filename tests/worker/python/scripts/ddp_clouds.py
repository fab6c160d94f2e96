"""The same in several processes, and in mixed precision."""

import noisefloor.member as nf
import torch
from torch import nn


def train(run: nf.Run) -> None:
    nf.torch.join(run)
    g = torch.Generator().manual_seed(7)
    x = torch.randn(512, 4, generator=g)
    y = (x.sum(1) > 0).long() + 2 * (x[:, 0] > 0.5).long()
    run.data(nf.data.identity_of(x, y))
    with run.init:
        model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))
    run.initial(model)
    both = nn.parallel.DistributedDataParallel(model) if run.ranks > 1 else model
    loader = nf.torch.Loader(run, torch.utils.data.TensorDataset(x, y), 64)
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    nf.torch.load(run.restore(), model=model, opt=opt, loader=loader)
    run.progress(run["epochs"] * len(loader))
    for _ in run.epochs(run["epochs"], start=loader.epoch):
        for a, b in loader:
            run.batch(a, b)
            if run.rank == 1 and run.steps == 3 and run["mischief"]:
                raise MemoryError if run["mischief"] == "no_memory" else ValueError
            with run.dropout, torch.autocast("cpu", torch.bfloat16):
                loss = nn.functional.cross_entropy(both(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            run.step()
            run.record(train_loss=loss.item())
            run.checkpoint(nf.torch.states(model=model, opt=opt, loader=loader))
    model.eval()
    with torch.no_grad():
        run.evaluation(model(x), y, model)
    run.finish(model)


nf.main(train, {"epochs": 2, "ranks": 2, "mischief": ""}, processes="ranks")
