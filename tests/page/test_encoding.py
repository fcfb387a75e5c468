"""A page's data as text and back; what hostile names could do to it."""

import json

import numpy as np
import pytest

from msjax.core.page.document import as_json, decoded

HOSTILE = "</script><script>alert(1)</script>&<!-- \u2028\u2029"


def back(data, levels=False):
    return decoded(json.loads(as_json(data, levels)))


def test_numbers_and_texts():
    data = {"a": [1, 2.5, None, True, "x"], "inf": float("inf"), "less": -np.inf, "n": np.float32(0.5), "i": np.int64(3)}
    found = back({**data, "nan": float("nan")})
    assert np.isnan(found.pop("nan"))
    assert found == data


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_arrays_come_back_as_they_are(dtype):
    array = np.arange(12).reshape(2, 3, 2).astype(dtype)
    found = back([array])[0]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, array)


def test_arrays_of_other_types_become_known_ones():
    assert back(np.array([1.5, np.nan]))[0] == 1.5
    assert back(np.array([True, False])).tolist() == [1, 0] and back(np.arange(2, dtype=np.int64)).dtype == np.int32


def test_levels_of_logarithms():
    array = np.array([[1e-30, 1e-20, 1e10, 0, np.inf, np.nan], [5, 5, 5, 5, 5, 5]], np.float32)
    found = back(array, levels=True)
    # 40 decades in 252 levels: at most half a level off.
    np.testing.assert_allclose(np.log10(found[0, :3]), [-30, -20, 10], atol=40 / 252 / 2 + 1e-3)
    np.testing.assert_array_equal(found[0, 3:], [0, np.inf, np.nan])
    np.testing.assert_allclose(found[1], 5, rtol=1e-5)


def test_levels_of_numbers_with_signs():
    array = np.linspace(-2, 3, 101, dtype=np.float32)[None]
    np.testing.assert_allclose(back(array, levels=True), array, atol=5 / 252 / 2 + 1e-5)


def test_levels_are_for_tables_of_numbers_alone():
    counts = np.arange(6, dtype=np.uint8).reshape(2, 3)
    np.testing.assert_array_equal(back(counts, levels=True), counts)


def test_nothing_ends_the_element_that_the_text_stands_in():
    text = as_json({HOSTILE: [HOSTILE]})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {HOSTILE: [HOSTILE]}
