"""Layers that pad, by numbers of the real MindSpore."""

import pytest

from tests.ops.recorded import check

SETUP = "x=F(2,3,4,5); x1=F(2,3,7); x5=F(1,2,3,4,5)"
RECORDED = [
    ("nn.Pad(((1,2),(0,1)))(F(2,3))", "(5, 4)Float32:0.747125"),
    ("nn.Pad(((1,2),(0,1)),'REFLECT')(F(3,4))", "(6, 5)Float32:-1.20793"),
    ("nn.Pad(((1,2),(0,1)),'SYMMETRIC')(F(3,4))", "(6, 5)Float32:0.530453"),
    ("nn.Pad(((1,2),(0,1)))", "Pad()"),
    ("nn.Pad(((1,2),(0,1)),'foo')", "ValueError"),
    ("nn.Pad([(1,2),(0,1)])", "TypeError"),
    ("nn.Pad(((1,2),))(F(2,3))", "ValueError"),
    ("nn.Pad(((1,2),(0,1),(0,0)))(F(2,3))", "ValueError"),
    ("nn.ConstantPad1d(1,2.)(x1)", "(2, 3, 9)Float32:-8.30878"),
    ("nn.ConstantPad1d((1,2),2)(x1)", "(2, 3, 10)Float32:-6.36256"),
    ("nn.ConstantPad1d((1,2,3),2)", "ValueError"),
    ("nn.ConstantPad1d((1,2),2)", "ConstantPad1d()"),
    ("nn.ConstantPad2d((1,2,-1,0),0)(x)", "(2, 3, 3, 8)Float32:-1.13991"),
    ("nn.ConstantPad3d((1,2,0,0,1,1),.5)(x5)", "(1, 2, 5, 4, 8)Float32:0.458377"),
    ("nn.ConstantPad3d((1,2,0,0),.5)", "ConstantPad3d()"),
    ("nn.ConstantPad1d('a',2)", "TypeError"),
    ("nn.ConstantPad1d(1,'a')", "TypeError"),
    ("nn.ReflectionPad1d((3,1))(x1)", "(2, 3, 11)Float32:-8.21977"),
    ("nn.ReflectionPad1d(1)(x1[0])", "(3, 9)Float32:-4.20225"),
    ("nn.ReflectionPad1d(8)(x1)", "ValueError"),
    ("nn.ReflectionPad1d(-1)", "ValueError"),
    ("nn.ReflectionPad1d(1)", "ReflectionPad1d()"),
    ("nn.ReflectionPad2d((1,2,0,1))(x)", "(2, 3, 5, 8)Float32:3.92537"),
    ("nn.ReflectionPad2d(1)(x[0])", "(3, 6, 7)Float32:-4.60828"),
    ("nn.ReflectionPad3d(1)(x5)", "(1, 2, 5, 6, 7)Float32:-8.73773"),
    ("nn.ReplicationPad1d(2)(x1)", "(2, 3, 11)Float32:0.882769"),
    ("nn.ReplicationPad2d((1,2,0,1))(x)", "(2, 3, 5, 8)Float32:18.321"),
    ("nn.ReplicationPad3d(1)(x5)", "(1, 2, 5, 6, 7)Float32:5.8516"),
    ("nn.ReplicationPad3d(1)(x5[0])", "(2, 5, 6, 7)Float32:5.8516"),
    ("nn.ReplicationPad3d((1,1))", "ReplicationPad3d()"),
    ("nn.ZeroPad2d((1,2,0,1))(x)", "(2, 3, 5, 8)Float32:0.90233"),
    ("nn.ZeroPad2d(1)(x[0])", "(3, 6, 7)Float32:0.234128"),
    ("nn.ZeroPad2d(1)", "ZeroPad2d()"),
    ("nn.ZeroPad2d((-1,1,0,0))(x)", "(2, 3, 4, 5)Float32:-5.67253"),
    ("nn.ReplicationPad2d((-1,1,0,0))(x)", "(2, 3, 4, 5)Float32:-2.16319"),
    ("nn.ReflectionPad1d((1,2))(F(2,2,2,7))", "(2, 2, 2, 10)Float32:-2.65874"),
]


@pytest.mark.parametrize("expression, want", RECORDED, ids=[e for e, _ in RECORDED])
def test_as_recorded(expression, want):
    check(SETUP, expression, want)
