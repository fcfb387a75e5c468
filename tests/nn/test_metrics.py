"""Metrics, mostly against numbers of MindSpore 2.10; the others against closed forms."""

import math

import numpy as np
import pytest

from msjax import Tensor, nn, train

P = Tensor(np.array([[0.2, 0.5, 0.3], [0.3, 0.1, 0.6], [0.9, 0.06, 0.04], [0.1, 0.7, 0.2]], np.float32))
LABEL = Tensor(np.array([1, 0, 2, 1], np.int32))
ONE_HOT = Tensor(np.eye(3, dtype=np.int32)[[1, 0, 2, 1]])
MANY = Tensor(np.array([[0, 1, 1], [1, 0, 1], [0, 0, 1]], np.float32))
MANY_LABELS = Tensor(np.array([[0, 1, 0], [1, 0, 1], [1, 0, 1]], np.int32))
X, Y = Tensor(np.array([0.1, 0.2, 0.6, 0.9], np.float32)), Tensor(np.array([0.1, 0.25, 0.7, 0.9], np.float32))
MASK = Tensor(np.array([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], np.float32))
TRUE_MASK = Tensor(np.array([[0, 1], [1, 0], [0, 1]], np.float32))
WORDS = [["i", "have", "a", "pen", "on", "my", "desk"]]
REFERENCES = [[["i", "have", "a", "pen", "in", "my", "desk"], ["there", "is", "a", "pen", "on", "the", "desk"]]]
AREA = Tensor(np.array([[3, 0, 1], [1, 3, 0], [1, 0, 2]]))
TRUE_AREA = Tensor(np.array([[0, 2, 1], [1, 2, 1], [0, 0, 1]]))
VECTORS = np.array([[1, 3, 4, 7], [2, 4, 2, 5], [3, 1, 5, 8]])
PAIR = (Tensor(np.array([1, 0, 1, 0])), Tensor(np.array([1, 0, 0, 1])))

# (metric, batches, value)
CASES = [
    (train.Accuracy(), [(P, LABEL), (P, ONE_HOT)], 0.5),
    (train.Accuracy("multilabel"), [(MANY, MANY_LABELS)], 1 / 3),
    (train.Precision(), [(P, LABEL), (P, LABEL)], [0, 1, 0]),
    (train.Precision("multilabel"), [(MANY, MANY_LABELS)], [0.5, 1, 1]),
    (train.Recall(), [(P, ONE_HOT)], [0, 1, 0]),
    (train.Recall("multilabel"), [(MANY, MANY_LABELS), (MANY, MANY_LABELS)], [1, 1, 0.5, 1, 1, 0.5]),
    (train.Fbeta(2), [(P, LABEL)], [0, 1, 0]),
    (train.F1(), [(P, LABEL), (P, LABEL)], [0, 1, 0]),
    (train.Top1CategoricalAccuracy(), [(P, LABEL)], 0.5),
    (train.TopKCategoricalAccuracy(2), [(P, LABEL), (P, ONE_HOT)], 0.75),
    (train.MAE(), [(X, Y), (X, X)], 0.01875),
    (train.MSE(), [(X, Y), (Y, Y)], 0.0015625),
    (train.Loss(), [(Tensor(0.2),), (Tensor([0.4]),)], 0.3),
    (train.Perplexity(), [(P, LABEL)], 3.928146782265758),
    (train.Perplexity(ignore_label=1), [(P, LABEL)], 9.12870962167763),
    (train.Dice(), [(MASK, TRUE_MASK)], 0.20467793022896577),
    (train.Dice(), [(MASK, TRUE_MASK), (TRUE_MASK, TRUE_MASK)], 0.2690053540038348),
    (train.ConfusionMatrix(2), [PAIR], [[1, 1], [1, 1]]),
    (train.ConfusionMatrix(2), [(np.array([0.5, 0.4]), np.array([1, 1]))], [[0, 0], [1, 1]]),
    (train.ConfusionMatrix(2, "target"), [PAIR], [[0.5, 0.5], [0.5, 0.5]]),
    (train.ConfusionMatrix(2, "all"), [PAIR], [[0.25, 0.25], [0.25, 0.25]]),
    (train.ConfusionMatrix(3), [(P, LABEL)], [[0, 0, 1], [0, 2, 0], [1, 0, 0]]),
    (train.BleuScore(), [(WORDS, REFERENCES)], 0.5946035575013605),
    (train.BleuScore(2, True), [(WORDS, REFERENCES)], 0.9258200997725514),
    (train.CosineSimilarity(reduction="sum", zero_diagonal=False), [(VECTORS,)], [2.8918806719, 2.8017171371, 2.8130855037]),
    (train.CosineSimilarity("dot"), [(VECTORS,)], [[0, 57, 82], [57, 0, 60], [82, 60, 0]]),
    (train.HausdorffDistance(), [(AREA, TRUE_AREA, 1)], 2.0),
    (train.HausdorffDistance("taxicab", 50.0), [(AREA, TRUE_AREA, 1)], 0.5),
    (train.HausdorffDistance(directed=True), [(AREA, TRUE_AREA, 1)], 1.0),
    (train.HausdorffDistance(), [(AREA, TRUE_AREA, 0)], math.sqrt(2)),
    (train.MeanSurfaceDistance(), [(AREA, TRUE_AREA, 1)], 1 / 3),
    (train.MeanSurfaceDistance(symmetric=True), [(AREA, TRUE_AREA, 1)], 0.5416666666666666),
    (train.RootMeanSquareDistance(), [(AREA, TRUE_AREA, 1)], 1 / 3),
    (train.RootMeanSquareDistance(symmetric=True), [(AREA, TRUE_AREA, 1)], 0.8897565210026093),
]  # fmt: skip


