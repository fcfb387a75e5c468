"""What is saved, and how what is loaded is compared with it."""

import io
from pathlib import Path

import ml_dtypes
import numpy as np

import msjax as ms
from msjax import Tensor
from msjax.serialization.formats import FORMATS

DATA = Path(__file__).parent.parent / "data"
DTYPES = [
    ms.bool_, ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8, ms.uint16, ms.uint32, ms.uint64,
    ms.float16, ms.float32, ms.float64, ms.bfloat16, ms.complex64, ms.complex128,
]  # fmt: skip


def same(a, b):
    """The same names, types, shapes and bits."""
    if list(a) != list(b):
        return sorted(a) == sorted(b) and same({k: a[k] for k in sorted(a)}, {k: b[k] for k in sorted(b)})
    return all(_same(a[k], b[k]) for k in a)


def _same(x, y):
    if isinstance(x, str) or isinstance(y, str):
        return x == y
    x, y = (v.asnumpy() if isinstance(v, Tensor) else v for v in (x, y))
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def some_entries():
    rng = np.random.default_rng(0)
    return {
        "fc.weight": rng.normal(size=(3, 4)).astype(np.float32),
        "fc.bias": rng.normal(size=3).astype(ml_dtypes.bfloat16),
        "count": np.asarray(7, np.int64),
        "empty": np.zeros((0, 3), np.float16),
        "flags": np.array([True, False, True]),
    }


def content(codec, entries, crc_check=True):
    file = io.BytesIO()
    FORMATS[codec].write(file, entries, crc_check)
    return file.getvalue()
