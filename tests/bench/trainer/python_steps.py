#!/usr/bin/env python3
"""What a user would write with PyTorch, in a process that lives on, as step_bench.cc is one.

    python_steps.py --model=small_cnn_bn --images=cifar10 --layout=nchw --feed=fixed

Reads "train K" (steps) or "evaluate K" (passes over 2,000 examples) on standard input and answers
each with one line of JSON. Eager, float32, SGD with momentum, cross entropy, on drawn images. On a
GPU (--device=cuda) with the trainer's switches: deterministic, no TF32, nothing tried out.
  --layout  nchw; channels_last; tuned: channels_last, pool before ReLU and the fused optimiser;
            compile: torch.compile of nchw
  --feed    fixed: one batch, again and again; augment: each batch is gathered from bytes, cropped
            at random, flipped at random and standardised, all in vectorised operations
"""
import argparse
import json
import resource
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F

SHAPES = {"cifar10": (3, 32, 32), "fashion-mnist": (1, 28, 28)}
TEST_EXAMPLES, TRAINING_BATCHES, PADDING = 2000, 10, 4


def batch_norm(channels):
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class SmallCnn(nn.Module):
    def __init__(self, channels, norm, pool_first):
        super().__init__()
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        for out in (16, 32, 32):
            self.convs.append(nn.Conv2d(channels, out, 3, padding=1))
            self.norms.append(batch_norm(out) if norm else nn.Identity())
            channels = out
        self.dense1, self.dense2, self.pool_first = nn.Linear(32, 32), nn.Linear(32, 10), pool_first

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms):
            x = norm(conv(x))
            x = F.relu_(F.max_pool2d(x, 2)) if self.pool_first else F.max_pool2d(F.relu(x), 2)
        return self.dense2(F.relu(self.dense1(x.mean((2, 3)))))


class MediumCnn(nn.Module):
    def __init__(self, channels, side):
        super().__init__()
        self.convs = nn.ModuleList()
        for out in (64, 128, 256, 256):
            self.convs.append(nn.Conv2d(channels, out, 3, padding=1))
            channels = out
        self.dense = nn.Linear(channels * (side // 16) ** 2, 10)

    def forward(self, x):
        for conv in self.convs:
            x = F.relu(F.max_pool2d(conv(x), 2))  # The paper's own order.
        return self.dense(x.flatten(1))


class Block(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm1, self.norm2, self.around = batch_norm(out), batch_norm(out), nn.Identity()
        if stride != 1 or channels != out:
            self.around = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False),
                                        batch_norm(out))

    def forward(self, x):
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + self.around(x))


class ResNet18(nn.Module):
    def __init__(self, channels):
        super().__init__()
        blocks, fan_in = [], 64
        for stage, out in enumerate((64, 128, 256, 512)):
            for i in range(2):
                blocks.append(Block(fan_in, out, 2 if i == 0 and stage else 1))
                fan_in = out
        self.stem = nn.Conv2d(channels, 64, 3, 1, 1, bias=False)
        self.norm, self.blocks = batch_norm(64), nn.Sequential(*blocks)
        self.dense = nn.Linear(512, 10)

    def forward(self, x):
        return self.dense(F.avg_pool2d(self.blocks(F.relu(self.norm(self.stem(x)))), 4).flatten(1))


