from __future__ import annotations

import pytest
import torch

from reprise.fsgdm import nets


@pytest.mark.parametrize(
    ("net", "side", "width", "n_parameters"),
    [
        # conv 9w + BN 2w; blocks: 2 convs (9 n m), BNs, 1x1 shortcuts; linear 4w * 10 + 10.
        ("resnet8", 14, 8, 72 + 16 + 1184 + 3680 + 14528 + 330),
        ("vgg_mini", 14, 8, 72 + 576 + 1152 + 2304 + 4608 + 9216 + 2 * 112 + 330),
        ("mlp", 8, 64, 64 * 64 * 2 + 128 + 650),
    ],
)
def test_nets_have_their_shapes_and_parameter_counts(net, side, width, n_parameters) -> None:
    made = nets.build(net, width=width, side=side, n_classes=10, seed=0)
    assert sum(p.numel() for p in made.parameters()) == n_parameters
    assert made(torch.zeros(3, 1, side, side)).shape == (3, 10)


def test_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    a = nets.build("resnet8", width=4, side=14, n_classes=10, seed=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(6)
    b = nets.build("resnet8", width=4, side=14, n_classes=10, seed=1)
    c = nets.build("resnet8", width=4, side=14, n_classes=10, seed=2)
    same = [torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True)]
    assert all(same)
    assert not torch.equal(a.stem.weight, c.stem.weight)


def test_a_block_adds_its_shortcut() -> None:
    block = nets.BasicBlock(4, 4, 1).eval()
    torch.nn.init.zeros_(block.norm2.weight)
    x = torch.rand(2, 4, 6, 6)
    assert torch.allclose(block(x), x)
    wide = nets.BasicBlock(4, 6, 2).eval()
    x = torch.randn(2, 4, 6, 6)
    inner = wide.norm2(wide.conv2(wide.norm1(wide.conv1(x)).relu()))
    assert torch.allclose(wide(x), (inner + wide.shortcut(x)).relu())
    assert wide(x).min() == 0


def test_the_plain_net_pools_after_its_second_and_fourth_convolution() -> None:
    kinds = [type(layer).__name__ for layer in nets.vgg_mini(2)]
    conv = ["Conv2d", "BatchNorm2d", "ReLU"]
    pool = ["MaxPool2d"]
    head = ["AdaptiveAvgPool2d", "Flatten", "Linear"]
    assert kinds == 2 * conv + pool + 2 * conv + pool + 2 * conv + head


def test_convolutions_start_with_the_variance_of_kaiming_fan_out() -> None:
    conv = nets.resnet8(32).blocks[2].conv1.weight  # 64 channels in, 128 out
    assert conv.std().item() == pytest.approx((2 / (9 * 128)) ** 0.5, rel=0.02)


def test_stem_stride_halves_the_resolution_on_larger_images_only() -> None:
    large = nets.build("resnet8", width=4, side=14, n_classes=10, seed=0)
    small = nets.build("resnet8", width=4, side=8, n_classes=10, seed=0)
    assert large.stem.stride == (2, 2)
    assert small.stem.stride == (1, 1)


def test_unknown_net_is_refused() -> None:
    with pytest.raises(ValueError, match="`net` must be one of.*'vgg99'"):
        nets.build("vgg99", width=1, side=8, n_classes=2, seed=0)
