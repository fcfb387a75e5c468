"""Calls with numbers, lists and mixed dtypes beside what MindSpore 2.10 (CPU) gave for them: the dtype and the values.

Each line of `tests/data/recorded/calls.txt` is a Python expression of the names below, and the result, as ``call -> dtype values``.
"""

from pathlib import Path

import numpy as np
import pytest

import msjax as ms
import msjax.numpy as mnp
from msjax import Tensor, mint, ops
from tests import x64

ROWS = [line.split(" -> ") for line in Path("tests/data/recorded/calls.txt").read_text().splitlines()]
FIRST, SECOND = [[1, 2, 3], [3, 0, 2]], [[2, 1, 0], [1, 2, 3]]
DTYPES = {"b": ms.bool_, "bf16": ms.bfloat16, "c64": ms.complex64} | {
    f"{kind[0]}{size}": getattr(ms, f"{kind}{size}")
    for kind, sizes in (("int", (8, 16, 32, 64)), ("uint", (8, 16, 32, 64)), ("float", (16, 32, 64)))
    for size in sizes
}


def _names():
    """Tensors of a name's dtype: of `FIRST`, and of `SECOND` with an underscore behind the name."""
    names = {"ms": ms, "mnp": mnp, "ops": ops, "mint": mint, "Tensor": Tensor, "nan": np.nan, "inf": np.inf}
    names["v"] = Tensor([1.0, 2.0, 4.0])
    for name, dtype in DTYPES.items():
        names |= {name: Tensor(FIRST, dtype), f"{name}_": Tensor(SECOND, dtype)}
    return names


@pytest.mark.parametrize("call, want", ROWS, ids=[call for call, _ in ROWS])
def test_recorded(call, want):
    dtype, values = want.split(" ", 1)
    found = eval(call, _names())
    if x64.X64:
        assert str(found.dtype) == dtype
    elif "9223372036854775807" in values:
        pytest.skip("the largest Int64")
    found = found.astype(ms.float32) if found.dtype == ms.bfloat16 else found
    rtol = 2e-3 if "16" in dtype and "F" in dtype else 1e-5
    np.testing.assert_allclose(found.asnumpy(), np.asarray(eval(values, _names())), rtol=rtol, atol=1e-6)
    assert found.shape == np.shape(eval(values, _names()))