class TransformerBlock(nn.Module):
    def __init__(self, channels, heads, hidden):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.dense = nn.Sequential(nn.Linear(channels, hidden), nn.GELU(),
                                   nn.Linear(hidden, channels))

    def forward(self, x):
        n, tokens, channels = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        x = x + self.out(mixed.reshape(n, tokens, channels))
        return x + self.dense(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, channels, side):
        super().__init__()
        self.patches = nn.Conv2d(channels, 192, 4, 4)
        self.positions = nn.Parameter(0.02 * torch.randn((side // 4) ** 2, 192))
        self.blocks = nn.Sequential(*(TransformerBlock(192, 3, 768) for _ in range(6)))
        self.norm, self.dense = nn.LayerNorm(192), nn.Linear(192, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        return self.dense(self.norm(self.blocks(x)).mean(1))


def make_model(name, shape, tuned):
    channels, side, _ = shape
    if name == "medium_cnn":
        return MediumCnn(channels, side)
    if name == "resnet18":
        return ResNet18(channels)
    if name == "vit":
        return VisionTransformer(channels, side)
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(channels * side * side, 128), nn.ReLU(),
                             nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    return SmallCnn(channels, name == "small_cnn_bn", tuned)


class Feed:
    def __init__(self, args):
        self.last = args.layout in ("channels_last", "tuned")
        self.fixed, self.size = args.feed == "fixed", args.batch
        shape = SHAPES[args.images]
        self.images = torch.randint(0, 256, (TRAINING_BATCHES * args.batch, *shape),
                                    dtype=torch.uint8)
        self.test = torch.randint(0, 256, (TEST_EXAMPLES, *shape), dtype=torch.uint8)
        self.labels = torch.arange(len(self.images)) % 10
        self.order, self.at = torch.randperm(len(self.images)), 0
        self.one = self.plain(self.images[:args.batch]), self.labels[:args.batch]

    def in_layout(self, x):
        # With one channel contiguous() would leave the strides of channels_last as they are.
        if self.last:
            return x.to(memory_format=torch.channels_last)
        return x.squeeze(1).unsqueeze(1) if x.shape[1] == 1 else x.contiguous()

    def plain(self, images):
        return self.in_layout(images.float().div_(255))

    def next(self):
        if self.fixed:
            return self.one
        if self.at >= len(self.order):
            self.order, self.at = torch.randperm(len(self.images), device=self.images.device), 0
        chosen = self.order[self.at:self.at + self.size]
        self.at += self.size
        return self.augmented(self.images[chosen]), self.labels[chosen]

    def augmented(self, images):
        n, _, height, width = images.shape
        x, here = F.pad(images, (PADDING,) * 4), images.device

        def moved(side):
            first = torch.randint(0, 2 * PADDING + 1, (n,), device=here)
            return first[:, None] + torch.arange(side, device=here)
        rows, columns = moved(height), moved(width)
        flipped = torch.rand(n, device=here) < 0.5
        columns = torch.where(flipped[:, None], columns.flip(1), columns)
        every = torch.arange(n, device=here)
        x = x[every[:, None, None], :, rows[:, :, None], columns[:, None, :]]
        return self.standardised(x.float().div_(255), (1, 2, 3)).permute(0, 3, 1, 2)

    def standardised(self, x, dimensions):
        mean = x.mean(dimensions, keepdim=True)
        deviation = x.std(dimensions, keepdim=True, unbiased=False)
        return (x - mean) / deviation.clamp_min(x[0].numel() ** -0.5)

    def test_batches(self, size):
        for first in range(0, TEST_EXAMPLES, size):
            x = self.test[first:first + size].float().div_(255)
            yield self.in_layout(x if self.fixed else self.standardised(x, (1, 2, 3)))


def set_switches():
    """As facts/switches.cc sets them where kernels and autotune are fixed."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--images", choices=SHAPES, default="cifar10")
    parser.add_argument("--layout", default="nchw")
    parser.add_argument("--feed", choices=("fixed", "augment"), default="fixed")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.device == "cuda":
        set_switches()
    with torch.device(args.device):
        feed = Feed(args)
    tuned = args.layout == "tuned"
    model = make_model(args.model, SHAPES[args.images], tuned).to(args.device)
    if feed.last:
        model = model.to(memory_format=torch.channels_last)
    run = torch.compile(model) if args.layout == "compile" else model
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9,
                                **(dict(fused=True) if tuned else {}))

    def train():
        images, labels = feed.next()
        optimizer.zero_grad()
        loss_of(run(feed.in_layout(images)), labels).backward()
        optimizer.step()

    def evaluate():
        model.eval()
        with torch.no_grad():
            for images in feed.test_batches(1000):
                model(images)
        model.train()

    def used():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    for line in sys.stdin:
        what, count = line.split()
        before, start = used(), time.perf_counter()
        for _ in range(int(count)):
            train() if what == "train" else evaluate()
        if args.device == "cuda":
            torch.cuda.synchronize()
        print(json.dumps(dict(wall=time.perf_counter() - start, cpu=used() - before)), flush=True)


if __name__ == "__main__":
    main()
