"""Model, callbacks and metrics."""

import os

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, train
from msjax.train.callback.callback import Parameters


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return self.fc(x)


def batches():
    rows = np.repeat(np.arange(4, dtype=np.float32)[:, None], 2, 1)
    return [(rows[:2], np.zeros((2, 1), np.float32)), (rows[2:], np.zeros((2, 1), np.float32))]


def make(**kwargs):
    net = Net()
    kwargs.setdefault("metrics", {"loss": train.Loss(), "mae": train.MAE()})
    return train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01), **kwargs)


class Log(train.Callback):
    def __init__(self):
        self.lines = []

    def __getattribute__(self, name):
        if name.startswith("on_"):
            return lambda context: self.lines.append(name[3:])
        return super().__getattribute__(name)


# ---- Model


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
    callback = train.LambdaCallback(
        on_train_step_end=lambda c: seen.append(model.predict_network.training),
        on_eval_step_end=lambda c: seen.append(model.predict_network.training),
    )
    model.fit(2, batches()[:1], batches()[:1], callbacks=callback)
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
        (lambda: make().eval([]), ValueError, "no data"),
        (lambda: make().fit(1, batches(), batches(), valid_frequency=0), ValueError, "valid_frequency"),
        (lambda: make().predict(Tensor([[1.0, 1.0]]), backend="lite"), NotImplementedError, "backend"),
    ],
)
def test_wrong_arguments(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


# ---- callbacks


def test_stopping():
    steps = []

    class Stop(train.Callback):
        def step_end(self, run_context):
            steps.append(run_context.original_args().cur_step_num)
            if steps[-1] == 3:
                run_context.request_stop()

    make().train(5, batches(), Stop())
    assert steps == [1, 2, 3]


def test_the_old_names_of_callbacks():
    class Old(train.Callback):
        def __init__(self):
            self.seen = []

        def begin(self, context):
            self.seen.append("begin")

        def epoch_end(self, context):
            self.seen.append(context.original_args()["mode"])

        def end(self, context):
            self.seen.append("end")

    old = Old()
    make().fit(1, batches(), batches(), callbacks=[old])
    assert old.seen == ["begin", "begin", "eval", "end", "train", "end"]


def test_monitors(capsys):
    make().fit(2, batches(), batches(), callbacks=[train.LossMonitor(2), train.TimeMonitor(data_time=True)])
    out = capsys.readouterr().out
    assert out.count("loss is") == 2 and out.count("Eval result: epoch") == 2
    assert out.count("Train epoch time:") == 2 and out.count("Eval epoch time:") == 2 and "data time" in out
    with pytest.raises(FloatingPointError, match="no number"):
        bad = [(np.full((1, 2), np.nan, np.float32), np.zeros((1, 1), np.float32))]
        make().train(1, bad, train.LossMonitor())


def test_history():
    history = train.History()
    make().fit(3, batches(), batches(), callbacks=history)
    assert history.epoch == {"epoch": [1, 2, 3]}
    assert sorted(history.history) == ["loss", "mae", "net_output"] and len(history.history["mae"]) == 3


def test_checkpoints(tmp_path):
    model, folder = make(), str(tmp_path / "ckpt")
    config = train.CheckpointConfig(keep_checkpoint_max=2, append_info=["epoch_num", "step_num", {"lr": 0.01}], crc_check=True)
    callback = train.ModelCheckpoint("CKP", folder, config)
    model.train(2, batches(), callback)
    assert sorted(os.listdir(folder)) == ["CKP-2_1.ckpt", "CKP-2_2.ckpt"]
    assert callback.latest_ckpt_file_name.endswith("CKP-2_2.ckpt")
    saved = ms.load_checkpoint(callback.latest_ckpt_file_name, crc_check=True)
    assert int(saved["epoch_num"].asnumpy()) == 2 and int(saved["step_num"].asnumpy()) == 4
    assert "accum.fc.weight" in saved
    other = Net()
    assert ms.load_param_into_net(other, saved)[0] == []
    assert np.array_equal(other.fc.weight.asnumpy(), model.predict_network.fc.weight.asnumpy())
    model.train(2, batches(), train.ModelCheckpoint("CKP", folder, train.CheckpointConfig(save_checkpoint_steps=3)))
    assert sorted(os.listdir(folder))[2:] == ["CKP_1-2_1.ckpt", "CKP_1-2_2.ckpt"]


def test_checkpoints_after_exceptions(tmp_path):
    config = train.CheckpointConfig(save_checkpoint_steps=100, exception_save=True, format="safetensors")

    def fails(context):
        raise RuntimeError("stop here")

    callbacks = [train.ModelCheckpoint("A", str(tmp_path), config), train.LambdaCallback(on_train_step_end=fails)]
    with pytest.raises(RuntimeError, match="stop here"):
        make().train(1, batches(), callbacks)
    assert os.listdir(tmp_path) == ["A-1_1_breakpoint.safetensors"]


def test_early_stopping(capsys):
    model = make()
    stop = train.EarlyStopping("mae", patience=2, min_delta=1e9, verbose=True, mode="min", restore_best_weights=True)
    weights = []
    keep = train.LambdaCallback(on_train_epoch_end=lambda c: weights.append(model.predict_network.fc.weight.asnumpy()))
    model.fit(9, batches(), batches(), callbacks=[keep, stop])
    assert stop.stopped_epoch == len(weights) == 3
    assert np.array_equal(model.predict_network.fc.weight.asnumpy(), weights[0])
    assert "Epoch 00003: early stopping" in capsys.readouterr().out
    model.fit(3, batches(), batches(), callbacks=[train.EarlyStopping(patience=1), keep])
    assert len(weights) == 6
    with pytest.warns(UserWarning, match="looks at 'foo'"):
        model.fit(1, batches(), batches(), callbacks=[train.EarlyStopping("foo")])


def test_learning_rates_are_changed(capsys):
    model = make()
    rate = model.train_network.optimizer.learning_rate
    reduce = train.ReduceLROnPlateau("mae", patience=1, min_delta=1e9, mode="min", verbose=True, min_lr=2e-4, cooldown=1)
    model.fit(5, batches(), batches(), callbacks=reduce)
    np.testing.assert_allclose(rate.asnumpy(), 2e-4, rtol=1e-6)
    assert capsys.readouterr().out.count("reducing learning rate") == 2
    steps = []
    model.train(1, batches(), train.LearningRateScheduler(lambda lr, step: steps.append(step) or lr / 2))
    np.testing.assert_allclose(rate.asnumpy(), 5e-5, rtol=1e-6)
    assert steps == [1, 2]


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: train.LossMonitor("a"), TypeError, "per_print_times"),
        (lambda: train.LossMonitor(-1), ValueError, "per_print_times"),
        (lambda: train.TimeMonitor(data_time=1), TypeError, "data_time"),
        (lambda: train.CheckpointConfig(0, 0, 0), ValueError, "zero or None"),
        (lambda: train.CheckpointConfig("a"), TypeError, "save_checkpoint_steps"),
        (lambda: train.CheckpointConfig(append_info=["foo"]), TypeError, "foo"),
        (lambda: train.CheckpointConfig(enc_key=b"1"), NotImplementedError, "encrypted"),
        (lambda: train.ModelCheckpoint("a/b"), ValueError, "prefix"),
        (lambda: train.EarlyStopping(mode="x"), ValueError, "mode"),
        (lambda: train.EarlyStopping(patience=-1), ValueError, "patience"),
        (lambda: train.ReduceLROnPlateau(factor=1.0), ValueError, "factor"),
        (lambda: train.LearningRateScheduler(1), TypeError, "function"),
        (lambda: train.LambdaCallback(on_train_begin=1), TypeError, "on_train_begin"),
        (lambda: train.RunContext(1), TypeError, "original_args"),
        (lambda: Parameters(a=1).foo, AttributeError, "no 'foo'; it has a"),
    ],
)
def test_wrong_arguments_of_callbacks(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
