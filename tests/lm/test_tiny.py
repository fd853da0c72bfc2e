from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from reprise import lm
from reprise.lm import CharLSTM, GPTConfig, LSTMConfig, TinyGPT


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def lstm(seed: int = 0, **change) -> CharLSTM:
    config = LSTMConfig(**({"n_tokens": 7, "dim": 16} | change))
    return CharLSTM(config, generator=seeded(seed))


def gpt(seed: int = 0, **change) -> TinyGPT:
    config = GPTConfig(**({"n_tokens": 7, "context": 12, "dim": 16, "n_heads": 2} | change))
    return TinyGPT(config, generator=seeded(seed))


BOTH = pytest.mark.parametrize("make", [lstm, gpt])
PERIODIC = torch.arange(3000) % 7  # fully predictable from the last token


def sgd(lr: float = 0.3):
    return lambda parameters: torch.optim.SGD(parameters, lr, momentum=0.9)


# Models


@BOTH
def test_logits_have_a_row_for_each_token(make):
    tokens = torch.randint(7, (3, 12), generator=seeded())
    assert make()(tokens).shape == (3, 12, 7)


@BOTH
def test_the_future_does_not_change_the_past(make):
    model = make().eval()
    tokens = torch.randint(7, (2, 12), generator=seeded())
    for t in (1, 6, 11):
        other = tokens.clone()
        other[:, t] = (other[:, t] + 1) % 7
        a, b = model(tokens), model(other)
        torch.testing.assert_close(a[:, :t], b[:, :t])
        assert not torch.allclose(a[:, t:], b[:, t:])


@BOTH
def test_initial_weights_go_by_the_generator_alone(make):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    a = make(3).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    b, c = make(3).state_dict(), make(4).state_dict()
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert any(not torch.equal(a[name], c[name]) for name in a)
    assert all(torch.isfinite(value).all() for value in a.values())


@BOTH
def test_an_untrained_model_is_near_uniform_guessing(make):
    bits = lm.bits_per_token(make(), PERIODIC, length=12)
    assert bits == pytest.approx(math.log2(7), abs=0.25)


def test_the_sizes_are_those_of_the_formulas():
    V, D, T, L = 83, 64, 64, 2
    n = sum(p.numel() for p in TinyGPT(GPTConfig(V), generator=seeded()).parameters())
    block = (3 * D * D + 3 * D) + (D * D + D) + (8 * D * D + 5 * D) + 4 * D
    assert n == V * D + T * D + L * block + 2 * D + D * V
    H = 128
    n = sum(p.numel() for p in CharLSTM(LSTMConfig(V), generator=seeded()).parameters())
    assert n == V * H + 4 * (2 * H * H + 2 * H) + H * V + V


def test_the_initial_spread_is_gpt2s():
    model = gpt(dim=64, n_heads=4, n_layers=8, n_tokens=200)
    block = model.blocks[0]
    assert block.up.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert block.down.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert block.mix.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert not block.up.bias.any()


def test_attention_equals_the_textbook_formula():
    model = gpt(n_layers=1)
    block, x = model.blocks[0], torch.randn(2, 5, 16, generator=seeded())
    h = block.norm_attention(x)
    q, k, v = (block.qkv(h)[..., i * 16 : (i + 1) * 16] for i in range(3))
    heads = []
    for i in (slice(0, 8), slice(8, 16)):
        score = q[..., i] @ k[..., i].transpose(1, 2) / math.sqrt(8)
        score = score.masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf)
        heads.append(score.softmax(-1) @ v[..., i])
    y = x + block.mix(torch.cat(heads, -1))
    y = y + block.down(F.gelu(block.up(block.norm_mlp(y))))
    torch.testing.assert_close(block(x), y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LSTMConfig(0), "`n_tokens` must be at least 1, got 0"),
        (lambda: GPTConfig(5, n_layers=0), "`n_layers` must be at least 1, got 0"),
        (lambda: GPTConfig(5, dim=10, n_heads=3), "`dim` must be a multiple of n_heads=3, got 10"),
        (lambda: gpt()(torch.zeros(1, 13, dtype=torch.int64)), "at most 12 long, got 13"),
    ],
)
def test_impossible_sizes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Batches, training, evaluation


def test_targets_are_the_inputs_moved_on_by_one():
    stream = lm.batches(torch.arange(50), n_batch=4, length=9, generator=seeded())
    for _ in range(20):
        x, y = next(stream)
        assert x.shape == y.shape == (4, 9)
        assert torch.equal(y, x + 1)
        assert torch.equal(x - x[:, :1], torch.arange(9).expand(4, 9))


def test_every_window_can_start_a_batch_the_last_one_too():
    stream = lm.batches(torch.arange(6), n_batch=50, length=3, generator=seeded())
    x, y = next(stream)
    assert set(x[:, 0].tolist()) == {0, 1, 2}  # each missing has probability (2/3)^50
    assert y.max() == 5


