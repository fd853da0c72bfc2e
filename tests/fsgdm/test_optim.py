from __future__ import annotations

import fsgdm as released
import numpy as np
import pytest
import torch
from torch import nn

from reprise.fsgdm.filters import filter_sequence, magnitude, phase
from reprise.fsgdm.optim import FSGDM, MomentumSGD
from reprise.fsgdm.schedules import Schedule, coefficients

STANDARD = Schedule("fixed", u=0.9)
EMA = Schedule("fixed", u=0.9, family="LP")


def parabola(make, steps: int, x0: float = 1.0) -> list[float]:
    x = nn.Parameter(torch.tensor(x0, dtype=torch.float64))
    optimizer = make([x])
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        (x**2 / 2).backward()
        optimizer.step()
        found.append(x.item())
    return found


def small_net(seed: int) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    net = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.Tanh(), nn.Linear(6, 2))
    net = net.double()
    for p in net.parameters():
        p.data = torch.randn(p.shape, generator=g, dtype=torch.float64)
    x = torch.randn(20, 5, generator=g, dtype=torch.float64)
    return net, x, torch.randn(20, 2, generator=g, dtype=torch.float64)


def train(make, steps: int, seed: int = 0) -> list[torch.Tensor]:
    net, x, y = small_net(seed)
    optimizer = make(net.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()
    return [p.detach().clone() for p in net.parameters()]


def largest_difference(a: list[torch.Tensor], b: list[torch.Tensor]) -> float:
    return max((x - y).abs().max().item() for x, y in zip(a, b, strict=True))


def test_first_steps_are_those_of_the_release_by_hand() -> None:
    x = parabola(lambda p: FSGDM(p, 0.1, c=0.5, v=1, n_stages=2, sigma=4), 4)
    np.testing.assert_allclose(x, [0.9, 0.76, 0.614, 0.45526666666666665], rtol=1e-15)


@pytest.mark.parametrize(("c", "v"), [(0.033, 1.0), (0.5, 0.3), (0.01, 3.0)])
def test_iterates_are_those_of_the_released_package(c, v) -> None:
    options = {"sigma": 55, "weight_decay": 1e-2}
    ours = train(lambda p: FSGDM(p, 0.02, c=c, v=v, n_stages=10, **options), 50)
    peer = train(
        lambda p: released.FSGDM(p, lr=0.02, c_scaling=c, v_coefficient=v, n_stages=10, **options),
        50,
    )
    assert largest_difference(ours, peer) == 0


def quadratic(make, steps: int, seed: int, condition: float = 20.0) -> torch.Tensor:
    """Return the iterates of a random convex quadratic, (steps, 8), float64."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    h = torch.tensor(q @ np.diag(np.geomspace(1 / condition, 1, 8)) @ q.T)
    x = nn.Parameter(torch.tensor(rng.normal(size=8)))
    optimizer = make([x])
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        (x @ h @ x / 2).backward()
        optimizer.step()
        found.append(x.detach().clone())
    return torch.stack(found)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_iterates_on_random_quadratics_are_those_of_the_release(seed) -> None:
    # Sigma is no multiple of the stages, and training goes on past it.
    ours = quadratic(lambda p: FSGDM(p, 0.1, sigma=37, n_stages=5, c=0.2, v=0.4), 50, seed)
    peer = quadratic(
        lambda p: released.FSGDM(
            p, lr=0.1, sigma=37, n_stages=5, c_scaling=0.2, v_coefficient=0.4, weight_decay=0
        ),
        50,
        seed,
    )
    assert torch.equal(ours, peer)


def test_fewer_steps_than_stages_are_refused_where_the_release_divides_by_zero() -> None:
    x = nn.Parameter(torch.ones(1))
    x.grad = torch.ones(1)
    with pytest.raises(ZeroDivisionError):
        released.FSGDM([x], lr=0.1, sigma=100, n_stages=300).step()
    with pytest.raises(ValueError, match="`sigma` must be at least n_stages=300.*got 100"):
        FSGDM([x], 0.1, sigma=100, n_stages=300)


def test_fixed_decoupled_momentum_is_that_of_torch() -> None:
    ours = train(lambda p: MomentumSGD(p, 0.01, schedule=STANDARD, sigma=300), 100)
    peer = train(lambda p: torch.optim.SGD(p, 0.01, momentum=0.9), 100)
    assert largest_difference(ours, peer) == 0


def test_coupled_momentum_is_torch_with_dampening_but_for_the_first_step() -> None:
    ours = train(lambda p: MomentumSGD(p, 0.01, schedule=EMA, sigma=300, first_step="gradient"), 60)
    peer = train(lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, dampening=0.9), 60)
    assert largest_difference(ours, peer) < 1e-14


def test_coupled_with_ten_times_the_rate_takes_the_same_steps_as_decoupled() -> None:
    # Method 5: EMA with lr a/(1-u) and Standard with lr a are one method.
    options = {"sigma": 300, "weight_decay": 5e-4}
    coupled = train(lambda p: MomentumSGD(p, 0.1, schedule=EMA, **options), 100)
    decoupled = train(lambda p: MomentumSGD(p, 0.01, schedule=STANDARD, **options), 100)
    assert largest_difference(coupled, decoupled) < 1e-12
    coupled = quadratic(lambda p: MomentumSGD(p, 1.0, schedule=EMA, **options), 100, 3)
    decoupled = quadratic(lambda p: MomentumSGD(p, 0.1, schedule=STANDARD, **options), 100, 3)
    assert (coupled - decoupled).abs().max() < 1e-12


def test_a_step_leaves_the_gradient_alone() -> None:
    x = nn.Parameter(torch.ones(3))
    x.grad = torch.full((3,), 2.0)
    optimizer = FSGDM([x], 0.1, sigma=300, n_stages=300, weight_decay=0.5)
    for _ in range(3):
        optimizer.step()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_learning_rate_scheduler_of_torch_drives_it() -> None:
    x = nn.Parameter(torch.ones(1, dtype=torch.float64))
    optimizer = FSGDM([x], 0.1, sigma=300, n_stages=300)
    annealing = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2)
    x.grad = torch.ones_like(x)
    optimizer.step()
    annealing.step()  # 0.05 in the middle
    before = x.item()
    optimizer.step()
    u, _ = coefficients(Schedule("rising", mu=0.033), 2, 300, 300)
    assert before - x.item() == pytest.approx(0.05 * (1 + u))


@pytest.mark.parametrize("first_step", ["scaled", "gradient"])
def test_buffer_is_the_filtered_gradient(first_step) -> None:
    g = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    schedule = Schedule("falling", mu=0.1, family="HP")
    x = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    optimizer = MomentumSGD(
        [x], 1.0, schedule=schedule, sigma=40, n_stages=8, first_step=first_step
    )
    u, v = coefficients(schedule, np.arange(1, 41), 40, 8)
    if first_step == "gradient":
        v[0] = 1
    expected = filter_sequence(g.numpy(), u, v)
    for t in range(40):
        x.grad = g[t].clone()
        optimizer.step()
        np.testing.assert_allclose(
            optimizer.state[x]["momentum_buffer"].numpy(), expected[t], atol=1e-14
        )
    np.testing.assert_allclose(x.detach().numpy(), -expected.sum(0), atol=1e-13)


def test_a_sinusoid_comes_out_with_the_predicted_gain_and_phase() -> None:
    from reprise.fsgdm.experiments.e1 import FIT, buffers, fit

    omega = np.arange(9) * np.pi / 8
    m = buffers(STANDARD, omega, 5000)
    for k, w in enumerate(omega):
        h = fit(m[-FIT:, k], w, 5000 - FIT + 1)
        assert abs(h) == pytest.approx(float(magnitude(0.9, 1, w)), rel=1e-3)
        assert np.angle(h) == pytest.approx(float(phase(0.9, 1, w)), abs=1e-3)


def test_a_run_loaded_in_the_middle_continues_to_the_bit(tmp_path) -> None:
    def make(params) -> FSGDM:
        return FSGDM(params, 0.02, sigma=40, n_stages=10, v=0.5)

    whole = train(make, 30)
    net, x, y = small_net(0)
    optimizer = make(net.parameters())

    def steps(net, optimizer, n) -> None:
        for _ in range(n):
            optimizer.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            optimizer.step()

    steps(net, optimizer, 13)
    torch.save([net.state_dict(), optimizer.state_dict()], tmp_path / "s.pt")
    other, _, _ = small_net(1)
    second = make(other.parameters())
    weights, state = torch.load(tmp_path / "s.pt", weights_only=True)
    other.load_state_dict(weights)
    second.load_state_dict(state)
    assert second.t == 13
    steps(other, second, 17)
    assert largest_difference(whole, [p.detach() for p in other.parameters()]) == 0


def test_groups_share_one_step_counter() -> None:
    a, b = (nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2))
    optimizer = FSGDM([{"params": [a]}, {"params": [b], "lr": 0.2}], 0.1, sigma=8, n_stages=4)
    for _ in range(6):
        a.grad, b.grad = torch.ones_like(a), torch.ones_like(b)
        optimizer.step()
    assert (1 - b.item()) == pytest.approx(2 * (1 - a.item()))
    assert optimizer.t == 6


def test_parameters_without_gradient_stay_and_start_late() -> None:
    a, b = (nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2))
    optimizer = MomentumSGD([a, b], 0.1, schedule=EMA, sigma=300)
    a.grad = torch.ones_like(a)
    optimizer.step()
    assert b.item() == 1
    assert b not in optimizer.state
    b.grad = torch.ones_like(b)
    optimizer.step()
    assert b.item() == pytest.approx(1 - 0.1 * 0.1)
    assert a.item() == pytest.approx(1 - 0.1 * 0.1 - 0.1 * 0.19)


def test_a_closure_is_evaluated_with_gradients() -> None:
    x = nn.Parameter(torch.tensor(2.0))
    optimizer = MomentumSGD([x], 0.1, schedule=STANDARD, sigma=300)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = x**2
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 4
    assert x.item() == pytest.approx(1.6)


def test_from_training_computes_sigma_stages_and_c() -> None:
    net = nn.Linear(2, 1)
    long = FSGDM.from_training(net, epochs=300, steps_per_epoch=390, final_gain=1 + 1 / 0.033)
    assert (long.sigma, long.n_stages) == (117_000, 300)
    assert long.schedule.mu == pytest.approx(0.033)
    short = FSGDM.from_training(net, epochs=6, steps_per_epoch=100, final_gain=31)
    assert (short.sigma, short.n_stages) == (600, 300)
    assert FSGDM.from_training(net, epochs=2, steps_per_epoch=5).n_stages == 10
    (group,) = FSGDM.from_training(
        net.parameters(), 0.3, epochs=2, steps_per_epoch=5, weight_decay=0.01
    ).param_groups
    assert (group["lr"], group["weight_decay"]) == (0.3, 0.01)
    small = FSGDM.from_training(net, epochs=2, steps_per_epoch=9, final_gain=6, v=2.0, n_stages=3)
    assert (small.n_stages, small.schedule.v, small.schedule.mu) == (3, 2.0, 0.5)
    short.state["t"] = 599
    u, v = short.coefficients()
    assert v / (1 - u) == pytest.approx(31)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -0.1}, "`lr` must not be negative, got -0.1"),
        ({"weight_decay": -1.0}, "`weight_decay` must not be negative, got -1.0"),
        ({"c": 0.0}, "`c` must be positive, got 0.0"),
        ({"v": -1.0}, "`v` must be positive.*got -1.0"),
        ({"sigma": 100, "n_stages": 300}, "`sigma` must be at least n_stages=300.*got 100"),
        ({"n_stages": 0}, "`n_stages` must be at least 1, got 0"),
        ({"first_step": "half"}, "`first_step` must be 'scaled' or 'gradient', got 'half'"),
    ],
)
def test_bad_input_is_refused_by_name(options, message) -> None:
    x = nn.Parameter(torch.ones(1))
    with pytest.raises(ValueError, match=message):
        FSGDM([x], **({"lr": 0.1, "sigma": 300, "n_stages": 300} | options))


def test_bad_training_lengths_and_sparse_gradients_are_refused() -> None:
    with pytest.raises(ValueError, match="`epochs` must be at least 1, got 0"):
        FSGDM.from_training(nn.Linear(1, 1), epochs=0, steps_per_epoch=3)
    with pytest.raises(ValueError, match=r"`gain` must exceed v=1.0"):
        FSGDM.from_training(nn.Linear(1, 1), epochs=1, steps_per_epoch=3, final_gain=0.5)
    x = nn.Parameter(torch.ones(3))
    x.grad = torch.sparse_coo_tensor([[0]], [1.0], (3,), check_invariants=True)
    with pytest.raises(ValueError, match="sparse gradients"):
        MomentumSGD([x], 0.1, schedule=STANDARD, sigma=300).step()
