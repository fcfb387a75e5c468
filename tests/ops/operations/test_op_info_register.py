"""Descriptions of custom operators, as MindSpore 2.10 gives them."""

import pytest

from msjax.ops import AiCPURegOp, CustomRegOp, DataType, Primitive, TBERegOp, custom_info_register, prim_attr_register

F32 = DataType.F32_Default


def test_descriptions_say_what_was_given():
    custom = (
        CustomRegOp("twice").input(0, "x").input(1, "z", "optional").output(0, "y").dtype_format(F32, F32, DataType.None_None)
    )
    info = custom.attr("k", "required", "int").attr("q", "optional", "float", default_value="1.5").target("CPU").get_op_info()
    assert info == {
        "op_name": "twice", "fusion_type": "", "target": "CPU",
        "inputs": [{"index": 0, "name": "x", "paramType": "required"}, {"index": 1, "name": "z", "paramType": "optional"}],
        "outputs": [{"index": 0, "name": "y", "paramType": "required"}],
        "attr": [{"name": "k", "paramType": "required", "type": "int"}, {"name": "q", "paramType": "optional", "type": "float", "defaultValue": "1.5"}],
        "dtype_format": [(("float32", "DefaultFormat"), ("float32", "DefaultFormat"), ("", ""))],
    }  # fmt: skip
    assert CustomRegOp().get_op_info()["target"] == "UnKnown"
    tbe = (
        TBERegOp("T")
        .compute_cost(3)
        .kernel_name("t")
        .input(0, "x", False, "required", "all")
        .attr("a", "required", "float", "all")
    )
    info = tbe.dtype_format(DataType.F16_5HD).get_op_info()
    assert (info["imply_type"], info["compute_cost"], info["kernel"], info["partial_flag"]) == ("TBE", 3, "t", False)
    assert info["inputs"] == [{"index": 0, "name": "x", "needCompile": False, "paramType": "required", "shape": "all"}]
    assert info["dtype_format"] == [(("float16", "NC1HWC0"),)]
    assert AiCPURegOp("A").attr("p", "int").get_op_info()["attr"] == [{"name": "p", "type": "int"}]

    @custom_info_register(info)
    def kernel(x):
        return x + 1

    assert kernel(1) == 2 and kernel.reg_info == (info,)


def test_an_operator_of_a_program_keeps_its_arguments_as_attributes():
    class Scale(Primitive):
        @prim_attr_register
        def __init__(self, factor=1):
            self.init_prim_io_names(inputs=["x"], outputs=["y"])
            self.add_prim_attr("mode", "fast")

    op = Scale(3)
    assert (op.factor, op.mode, op.init_attrs, op.attrs["input_names"]) == (3, "fast", {"factor": 3}, ["x"])
    assert repr(op) == "Prim[Scale]<factor=3, mode=fast>"


@pytest.mark.parametrize(
    "wrong, error",
    [
        (lambda: CustomRegOp(3), ValueError),
        (lambda: CustomRegOp().input("a", "x"), TypeError),
        (lambda: CustomRegOp().input(0, "x").output(0, "y").dtype_format(F32), ValueError),
        (lambda: CustomRegOp().target(3), TypeError),
        (lambda: TBERegOp("T").nothing, AttributeError),
        (lambda: DataType.F32_Foo, AttributeError),
    ],
)
def test_wrong_descriptions(wrong, error):
    with pytest.raises(error):
        wrong()
