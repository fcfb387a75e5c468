"""Model: training, evaluation, data, arguments."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, train
from tests.train.regression import Log, Net, batches, make


def test_training_is_mindspores(capsys):
    model = make()
    assert model.train(2, batches(), train.LossMonitor()) is None
    lines = capsys.readouterr().out.splitlines()
    # Losses that MindSpore 2.10 printed for the same network and data.
    for line, (start, loss) in zip(
        lines,
        [
            ("epoch: 1 step: 1, loss is ", 2.0),
            ("epoch: 1 step: 2, loss is ", 24.774803161621094),
            ("epoch: 2 step: 1, loss is ", 0.8977603912353516),
            ("epoch: 2 step: 2, loss is ", 12.303865432739258),
        ],
        strict=True,
    ):
        assert line.startswith(start)
        np.testing.assert_allclose(float(line[len(start) :]), loss, rtol=1e-5)
    np.testing.assert_allclose(list(model.eval(batches()).values()), [3.395687073469162, 1.5027664303779602], rtol=1e-5)
    np.testing.assert_allclose(model.predict(Tensor(np.ones((1, 2), np.float32))).asnumpy(), [[0.8695364]], rtol=1e-5)


def test_callbacks_are_called_in_order():
    log = Log()
    make().fit(1, batches(), batches()[:1], callbacks=[log])
    steps = ["train_step_begin", "train_step_end"]
    assert log.lines == [
        "train_begin", "train_epoch_begin", *steps, *steps,
        "eval_begin", "eval_epoch_begin", "eval_step_begin", "eval_step_end", "eval_epoch_end", "eval_end",
        "train_epoch_end", "train_end",
    ]  # fmt: skip


class Dataset:
    def create_tuple_iterator(self):
        return iter([[Tensor(x) for x in batch] for batch in batches()])

    def get_dataset_size(self):
        return 2


@pytest.mark.parametrize(
    "data",
    [
        batches(),
        tuple(batches()),
        Dataset(),
        [{"x": x, "y": y} for x, y in batches()],
        [[Tensor(x), Tensor(y)] for x, y in batches()],
    ],
    ids=["list", "tuple", "dataset", "dicts", "Tensors"],
)
def test_data(data):
    seen = []
    callback = train.LambdaCallback(on_train_step_end=lambda context: seen.append(float(context.original_args().net_outputs)))
    make().train(2, data, callback)
    np.testing.assert_allclose(seen, [2.0, 24.774803, 0.89776039, 12.303865], rtol=1e-5)


def test_a_generator_serves_one_epoch():
    model = make()
    model.train(1, (b for b in batches()))
    with pytest.raises(ValueError, match="no data"):
        model.train(2, (b for b in batches()))
    for wrong in ("abc", 1, Tensor([1.0])):
        with pytest.raises(TypeError, match="iterable of batches"):
            model.train(1, wrong)


def test_networks_that_return_their_loss_and_those_that_update_themselves():
    net = nn.WithLossCell(Net(), nn.MSELoss())
    train.Model(net, optimizer=nn.SGD(net.trainable_params(), 0.01)).train(1, batches())
    np.testing.assert_allclose(net.backbone_network.fc.bias.asnumpy(), make_trained_bias(), rtol=1e-6)
    other = nn.WithLossCell(Net(), nn.MSELoss())
    train.Model(nn.TrainOneStepCell(other, nn.SGD(other.trainable_params(), 0.01))).train(1, batches())
    np.testing.assert_allclose(other.backbone_network.fc.bias.asnumpy(), make_trained_bias(), rtol=1e-6)


def make_trained_bias():
    model = make()
    model.train(1, batches())
    return model.predict_network.fc.bias.asnumpy()


def test_own_evaluation_networks_and_indexes():
    class Eval(nn.Cell):
        def __init__(self, net):
            super().__init__(auto_prefix=False)
            self.net = net

        def construct(self, x, y):
            return y, self.net(x)

    net = Net()
    model = train.Model(net, eval_network=Eval(net), metrics={"mae": train.MAE().set_indexes([1, 0])})
    assert model.eval(batches()) == {"mae": 3.0}


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_loss_scale_managers_are_told(level):
    manager = ms.DynamicLossScaleManager(2**10, 2, 2)
    model = make(loss_scale_manager=manager, amp_level=level)
    model.train(2, batches())
    assert manager.get_loss_scale() > 2**10 and model.train_network.scale_sense.asnumpy() > 2**10


def test_modes_are_set():
    model = make()
    seen = []

    class Look(train.Callback):
        def on_train_step_end(self, run_context):
            seen.append(model.predict_network.training)

        on_eval_step_end = on_train_step_end

    model.fit(2, batches()[:1], batches()[:1], callbacks=Look())
    assert seen == [True, False, True, False]


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: train.Model(1), TypeError, "network"),
        (lambda: train.Model(Net(), 1), TypeError, "loss_fn"),
        (lambda: train.Model(Net(), nn.MSELoss(), metrics={"a": 1}), TypeError, "Metric"),
        (lambda: train.Model(Net(), nn.MSELoss(), metrics=1), TypeError, "Metrics"),
        (lambda: train.Model(Net(), nn.MSELoss(), metrics={"foo"}), KeyError, "foo"),
        (lambda: train.Model(Net(), nn.MSELoss()).eval(batches()), ValueError, "metrics"),
        (lambda: make().train("a", batches()), TypeError, "epoch"),
        (lambda: make().train(0, batches()), ValueError, "epoch"),
        (lambda: make().train(1, batches(), [1]), TypeError, "Callback"),
        (lambda: make().train(1, batches(), dataset_sink_mode=1), TypeError, "dataset_sink_mode"),
        (lambda: make().train(1, batches(), sink_size=0), ValueError, "sink_size"),
        (lambda: make().fit(2, batches(), initial_epoch=2), ValueError, "initial_epoch"),
        (lambda: make().eval([]), ValueError, "no data"),
        (lambda: make().fit(1, batches(), batches(), valid_frequency=0), ValueError, "valid_frequency"),
        (lambda: make().predict(Tensor([[1.0, 1.0]]), backend="lite"), NotImplementedError, "backend"),
    ],
)
def test_wrong_arguments(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
