import numpy as np
import pytest
import torch

from reprise.intersort import dcdi_order, simulate_scm, standardize
from reprise.intersort.dcdi import Conditionals, Schedule, acyclicity, fit_dcdi

CHAIN = np.diag([1, 1], k=1)


def model(d=3, seed=0):
    return Conditionals(d, generator=torch.Generator().manual_seed(seed))


def test_acyclicity_is_zero_for_a_dag_alone():
    chain = torch.tensor(CHAIN, dtype=torch.float32)
    assert float(acyclicity(chain)) == pytest.approx(0, abs=1e-6)
    assert float(acyclicity(chain + chain.T)) > 1
    # Two cycles of length two, p^2 each: h = 2 p^2 (1/2! + 1/2!) + ..., by the series.
    p = 0.1 * (chain + chain.T)
    want = sum(torch.trace(torch.matrix_power(p, k)) / np.prod(range(1, k + 1)) for k in (2, 4))
    assert float(acyclicity(p)) == pytest.approx(float(want), rel=1e-3)


def test_a_variable_sees_its_masked_causes_only():
    own = model()
    x = torch.randn(5, 3)
    mask = torch.zeros(5, 3, 3)
    mask[:, 0, 1] = 1
    before = own.log_likelihood(x, mask)
    x2 = x.clone()
    x2[:, 2] += 1
    assert torch.equal(own.log_likelihood(x2, mask)[:, :2], before[:, :2])
    x2[:, 0] += 1
    assert not torch.allclose(own.log_likelihood(x2, mask)[:, 1], before[:, 1])


def test_the_likelihood_is_a_gaussians():
    own = model()
    with torch.no_grad():
        own.weights[2].zero_()
        own.biases[2][:, 0], own.biases[2][:, 1] = 0.5, -0.3
    x = torch.randn(4, 3)
    found = own.log_likelihood(x, torch.ones(4, 3, 3))
    want = torch.distributions.Normal(0.5, np.exp(-0.3)).log_prob(x) + 0.5 * np.log(2 * np.pi)
    assert torch.allclose(found, want, atol=1e-5)


def test_masks_are_graphs_with_the_edges_probability_and_a_gradient():
    own = model()
    with torch.no_grad():
        own.logits.fill_(-1.0)
    masks = own.mask(20_000, torch.Generator().manual_seed(1))
    assert set(masks.detach().round(decimals=4).unique().tolist()) == {0.0, 1.0}
    off = ~torch.eye(3, dtype=torch.bool)
    share = masks.detach().mean(dim=0)
    assert torch.allclose(share[off], own.edges().detach()[off], atol=0.015)
    assert (share[~off] == 0).all()
    masks.sum().backward()
    assert (own.logits.grad[off] > 0).all()


@pytest.mark.parametrize("A", [np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0]])])
def test_interventions_tell_the_direction_of_an_edge(A):
    rng = np.random.default_rng(3)
    options = {"kind": "linear", "noise": "gauss", "targets": None, "n_obs": 500, "n_int": 500}
    data = standardize(simulate_scm(A, rng=rng, **options))
    plan = Schedule(n_fit=500, n_most=600, every=100, mu=0.1, rate=5e-3, batch=128)
    edges = fit_dcdi(data, lam=0.01, schedule=plan, rng=np.random.default_rng(0))
    assert np.array_equal(edges > 0.5, A == 1)


def test_a_fit_is_that_of_its_seed():
    rng = np.random.default_rng(0)
    data = simulate_scm(CHAIN, kind="nn", noise="gauss", targets=[1], n_obs=50, n_int=9, rng=rng)
    plan = Schedule(n_fit=3, n_most=3, every=2, batch=8)
    one, two, other = (
        fit_dcdi(data, schedule=plan, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert (np.diagonal(one) == 0).all()
    order = dcdi_order(data, schedule=plan, rng=np.random.default_rng(1))
    assert sorted(order) == [0, 1, 2]
    with pytest.raises(ValueError, match="lam must be >= 0, got -1"):
        fit_dcdi(data, lam=-1, rng=rng)
