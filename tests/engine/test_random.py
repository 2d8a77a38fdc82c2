"""Random ops: defined by their seed, and distributed as they say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.engine.calls import leaf, numbers, op, plain, slopes, write

from gradwire_engine.errors import GradwireError
from gradwire_engine.journal import transaction
from gradwire_engine.mode import using
from gradwire_engine.random import Generator, done_with
from gradwire_engine.spec import complex64, float16, float64, int8
from gradwire_engine.tensor import Tensor

MANY = 20_000


def drawn(name: str, *args: Any, seed: int = 0, **kwargs: Any) -> np.ndarray:
    with using(generator=Generator(seed)):
        return np.asarray(op(name, *args, **kwargs).numpy())


def written(name: str, *args: Any, dtype: str = "float64") -> np.ndarray:
    with using(generator=Generator(0)):
        return np.asarray(write(name, plain(np.zeros(MANY), dtype), *args).numpy())


def follows(sample: np.ndarray, distribution: Any) -> None:
    assert stats.kstest(sample.astype(float), distribution.cdf).pvalue > 1e-3


def test_the_same_seed_gives_the_same_numbers() -> None:
    for name, args in (("rand", ((5,),)), ("randn", ((5,),)), ("randint", (9, (5,)))):
        assert (drawn(name, *args) == drawn(name, *args)).all()
        assert (drawn(name, *args) != drawn(name, *args, seed=1)).any()


def test_each_draw_goes_on_and_a_failed_transaction_goes_back() -> None:
    generator = Generator(3)
    with using(generator=generator):
        first = op("rand", (4,)).numpy()
        with pytest.raises(ValueError, match="on purpose"), transaction():
            lost = op("rand", (4,)).numpy()
            raise ValueError("on purpose")
        second = op("rand", (4,)).numpy()
        generator.restart(3)
        again = op("rand", (4,)).numpy()
    assert (second == lost).all()
    assert (first != second).any()
    assert (first == again).all()


def test_continuous_distributions() -> None:
    follows(drawn("rand", (MANY,)), stats.uniform())
    follows(drawn("rand", (MANY,), dtype=float64), stats.uniform())
    follows(drawn("randn", (MANY,)), stats.norm())
    follows(drawn("randn_like", plain(np.zeros(MANY))), stats.norm())
    follows(drawn("normal", 2.0, 3.0, (MANY,)), stats.norm(2, 3))
    follows(drawn("normal", plain(np.full(MANY, 2.0)), 3), stats.norm(2, 3))
    follows(written("uniform_", -1.0, 3.0), stats.uniform(-1, 4))
    follows(written("normal_", 1.0, 2.0), stats.norm(1, 2))
    follows(written("exponential_", 2.0), stats.expon(scale=0.5))


def test_complex_normal_numbers_have_variance_one() -> None:
    z = drawn("randn", (MANY,), dtype=complex64)
    follows(z.real, stats.norm(0, 0.5**0.5))
    follows(z.imag, stats.norm(0, 0.5**0.5))


def test_halves_are_drawn_in_their_own_precision() -> None:
    sample = drawn("rand", (MANY,), dtype=float16)
    assert sample.dtype == np.float16
    assert abs(sample.astype(float).mean() - 0.5) < 0.01


def even(counts: np.ndarray, shares: np.ndarray) -> None:
    assert stats.chisquare(counts, counts.sum() * shares).pvalue > 1e-3


def test_integers_and_permutations() -> None:
    sample = drawn("randint", -2, 3, (MANY,), dtype=int8)
    assert sample.dtype == np.int8
    even(np.bincount(sample.astype(int) + 2, minlength=5), np.full(5, 0.2))
    assert sorted(drawn("randperm", 100)) == list(range(100))
    heads = np.array([drawn("randperm", 3, seed=seed)[0] for seed in range(600)])
    even(np.bincount(heads, minlength=3), np.full(3, 1 / 3))


def test_bernoulli_and_its_refusals() -> None:
    assert abs(drawn("bernoulli", plain(np.full(MANY, 0.3))).mean() - 0.3) < 0.02
    assert abs(drawn("bernoulli", plain(np.zeros(MANY)), 0.3).mean() - 0.3) < 0.02
    assert abs(written("bernoulli_", 0.3, dtype="int64").mean() - 0.3) < 0.02
    for wrong in ([1.1], [-0.1], [float("nan")]):
        with pytest.raises(GradwireError):
            op("bernoulli", plain(wrong))


def test_multinomial_draws_in_proportion() -> None:
    weights = np.array([1.0, 0.0, 3.0, 6.0])
    sample = drawn("multinomial", plain(weights), MANY, True)
    counts = np.bincount(sample, minlength=4)
    assert counts[1] == 0
    even(counts[[0, 2, 3]], np.array([0.1, 0.3, 0.6]))
    rows = drawn("multinomial", plain(np.tile(weights, (4000, 1))), 2)
    assert (rows[:, 0] != rows[:, 1]).all()
    even(np.bincount(rows[:, 0], minlength=4)[[0, 2, 3]], np.array([0.1, 0.3, 0.6]))
    second_after_3 = rows[rows[:, 0] == 3, 1]
    even(np.bincount(second_after_3, minlength=3)[[0, 2]], np.array([0.25, 0.75]))


@pytest.mark.parametrize(
    ("weights", "count", "replacement"),
    [([0.0, 0.0], 1, True), ([1.0, 0.0], 2, False), ([1.0], 2, False), ([-1.0, 2.0], 1, True),
     ([float("inf")], 1, True), ([1.0], 0, True)],
)  # fmt: skip
def test_multinomial_refuses(weights: Any, count: int, replacement: bool) -> None:
    with pytest.raises(GradwireError) as problem:
        op("multinomial", plain(weights), count, replacement)
    assert problem.value.code == "invalid_argument"


def test_dropout_keeps_the_mean_and_passes_gradients_where_it_keeps() -> None:
    x = leaf(np.ones(MANY))
    with using(generator=Generator(0)):
        y = op("nn.functional.dropout", x, 0.25)
    kept = y.numpy() != 0
    assert abs(kept.mean() - 0.75) < 0.02
    np.testing.assert_allclose(y.numpy()[kept], 1 / 0.75, rtol=1e-6)
    np.testing.assert_array_equal(slopes(y, x)[0], y.numpy())
    assert op("nn.functional.dropout", x, 0.25, False) is x
    assert op("nn.functional.dropout", x, 0.0) is x
    assert not op("nn.functional.dropout", x, 1.0).numpy().any()
    with pytest.raises(ValueError, match="between 0 and 1"):
        op("nn.functional.dropout", x, 1.5)


@pytest.mark.parametrize("p", [1e-5, 0.1, 1 / 3, 0.5, 2.5 / 2**16, 1 - 1e-5])
def test_dropout_drops_as_large_a_share_of_many_as_it_says(p: float) -> None:
    count = 2**22
    y = drawn("nn.functional.dropout", plain(np.ones(count, np.float32), "float32"), p)
    dropped = count - np.count_nonzero(y)
    assert stats.binomtest(dropped, count, p).pvalue > 1e-3
    np.testing.assert_allclose(y[y != 0], 1 / (1 - p), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dropout_of_many_elements_is_decided_by_16_bits_of_its_stream(dtype: str) -> None:
    count, level = 70 * 51 + 1, 2**14
    with using(generator=Generator(5, draws=3)):
        y = op("nn.functional.dropout", plain(np.ones(count), dtype), level / 2**16)
    bits = np.random.Philox(key=5, counter=[0, 0, 0, 3]).random_raw(count // 4 + 1).view(np.uint16)
    assert y.dtype.name == dtype
    wanted = np.where(bits[:count] >= level, 1 / 0.75, 0)
    np.testing.assert_allclose(y.numpy().astype(float), wanted, rtol=1e-2)


def test_streams_are_their_own_whoever_draws_meanwhile() -> None:
    def fresh(draw: int) -> np.ndarray:
        return np.random.Generator(np.random.Philox(key=7, counter=[0, 0, 0, draw])).random(4)

    generator = Generator(7)
    first, second = generator.next_stream("cpu"), generator.next_stream("cpu")
    first.integers(9, dtype=np.uint8)  # leaves a part of a number for the next
    done_with(first)
    third, fourth = generator.next_stream("cpu"), generator.next_stream("cpu")
    for draw, stream in ((3, fourth), (1, second), (2, third)):
        assert (stream.random(4) == fresh(draw)).all()
        done_with(stream)


def test_threads_have_streams_of_their_own() -> None:
    def drawn_by(seed: int) -> bool:
        generators = Generator(seed), Generator(seed)
        for _ in range(300):
            one, other = (g.next_stream("cpu") for g in generators)
            if (one.random(9) != other.random(9)).any():
                return False
            done_with(one)
            done_with(other)
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(drawn_by, range(8)))


def test_feature_dropout_drops_whole_channels() -> None:
    y = drawn("nn.functional.dropout2d", plain(np.ones((8, 16, 3, 3)))).reshape(128, 9)
    assert ((y == y[:, :1]).all(axis=1)).all()
    assert 0 < (y[:, 0] == 0).sum() < 128


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = plain(np.random.default_rng(0).standard_normal(5 * MANY))
    y = drawn("nn.functional.alpha_dropout", x, 0.3, True)
    assert abs(y.mean()) < 0.02
    assert abs(y.var() - 1) < 0.03


def test_rrelu_has_random_slopes_below_zero_only() -> None:
    x = leaf(np.linspace(-1, 1, MANY))
    with using(generator=Generator(0)):
        y = op("nn.functional.rrelu", x, 0.1, 0.5, True)
    slope = np.array(slopes(y, x)[0])
    np.testing.assert_array_equal(slope[x.numpy() > 0], 1)
    follows(slope[x.numpy() <= 0], stats.uniform(0.1, 0.4))
    assert numbers(op("nn.functional.rrelu", plain([-1.0]), 0.1, 0.5)) == [-0.3]


def test_draws_are_constants_to_gradients() -> None:
    mean = leaf([1.0, 2.0])
    assert slopes(op("normal", mean, 1.0), mean) == [[0, 0]]
    y = op("mul", mean, 2)
    write("normal_", y)
    assert slopes(y, mean) == [[0, 0]]
    assert isinstance(y, Tensor)
