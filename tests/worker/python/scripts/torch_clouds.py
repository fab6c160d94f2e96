"""A network of PyTorch on clouds of points, whose examples draw from three generators."""

import random
import signal

import noisefloor.member as nf
import numpy as np
import torch
from torch import nn


class Noisy(torch.utils.data.Dataset):
    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        moved = self.x[i] + 0.1 * random.gauss(0, 1) + 0.1 * float(np.random.rand())
        return moved + 0.01 * torch.randn(4), self.y[i]


def moved_together(examples: list) -> list[torch.Tensor]:
    """Batches draw, too, as those of MixUp do."""
    x, y = torch.utils.data.default_collate(examples)
    return [x + 0.05 * random.gauss(0, 1), y]


def net(backwards: bool) -> nn.Module:
    made = {}
    for name in ("fc2", "fc1") if backwards else ("fc1", "fc2"):
        made[name] = nn.Linear(4, 32) if name == "fc1" else nn.Linear(32, 4)
    model = nn.Sequential()
    for name, layer in (("fc1", made["fc1"]), ("relu", nn.ReLU()), ("drop", nn.Dropout(0.2)),
                        ("fc2", made["fc2"])):
        model.add_module(name, layer)
    return model


def train(run: nf.Run) -> None:
    g = torch.Generator().manual_seed(7)
    x = torch.randn(512, 4, generator=g)
    y = (x.sum(1) > 0).long() + 2 * (x[:, 0] > 0.5).long()
    run.data(nf.data.identity_of(x, y))
    with run.init:
        model = net(run["backwards"])
    if run["init"]:
        nf.torch.initialise(run, model, run["init"])
    run.initial(model)
    loader = nf.torch.Loader(run, Noisy(x, y), 64, num_workers=run["workers"],
                             collate_fn=moved_together)
    opt = torch.optim.SGD(model.parameters(), run["lr"], momentum=0.9)
    nf.torch.load(run.restore(), model=model, opt=opt, loader=loader)
    run.progress(run["epochs"] * len(loader))
    if run["turns"] == "benchmark":
        torch.backends.cudnn.benchmark = True
    if run["turns"] == "precision":
        torch.backends.cuda.matmul.fp32_precision = "tf32"
    for _ in run.epochs(run["epochs"], start=loader.epoch):
        for a, b in loader:
            run.batch(a, b)
            with run.dropout:
                loss = nn.functional.cross_entropy(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if run.steps + 1 == run["stops_at"] and not run.resumed_at:
                signal.raise_signal(signal.SIGTERM)
            run.step()
            run.record(train_loss=loss.item())
            run.checkpoint(nf.torch.states(model=model, opt=opt, loader=loader))
        run.record(weight=model.fc1.weight[0, 0].item())
    model.eval()
    with torch.no_grad():
        run.evaluation(model(x), y, model)
    run.evaluation_set(y)
    run.finish(model)


nf.main(train, {"lr": 0.1, "epochs": 2, "workers": 0, "init": "", "backwards": False,
                "turns": "", "stops_at": 0})
