"""Callbacks: stopping, monitors, checkpoints, learning rates."""

import errno
import os
import re
import signal
import time

import numpy as np
import pytest

import msjax as ms
from msjax import nn, train
from msjax.serialization import save
from msjax.serialization.formats import find
from msjax.train.callback.callback import Parameters
from tests.train.regression import Net, batches, make


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
    assert (
        out.count("Train epoch time:") == 2
        and out.count("Eval epoch time:") == 2
        and re.search(r" \(data time: +\d+\.\d{3} ms\)\n", out)
    )
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="epoch: 1 step: 1, loss is NAN or INF"):
            make().train(1, [(np.full((1, 2), value, np.float32), np.zeros((1, 1), np.float32))], train.LossMonitor())


def test_loss_monitors_print_the_steps_of_an_evaluation_but_not_within_fit(capsys):
    make().eval(batches(), train.LossMonitor(2))
    assert re.findall(r"epoch: 1 step: (\d), loss is", capsys.readouterr().out) == ["2"]
    make().fit(1, batches(), batches(), callbacks=train.LossMonitor())
    assert capsys.readouterr().out.count("loss is") == 2


def test_fit_calls_only_the_program_s_own_callbacks_while_it_evaluates():
    seen = []

    class Own(train.LambdaCallback):
        pass

    for cls in (train.LambdaCallback, Own):
        make().fit(1, batches(), batches(), callbacks=cls(on_eval_end=lambda _, cls=cls: seen.append(cls)))
        make().eval(batches(), cls(on_eval_end=lambda _, cls=cls: seen.append(cls)))
    assert seen == [train.LambdaCallback, Own, Own]


def test_history():
    history = train.History()
    make().fit(3, batches(), batches(), callbacks=history)
    assert history.epoch == {"epoch": [1, 2, 3]}
    assert sorted(history.history) == ["loss", "mae", "net_output"] and len(history.history["mae"]) == 3
    assert [type(value) for value in history.history["net_output"]] == [np.float32] * 3


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


@pytest.mark.parametrize(
    "settings, kept",
    [
        ({}, ["A-1_1", "A-1_2", "A-2_1", "A-2_2", "A-3_1", "A-3_2"]),
        ({"keep_checkpoint_max": 2}, ["A-3_1", "A-3_2"]),
        ({"keep_checkpoint_max": 0}, ["A-3_2"]),
        ({"keep_checkpoint_max": None, "keep_checkpoint_per_n_minutes": 5}, ["A-1_1", "A-3_2"]),
    ],
)
def test_which_checkpoints_are_kept(settings, kept, tmp_path):
    config = train.CheckpointConfig(**{"keep_checkpoint_max": 6} | settings)
    make().train(3, batches(), train.ModelCheckpoint("A", str(tmp_path), config))
    assert sorted(os.listdir(tmp_path)) == [f"{name}.ckpt" for name in kept]


def test_the_checkpoints_of_several_runs_are_those_of_one_callback(tmp_path):
    model, callback = make(), train.ModelCheckpoint("A", str(tmp_path), train.CheckpointConfig(keep_checkpoint_max=3))
    model.train(2, batches(), callback)
    model.train(1, batches(), callback)
    assert sorted(os.listdir(tmp_path)) == ["A-1_1.ckpt", "A-1_2.ckpt", "A-2_2.ckpt"]
    model.train(1, batches(), train.ModelCheckpoint("A", str(tmp_path)))
    assert sorted(os.listdir(tmp_path))[3:] == ["A_1-1_1.ckpt", "A_1-1_2.ckpt"]


