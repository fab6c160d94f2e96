"""The larger networks of the trainer, written from their papers in Python's torch.nn, with the
trainer's weight names.

Independent of the C++: ReLU before the pool as in the papers, NCHW, attention by torch's function.
"""
import torch
from torch import nn
from torch.nn import functional as F


def bn(channels, options):
    return nn.BatchNorm2d(channels, eps=options["epsilon"])


class ConvBn(nn.Module):
    """A convolution without bias, padded to keep the size, and batch norm."""

    def __init__(self, fan_in, out, kernel, options, stride=1, groups=1, padding=None, scale=True):
        super().__init__()
        if isinstance(kernel, int):
            kernel = (kernel, kernel)
        if padding is None:
            padding = (kernel[0] // 2, kernel[1] // 2)
        self.conv = nn.Conv2d(fan_in, out, kernel, stride=stride, padding=padding, groups=groups,
                              bias=False)
        self.bn = bn(out, options)
        if not scale:
            self.bn.weight = None

    def forward(self, x):
        return self.bn(self.conv(x))


class KernelCnn(nn.Module):
    def __init__(self, channels, side, classes, options):
        super().__init__()
        kernel = options["kernel"]
        for i, out in enumerate([16, 32, 64, 128, 256, 512], start=1):
            setattr(self, f"conv{i}", nn.Conv2d(channels, out, kernel, padding=kernel // 2))
            setattr(self, f"bn{i}", bn(out, options))
            channels = out
        self.dense = nn.Linear(512, classes)

    def forward(self, x):
        for i in range(1, 7):
            x = torch.relu(getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x)))
            if x.shape[2] > 1:
                x = F.max_pool2d(x, 2)
        return self.dense(x.mean(dim=(2, 3)))


class LeNet(nn.Module):
    def __init__(self, channels, side, classes, options):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        left = ((side - 4) // 2 - 4) // 2
        self.dense1 = nn.Linear(16 * left * left, 120)
        self.dense2 = nn.Linear(120, 84)
        self.dense3 = nn.Linear(84, classes)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2).flatten(1)
        return self.dense3(torch.relu(self.dense2(torch.relu(self.dense1(x)))))


class Residual9(nn.Module):
    def __init__(self, channels, options):
        super().__init__()
        setattr(self, "1", ConvBn(channels, channels, 3, options))
        setattr(self, "2", ConvBn(channels, channels, 3, options))

    def forward(self, x):
        first, second = getattr(self, "1"), getattr(self, "2")
        return x + torch.relu(second(torch.relu(first(x))))


class BehindStem9(nn.Module):
    """What follows the stem, which has `channels` channels."""
    def __init__(self, channels, classes, options):
        super().__init__()
        w = options["width"]
        self.layer1 = ConvBn(channels, 2 * w, 3, options)
        self.residual1 = Residual9(2 * w, options)
        self.layer2 = ConvBn(2 * w, 4 * w, 3, options)
        self.layer3 = ConvBn(4 * w, 8 * w, 3, options)
        self.residual3 = Residual9(8 * w, options)
        self.dense = nn.Linear(8 * w, classes)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        x = self.residual1(F.max_pool2d(torch.relu(self.layer1(x)), 2))
        x = F.max_pool2d(torch.relu(self.layer2(x)), 2)
        x = self.residual3(F.max_pool2d(torch.relu(self.layer3(x)), 2))
        return self.dense(F.adaptive_max_pool2d(x, 1).flatten(1)) / 8


class ResNet9(BehindStem9):
    def __init__(self, channels, side, classes, options):
        super().__init__(options["width"], classes, options)
        self.stem = ConvBn(channels, options["width"], 3, options)


class ResNet9Whitened(BehindStem9):
    def __init__(self, channels, side, classes, options):
        super().__init__(8 * channels, classes, options)
        self.stem = nn.Conv2d(channels, 8 * channels, 2)
        self.stem.weight.requires_grad_(False)


class BlockWithoutProjection(nn.Module):
    def __init__(self, fan_in, out, options):
        super().__init__()
        self.enters = fan_in != out
        stride = 2 if self.enters else 1
        self.conv1 = nn.Conv2d(fan_in, out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = bn(out, options)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = bn(out, options)
        self.more = (out - fan_in) // 2

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        if self.enters:
            nothing = torch.zeros_like(x[:, :self.more, ::2, ::2])
            x = torch.cat([nothing, x[:, :, ::2, ::2], nothing], dim=1)
        return torch.relu(inner + x)


class ResNet20(nn.Module):
    def __init__(self, channels, side, classes, options):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.bn1 = bn(16, options)
        fan_in = 16
        for stage, out in enumerate([16, 32, 64], start=1):
            blocks = []
            for _ in range(3):
                blocks.append(BlockWithoutProjection(fan_in, out, options))
                fan_in = out
            setattr(self, f"layer{stage}", nn.Sequential(*blocks))
        self.dense = nn.Linear(64, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.dense(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Bottleneck(nn.Module):
    def __init__(self, fan_in, width, stride, options):
        super().__init__()
        self.conv1 = nn.Conv2d(fan_in, width, 1, bias=False)
        self.bn1 = bn(width, options)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = bn(width, options)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = bn(4 * width, options)
        projected = fan_in != 4 * width or stride != 1
        self.shortcut = ConvBn(fan_in, 4 * width, 1, options, stride) if projected else None

    def forward(self, x):
        inner = torch.relu(self.bn1(self.conv1(x)))
        inner = torch.relu(self.bn2(self.conv2(inner)))
        inner = self.bn3(self.conv3(inner))
        return torch.relu(inner + (x if self.shortcut is None else self.shortcut(x)))


class BottleneckResNet(nn.Module):
    def __init__(self, channels, side, classes, options, blocks):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = bn(64, options)
        fan_in = 64
        for stage, count in enumerate(blocks, start=1):
            width, layers = 32 * 2**stage, []
            for i in range(count):
                layers.append(Bottleneck(fan_in, width, 2 if i == 0 and stage > 1 else 1, options))
                fan_in = 4 * width
            setattr(self, f"layer{stage}", nn.Sequential(*layers))
        self.dense = nn.Linear(2048, classes)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.dense(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Vgg(nn.Module):
    def __init__(self, channels, side, classes, options, late):
        super().__init__()
        self.stages = [(1, 2, 64), (2, 2, 128), (3, late, 256), (4, late, 512), (5, late, 512)]
        for stage, count, out in self.stages:
            for i in range(1, count + 1):
                setattr(self, f"conv{stage}_{i}", nn.Conv2d(channels, out, 3, padding=1))
                channels = out
        self.dense1 = nn.Linear(512 * (side // 32)**2, 4096)
        self.dense2 = nn.Linear(4096, 4096)
        self.dense3 = nn.Linear(4096, classes)

    def forward(self, x):
        for stage, count, _ in self.stages:
            for i in range(1, count + 1):
                x = torch.relu(getattr(self, f"conv{stage}_{i}")(x))
            x = F.max_pool2d(x, 2)
        x = torch.relu(self.dense1(x.flatten(1)))
        return self.dense3(torch.relu(self.dense2(x)))


class DenseLayer(nn.Module):
    def __init__(self, fan_in, options):
        super().__init__()
        self.bn1 = bn(fan_in, options)
        self.conv1 = nn.Conv2d(fan_in, 128, 1, bias=False)
        self.bn2 = bn(128, options)
        self.conv2 = nn.Conv2d(128, 32, 3, padding=1, bias=False)

    def forward(self, x):
        new = self.conv2(torch.relu(self.bn2(self.conv1(torch.relu(self.bn1(x))))))
        return torch.cat([x, new], dim=1)


class Transition(nn.Module):
    def __init__(self, fan_in, options):
        super().__init__()
        self.bn = bn(fan_in, options)
        self.conv = nn.Conv2d(fan_in, fan_in // 2, 1, bias=False)

    def forward(self, x):
        return F.avg_pool2d(self.conv(torch.relu(self.bn(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, channels, side, classes, options, blocks):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = bn(64, options)
        self.order, fan_in = [], 64
        for block, count in enumerate(blocks, start=1):
            layers = nn.Module()
            for i in range(1, count + 1):
                layers.add_module(str(i), DenseLayer(fan_in, options))
                self.order.append((f"block{block}", str(i)))
                fan_in += 32
            setattr(self, f"block{block}", layers)
            if block < 4:
                setattr(self, f"transition{block}", Transition(fan_in, options))
                self.order.append((f"transition{block}", None))
                fan_in //= 2
        self.bn2 = bn(fan_in, options)
        self.dense = nn.Linear(fan_in, classes)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        for block, layer in self.order:
            module = getattr(self, block)
            x = module(x) if layer is None else getattr(module, layer)(x)
        return self.dense(torch.relu(self.bn2(x)).mean(dim=(2, 3)))


class Chain(nn.Module):
    """Convolutions (out, kernel, stride, padded), each with batch norm and ReLU."""

    def __init__(self, fan_in, convs, options):
        super().__init__()
        for i, (out, kernel, stride, padded) in enumerate(convs, start=1):
            layer = ConvBn(fan_in, out, kernel, options, stride, padding=None if padded else 0,
                           scale=False)
            self.add_module(str(i), layer)
            fan_in = out

    def forward(self, x):
        for name in ("1", "2", "3", "4", "5"):
            if hasattr(self, name):
                x = torch.relu(getattr(self, name)(x))
        return x


class Inception(nn.Module):
    """Branches by name: a chain, after a pool of averages, before a pair of 1x3 and 3x1, or the
    largest values alone.
    """

    def __init__(self, fan_in, branches, options):
        super().__init__()
        self.branches, self.out = branches, 0
        for name, kind, convs in branches:
            chain = Chain(fan_in, convs, options)
            if kind == "pair":
                chain.wide = Chain(convs[-1][0], [same(384, (1, 3))], options)
                chain.high = Chain(convs[-1][0], [same(384, (3, 1))], options)
            self.add_module(name, chain)
            self.out += {"max": fan_in, "pair": 768}.get(kind) or convs[-1][0]

    def forward(self, x):
        results = []
        for name, kind, _ in self.branches:
            chain = getattr(self, name)
            if kind == "max":
                results.append(F.max_pool2d(x, 3, stride=2))
            elif kind == "average":
                smooth = F.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)
                results.append(chain(smooth))
            elif kind == "pair":
                y = chain(x)
                results += [chain.wide(y), chain.high(y)]
            else:
                results.append(chain(x))
        return torch.cat(results, dim=1)


def same(out, kernel):
    return (out, kernel, 1, True)


def halving(out):
    return (out, 3, 2, False)


class InceptionV3(nn.Module):
    def __init__(self, channels, side, classes, options):
        super().__init__()
        self.stem = nn.Module()
        first = [halving(32), (32, 3, 1, False), same(64, 3)]
        self.stem.a = Chain(channels, first, options)
        self.stem.b = Chain(64, [same(80, 1), (192, 3, 1, False)], options)
        last = 192
        for i, branches in enumerate(self.mixed()):
            block = Inception(last, branches, options)
            setattr(self, f"mixed{i}", block)
            last = block.out
        self.count = i + 1
        self.dense = nn.Linear(last, classes)

    @staticmethod
    def mixed():
        def first(pooled):
            return [("one", "", [same(64, 1)]), ("five", "", [same(48, 1), same(64, 5)]),
                    ("three", "", [same(64, 1), same(96, 3), same(96, 3)]),
                    ("pool", "average", [same(pooled, 1)])]

        def second(c):
            return [("one", "", [same(192, 1)]),
                    ("seven", "", [same(c, 1), same(c, (1, 7)), same(192, (7, 1))]),
                    ("twice", "", [same(c, 1), same(c, (7, 1)), same(c, (1, 7)), same(c, (7, 1)),
                                    same(192, (1, 7))]),
                    ("pool", "average", [same(192, 1)])]

        third = [("one", "", [same(320, 1)]),
                 ("three", "pair", [same(384, 1)]),
                 ("twice", "pair", [same(448, 1), same(384, 3)]),
                 ("pool", "average", [same(192, 1)])]
        return [first(32), first(64), first(64),
                [("three", "", [halving(384)]),
                 ("twice", "", [same(64, 1), same(96, 3), halving(96)]), ("max", "max", [])],
                second(128), second(160), second(160), second(192),
                [("three", "", [same(192, 1), halving(320)]),
                 ("seven", "", [same(192, 1), same(192, (1, 7)), same(192, (7, 1)), halving(192)]),
                 ("max", "max", [])],
                third, third]

    def forward(self, x):
        x = F.max_pool2d(self.stem.a(x), 3, stride=2)
        x = F.max_pool2d(self.stem.b(x), 3, stride=2)
        for i in range(self.count):
            x = getattr(self, f"mixed{i}")(x)
        return self.dense(x.mean(dim=(2, 3)))


class Separable(nn.Module):
    def __init__(self, fan_in, out, options):
        super().__init__()
        self.depthwise = nn.Conv2d(fan_in, fan_in, 3, padding=1, groups=fan_in, bias=False)
        self.point = nn.Conv2d(fan_in, out, 1, bias=False)
        self.bn = bn(out, options)

    def forward(self, x):
        return self.bn(self.point(self.depthwise(x)))


class Flow(nn.Module):
    """Separable convolutions with ReLU before each, or before each but the first."""

    def __init__(self, sizes, options, shortcut, relu_first=True):
        super().__init__()
        self.relu_first = relu_first
        for i in range(1, len(sizes)):
            self.add_module(str(i), Separable(sizes[i - 1], sizes[i], options))
        self.count = len(sizes) - 1
        self.shortcut = ConvBn(sizes[0], sizes[-1], 1, options, 2) if shortcut else None

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            if i > 1 or self.relu_first:
                y = torch.relu(y)
            y = getattr(self, str(i))(y)
        if self.shortcut is None:
            return x + y
        return F.max_pool2d(y, 3, stride=2, padding=1) + self.shortcut(x)


class Xception(nn.Module):
    def __init__(self, channels, side, classes, options):
        super().__init__()
        self.stem1 = ConvBn(channels, 32, 3, options, 2, padding=0)
        self.stem2 = ConvBn(32, 64, 3, options, padding=0)
        self.entry1 = Flow([64, 128, 128], options, True, relu_first=False)
        self.entry2 = Flow([128, 256, 256], options, True)
        self.entry3 = Flow([256, 728, 728], options, True)
        for i in range(1, 9):
            setattr(self, f"middle{i}", Flow([728, 728, 728, 728], options, False))
        self.exit1 = Flow([728, 728, 1024], options, True)
        self.exit2 = Separable(1024, 1536, options)
        self.exit3 = Separable(1536, 2048, options)
        self.dense = nn.Linear(2048, classes)

    def forward(self, x):
        x = torch.relu(self.stem2(torch.relu(self.stem1(x))))
        x = self.entry3(self.entry2(self.entry1(x)))
        for i in range(1, 9):
            x = getattr(self, f"middle{i}")(x)
        x = torch.relu(self.exit2(self.exit1(x)))
        return self.dense(torch.relu(self.exit3(x)).mean(dim=(2, 3)))


class MobileBlock(nn.Module):
    def __init__(self, fan_in, out, stride, options):
        super().__init__()
        self.depthwise = nn.Conv2d(fan_in, fan_in, 3, stride=stride, padding=1, groups=fan_in,
                                   bias=False)
        self.bn = bn(fan_in, options)
        self.point = ConvBn(fan_in, out, 1, options)

    def forward(self, x):
        return F.relu6(self.point(F.relu6(self.bn(self.depthwise(x)))))


class MobileNet(nn.Module):
    def __init__(self, channels, side, classes, options):
        super().__init__()
        self.stem = ConvBn(channels, 32, 3, options, 2)
        strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1]
        outs = [64, 128, 128, 256, 256] + 6 * [512] + [1024, 1024]
        fan_in = 32
        for i, (out, stride) in enumerate(zip(outs, strides), start=1):
            setattr(self, f"block{i}", MobileBlock(fan_in, out, stride, options))
            fan_in = out
        self.dense = nn.Linear(1024, classes)

    def forward(self, x):
        x = F.relu6(self.stem(x))
        for i in range(1, 14):
            x = getattr(self, f"block{i}")(x)
        return self.dense(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Inverted(nn.Module):
    def __init__(self, fan_in, out, kernel, stride, expand, options):
        super().__init__()
        inside = fan_in * expand
        self.expand = ConvBn(fan_in, inside, 1, options) if expand != 1 else None
        self.depthwise = nn.Conv2d(inside, inside, kernel, stride=stride, padding=kernel // 2,
                                   groups=inside, bias=False)
        self.bn = bn(inside, options)
        self.squeeze = nn.Conv2d(inside, fan_in // 4, 1)
        self.excite = nn.Conv2d(fan_in // 4, inside, 1)
        self.project = ConvBn(inside, out, 1, options)
        self.adds = stride == 1 and fan_in == out

    def forward(self, x):
        y = x if self.expand is None else F.silu(self.expand(x))
        y = F.silu(self.bn(self.depthwise(y)))
        y = y * torch.sigmoid(self.excite(F.silu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        y = self.project(y)
        return x + y if self.adds else y


class EfficientNetB0(nn.Module):
    def __init__(self, channels, side, classes, options):
        super().__init__()
        self.stem = ConvBn(channels, 32, 3, options, 2)
        fan_in = 32
        table = [(16, 1, 3, 1, 1), (24, 2, 3, 2, 6), (40, 2, 5, 2, 6), (80, 3, 3, 2, 6),
                 (112, 3, 5, 1, 6), (192, 4, 5, 2, 6), (320, 1, 3, 1, 6)]
        for stage, (out, count, kernel, stride, expand) in enumerate(table, start=1):
            blocks = []
            for i in range(count):
                blocks.append(Inverted(fan_in, out, kernel, stride if i == 0 else 1, expand,
                                       options))
                fan_in = out
            setattr(self, f"stage{stage}", nn.Sequential(*blocks))
        self.top = ConvBn(320, 1280, 1, options)
        self.dense = nn.Linear(1280, classes)

    def forward(self, x):
        x = F.silu(self.stem(x))
        for stage in range(1, 8):
            x = getattr(self, f"stage{stage}")(x)
        return self.dense(F.silu(self.top(x)).mean(dim=(2, 3)))


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(192, eps=1e-6)
        self.attention = nn.Module()
        self.attention.qkv = nn.Linear(192, 3 * 192)
        self.attention.out = nn.Linear(192, 192)
        self.norm2 = nn.LayerNorm(192, eps=1e-6)
        self.dense1 = nn.Linear(192, 768)
        self.dense2 = nn.Linear(768, 192)

    def forward(self, x):
        q, k, v = self.attention.qkv(self.norm1(x)).chunk(3, dim=-1)
        heads = [F.scaled_dot_product_attention(*(t[..., h:h + 64] for t in (q, k, v)))
                 for h in (0, 64, 128)]
        x = x + self.attention.out(torch.cat(heads, dim=-1))
        return x + self.dense2(F.gelu(self.dense1(self.norm2(x))))


class VisionTransformer(nn.Module):
    def __init__(self, channels, side, classes, options):
        super().__init__()
        self.patches = nn.Conv2d(channels, 192, 4, stride=4)
        self.positions = nn.Module()
        self.positions.weight = nn.Parameter(torch.zeros((side // 4)**2, 192))
        for i in range(1, 7):
            setattr(self, f"block{i}", TransformerBlock())
        self.norm = nn.LayerNorm(192, eps=1e-6)
        self.dense = nn.Linear(192, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.positions.weight
        for i in range(1, 7):
            x = getattr(self, f"block{i}")(x)
        return self.dense(self.norm(x).mean(dim=1))


def resnet(*blocks):
    return lambda *args: BottleneckResNet(*args, blocks)


def densenet(*blocks):
    return lambda *args: DenseNet(*args, blocks)


# Each takes channels, side, classes and {epsilon, kernel, width}.
NETWORKS = {
    "kernel_cnn": KernelCnn,
    "lenet": LeNet,
    "resnet9": ResNet9,
    "resnet9_whitened": ResNet9Whitened,
    "resnet20": ResNet20,
    "resnet50": resnet(3, 4, 6, 3),
    "resnet101": resnet(3, 4, 23, 3),
    "resnet152": resnet(3, 8, 36, 3),
    "vgg16": lambda *args: Vgg(*args, 3),
    "vgg19": lambda *args: Vgg(*args, 4),
    "densenet121": densenet(6, 12, 24, 16),
    "densenet169": densenet(6, 12, 32, 32),
    "densenet201": densenet(6, 12, 48, 32),
    "inception_v3": InceptionV3,
    "xception": Xception,
    "mobilenet": MobileNet,
    "efficientnet_b0": EfficientNetB0,
    "vit": VisionTransformer,
}
