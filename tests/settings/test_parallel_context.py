"""Settings of data parallelism."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn


def test_settings_of_parallel_training():
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=4, dataset_strategy=((1,),))
    found = {
        name: ms.get_auto_parallel_context(name) for name in ("parallel_mode", "gradients_mean", "device_num", "global_rank")
    }
    assert found == {"parallel_mode": "data_parallel", "gradients_mean": True, "device_num": 4, "global_rank": 0}
    net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    assert step.reducer_flag and step.mean and step.degree == 4 and step.grad_reducer.degree == 0.25
    # One process with device_num=4: the sum of one gradient, 2, divided by 4.
    step(Tensor([[1.0]]), Tensor([[0.0]]))
    np.testing.assert_allclose(net.weight.asnumpy(), [[1 - 0.1 * 2 / 4]])
    ms.reset_auto_parallel_context()
    assert ms.get_auto_parallel_context("parallel_mode") == "stand_alone"
    assert not nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)).reducer_flag
    with pytest.raises(ValueError, match="no setting 'nothing'"):
        ms.set_auto_parallel_context(nothing=1)
    with pytest.raises(ValueError, match="parallel_mode"):
        ms.set_auto_parallel_context(parallel_mode="x")
    with pytest.raises(NotImplementedError, match="jax shardings"):
        ms.set_auto_parallel_context(parallel_mode="auto_parallel")
    with pytest.raises(TypeError, match="'gradients_mean' should be a bool"):
        ms.set_auto_parallel_context(gradients_mean=1)