@pytest.mark.parametrize("metric, batches, value", CASES, ids=lambda v: type(v).__name__ if isinstance(v, train.Metric) else "")
def test_values(metric, batches, value):
    for _ in range(2):
        metric.clear()
        for batch in batches:
            metric.update(*batch)
        np.testing.assert_allclose(metric.eval(), value, rtol=2e-6, atol=1e-8)


COUNTS = {"tp": 12, "fp": 6, "tn": 10, "fn": 4}


@pytest.mark.parametrize(
    "name, formula",
    [
        ("sensitivity", "tp / (tp + fn)"),
        ("specificity", "tn / (tn + fp)"),
        ("precision", "tp / (tp + fp)"),
        ("negative predictive value", "tn / (tn + fn)"),
        ("miss rate", "fn / (fn + tp)"),
        ("fall_out", "fp / (fp + tn)"),
        ("false discovery rate", "fp / (fp + tp)"),
        ("false omission rate", "fn / (fn + tn)"),
        ("threat score", "tp / (tp + fn + fp)"),
        ("accuracy", "(tp + tn) / (tp + tn + fp + fn)"),
        ("balanced accuracy", "(tp / (tp + fn) + tn / (tn + fp)) / 2"),
        ("f1 score", "2 * tp / (2 * tp + fn + fp)"),
        ("matthews correlation coefficient", "(tp * tn - fp * fn) / ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) ** 0.5"),
        ("fowlkes mallows index", "(tp / (tp + fp) * tp / (tp + fn)) ** 0.5"),
        ("informedness", "tp / (tp + fn) + tn / (tn + fp) - 1"),
        ("markedness", "tp / (tp + fp) + tn / (tn + fn) - 1"),
        ("prevalence threshold", "((tp / (tp + fn) * fp / (fp + tn)) ** 0.5 + tn / (tn + fp) - 1) / (tp / (tp + fn) + tn / (tn + fp) - 1)"),
    ],
)  # fmt: skip
def test_measures_of_the_confusion_matrix(name, formula):
    pred = np.repeat([1, 1, 0, 0], list(COUNTS.values())).reshape(1, 1, -1)
    label = np.repeat([1, 0, 0, 1], list(COUNTS.values())).reshape(1, 1, -1)
    metric = train.ConfusionMatrixMetric(metric_name=name)
    metric.update(Tensor(pred), Tensor(label))
    np.testing.assert_allclose(metric.eval(), [eval(formula, dict(COUNTS))], rtol=1e-6)


