"""Loss functions, by numbers of the real MindSpore."""

import pytest

import msjax as ms
from msjax import ops
from tests.ops.recorded import check

SETUP = "x=F(3,5); y=F(3,5); t=I(5,3); p=P(3,5); b=Tensor((np.random.default_rng(1).random((3,5))>.5).astype(np.float32)); w=P(5); x4=F(2,5,3,2); t4=I(5,2,3,2)"
RECORDED = [
    ("ops.huber_loss(x,y,'sum',0.3)", "()Float32:1.93885"),
    ("ops.cross_entropy(x,t,w,1,'none',.2)", "(3,)Float32:-1.32993"),
    ("ops.nll_loss(x,t,w,1,'mean',.2)", "()Float32:0.228535"),
    ("ops.nll_loss(x4,t4,w,1,'mean',.2)", "()Float32:0.0676814"),
    ("ops.nll_loss(x4,t4,label_smoothing=.2)", "()Float32:0.0677595"),
    ("ops.binary_cross_entropy(p,b,P(3,5),'sum')", "()Float32:2.96847"),
    ("ops.binary_cross_entropy_with_logits(x,b,P(3,5),P(5),'sum')", "()Float32:1.86615"),
    (
        "G(lambda x: ops.binary_cross_entropy_with_logits(x,b,P(3,5),P(5),'sum'),x)",
        "[()Float32:1.86615, (3, 5)Float32:-0.0890842]",
    ),
    (
        "G(lambda x,b: ops.binary_cross_entropy_with_logits(x,b,P(3,5),P(5),'sum'),x,b)",
        "[()Float32:1.86615, [(3, 5)Float32:-0.0890842, (3, 5)Float32:-0.994945]]",
    ),
    ("ops.kl_div(x,p,'batchmean')", "()Float32:-0.671203"),
    ("ops.kl_div(x,p,'x')", "ValueError"),
    ("ops.hinge_embedding_loss(x,ops.sign(y),2.,'sum')", "()Float32:7.34523"),
    ("ops.cosine_embedding_loss(x,y,Tensor([1,-1,1],ms.int32),.1,'none')", "(3,)Float32:0.392906"),
    ("ops.cosine_similarity(x,y)", "(3,)Float32:-0.812693"),
    ("ops.cosine_similarity(x,y,0)", "(5,)Float32:-1.05719"),
    ("ops.multilabel_soft_margin_loss(x,b,w,'none')", "(3,)Float32:-0.286867"),
    ("ops.multi_margin_loss(x,t.astype(ms.int64),weight=w)", "()Float32:0.335555"),
    ("ops.gaussian_nll_loss(x,y,p,True,.5,'sum')", "()Float32:14.9263"),
    ("ops.gaussian_nll_loss(x,y,p[:,:1])", "()Float32:0.529717"),
    (
        "G(lambda a: ops.ctc_loss(ops.log_softmax(a),I(4,2,3)+1,Tensor([6,5],ms.int32),Tensor([3,2],ms.int32))[0],F(6,2,5))",
        "[()Float32:1.21392, (6, 2, 5)Float32:-0.143985]",
    ),
    (
        "ops.ctc_greedy_decoder(F(6,2,5),Tensor([6,5],ms.int32))",
        "[(7, 2)Int64:-1.47748, (7,)Int64:0.359798, (2,)Int64:-1.00013, (2, 1)Float32:-0.0661758]",
    ),
    ("ops.mse_loss(x,y,'none')", "(3, 5)Float32:-4.35642"),
    ("ops.mse_loss(x,y[0],'mean')", "()Float32:0.980092"),
    ("ops.mse_loss(x,y,'x')", "ValueError"),
    ("ops.l1_loss(x,y,'x')", "ValueError"),
    ("ops.smooth_l1_loss(x,y,.5,'mean')", "()Float32:0.384191"),
    ("ops.smooth_l1_loss(x,y,-1.)", "RuntimeError"),
    ("ops.margin_ranking_loss(x,y,ops.sign(y),.1,'sum')", "()Float32:7.62256"),
]


@pytest.mark.parametrize("expression, want", RECORDED, ids=[e for e, _ in RECORDED])
def test_as_recorded(expression, want):
    check(SETUP, expression, want)


@pytest.mark.parametrize(
    "loss, slope",
    [
        (lambda x: ops.l1_loss(x, ops.zeros_like(x), "sum"), 0.0),
        (lambda x: ops.smooth_l1_loss(x, ops.zeros_like(x), 1.0, "sum"), 0.0),
        (lambda x: ops.smooth_l1_loss(x, ops.zeros_like(x), 0.0, "sum"), 0.0),
        (lambda x: ops.huber_loss(x, ops.zeros_like(x), "sum"), 0.0),
        (lambda x: ops.margin_ranking_loss(x, ops.zeros_like(x), ops.ones_like(x), 0.0, "sum"), -1.0),
        (lambda x: ops.binary_cross_entropy_with_logits(x, ops.ones_like(x), reduction="sum"), -0.5),
        (lambda x: ops.binary_cross_entropy_with_logits(x, ops.zeros_like(x), reduction="sum"), 0.5),
    ],
)
def test_slopes_at_0(loss, slope):
    assert ms.grad(loss)(ms.Tensor([0.0])).tolist() == [slope]


def test_cross_entropy_with_large_logits():
    x = ms.Tensor([-200.0, 200.0])
    assert ops.binary_cross_entropy_with_logits(x, ms.Tensor([1.0, 1.0]), reduction="none").tolist() == [200.0, 0.0]
