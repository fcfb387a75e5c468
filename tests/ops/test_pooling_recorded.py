"""Pooling functions, by numbers of the real MindSpore."""

import pytest

from tests.ops.recorded import check

SETUP = "x=F(2,3,7,8); x1=F(2,3,9); x3=F(1,2,5,6,7)"
RECORDED = [
    ("ops.adaptive_avg_pool1d(x1,3)", "(2, 3, 3)Float32:2.03484"),
    ("ops.adaptive_avg_pool1d(x1,4)", "ValueError"),
    ("ops.adaptive_max_pool1d(x1,3)", "(2, 3, 3)Float32:2.43058"),
    ("ops.adaptive_max_pool1d(x1,4)", "ValueError"),
    ("ops.adaptive_avg_pool3d(x3,3)", "(1, 2, 3, 3, 3)Float32:-0.75374"),
    ("ops.adaptive_max_pool3d(x3,3,True)", "[(1, 2, 3, 3, 3)Float32:-6.56345, (1, 2, 3, 3, 3)Int32:64.1493]"),
    ("ops.adaptive_max_pool2d(x,3,True)", "[(2, 3, 3, 3)Float32:-3.54582, (2, 3, 3, 3)Int64:-20.5976]"),
    ("ops.avg_pool1d(x1,3,2)", "(2, 3, 4)Float32:1.0707"),
    ("ops.avg_pool1d(x1,3,2,1,True)", "(2, 3, 5)Float32:1.75024"),
    ("ops.avg_pool1d(x1[0],3,2)", "ValueError"),
    ("ops.avg_pool2d(x,3,2,(1,0))", "ValueError"),
    ("ops.avg_pool2d(x,3,2,(1,0,1,1))", "(2, 3, 3, 4)Float32:-0.904014"),
    ("ops.avg_pool2d(x,(3,2),2,1,True,False,2)", "(2, 3, 4, 5)Float32:6.37664"),
    ("ops.avg_pool2d(x[0],2)", "ValueError"),
    ("ops.avg_pool3d(x3,2,2,1)", "(1, 2, 3, 4, 4)Float32:-0.83148"),
    ("ops.avg_pool3d(x3,2,2,(1,1,0,0,1,1))", "(1, 2, 3, 3, 4)Float32:1.29251"),
    ("ops.max_pool2d(x,2)", "(2, 3, 3, 4)Float32:-1.13483"),
    ("ops.max_pool2d(x,3,return_indices=True)", "[(2, 3, 2, 2)Float32:-1.30821, (2, 3, 2, 2)Int64:-57.0615]"),
    ("ops.max_pool2d(x,(3,2),2,1,2,True,True)", "[(2, 3, 3, 5)Float32:1.52464, (2, 3, 3, 5)Int64:121.822]"),
    ("ops.max_pool2d(x[0],2)", "ValueError"),
    ("ops.max_pool2d(x,2,padding=2)", "ValueError"),
    ("ops.max_pool3d(x3,2)", "(1, 2, 2, 3, 3)Float32:-4.01429"),
    ("ops.max_pool3d(x3,2,return_indices=True)", "[(1, 2, 2, 3, 3)Float32:-4.01429, (1, 2, 2, 3, 3)Int64:-346.043]"),
    ("ops.max_pool3d(x3,3,2,1,1,True,True)", "[(1, 2, 3, 4, 4)Float32:1.22616, (1, 2, 3, 4, 4)Int64:-267.809]"),
    ("ops.lp_pool1d(x1,2,3)", "(2, 3, 3)Float32:-1.78418"),
    ("ops.lp_pool1d(x1,2,3,2,True)", "(2, 3, 4)Float32:0.729575"),
    ("ops.lp_pool1d(x1[0],2,3)", "(3, 3)Float32:-0.981588"),
    ("ops.lp_pool2d(x,2,3,2,True)", "(2, 3, 3, 4)Float32:-3.33212"),
    ("ops.lp_pool2d(x,2,(3,2))", "(2, 3, 2, 4)Float32:-2.0499"),
    ("ops.lp_pool2d(x[0],2,(3,2))", "ValueError"),
    ("ops.max_unpool2d(*ops.max_pool2d(x,2,return_indices=True),2)", "(2, 3, 6, 8)Float32:1.61806"),
    ("ops.max_unpool2d(*ops.max_pool2d(x,2,return_indices=True),2,output_size=(2,3,7,8))", "(2, 3, 7, 8)Float32:0.615529"),
    ("ops.max_unpool2d(*ops.max_pool2d(x,2,return_indices=True),2,output_size=(7,8))", "(2, 3, 7, 8)Float32:0.615529"),
    ("ops.max_unpool2d(*ops.max_pool2d(x,2,return_indices=True),2,output_size=(70,8))", "ValueError"),
    ("G(lambda x: ops.max_pool2d(x,3,2,1),x)", "[(2, 3, 4, 4)Float32:5.54341, (2, 3, 7, 8)Float32:1.23822]"),
    (
        "G(lambda x: ops.max_pool2d(x,3,2,1,2,True),x)",
        "[[(2, 3, 3, 3)Float32:1.02028, (2, 3, 3, 3)Int64:-41.4378], (2, 3, 7, 8)Float32:0.992507]",
    ),
    ("G(lambda x: ops.max_pool3d(x,3,2,1),x3)", "[(1, 2, 3, 3, 4)Float32:6.07276, (1, 2, 5, 6, 7)Float32:8.73117]"),
    ("G(lambda x: ops.avg_pool2d(x,3,2,1),x)", "[(2, 3, 4, 4)Float32:-0.0106761, (2, 3, 7, 8)Float32:0.32564]"),
    ("G(lambda x: ops.lp_pool2d(ops.abs(x),2,3),x)", "[(2, 3, 2, 2)Float32:-3.46748, (2, 3, 7, 8)Float32:-0.822325]"),
    (
        "ops.fractional_max_pool2d(x,2,output_size=(3,4),return_indices=True,_random_samples=P(2,3,2))",
        "[(2, 3, 3, 4)Float32:-4.41379, (2, 3, 3, 4)Int64:-219.737]",
    ),
    (
        "ops.fractional_max_pool3d(x3,2,output_size=(3,4,2),return_indices=True,_random_samples=P(1,2,3))",
        "[(1, 2, 3, 4, 2)Float32:-3.85021, (1, 2, 3, 4, 2)Int64:-191.277]",
    ),
]


@pytest.mark.parametrize("expression, want", RECORDED, ids=[e for e, _ in RECORDED])
def test_as_recorded(expression, want):
    check(SETUP, expression, want)
