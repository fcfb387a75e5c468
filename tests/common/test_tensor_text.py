"""Text of Tensors."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor
from tests.common.tensor_texts import PRINTED
from tests.x64 import needs_x64

OF_64_BITS = ("Int64", "Float64", "Complex128")
TEXTS = [pytest.param(*row, marks=needs_x64 if any(name in row[2] for name in OF_64_BITS) else ()) for row in PRINTED]


@pytest.mark.parametrize("make, text, formal", TEXTS, ids=range(len(TEXTS)))
def test_text(make, text, formal):
    tensor = make()
    assert str(tensor) == f"{tensor}" == text
    assert repr(tensor) == formal
    assert str((tensor, [tensor])) == f"({formal}, [{formal}])"


def test_numpy_print_options_count_for_str_only():
    tensor = Tensor([1 / 3, 2.0])
    before = repr(tensor)
    with np.printoptions(precision=2, floatmode="fixed"):
        assert str(tensor) == "[0.33 2.00]"
        assert repr(tensor) == before
    assert str(tensor) == "[0.33333334 2.        ]"


def test_bfloat16_text():
    assert str(Tensor([0.5, 1000.0], ms.bfloat16)) == "[5.e-01 1.e+03]"
    assert "dtype=BFloat16" in repr(Tensor([0.5], ms.bfloat16))


def test_print(capsys):
    print(Tensor([1, 2]), Tensor(3.0), sep="|")
    assert capsys.readouterr().out == "[1 2]|3.0\n"


def test_format():
    assert f"{Tensor(1.5):.3f}" == "1.500"
    assert f"{Tensor([7]):>4}" == "   7"
    assert "%.2f" % Tensor(1.5) == "1.50"
    assert "%d" % Tensor(3) == "3"
    with pytest.raises(ValueError, match="one element"):
        f"{Tensor([1, 2]):d}"


def test_what_came_from_numpy_has_numpys_text_in_containers():
    rows = list(ms.dataset.NumpySlicesDataset(np.array([[1.0, 2.5]], np.float32), shuffle=False))
    assert str(rows) == "[[Tensor(shape=[2], dtype=Float32, value= [1. , 2.5])]]"
    shared = Tensor.from_numpy(np.array([[0.5, 1e-8]], np.float32))
    assert str([shared]) == "[Tensor(shape=[1, 2], dtype=Float32, value=\n[[5.e-01, 1.e-08]])]"
    assert str([shared + 1, Tensor.from_numpy(np.array(2.5, np.float32))]) == (
        "[Tensor(shape=[1, 2], dtype=Float32, value=\n[[ 1.50000000e+00,  1.00000000e+00]]), Tensor(shape=[], dtype=Float32, value= 2.5)]"
    )
    shared[0, 0] = 3
    assert str([shared]) == "[Tensor(shape=[1, 2], dtype=Float32, value=\n[[ 3.00000000e+00,  9.99999994e-09]])]"
