"""Distributions, compared with scipy's and with the samples that MindSpore drew."""

import numpy as np
import pytest
import scipy.stats

import msjax as ms
from msjax import Tensor
from msjax.nn.probability import bijector as msb, distribution as msd
from tests.x64 import X64

V = np.array([-0.5, 0.3, 1.2], np.float32)
CASES = [
    (msd.Normal(0.5, 2.0), scipy.stats.norm(0.5, 2.0), V),
    (msd.Uniform(0.0, 2.0), scipy.stats.uniform(0.0, 2.0), V),
    (msd.Exponential(0.7), scipy.stats.expon(scale=1 / 0.7), V),
    (msd.Bernoulli(0.3), scipy.stats.bernoulli(0.3), np.array([0, 1, 1])),
    (msd.LogNormal(0.5, 0.8), scipy.stats.lognorm(0.8, scale=np.exp(0.5)), np.array([0.3, 0.7, 1.5])),
    (msd.Gamma(2.0, 3.0), scipy.stats.gamma(2.0, scale=1 / 3), np.array([0.3, 0.7, 1.5])),
    (msd.Gumbel(0.5, 2.0), scipy.stats.gumbel_r(0.5, 2.0), V),
    (msd.Logistic(0.5, 2.0), scipy.stats.logistic(0.5, 2.0), V),
    (msd.Geometric(0.3), scipy.stats.geom(0.3, loc=-1), np.array([0, 1, 3])),
]


@pytest.mark.parametrize("own, expected, values", CASES, ids=lambda v: type(v).__name__)
def test_probabilities_and_moments(own, expected, values):
    density = expected.pdf if hasattr(expected.dist, "pdf") else expected.pmf
    x = Tensor(values)
    for name, function in (("prob", density), ("cdf", expected.cdf), ("survival_function", expected.sf)):
        np.testing.assert_allclose(getattr(own, name)(x).asnumpy(), function(values), rtol=2e-6, atol=1e-7)
    with np.errstate(divide="ignore"):
        for name, function in (("log_prob", density), ("log_cdf", expected.cdf), ("log_survival", expected.sf)):
            np.testing.assert_allclose(getattr(own, name)(x).asnumpy(), np.log(function(values)), rtol=2e-6, atol=1e-6)
    found = [float(v) for v in (own.mean(), own.var(), own.sd(), own.entropy())]
    np.testing.assert_allclose(found, [expected.mean(), expected.var(), expected.std(), expected.entropy()], rtol=1e-5)
    np.testing.assert_array_equal(own("prob", x).asnumpy(), own.prob(x).asnumpy())


def test_categories():
    own, p = msd.Categorical([0.2, 0.3, 0.5]), np.array([0.2, 0.3, 0.5], np.float32)
    x = Tensor(np.array([0, 2, 1, 3, -1], np.float32))
    np.testing.assert_allclose(own.prob(x).asnumpy(), [*p[[0, 2, 1]], 0, 0], rtol=1e-6)
    np.testing.assert_allclose(own.cdf(x).asnumpy(), [0.2, 1, 0.5, 1, 0], rtol=1e-6)
    assert own.mode().asnumpy() == 2 and own.mean().shape == (1,) and str(own) == "Categorical(probs = [0.2 0.3 0.5])"
    rows = Tensor(np.array([[0.2, 0.8], [0.5, 0.5]], np.float32))
    of_rows = msd.Categorical()
    np.testing.assert_allclose(of_rows.log_prob(Tensor(np.float32([0, 1])), rows).asnumpy(), np.log([0.2, 0.5]), rtol=1e-6)
    np.testing.assert_allclose(of_rows.entropy(rows).asnumpy(), scipy.stats.entropy(rows.asnumpy(), axis=1), rtol=1e-6)
    assert of_rows.sample((3,), rows).shape == (3, 2) and of_rows.sample((), rows).shape == (2,)