def test_functions_name_each_checkpoint_and_its_folder(tmp_path):
    name = lambda params: f"S{params.cur_step_num}"  # noqa: E731
    folder = lambda params: str(tmp_path / f"E{params.cur_epoch_num}")  # noqa: E731
    config = train.CheckpointConfig(keep_checkpoint_max=1)
    make().train(2, batches(), [train.ModelCheckpoint(name, folder, config), train.ModelCheckpoint("A", folder, config)])
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*"))
    assert found == ["E1/A-1_2.ckpt", "E1/S1.ckpt", "E1/S2.ckpt", "E2/A-2_2.ckpt", "E2/S3.ckpt", "E2/S4.ckpt"]
    with pytest.raises(ValueError, match="a function that gives one"):
        make().train(1, batches(), train.ModelCheckpoint(lambda params: "a/b", str(tmp_path)))


def test_training_ends_when_checkpoints_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(save, "_write", lambda *args, write=save._write: (time.sleep(0.2), write(*args)))
    make().train(1, batches(), train.ModelCheckpoint("A", str(tmp_path), train.CheckpointConfig(async_save=True)))
    assert sorted(os.listdir(tmp_path)) == ["A-1_1.ckpt", "A-1_2.ckpt"]


@pytest.mark.parametrize("on_thread", [False, True])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(on_thread, tmp_path, monkeypatch):
    codec = find("ckpt", "")
    written = []

    def full(*args, write=codec.write):
        written.append(args)
        if len(written) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*args)

    monkeypatch.setattr(codec, "write", full)
    config = train.CheckpointConfig(keep_checkpoint_max=1, async_save=on_thread)
    with pytest.raises(OSError, match=r"No space left on device: .*A-1_2\.ckpt"):
        make().train(2, batches(), train.ModelCheckpoint("A", str(tmp_path), config))
    assert os.listdir(tmp_path) == ["A-1_1.ckpt"] and len(written) == 2


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


def test_callbacks_get_the_run_s_parameters_while_fit_evaluates():
    seen = []

    class Look(train.Callback):
        def note(self, run_context):
            params = run_context.original_args()
            seen.append((params.mode, params.cur_epoch_num, params.epoch_num, params.cur_step_num, params.batch_num))

        on_train_epoch_end = on_eval_begin = note

        def on_eval_end(self, run_context):
            params = run_context.original_args()
            assert params.optimizer is model.train_network.optimizer
            assert sorted(params.eval_results) == ["eval_loss", "loss", "mae"]
            self.note(run_context)

    model = make()
    model.fit(3, batches(), batches(), valid_frequency=2, callbacks=Look())
    steps = seen[0][3]
    assert seen == [
        ("train", 1, 3, steps, steps), ("eval", 2, 3, 0, steps), ("eval", 2, 3, steps, steps),
        ("train", 2, 3, 2 * steps, steps), ("train", 3, 3, 3 * steps, steps),
    ]  # fmt: skip


def test_results_of_an_evaluation_last_until_the_epoch_has_ended(capsys):
    model, history = make(), train.History()
    model.fit(3, batches(), batches(), valid_frequency=2, callbacks=[train.LossMonitor(100), history])
    assert capsys.readouterr().out.count("Eval result: epoch") == 1
    assert len(history.history["mae"]) == 1 and len(history.history["net_output"]) == 3


