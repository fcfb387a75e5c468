"""150 cases of the differential run of operators and layers; `python -m tests.kernels --cases 10000` runs more of them."""

import inspect

import numpy as np
import pytest

from msjax import mint, nn, ops
from msjax.ops.primitive import Primitive
from tests.kernels import records
from tests.kernels.against_records import compare
from tests.kernels.cases import DRAWS, VARIANTS, make
from tests.kernels.left_out import NAMES
from tests.kernels.tables import ROWS
from tests.x64 import needs_x64

RUN, BLOCKS = 150, 6
PLACES = {
    "ops": ops, "nn": nn, "mint": mint, "mint.nn": mint.nn, "mint.nn.functional": mint.nn.functional, "mint.linalg": mint.linalg,
    "mint.special": mint.special,
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded():
    return records.load()


@pytest.mark.long
@needs_x64
@pytest.mark.parametrize("block", range(BLOCKS))
def test_as_pytorch_and_mindspore(block, recorded):
    """Cases that lie evenly in the whole run, each block in all tables."""
    verdicts = []
    for i in range(block * DRAWS, RUN, BLOCKS * DRAWS):
        row, first = ROWS[i * len(ROWS) // RUN], i // DRAWS * 7 % VARIANTS * DRAWS
        for number in range(first, first + DRAWS):  # which share their programs
            verdict, detail = compare(make(row, number), recorded[row.key][number])
            verdicts.append(verdict)
            assert verdict not in ("differs", "raises", "takes"), f"{verdict}: {make(row, number)}\n  {detail}"
    assert verdicts.count("same") > 0.8 * len(verdicts)


def test_every_name_has_a_row_or_a_reason():
    have = {name for row in ROWS for name in row.names}
    for place, module in PLACES.items():
        for name in getattr(module, "__all__", None) or dir(module):
            found = getattr(module, name, None)
            # The class forms of operators take the call from the function.
            form = place == "ops" and inspect.isclass(found)
            # tests/ops/operations/test_sparse_tensor.py has the values of those of sparse tensors.
            sparse = getattr(found, "__module__", "") == "msjax.ops.function.sparse_func"
            if callable(found) and not name.startswith("_") and not form and not sparse:
                assert (f"{place}.{name}" in have) != (f"{place}.{name}" in NAMES), f"{place}.{name}"
    assert issubclass(ops.ReLU, Primitive)


def test_all_rows_are_recorded_and_most_have_values(recorded):
    assert list(recorded) == [row.key for row in ROWS]
    states = [state for cases in recorded.values() for state, _, _ in cases]
    assert len(states) >= 10_000
    assert sum(state in (records.NOTHING, records.REFUSED) for state in states) < 0.1 * len(states)


def test_a_difference_is_found(recorded):
    row = next(row for row in ROWS if row.call == "ops.logaddexp(x, y)")
    case = make(row, 0)
    state, shapes, codes = recorded[row.key][0]
    assert compare(case, (state, shapes, codes))[0] == "same"
    for at in np.flatnonzero(codes != records.LEFT_OUT):
        changed = codes.copy()
        changed[at] = records.encode(np.array([3.25]))[0]
        assert compare(case, (state, shapes, changed))[0] == "differs"


def test_what_is_stored_is_what_was_computed(tmp_path):
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1e4, 1e-40, 1e300, 1 / 3])
    stored = {"a": [(records.BOTH, 7, records.encode(values)), (records.NOTHING, 0, np.zeros(0, np.uint32))]}
    records.save(stored, tmp_path / "file.npz")
    loaded = records.load(tmp_path / "file.npz")
    (state, shapes, codes), (nothing, _, empty) = loaded["a"]
    assert (state, shapes, nothing, empty.size) == (records.BOTH, 7, records.NOTHING, 0)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(records.decode(codes), values.astype(np.float32), rtol=2**-16, atol=1e-42)