def test_divergences():
    kl = [
        msd.Normal(0.5, 2.0).kl_loss("Normal", 1.0, 3.0),
        msd.Normal().kl_loss("Normal", mean_b=1.0, sd_b=3.0, mean_a=0.5, sd_a=2.0),
        msd.Uniform(0.0, 2.0).kl_loss("Uniform", -1.0, 3.0),
        msd.Exponential(0.7).kl_loss("Exponential", 0.2),
        msd.Bernoulli(0.3).kl_loss("Bernoulli", 0.6),
        msd.Categorical([0.2, 0.3, 0.5]).kl_loss("Categorical", [0.1, 0.2, 0.7]),
    ]
    # MindSpore 2.10's, of the last by scipy.
    expected = [0.141576, 0.141576, 0.693147, 0.538477, 0.183787, scipy.stats.entropy([0.2, 0.3, 0.5], [0.1, 0.2, 0.7])]
    np.testing.assert_allclose([float(v) for v in kl], expected, rtol=1e-5)
    assert float(msd.Uniform(0.0, 2.0).cross_entropy("Uniform", -1.0, 3.0)) == pytest.approx(1.38629, rel=1e-5)
    gradient = ms.grad(lambda mean: msd.Normal().log_prob(Tensor(V), mean, Tensor(2.0)).sum())(Tensor(1.0))
    assert float(gradient) == pytest.approx(((V - 1) / 4).sum(), rel=1e-6)


@pytest.mark.skipif(not X64, reason="MindSpore's numbers are those of 64-bit types")
def test_samples_are_mindspore_s():
    ms.set_seed(3)
    np.testing.assert_allclose(msd.Normal(1.0, 2.0).sample((3,)).asnumpy(), [1.67281175, -0.70561111, 0.73775339], rtol=1e-6)
    np.testing.assert_allclose(msd.Uniform(1.0, 2.0).sample((3,)).asnumpy(), [1.63528121, 1.59060049, 1.15935373], rtol=1e-6)
    assert msd.Categorical([0.2, 0.3, 0.5]).sample((6,)).asnumpy().tolist() == [0, 2, 2, 1, 2, 2]
    assert msd.Bernoulli(0.3).sample((6,)).asnumpy().tolist() == [1, 0, 0, 1, 1, 0]
    np.testing.assert_allclose(msd.Exponential(0.7).sample((3,)).asnumpy(), [1.0844152, 0.48162809, 0.48054239], rtol=1e-6)


def test_what_is_refused():
    for make, kind, words in (
        (lambda: msd.Normal(0.0, -1.0), ValueError, "should be positive"),
        (lambda: msd.Normal(0.0, 1.0, dtype=ms.int32), TypeError, "type of floats"),
        (lambda: msd.Bernoulli(0.5, dtype=ms.bool_), TypeError, "type of numbers"),
        (lambda: msd.Normal().mean(), TypeError, "'mean' was given neither"),
        (lambda: msd.Normal(0.0, 1.0).kl_loss("Uniform", 1.0, 2.0), ValueError, "same kind"),
        (lambda: msd.Uniform(1.0, 1.0), ValueError, "greater than"),
        (lambda: msd.Uniform(0.0, 1.0).mode(), NotImplementedError, "no 'mode'"),
        (lambda: msd.Bernoulli(1.5), ValueError, "between 0 and 1"),
        (lambda: msd.Categorical([0.5, 0.1]), ValueError, "add up to 1"),
    ):
        with pytest.raises(kind, match=words):
            make()


