"""Small image classifiers: a residual net, a plain convolutional one, a perceptron."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NETS = ("resnet8", "vgg_mini", "mlp")


def _conv(n_in: int, n_out: int, stride: int = 1, kernel: int = 3) -> nn.Conv2d:
    return nn.Conv2d(n_in, n_out, kernel, stride, padding=kernel // 2, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with batch norm and a shortcut (1x1 where the shape changes)."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = _conv(n_in, n_out, stride), nn.BatchNorm2d(n_out)
        self.conv2, self.norm2 = _conv(n_out, n_out), nn.BatchNorm2d(n_out)
        self.shortcut = nn.Identity()
        if stride != 1 or n_in != n_out:
            self.shortcut = nn.Sequential(_conv(n_in, n_out, stride, 1), nn.BatchNorm2d(n_out))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, (batch, n_out, height / stride, width / stride)."""
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x), inplace=True)


class ResNet8(nn.Module):
    """A stem, three basic blocks of width w, 2w, 4w (strides 1, 2, 2), pooling, a linear layer."""

    def __init__(self, width: int, in_ch: int, n_classes: int, stem_stride: int) -> None:
        super().__init__()
        self.stem, self.norm = _conv(in_ch, width, stem_stride), nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(
            BasicBlock(width, width, 1),
            BasicBlock(width, 2 * width, 2),
            BasicBlock(2 * width, 4 * width, 2),
        )
        self.head = nn.Linear(4 * width, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (batch, n_classes) of images (batch, in_ch, height, width)."""
        y = self.blocks(F.relu(self.norm(self.stem(x)), inplace=True))
        return self.head(y.mean((2, 3)))


def _initialise(net: nn.Module) -> nn.Module:
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return net


def resnet8(width: int, in_ch: int = 1, n_classes: int = 10, stem_stride: int = 1) -> nn.Module:
    """Return a `ResNet8`; convolutions Kaiming-normal (fan_out), the rest as torch does.

    `stem_stride` 2 halves the resolution at once: for 14x14 images, half the cost.
    """
    return _initialise(ResNet8(width, in_ch, n_classes, stem_stride))


def vgg_mini(width: int, in_ch: int = 1, n_classes: int = 10) -> nn.Module:
    """Return a net without residuals: w-w-pool-2w-2w-pool-4w-4w, each conv with BN and ReLU."""
    layers: list[nn.Module] = []
    n_in = in_ch
    for i, n_out in enumerate((width, width, 2 * width, 2 * width, 4 * width, 4 * width)):
        layers += [_conv(n_in, n_out), nn.BatchNorm2d(n_out), nn.ReLU(inplace=True)]
        if i in (1, 3):
            layers.append(nn.MaxPool2d(2))
        n_in = n_out
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, n_classes)]
    return _initialise(nn.Sequential(*layers))


def mlp(in_features: int = 64, width: int = 64, n_classes: int = 10) -> nn.Module:
    """Return a perceptron with two hidden layers, `in_features`-width-width-n_classes, ReLU."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(in_features, width),
        nn.ReLU(inplace=True),
        nn.Linear(width, width),
        nn.ReLU(inplace=True),
        nn.Linear(width, n_classes),
    )


def build(net: str, *, width: int, side: int, n_classes: int, seed: int) -> nn.Module:
    """Return a net by name, with weights drawn from `seed` alone.

    Parameters
    ----------
    net : "resnet8" (stem stride 2 on images larger than 8x8), "vgg_mini" or "mlp"
    width : channels of the first block, or hidden units
    side : height and width of the images, pixels

    Raises
    ------
    ValueError
        For an unknown net.
    """
    if net not in NETS:
        raise ValueError(f"`net` must be one of {NETS}, got {net!r}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if net == "resnet8":
            return resnet8(width, 1, n_classes, stem_stride=2 if side > 8 else 1)
        if net == "vgg_mini":
            return vgg_mini(width, 1, n_classes)
        return mlp(side * side, width, n_classes)
