"""Normalization functions, by numbers of the real MindSpore."""

import pytest

from tests.ops.recorded import check

SETUP = "x=F(4,3,5,6); x2=F(4,3); x1=F(4,3,5); x5=F(2,3,4,2,2)"
RECORDED = [
    ("ops.lrn(x,3,2.0,0.5,0.75)", "(4, 3, 5, 6)Float32:5.21781"),
    ("G(lambda x: ops.lrn(x,3,2.0,0.5,0.75),x)", "[(4, 3, 5, 6)Float32:5.21781, (4, 3, 5, 6)Float32:62.0899]"),
    ("ops.batch_norm(x,ops.zeros(3),ops.ones(3),ops.ones(3),ops.zeros(3))", "(4, 3, 5, 6)Float32:16.65"),
    ("ops.batch_norm(x,ops.zeros(3),ops.ones(3),ops.ones(3),ops.zeros(3),True)", "(4, 3, 5, 6)Float32:16.7187"),
    ("ops.batch_norm(x2,ops.zeros(3),ops.ones(3),ops.ones(3),ops.zeros(3),True)", "(4, 3)Float32:-4.27329"),
    ("ops.batch_norm(x,ops.zeros(3),ops.ones(3),ops.ones(3),ops.zeros(3),True,2.0)", "ValueError"),
    ("ops.batch_norm(x,None,None,ops.ones(3),ops.zeros(3),True)", "TypeError"),
    ("ops.layer_norm(x,(5,))", "ValueError"),
    ("ops.group_norm(x,3)", "(4, 3, 5, 6)Float32:16.3883"),
    ("ops.group_norm(x,3,ops.ones(3),ops.zeros(3))", "(4, 3, 5, 6)Float32:16.3883"),
    ("ops.group_norm(x,2)", "ValueError"),
    ("ops.group_norm(x2,3)", "(4, 3)Float32:0"),
    ("G(lambda x: ops.group_norm(x,3),x)", "[(4, 3, 5, 6)Float32:16.3883, (4, 3, 5, 6)Float32:176.527]"),
]


@pytest.mark.parametrize("expression, want", RECORDED, ids=[e for e, _ in RECORDED])
def test_as_recorded(expression, want):
    check(SETUP, expression, want)
