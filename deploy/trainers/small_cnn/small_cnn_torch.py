"""noisefloor's SmallCNN in PyTorch's Python: a member of the same sweeps as our own trainer's."""

import noisefloor.member as nf
import numpy as np
import torch
from torch import nn

import study


class SmallCnn(nn.Module):
    """Three times conv3x3 -> [batch norm] -> ReLU -> maxpool2, mean over the image, two dense."""

    def __init__(self, run: nf.Run, channels: int, classes: int) -> None:
        super().__init__()
        self.normed = run["model.batch_norm"]
        for i, out in enumerate((16, 32, 32), 1):
            setattr(self, f"conv{i}", nn.Conv2d(channels, out, 3, padding=1))
            if self.normed:
                setattr(self, f"bn{i}", nn.BatchNorm2d(out, run["model.batch_norm_epsilon"],
                                                       run["model.batch_norm_momentum"]))
            channels = out
        self.dense1 = nn.Linear(channels, 32)
        self.dense2 = nn.Linear(32, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in (1, 2, 3):
            x = getattr(self, f"conv{i}")(x)
            if self.normed:
                x = getattr(self, f"bn{i}")(x)
            x = nn.functional.max_pool2d(torch.relu(x), 2)
        return self.dense2(torch.relu(self.dense1(x.mean((2, 3)))))


class Net:
    def __init__(self, run: nf.Run, channels: int, classes: int) -> None:
        self.device = nf.torch.device(run)
        if run["train.threads"] != torch.get_num_threads() and self.device.type == "cpu":
            raise nf.Refused(f"train.threads: this worker gives {torch.get_num_threads()}")
        self.model = SmallCnn(run, channels, classes)
        nf.torch.initialise(run, self.model, run["model.init"])
        # As our trainer: on a CPU, batch norm's sums depend on the layout in their last digits.
        self.model.to(self.device, memory_format=torch.channels_last)
        named = "train.optimizer."
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), run[named + "learning_rate"], run[named + "momentum"],
            weight_decay=run[named + "weight_decay"], nesterov=run[named + "nesterov"])
        self.smoothing = run["train.label_smoothing"]

    def initial(self) -> dict[str, np.ndarray]:
        return {n: p.detach().cpu().numpy() for n, p in self.model.named_parameters()}

    def step(self, images: np.ndarray, labels: np.ndarray, rate: float) -> float:
        self.optimizer.param_groups[0]["lr"] = rate
        x, y = self.on_device(images), torch.from_numpy(labels).to(self.device)
        self.model.train()
        loss = nn.functional.cross_entropy(self.model(x), y, label_smoothing=self.smoothing)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def answers(self, images: np.ndarray) -> np.ndarray:
        self.model.eval()
        return self.model(self.on_device(images)).cpu().numpy()

    def on_device(self, images: np.ndarray) -> torch.Tensor:
        rows = np.ascontiguousarray(images.transpose(0, 2, 3, 1))
        return torch.from_numpy(rows).to(self.device).permute(0, 3, 1, 2)

    def state(self) -> dict:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load(self, state: dict) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def weights(self) -> dict[str, np.ndarray]:
        return {n: v.cpu().numpy() for n, v in self.model.state_dict().items()
                if not n.endswith("num_batches_tracked")}


study.main(Net, "small_cnn_torch")