def test_measures_of_samples_are_reduced():
    pred = Tensor(np.array([[[1, 1], [1, 0]], [[0, 1], [1, 1]]]))
    label = Tensor(np.array([[[1, 0], [1, 1]], [[0, 0], [1, 1]]]))
    for how, value in (
        ("mean", 0.875), ("sum", 2.5), ("mean_batch", [1.0, 0.75]), ("sum_channel", [1.5, 1.0]), ("none", [[1, 0.5], [0, 1]])
    ):  # fmt: skip
        metric = train.ConfusionMatrixMetric(True, "tpr", True, how)
        metric.update(pred, label)
        np.testing.assert_allclose(metric.eval(), value)
    skipping = train.ConfusionMatrixMetric(False, "tpr", True, "mean_batch")
    skipping.update(pred, label)
    np.testing.assert_allclose(skipping.eval(), [0.75])


def test_counts_of_several_updates_are_added():
    # Of class 0 then 1, true positives: (1 of 2, 1 of 2), then (2 of 2, 1 of 2): 5 of 8 in all; without the first class 2 of 4.
    label = Tensor(np.array([[[1, 1], [1, 1]]]))
    for skip, value in ((True, 5 / 8), (False, 2 / 4)):
        metric = train.ConfusionMatrixMetric(skip, "tpr", calculation_method=False)
        metric.update(Tensor(np.array([[[1, 0], [0, 1]]])), label)
        metric.update(Tensor(np.array([[[1, 1], [0, 1]]])), label)
        np.testing.assert_allclose(metric.eval(), [value])


def test_averages():
    precision = train.Precision()
    precision.update(P, LABEL)
    assert precision.eval(True) == 1 / 3
    f1 = train.F1()
    f1.update(P, LABEL)
    assert f1.eval(average=True) == 1 / 3