@pytest.mark.parametrize(
    "own, expected, values",
    [
        (msd.Cauchy(0.5, 2.0), scipy.stats.cauchy(0.5, 2.0), V),
        (msd.Beta(2.0, 3.0), scipy.stats.beta(2.0, 3.0), np.array([0.2, 0.5, 0.7])),
        (msd.Laplace(0.5, 2.0), scipy.stats.laplace(0.5, 2.0), V),
        (msd.HalfNormal(0.0, 2.0), scipy.stats.halfnorm(0.0, 2.0), np.array([0.3, 0.7, 1.5])),
        (msd.StudentT(3.0, 0.5, 2.0), scipy.stats.t(3.0, 0.5, 2.0), V),
        (msd.Poisson(2.5), scipy.stats.poisson(2.5), np.array([1, 2, 5])),
    ],
    ids=lambda v: type(v).__name__,
)
def test_families_of_which_less_is_known(own, expected, values):
    density = expected.logpdf if hasattr(expected.dist, "pdf") else expected.logpmf
    np.testing.assert_allclose(own.log_prob(Tensor(values)).asnumpy(), density(values), rtol=1e-5, atol=1e-6)
    if type(own) in (msd.Cauchy, msd.Poisson):
        np.testing.assert_allclose(own.cdf(Tensor(values)).asnumpy(), expected.cdf(values), rtol=1e-5)
    if type(own) is msd.Beta:
        assert [float(own.mean()), float(own.var())] == pytest.approx([0.4, 0.04])


@pytest.mark.parametrize(
    "own, mean, sd", [(msd.Gamma(4.0, 2.0), 2, 1), (msd.Poisson(4.0), 4, 2), (msd.Logistic(1.0, 1.0), 1, np.pi / 3**0.5)]
)
def test_samples_have_the_moments(own, mean, sd):
    drawn = own.sample((20000,)).asnumpy()
    assert drawn.mean() == pytest.approx(mean, abs=5 * sd / 141) and drawn.std() == pytest.approx(sd, rel=0.05)


@pytest.mark.parametrize(
    "own, at, result, slope",
    [
        (msb.Exp(), 0.7, 2.0137527, 0.7), (msb.ScalarAffine(2.0, 1.0), 0.7, 2.4, np.log(2)),
        (msb.Softplus(2.0), 0.7, np.log1p(np.exp(1.4)) / 2, -np.log1p(np.exp(-1.4))),
        (msb.PowerTransform(0.5), 0.7, 1.35**2, np.log(1.35)), (msb.Invert(msb.Exp()), 0.7, np.log(0.7), -np.log(0.7)),
        (msb.GumbelCDF(0.5, 2.0), 0.7, np.exp(-np.exp(-0.1)), -0.1 - np.exp(-0.1) - np.log(2)),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_bijectors(own, at, result, slope):
    x = Tensor([at], ms.float32)
    y = own.forward(x)
    assert [float(v) for v in (y, own.inverse(y), own.forward_log_jacobian(x), own.inverse_log_jacobian(y))] == pytest.approx(
        [result, at, slope, -slope], abs=2e-6
    )
    made = own(msd.Normal(0.0, 1.0))  # the density is that of the normal distribution, divided by the slope
    assert float(made.log_prob(y)) == pytest.approx(scipy.stats.norm.logpdf(at) - slope, abs=1e-5)
    with pytest.raises(TypeError, match="should be a Tensor of floats, but got"):
        own.forward(Tensor([1]))


def test_distributions_of_programs():
    class Own(msd.Distribution):
        def __init__(self, rate=None):
            super().__init__(0, ms.float32, "Own", {"param_dict": {"rate": rate}})

        def _mean(self, rate=None):
            return 1 / rate

    assert float(Own().mean(Tensor(4.0))) == 0.25
    for name in ("prob", "kl_loss", "cross_entropy", "sample"):
        with pytest.raises(NotImplementedError, match="For 'Own', there is no"):
            Own()(name, Tensor([0.2]))
    for wrong, error in (
        ({"scale": 0.0}, ValueError),
        ({"seed": "1"}, TypeError),
        ({"dtype": ms.int32}, TypeError),
        ({"rate": 1}, TypeError),
    ):
        with pytest.raises(error, match="For 'LogNormal'"):
            msd.LogNormal(**wrong)


def test_the_slope_of_a_power_of_zero_is_that_of_the_exponential_below_minus_one():
    x = Tensor([-2.0, -1.0])
    assert ms.grad(msb.PowerTransform(0.0).forward)(x).tolist() == msb.PowerTransform(0.0).forward(x).tolist()
    assert ms.grad(msb.PowerTransform(0.0).forward_log_jacobian)(x).tolist() == [1, 1]
