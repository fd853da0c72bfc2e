"""Tiny language models that train in half a minute on one core: an LSTM and a causal Transformer.

Both map tokens `(batch, time)` to logits `(batch, time, vocabulary)` and share one training loop.
Tokens are numbers (see `Vocabulary`). All randomness comes from the generator that is passed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def _positive(config: object, *names: str) -> None:
    for name in names:
        if getattr(config, name) < 1:
            raise ValueError(f"`{name}` must be at least 1, got {getattr(config, name)}")


@dataclass(frozen=True)
class LSTMConfig:
    """Sizes of a `CharLSTM`: vocabulary, width of embedding and state, layers."""

    n_tokens: int
    dim: int = 128
    n_layers: int = 1

    def __post_init__(self) -> None:
        _positive(self, "n_tokens", "dim", "n_layers")


@dataclass(frozen=True)
class GPTConfig:
    """Sizes of a `TinyGPT`: vocabulary, longest input, width, layers, heads."""

    n_tokens: int
    context: int = 64
    dim: int = 64
    n_layers: int = 2
    n_heads: int = 4

    def __post_init__(self) -> None:
        _positive(self, "n_tokens", "context", "dim", "n_layers", "n_heads")
        if self.dim % self.n_heads:
            raise ValueError(f"`dim` must be a multiple of n_heads={self.n_heads}, got {self.dim}")


class CharLSTM(nn.Module):
    """Embedding, LSTM, linear read-out; the state starts at zero for every input.

    All weights are uniform on +-1/sqrt(dim) (PyTorch's rule for LSTMs) but the embedding's, which
    are standard normal.
    """

    def __init__(self, config: LSTMConfig, *, generator: torch.Generator) -> None:
        super().__init__()
        self.config = config
        # Built without values, so that PyTorch's global generator stays out of it.
        with torch.device("meta"):
            self.embed = nn.Embedding(config.n_tokens, config.dim)
            self.lstm = nn.LSTM(config.dim, config.dim, config.n_layers, batch_first=True)
            self.head = nn.Linear(config.dim, config.n_tokens)
        self.to_empty(device=generator.device)
        bound = 1 / math.sqrt(config.dim)
        for parameter in (*self.lstm.parameters(), *self.head.parameters()):
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        nn.init.normal_(self.embed.weight, generator=generator)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits `(batch, time, n_tokens)` of the next token, for tokens `(batch, time)`."""
        hidden, _ = self.lstm(self.embed(tokens))  # (batch, time, dim)
        return self.head(hidden)


class Block(nn.Module):
    """One Transformer block: x + attention(norm x), then x + MLP(norm x)."""

    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm_attention = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.mix = nn.Linear(dim, dim)
        self.norm_mlp = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(B, T, 3, self.n_heads, C // self.n_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (batch, heads, time, dim of a head)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(y.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.up(self.norm_mlp(x))))


class TinyGPT(nn.Module):
    """A causal Transformer with learned positions, norms before each part, GPT-2's initialisation.

    Weights are normal with standard deviation 0.02, biases 0; what writes into the residual stream
    is scaled by 1/sqrt(2 n_layers) (Radford et al. 2019).
    """

    def __init__(self, config: GPTConfig, *, generator: torch.Generator) -> None:
        super().__init__()
        self.config = config
        with torch.device("meta"):
            self.embed = nn.Embedding(config.n_tokens, config.dim)
            self.position = nn.Embedding(config.context, config.dim)
            self.blocks = nn.Sequential(
                *(Block(config.dim, config.n_heads) for _ in range(config.n_layers))
            )
            self.norm = nn.LayerNorm(config.dim)
            self.head = nn.Linear(config.dim, config.n_tokens, bias=False)
        self.to_empty(device=generator.device)
        residual = 0.02 / math.sqrt(2 * config.n_layers)
        for name, module in self.named_modules():
            if isinstance(module, nn.LayerNorm):
                module.reset_parameters()  # ones and zeros
            elif isinstance(module, (nn.Linear, nn.Embedding)):
                std = residual if name.endswith((".mix", ".down")) else 0.02
                nn.init.normal_(module.weight, std=std, generator=generator)
                if getattr(module, "bias", None) is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits `(batch, time, n_tokens)` of the next token, for tokens `(batch, time)`.

        Raises
        ------
        ValueError
            For an input longer than the context.
        """
        if tokens.shape[1] > self.config.context:
            longest = self.config.context
            raise ValueError(f"`tokens` must be at most {longest} long, got {tokens.shape[1]}")
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.embed(tokens) + self.position(positions)  # (batch, time, dim)
        return self.head(self.norm(self.blocks(x)))


def _check_windows(tokens: Tensor, length: int) -> None:
    if tokens.ndim != 1 or tokens.dtype != torch.int64:
        raise ValueError(
            f"`tokens` must be (time,) int64, got {tuple(tokens.shape)} {tokens.dtype}"
        )
    if length < 1 or len(tokens) <= length:
        raise ValueError(
            f"`length` must lie in 1..{len(tokens) - 1} for these tokens, got {length}"
        )


def batches(
    tokens: Tensor, *, n_batch: int, length: int, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield inputs and targets without end: windows that start anywhere, uniformly.

    Yields
    ------
    inputs, targets : `(n_batch, length)` int64; targets are the inputs moved on by one token
    """
    _check_windows(tokens, length)
    if n_batch < 1:
        raise ValueError(f"`n_batch` must be at least 1, got {n_batch}")
    return _batches(tokens, n_batch, length, generator)


def _batches(
    tokens: Tensor, n_batch: int, length: int, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    offsets = torch.arange(length + 1)
    while True:
        starts = torch.randint(len(tokens) - length, (n_batch, 1), generator=generator)
        windows = tokens[starts + offsets]
        yield windows[:, :-1], windows[:, 1:]


@dataclass(frozen=True)
class Trained:
    """What a training run left: its losses in bits per token, one a step, and whether it diverged.

    A run that diverges stops there; the model then holds what the last step made of it.
    """

    bits: Tensor
    diverged: bool


def train(
    model: nn.Module,
    tokens: Tensor,
    *,
    optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
    steps: int,
    n_batch: int = 16,
    length: int = 64,
    generator: torch.Generator,
    lr_factor: Callable[[int], float] | None = None,
    max_norm: float | None = None,
) -> Trained:
    """Train a model in place to predict the next token (cross-entropy over all positions).

    Parameters
    ----------
    tokens : `(time,)` int64
    optimizer : makes an optimizer for parameters
    steps : how many updates
    n_batch, length : windows a step and tokens a window
    generator : draws the windows
    lr_factor : step (from 0) -> what the learning rates are multiplied with; None: constant
    max_norm : clip the gradient to this norm; None: don't

    Returns
    -------
    Trained
        Losses before each update; `diverged` when one wasn't finite.
    """
    if steps < 1:
        raise ValueError(f"`steps` must be at least 1, got {steps}")
    if max_norm is not None and not max_norm > 0:
        raise ValueError(f"`max_norm` must be positive, got {max_norm}")
    stream = batches(tokens, n_batch=n_batch, length=length, generator=generator)
    stepper = optimizer(model.parameters())
    base = [group["lr"] for group in stepper.param_groups]
    model.train()
    losses = torch.full((steps,), math.nan)
    for step, (inputs, targets) in zip(range(steps), stream):
        if lr_factor is not None:
            for group, lr in zip(stepper.param_groups, base):
                group["lr"] = lr * lr_factor(step)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        losses[step] = loss.detach() / math.log(2)
        if not math.isfinite(losses[step]):
            return Trained(losses[: step + 1], diverged=True)
        stepper.zero_grad(set_to_none=True)
        loss.backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        stepper.step()
    return Trained(losses, diverged=False)


@torch.no_grad()
def bits_per_token(
    model: nn.Module, tokens: Tensor, *, length: int = 64, n_batch: int = 64
) -> float:
    """Return the mean of -log2 p(token | the window before it), in bits a token.

    The text is cut into windows of `length` that don't overlap; each token but the first and an
    incomplete rest counts once, with the tokens of its own window before it.
    """
    _check_windows(tokens, length)
    n = (len(tokens) - 1) // length
    inputs = tokens[: n * length].view(n, length)
    targets = tokens[1 : n * length + 1].view(n, length)
    training = model.training
    model.eval()
    total = 0.0
    for x, y in zip(inputs.split(n_batch), targets.split(n_batch)):
        total += F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum").item()
    model.train(training)
    return total / (n * length * math.log(2))
