"""The trainer's first networks, written again in Python's torch.nn, with the trainer's weight names.

Independent of the C++: ReLU before the pool as in the papers, NCHW, PyTorch's own optimisers.
"""
import torch
from reference_networks import NETWORKS
from torch import nn


class SmallCnn(nn.Module):
    def __init__(self, channels, classes, batch_norm, epsilon):
        super().__init__()
        for i, (fan_in, out) in enumerate([(channels, 16), (16, 32), (32, 32)], start=1):
            setattr(self, f"conv{i}", nn.Conv2d(fan_in, out, 3, padding=1))
            if batch_norm:
                setattr(self, f"bn{i}", nn.BatchNorm2d(out, eps=epsilon))
        self.dense1 = nn.Linear(32, 32)
        self.dense2 = nn.Linear(32, classes)
        self.batch_norm = batch_norm

    def forward(self, x):
        for i in (1, 2, 3):
            x = getattr(self, f"conv{i}")(x)
            if self.batch_norm:
                x = getattr(self, f"bn{i}")(x)
            x = nn.functional.max_pool2d(torch.relu(x), 2)
        return self.dense2(torch.relu(self.dense1(x.mean(dim=(2, 3)))))


class MediumCnn(nn.Module):
    def __init__(self, channels, classes, side):
        super().__init__()
        sizes = [(channels, 64), (64, 128), (128, 256), (256, 256)]
        for i, (fan_in, out) in enumerate(sizes, start=1):
            setattr(self, f"conv{i}", nn.Conv2d(fan_in, out, 3, padding=1))
        self.dense = nn.Linear(256 * (side // 16) ** 2, classes)

    def forward(self, x):
        for i in (1, 2, 3, 4):
            x = torch.relu(nn.functional.max_pool2d(getattr(self, f"conv{i}")(x), 2))
        return self.dense(x.flatten(1))


class Mlp(nn.Module):
    def __init__(self, pixels, hidden, classes):
        super().__init__()
        self.dense1 = nn.Linear(pixels, hidden)
        self.dense2 = nn.Linear(hidden, hidden)
        self.dense3 = nn.Linear(hidden, classes)

    def forward(self, x):
        x = torch.relu(self.dense1(x.flatten(1)))
        return self.dense3(torch.relu(self.dense2(x)))


class Shortcut(nn.Module):
    def __init__(self, fan_in, out, stride, epsilon):
        super().__init__()
        self.conv = nn.Conv2d(fan_in, out, 1, stride=stride, bias=False)
        self.bn = nn.BatchNorm2d(out, eps=epsilon)

    def forward(self, x):
        return self.bn(self.conv(x))


class Block(nn.Module):
    def __init__(self, fan_in, out, stride, epsilon):
        super().__init__()
        self.conv1 = nn.Conv2d(fan_in, out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out, eps=epsilon)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out, eps=epsilon)
        projected = stride != 1 or fan_in != out
        self.shortcut = Shortcut(fan_in, out, stride, epsilon) if projected else None

    def forward(self, x):
        around = self.shortcut(x) if self.shortcut is not None else x
        inner = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(inner)) + around)


class ResNet18(nn.Module):
    def __init__(self, channels, classes, epsilon):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64, eps=epsilon)
        sizes = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        for i, (fan_in, out, stride) in enumerate(sizes, start=1):
            blocks = [Block(fan_in, out, stride, epsilon), Block(out, out, 1, epsilon)]
            setattr(self, f"layer{i}", nn.Sequential(*blocks))
        self.dense = nn.Linear(512, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for i in (1, 2, 3, 4):
            x = getattr(self, f"layer{i}")(x)
        return self.dense(nn.functional.avg_pool2d(x, 4).flatten(1))


def make_model(name, channels, side, classes, batch_norm, epsilon, hidden, kernel=3, width=64):
    if name in NETWORKS:
        options = dict(epsilon=epsilon, kernel=kernel, width=width)
        return NETWORKS[name](channels, side, classes, options)
    if name == "small_cnn":
        return SmallCnn(channels, classes, batch_norm, epsilon)
    if name == "medium_cnn":
        return MediumCnn(channels, classes, side)
    if name == "mlp":
        return Mlp(channels * side * side, hidden, classes)
    if name == "resnet18":
        return ResNet18(channels, classes, epsilon)
    raise ValueError(f"unknown model {name}")


def weights_and_buffers(model):
    """Parameters and buffers by name, without PyTorch's counters of batches."""
    return {k: v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