def test_roc_and_area():
    roc = train.ROC(pos_label=1)
    fpr, tpr, thresholds = roc(Tensor(np.array([0.28, 0.55, 0.15, 0.05])), Tensor(np.array([0, 1, 1, 0])))
    np.testing.assert_allclose(fpr, [0, 0, 0.5, 0.5, 1])
    np.testing.assert_allclose(tpr, [0, 0.5, 0.5, 1, 1])
    np.testing.assert_allclose(thresholds, [1.55, 0.55, 0.28, 0.15, 0.05])
    assert train.auc(fpr, tpr) == 0.75
    fpr, tpr, _ = train.ROC(class_num=3)(P, LABEL)
    np.testing.assert_allclose(fpr[0], [0, 1 / 3, 1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(tpr[0], [0, 0, 1, 1, 1])
    assert train.auc([1.0, 0.5, 0.0], [1.0, 0.75, 0.0]) == 0.625
    assert train.auc([0.5, 0.0, 1.0], [0.75, 0.0, 1.0], reorder=True) == 0.625


def test_occlusion_sensitivity():
    weight = Tensor(np.array([[0.1, 0.8, 0.1, 0.1], [1, 1, 1, 1]], np.float32))
    net = nn.Dense(4, 2, weight_init=weight, bias_init=Tensor(np.array([0.3, 0.6], np.float32)))
    picture = np.array([[0.1, 0.2, 0.3, 0.4]], np.float32)
    np.testing.assert_allclose(train.OcclusionSensitivity()(net, picture, 1), [0.3, 0.6, 1.0, 0.9], rtol=1e-5)
    part = train.OcclusionSensitivity(n_batch=1, b_box=[1, 2])
    np.testing.assert_allclose(part(net, picture, np.array(1)), [0.6, 1.0], rtol=1e-5)


def test_names_and_indexes():
    assert type(train.get_metric_fn("precision", eval_type="classification")) is train.Precision
    assert nn.names() == train.names() and "topk" in nn.names() and nn.Accuracy is train.Accuracy
    metric = train.Accuracy().set_indexes([0, 2])
    assert metric.indexes == [0, 2]
    metric.update(P, None, LABEL)
    # In a dict, numpy 2 prints its own numbers with their type.
    assert metric.eval() == 0.5 and type(metric.eval()) is float
    assert {name: type(m) for name, m in nn.get_metrics({"acc", "mae"}).items()} == {"acc": train.Accuracy, "mae": train.MAE}


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: train.Accuracy().eval(), RuntimeError, "nothing to evaluate"),
        (lambda: train.Precision().eval(), RuntimeError, "nothing to evaluate"),
        (lambda: train.F1().eval(), RuntimeError, "nothing to evaluate"),
        (lambda: train.ROC().eval(), RuntimeError, "update"),
        (lambda: train.ConfusionMatrix(2).eval(), RuntimeError, "update"),
        (lambda: train.Accuracy("x"), TypeError, "eval_type"),
        (lambda: train.Accuracy().update(P), ValueError, "2 inputs"),
        (lambda: train.Accuracy().update(P, Tensor([1, 0])), ValueError, "shape"),
        (lambda: train.Accuracy().update(P, Tensor([1, 0, 5, 1])), ValueError, "should be in"),
        (lambda: train.Accuracy().update(P, "abc"), TypeError, "data"),
        (lambda: train.Accuracy("multilabel").update(P, P), ValueError, "zeros and ones"),
        (lambda: train.Fbeta(0), ValueError, "beta"),
        (lambda: train.TopKCategoricalAccuracy(0), ValueError, "'k'"),
        (lambda: train.TopKCategoricalAccuracy("a"), TypeError, "'k'"),
        (lambda: train.Dice().update(MASK, X), ValueError, "one shape"),
        (lambda: train.ConfusionMatrix(2, "x"), ValueError, "normalize"),
        (lambda: train.ConfusionMatrixMetric(metric_name="foo"), NotImplementedError, "foo"),
        (lambda: train.ConfusionMatrixMetric(metric_name=1), TypeError, "metric_name"),
        (lambda: train.BleuScore(5), ValueError, "n_gram"),
        (lambda: train.BleuScore("3"), TypeError, "n_gram"),
        (lambda: train.BleuScore().update(WORDS, []), ValueError, "references"),
        (lambda: train.HausdorffDistance("x"), ValueError, "distance_metric"),
        (lambda: train.HausdorffDistance().update(AREA, TRUE_AREA, 7), ValueError, "label 7"),
        (lambda: train.auc([0.5, 0.0, 1.0], [0.1, 0.2, 0.3]), ValueError, "rise or fall"),
        (lambda: train.get_metric_fn("foo"), KeyError, "foo"),
        (lambda: train.Accuracy().set_indexes(1), ValueError, "indexes"),
        (lambda: train.Accuracy().set_indexes([0, 2]).update(P, LABEL), ValueError, "beyond"),
        (lambda: train.Metric().eval(), NotImplementedError, "eval"),
    ],
)
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_accuracy_is_a_python_float():
    accuracy = train.Accuracy()
    accuracy.update(np.array([[0.1, 0.9]]), np.array([1]))
    assert repr(accuracy.eval()) == "1.0"


def test_indexes_of_a_distance_of_surfaces():
    """With the prediction and the truth exchanged, as MindSpore gives it."""
    found = []
    for indexes in ([0, 1, 2], [1, 0, 2]):
        metric = train.RootMeanSquareDistance().set_indexes(indexes)
        metric.update(Tensor([[3, 0, 1], [1, 3, 0], [1, 0, 2]]), Tensor([[0, 2, 1], [1, 2, 1], [0, 0, 1]]), 0)
        found.append(metric.eval())
    assert found == pytest.approx([1, 2 / 3])


@pytest.mark.parametrize("kind", (train.Loss, train.MAE, train.MSE, train.Dice))
def test_batches_add_up_in_double_precision(kind):
    def of(batches):
        metric = kind()
        for batch in batches:
            metric.update(*([Tensor(batch)] if kind is train.Loss else [Tensor(batch), Tensor(batch * 3)]))
        return metric.eval()

    batches = [np.float32([each]) for each in (0.1, 0.7, 0.3)]
    value = of(batches)
    assert value == sum(of([batch]) for batch in batches) / 3
    assert value != float(np.float32(value))
