"""Operators of a program's own: Custom, and subclasses of Primitive."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_custom_operators(mode):
    ms.set_context(mode=mode)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.sinh = ops.Custom(
                np.sinh, lambda shape: shape, lambda dtype: dtype, "pyfunc", bprop=lambda x, out, dout: (dout * ops.cosh(x),)
            )

        def construct(self, x):
            return self.sinh(x) * 2

    net, x = Net(), Tensor(np.array([0.5, -1.0], np.float32))
    np.testing.assert_allclose(net(x).asnumpy(), 2 * np.sinh(x.asnumpy()), rtol=1e-6)
    np.testing.assert_allclose(ms.grad(net)(x).asnumpy(), 2 * np.cosh(x.asnumpy()), rtol=1e-6)
    both = ops.Custom(lambda a: (a.sum(), a > 0), ((), (2,)), (ms.float32, ms.bool_))
    total, positive = both(x)
    assert float(total) == -0.5 and positive.asnumpy().tolist() == [True, False]
    with pytest.raises(NotImplementedError, match="func_type 'aot'"):
        ops.Custom("./add.so:Add", func_type="aot")


def test_an_operator_class_of_a_program():
    class Scale(ops.PrimitiveWithInfer):
        @ops.prim_attr_register
        def __init__(self, factor=3):
            self.init_prim_io_names = None

        def __call__(self, x):
            return x * self.factor

    assert float(Scale(2)(Tensor(4.0))) == 8 and repr(Scale()) == "Prim[Scale]<factor=3>"


def test_an_operator_of_a_program_keeps_its_arguments_as_attributes():
    class Scale(ops.Primitive):
        @ops.prim_attr_register
        def __init__(self, factor=1):
            self.init_prim_io_names(inputs=["x"], outputs=["y"])
            self.add_prim_attr("mode", "fast")

    op = Scale(3)
    assert (op.factor, op.mode, op.init_attrs, op.attrs["input_names"]) == (3, "fast", {"factor": 3}, ["x"])
    assert repr(op) == "Prim[Scale]<factor=3, mode=fast>"


def test_descriptions_of_kernels_are_not_offered():
    from msjax.ops import CustomRegOp, DataType, op_info_register

    with pytest.raises(AttributeError, match=r"ops\.DataType: .*ops\.Custom runs Python functions.* no 'F32_Default'"):
        DataType.F32_Default  # noqa: B018
    with pytest.raises(NotImplementedError, match=r"ops\.CustomRegOp: "):
        CustomRegOp("twice")
    with pytest.raises(NotImplementedError, match=r"ops\.op_info_register: "):

        @op_info_register({})
        def kernel(x):
            return x
