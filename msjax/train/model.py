"""Model: a network, its loss and its optimizer, with loops for training and evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from msjax.amp.precision import LEVEL_SETTINGS, build_train_network
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_int, check_kind, check_options, check_value
from msjax.core.base.errors import describe
from msjax.core.base.libraries import of_library
from msjax.nn.cell.base import Cell
from msjax.nn.metrics.errors import Loss
from msjax.nn.metrics.names import get_metrics
from msjax.nn.wrap.cell_wrapper import WithEvalCell
from msjax.train.callback.callback import Callback, CallbackList, Parameters, RunContext, loss_of
from msjax.train.callback.monitors import TimeMonitor


class Model:
    """A network with loops for training, evaluation and prediction.

    Data is any iterable of batches: a list, a generator, or an object with ``create_tuple_iterator``. A batch is a tuple or
    list of Tensors or arrays (what the network takes), a dict of them, or a single one. What can be gone through only once, as
    a generator, serves one epoch.

    Args:
        network (Cell): the network.
        loss_fn (Cell, optional): the loss; without it, the network returns the loss.
        optimizer (Cell, optional): the optimizer; without it, the network updates the weights itself.
        metrics (dict, set or list, optional): metrics by name, or names.
        eval_network (Cell, optional): what evaluation calls; by default the network with its loss.
        eval_indexes (list, optional): where loss, prediction and label stand in what `eval_network` returns.
        amp_level (str): see `amp.auto_mixed_precision`. Default: "O0".
        boost_level (str): "O0" only.
        kwargs: further arguments of `amp.build_train_network`, such as `loss_scale_manager`.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> import numpy as np
        >>> from msjax import nn, train
        >>> net = nn.Dense(1, 1, weight_init="zeros", has_bias=False)
        >>> model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.5), metrics={"mae"})
        >>> data = [(np.ones((2, 1), np.float32), np.ones((2, 1), np.float32))]
        >>> model.train(3, data)
        >>> {name: float(value) for name, value in model.eval(data).items()}
        {'mae': 0.0}
    """

    def __init__(
        self, network: Cell, loss_fn: Cell | None = None, optimizer: Cell | None = None,
        metrics: dict[str, Any] | set[Any] | list[Any] | None = None, eval_network: Cell | None = None,
        eval_indexes: list[Any] | None = None, amp_level: str = "O0", boost_level: str = "O0", **kwargs: Any,
    ):  # fmt: skip
        for name, cell in (("network", network), ("eval_network", eval_network), ("optimizer", optimizer)):
            check_kind(cell, isinstance(cell, Cell) or (cell is None and name != "network"), "be a Cell", name, "Model")
        check_kind(loss_fn, loss_fn is None or callable(loss_fn), "be a Cell", "loss_fn", "Model")
        check_options(kwargs, LEVEL_SETTINGS, "Model", what="argument", error=ValueError)
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._metrics = get_metrics(metrics)
        self._manager = kwargs.get("loss_scale_manager")
        if optimizer is not None:
            self._train_network = build_train_network(network, optimizer, loss_fn, amp_level, boost_level, **kwargs)
        else:
            self._train_network = network
        self._eval_network, self._eval_indexes = self._make_eval(eval_network, eval_indexes, amp_level in ("O2", "O3", "auto"))
        self._predict_network = network

    def _make_eval(self, eval_network, eval_indexes, cast):
        if eval_network is not None:
            three = eval_indexes is None or (isinstance(eval_indexes, list) and len(eval_indexes) == 3)
            check_value(eval_indexes, three, "be a list of three ints", "eval_indexes", "Model")
            return eval_network, eval_indexes
        if not self._metrics or self._loss_fn is None:
            return None, None
        return WithEvalCell(self._network, self._loss_fn, add_cast_fp32=cast), [0, 1, 2]

    @property
    def train_network(self) -> Any:
        """The cell that makes a step of training."""
        return self._train_network

    @property
    def eval_network(self) -> Any:
        """The cell that evaluation calls; None for none."""
        return self._eval_network

    @property
    def predict_network(self) -> Cell:
        """The network."""
        return self._predict_network

    # ---- training

    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Callback | list[Any] | None = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Train the network.

        Args:
            epoch (int): the number of epochs.
            train_dataset: the data; see the class.
            callbacks (Callback or list, optional): what is called around epochs and steps.
            dataset_sink_mode (bool): data is fed batch by batch either way, as by MindSpore on CPUs.
            sink_size (int): with `dataset_sink_mode`, the steps of an epoch for callbacks (`batch_num`, the steps that LossMonitor prints)
                if it is positive; an epoch takes the whole data, as by MindSpore on CPUs. Default: -1.
            initial_epoch (int): the number of epochs that were made before. Default: 0.

        Raises:
            TypeError, ValueError: a wrong argument, or data that is empty.
        """
        steps = _sink_steps(dataset_sink_mode, sink_size, "Model.train")
        self._run(epoch, train_dataset, callbacks, initial_epoch, steps)

    def fit(
        self, epoch: Any, train_dataset: Any, valid_dataset: Any = None, valid_frequency: int | list[int] = 1,
        callbacks: Any = None, dataset_sink_mode: bool = False, valid_dataset_sink_mode: bool = False, sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:  # fmt: skip
        """Train the network, and evaluate it after epochs.

        While it evaluates, callbacks of the program's own classes and `TimeMonitor` are called; `LambdaCallback` and the other ones that
        are there are not. They get the run's parameters: `mode` is "eval", and from `on_eval_end` on, `eval_results` has the metrics
        and `eval_loss`, the mean of the batches' losses (in MindSpore 2.10 the last batch's), until the epoch has ended.

        Args:
            epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch: as in `train`.
            valid_dataset (optional): the data to evaluate on.
            valid_frequency (int or list of int): after how many epochs, or after which ones. Default: 1.
            valid_dataset_sink_mode (bool): accepted for compatibility with MindSpore, without effect.
        """
        if isinstance(valid_frequency, int) and not isinstance(valid_frequency, bool) and valid_frequency > 0:
            due = lambda number: number % valid_frequency == 0  # noqa: E731
        elif isinstance(valid_frequency, (list, tuple, set)):
            due = lambda number: number in valid_frequency  # noqa: E731
        else:
            raise ValueError(
                f"For 'Model.fit', 'valid_frequency' should be a positive int or a list, but got {describe(valid_frequency)}."
            )
        if valid_dataset is not None:
            self._check_metrics("Model.fit")
        steps = _sink_steps(dataset_sink_mode, sink_size, "Model.fit")
        self._run(epoch, train_dataset, callbacks, initial_epoch, steps, valid_dataset, due)

    def _run(self, epoch, dataset, callbacks, initial_epoch, steps, valid_dataset=None, valid_due=None):
        for name, value, least in (("epoch", epoch, 1), ("initial_epoch", initial_epoch, 0)):
            check_int(value, name, "Model.train")
            check_value(value, value >= least, f"be at least {least}", name, "Model.train")
        check_value(initial_epoch, initial_epoch < epoch, f"be less than 'epoch', {epoch}", "initial_epoch", "Model.train")
        callbacks = CallbackList(callbacks)
        params = Parameters(
            mode="train", train_network=self._train_network, network=self._network, loss_fn=self._loss_fn, optimizer=self._optimizer,
            epoch_num=epoch - initial_epoch, batch_num=steps or _batches(dataset), train_dataset=dataset,
            list_callback=callbacks.callbacks, dataset_sink_mode=False, parallel_mode="stand_alone", device_number=1, cur_step_num=0,
            cur_epoch_num=initial_epoch + 1, cur_step_in_epoch=0, latest_ckpt_file=None, last_save_ckpt_step=None, initial_step=0,
            finished_epochs=0, loss_scale_mananger=self._manager,
        )  # fmt: skip
        context = RunContext(params)
        source = _for_epochs(dataset)
        with callbacks:
            callbacks("on_train_begin", context)
            for number in range(max(initial_epoch, params.finished_epochs) + 1, epoch + 1):
                params.cur_epoch_num = number
                self._train_network.set_train()
                callbacks("on_train_epoch_begin", context)
                self._epoch(source, params, callbacks, context)
                if valid_dataset is not None and valid_due(number):  # pyright: ignore[reportOptionalCall]
                    of_training = {name: params.get(name) for name in ("mode", "cur_step_num", "batch_num", "net_outputs")}
                    own = [c for c in callbacks.callbacks if isinstance(c, TimeMonitor) or not of_library(type(c))]
                    self._evaluate(valid_dataset, CallbackList(own), params)
                    params.update(of_training)
                callbacks("on_train_epoch_end", context)
                for name in ("metrics", "eval_results"):  # of this epoch alone
                    params.pop(name, None)
                if context.get_stop_requested():
                    break
            callbacks("on_train_end", context)

    def _epoch(self, dataset, params, callbacks, context):
        before = params.cur_step_num
        for batch in _iterate(dataset):
            params.cur_step_num += 1
            params.cur_step_in_epoch = (params.cur_step_num - 1) % (params.batch_num or params.cur_step_num) + 1
            params.train_dataset_element = batch
            callbacks("on_train_step_begin", context)
            params.net_outputs = self._train_network(*batch)
            if self._manager is not None and isinstance(params.net_outputs, (tuple, list)):
                self._manager.update_loss_scale(bool(params.net_outputs[1]))
            callbacks("on_train_step_end", context)
            if context.get_stop_requested():
                break
        if params.cur_step_num == before:
            raise ValueError(
                f"For 'Model', epoch {params.cur_epoch_num} has no data. An iterator, such as a generator, serves one epoch; "
                "give a list, or an object whose __iter__ starts anew."
            )
        params.batch_num = params.cur_step_num - before if params.batch_num is None else params.batch_num

    # ---- evaluation

    def _check_metrics(self, who):
        if not self._metrics:
            raise ValueError(f"For '{who}', the Model should have been made with 'metrics'.")
        if self._eval_network is None:
            raise ValueError(f"For '{who}', the Model should have been made with 'loss_fn' or 'eval_network'.")

    def eval(
        self, valid_dataset: Any, callbacks: Callback | list[Any] | None = None, dataset_sink_mode: bool = False
    ) -> dict[str, Any]:
        """Evaluate the network.

        Args:
            valid_dataset: the data; see the class.
            callbacks (Callback or list, optional): what is called around steps.
            dataset_sink_mode (bool): accepted for compatibility with MindSpore, without effect.

        Returns:
            dict, the values of metrics by their names.

        Raises:
            ValueError: the Model was made without metrics, or the data is empty.
        """
        self._check_metrics("Model.eval")
        called = CallbackList(callbacks)
        params = Parameters(network=self._network, list_callback=called.callbacks, dataset_sink_mode=False)
        return self._evaluate(valid_dataset, called, params)

    def _evaluate(self, dataset, callbacks, params):
        """The metrics. What callbacks read of the run is written into `params`, which may be those of a training run."""
        for metric in self._metrics.values():
            metric.clear()
        params.update(
            mode="eval", eval_network=self._eval_network, valid_dataset=dataset, cur_step_num=0, batch_num=_batches(dataset)
        )
        context = RunContext(params)
        self._eval_network.set_train(False)  # pyright: ignore[reportOptionalMemberAccess]
        losses = []
        callbacks("on_eval_begin", context)
        callbacks("on_eval_epoch_begin", context)
        for batch in _iterate(dataset):
            params.cur_step_num += 1
            params.eval_dataset_element = batch
            callbacks("on_eval_step_begin", context)
            params.net_outputs = outputs = self._eval_network(*batch)  # pyright: ignore[reportOptionalCall]
            callbacks("on_eval_step_end", context)
            self._count(outputs if isinstance(outputs, tuple) else (outputs,))
            if self._eval_indexes is not None:
                losses.append(loss_of(outputs[self._eval_indexes[0]]))
            if context.get_stop_requested():
                break
        callbacks("on_eval_epoch_end", context)
        if not params.cur_step_num:
            raise ValueError("For 'Model.eval', there is no data. An iterator, such as a generator, can be used once.")
        params.metrics = metrics = {name: metric.eval() for name, metric in self._metrics.items()}
        params.eval_results = {**metrics, "eval_loss": float(np.mean(losses))} if losses else {**metrics}
        callbacks("on_eval_end", context)
        return metrics

    def _count(self, outputs):
        """Update the metrics with the outputs of the evaluation network."""
        for metric in self._metrics.values():
            if self._eval_indexes is None or (metric.indexes and max(metric.indexes) > 1):
                metric.update(*outputs)
            elif isinstance(metric, Loss):
                metric.update(outputs[self._eval_indexes[0]])
            else:  # indexes of a metric count from the prediction
                metric.update(outputs[self._eval_indexes[1]], outputs[self._eval_indexes[2]])

    # ---- prediction

    def predict(self, *predict_data: Any, backend: Any = None, config: Any = None) -> Any:
        """What the network returns for some Tensors, in inference."""
        if backend is not None:
            raise NotImplementedError("For 'Model.predict', 'backend' is not offered.")
        self._predict_network.set_train(False)
        return self._predict_network(*predict_data)

    def build(
        self, train_dataset: Any = None, valid_dataset: Any = None, sink_size: int = -1, epoch: int = 1, sink_mode: bool = True
    ) -> None:
        """Nothing: programs are compiled when they are first called."""


def _sink_steps(dataset_sink_mode, sink_size, who):
    """The steps of an epoch that callbacks are told of; None for the number of batches."""
    check_bool(dataset_sink_mode, "dataset_sink_mode", who)
    check_int(sink_size, "sink_size", who)
    check_value(sink_size, sink_size == -1 or sink_size > 0, "be -1 or positive", "sink_size", who)
    return sink_size if dataset_sink_mode and sink_size > 0 else None


def _batches(dataset):
    """The number of batches; None if it is not known before."""
    for count in (getattr(dataset, "get_dataset_size", None), getattr(dataset, "__len__", None)):
        if count is not None:
            return count()
    return None


def _for_epochs(dataset):
    """What `_iterate` is given at each epoch: one iterator for all, if the dataset has such, so that epochs are shuffled differently."""
    if hasattr(dataset, "create_tuple_iterator"):
        iterator = dataset.create_tuple_iterator()
        if hasattr(iterator, "get_epoch"):
            return iterator
    return dataset


def _iterate(dataset):
    """The batches of a dataset, each as a list of what the network is called with."""
    if hasattr(dataset, "create_tuple_iterator"):
        dataset = dataset.create_tuple_iterator()
    fits = isinstance(dataset, Iterable) and not isinstance(dataset, (str, Tensor, np.ndarray))
    check_kind(dataset, fits, "be an iterable of batches", "the data", "Model")
    for batch in dataset:
        if isinstance(batch, dict):
            batch = list(batch.values())
        yield [_tensor(x) for x in (batch if isinstance(batch, (tuple, list)) else [batch])]


def _tensor(value):
    return Tensor(value) if isinstance(value, (np.ndarray, np.generic)) or type(value).__module__.startswith("jax") else value
