"""A data-parallel program as MindSpore's documentation writes it; prints the mean of the losses of all processes.

Its arguments: the modes (such as 1,0), how many steps, and "lenet" or "small" for the network.
"""

import json
import sys

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init

from msjax.demo.lenet import LeNet5

BATCH = 8


class Small(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(9, 5)
        self.fc3 = nn.Dense(5, 10)

    def construct(self, x):
        return self.fc3(ops.tanh(self.fc1(x[:, 0, 0, :9])))


def main(mode, steps, network):
    ms.set_context(mode=mode, device_target="CPU")
    init()
    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_seed(1)
    rank, size = get_rank(), get_group_size()

    rng = np.random.default_rng(0)
    images = rng.standard_normal((BATCH * steps, 1, 32, 32)).astype(np.float32)
    labels = rng.integers(0, 10, BATCH * steps).astype(np.int32)
    data = ds.NumpySlicesDataset((images, labels), ["image", "label"], shuffle=False, num_shards=size, shard_id=rank)
    data = data.batch(BATCH // size)

    net, seen = (LeNet5 if network == "lenet" else Small)(), []
    net.fc3.register_forward_hook(lambda cell, inputs, output: seen.append(("forward", output.shape)))
    net.fc3.register_backward_hook(lambda cell, grad_input, grad_output: seen.append(("backward", grad_output[0].shape)))
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), nn.Momentum(net.trainable_params(), 0.05, 0.9))
    mean = ops.AllReduce(ops.ReduceOp.AVG)
    losses = [float(mean(step(image, label)).asnumpy()) for image, label in data]
    result = {"losses": losses, "seen": seen, "sum": float(net.fc1.weight.sum().asnumpy())}
    print(json.dumps(result), flush=True)
    return result


if __name__ == "__main__":
    for number in map(int, sys.argv[1].split(",")):
        main(number, int(sys.argv[2]), sys.argv[3])