@pytest.mark.parametrize(
    ("tokens", "options", "message"),
    [
        (torch.arange(5), {"length": 5}, r"`length` must lie in 1\.\.4 for .*, got 5"),
        (torch.arange(5), {"length": 0}, "got 0"),
        (torch.arange(5), {"n_batch": 0}, "`n_batch` must be at least 1, got 0"),
        (torch.zeros(2, 9, dtype=torch.int64), {}, r"must be \(time,\) int64, got \(2, 9\)"),
        (torch.zeros(9), {}, r"got \(9,\) torch.float32"),
    ],
)
def test_bad_batches_are_refused_at_once(tokens, options, message):
    given_options = {"n_batch": 2, "length": 3} | options
    with pytest.raises(ValueError, match=message):
        lm.batches(tokens, generator=seeded(), **given_options)


@BOTH
def test_a_predictable_text_is_learnt(make):
    model = make()
    trained = lm.train(model, PERIODIC, optimizer=sgd(), steps=150, length=12, generator=seeded())
    assert trained.bits.shape == (150,)
    assert not trained.diverged
    assert trained.bits[0].item() == pytest.approx(math.log2(7), abs=0.3)
    assert lm.bits_per_token(model, PERIODIC, length=12) < 0.2


@BOTH
def test_training_is_repeatable_to_the_bit(make):
    def bits(seed):
        model = make()
        return lm.train(
            model, PERIODIC, optimizer=sgd(), steps=10, length=12, generator=seeded(seed)
        ).bits

    assert torch.equal(bits(5), bits(5))
    assert not torch.equal(bits(5), bits(6))


def test_learning_rates_of_all_groups_follow_the_factor():
    seen = []

    class Watching(torch.optim.SGD):
        def step(self):
            seen.append([group["lr"] for group in self.param_groups])
            super().step()

    def make(parameters):
        first, *rest = parameters
        return Watching([{"params": [first], "lr": 1.0}, {"params": rest}], lr=0.5)

    lm.train(
        lstm(),
        PERIODIC,
        optimizer=make,
        steps=3,
        length=5,
        generator=seeded(),
        lr_factor=lambda step: 1 / (1 + step),
    )
    assert seen == [[1.0, 0.5], [0.5, 0.25], [pytest.approx(1 / 3), pytest.approx(0.5 / 3)]]


def test_the_gradient_is_clipped_to_the_norm():
    model, norms = lstm(), []

    class Watching(torch.optim.SGD):
        def step(self):
            grads = [p.grad for p in model.parameters()]
            norms.append(torch.cat([g.flatten() for g in grads]).norm().item())
            super().step()

    lm.train(
        model,
        PERIODIC,
        optimizer=lambda parameters: Watching(parameters, 0.1),
        steps=3,
        length=5,
        generator=seeded(),
        max_norm=1e-3,
    )
    assert norms == [pytest.approx(1e-3, rel=1e-3)] * 3


def test_a_run_that_diverges_stops_and_says_so():
    trained = lm.train(
        gpt(), PERIODIC, optimizer=sgd(1e30), steps=50, length=12, generator=seeded()
    )
    assert trained.diverged
    assert len(trained.bits) < 50
    assert torch.isfinite(trained.bits[:-1]).all()
    assert not math.isfinite(trained.bits[-1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "`steps` must be at least 1, got 0"),
        ({"max_norm": 0.0}, "`max_norm` must be positive, got 0.0"),
        ({"length": 3000}, "`length` must lie in"),
    ],
)
def test_bad_training_is_refused(options, message):
    given_options = {"steps": 5, "length": 5} | options
    with pytest.raises(ValueError, match=message):
        lm.train(lstm(), PERIODIC, optimizer=sgd(), generator=seeded(), **given_options)


@BOTH
def test_bits_equal_the_sum_of_log_probabilities_window_by_window(make):
    model, tokens = make(), torch.randint(7, (40,), generator=seeded(1))
    total = 0.0
    for start in range(0, 36, 12):  # 39 predictable tokens: three windows of 12
        log_p = model(tokens[None, start : start + 12])[0].log_softmax(-1)
        total -= log_p[torch.arange(12), tokens[start + 1 : start + 13]].sum().item()
    expected = total / 36 / math.log(2)
    assert lm.bits_per_token(model, tokens, length=12, n_batch=2) == pytest.approx(
        expected, rel=1e-5
    )


def test_bits_of_a_uniform_model_are_the_logarithm_of_the_vocabulary():
    model = lstm()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert lm.bits_per_token(model, PERIODIC) == pytest.approx(math.log2(7), rel=1e-6)


def test_evaluating_leaves_mode_and_gradients_alone():
    model = lstm()
    model.train()
    lm.bits_per_token(model, PERIODIC)
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