def test_a_sink_size_is_the_number_of_steps_of_an_epoch_for_callbacks(capsys):
    def printed(**settings):
        make().train(2, batches(), callbacks=train.LossMonitor(), **settings)
        return re.findall(r"epoch: (\d) step: (\d),", capsys.readouterr().out)

    steps = len(printed()) // 2
    numbered = [(1 + i // steps, i) for i in range(2 * steps)]
    assert printed() == printed(sink_size=3) == [(f"{epoch}", f"{i % steps + 1}") for epoch, i in numbered]
    assert printed(sink_size=3, dataset_sink_mode=True) == [(f"{epoch}", f"{i % 3 + 1}") for epoch, i in numbered]


class Rising(nn.Metric):
    """1 at the first look, 2 at the second, and so on."""

    looks = 0

    def clear(self):
        pass

    def update(self, *inputs):
        pass

    def eval(self):
        self.looks += 1
        return self.looks


@pytest.mark.parametrize(
    "name, patience, epochs", [("f1", 1, 4), ("top_1_accuracy", 1, 4), ("perplexity", 1, 2), ("eval_loss", 0, 1)]
)
def test_the_metric_s_name_decides_whether_more_is_better_and_without_patience_the_first_epoch_is_the_last(
    name, patience, epochs
):
    """As in MindSpore: "f1" and its like counted as losses, and runs without patience went on as long as the measure became better."""
    net = Net()
    optimizer = nn.SGD(net.trainable_params(), 0.01)
    model = train.Model(net, nn.MSELoss(), optimizer, metrics={name: Rising()})
    count = []
    each = train.LambdaCallback(on_train_epoch_end=count.append)
    reduce = train.ReduceLROnPlateau(name, factor=0.5, patience=1)
    model.fit(4, batches(), batches(), callbacks=[train.EarlyStopping(name, patience=patience), each, reduce])
    assert len(count) == epochs
    assert float(optimizer.learning_rate.asnumpy()) == np.float32(0.005 if name == "perplexity" else 0.01)


def test_learning_rates_are_changed(capsys):
    model = make()
    rate = model.train_network.optimizer.learning_rate
    reduce = train.ReduceLROnPlateau("mae", patience=1, min_delta=1e9, mode="min", verbose=True, min_lr=2e-4, cooldown=1)
    model.fit(5, batches(), batches(), callbacks=reduce)
    np.testing.assert_allclose(rate.asnumpy(), 2e-4, rtol=1e-6)
    # As MindSpore prints what a product in single precision gives, and `min_lr`.
    printed = re.findall(r"Epoch (\d+): ReduceLROnPlateau reducing learning rate to (\S+)\.\n", capsys.readouterr().out)
    assert printed == [("00002", "0.001"), ("00003", "0.0002")]
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


def test_a_run_that_was_interrupted_goes_on(tmp_path):
    seen = []

    class Fails(train.Callback):
        def on_train_epoch_end(self, run_context):
            seen.append(run_context.original_args().cur_epoch_num)
            if len(seen) == 2:
                raise KeyboardInterrupt

    whole, interrupted, resumed = make(), make(), make()
    whole.train(3, batches())
    with pytest.raises(KeyboardInterrupt):
        interrupted.train(3, batches(), [train.BackupAndRestore(str(tmp_path)), Fails()])
    resumed.train(3, batches(), [train.BackupAndRestore(str(tmp_path)), Fails()])
    assert seen == [1, 2, 3] and not os.listdir(tmp_path)
    for one, other in zip(whole.train_network.trainable_params(), resumed.train_network.trainable_params()):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
    with pytest.raises(ValueError, match="'save_freq' should be 'epoch' or a positive int"):
        train.BackupAndRestore(str(tmp_path), 0)
    ms.save_checkpoint({"w": ms.Tensor([1.0])}, str(tmp_path / "backup.ckpt"))
    with pytest.raises(ValueError, match=r"the file should have an 'epoch_num', .* but got '.*backup\.ckpt'"):
        make().train(1, batches(), train.BackupAndRestore(str(tmp_path)))


def test_a_run_that_is_asked_to_end(tmp_path):
    steps = []

    class Asks(train.Callback):
        def on_train_step_begin(self, run_context):
            steps.append(run_context.original_args().cur_step_num)
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    make().train(2, batches(), [Asks(), train.OnRequestExit(save_mindir=False, directory=str(tmp_path))])
    assert steps == [1] and os.listdir(tmp_path) == ["Net_train.ckpt"] and signal.getsignal(signal.SIGTERM) is before


def test_a_file_that_asks_to_end_may_be_in_the_writing(tmp_path):
    config, steps = tmp_path / "exit.json", []

    def step(context):
        steps.append(config.write_text(['{"Graceful', '{"GracefulExit": 1}'][len(steps)]))

    asked = train.OnRequestExit(False, False, config_file=str(config))
    make().train(2, batches(), [train.LambdaCallback(on_train_step_end=step), asked])
    assert len(steps) == 2
