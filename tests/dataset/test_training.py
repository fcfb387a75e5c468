"""Programs that train on a pipeline, run unchanged in both modes."""

import numpy as np
import pytest

import msjax as ms
from msjax import dataset, nn
from tests.dataset.files import digits, idx

PROGRAM = """
import mindspore as ms
from mindspore import nn
from mindspore.dataset import MnistDataset, transforms, vision
from mindspore.train import Accuracy, LossMonitor, Model

ms.set_context(mode=ms.{mode})
ms.set_seed(7)


def datapipe(usage, batch_size):
    image_transforms = [
        vision.Resize((16, 16)), vision.Rescale(1.0 / 255.0, 0), vision.Normalize(mean=(0.1307,), std=(0.3081,)), vision.HWC2CHW(),
    ]
    dataset = MnistDataset("digits", usage)
    dataset = dataset.map(image_transforms, "image", num_parallel_workers=2)
    dataset = dataset.map(transforms.TypeCast(ms.int32), "label")
    return dataset.batch(batch_size, drop_remainder=True)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(6 * 6 * 6, 10)

    def construct(self, x):
        return self.fc(self.flatten(self.max_pool2d(self.relu(self.conv(x)))))


train_dataset, test_dataset = datapipe("train", 20), datapipe("test", 10)
net = Network()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Momentum(net.trainable_params(), 0.02, 0.9)

# The loop of one's own, as in MindSpore's quick start.
def forward_fn(data, label):
    logits = net(data)
    return loss_fn(logits, label), logits

grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
net.set_train()
for epoch in range(2):
    for batch, (data, label) in enumerate(train_dataset.create_tuple_iterator()):
        (loss, _), grads = grad_fn(data, label)
        optimizer(grads)
        print("loss %.4f of batch %d of %d" % (float(loss.asnumpy()), batch, train_dataset.get_dataset_size()))

# The same with Model.
model = Model(net, loss_fn, optimizer, metrics={{"accuracy": Accuracy()}})
model.train(9, train_dataset, callbacks=[LossMonitor(per_print_times=30)])
print("accuracy", float(model.eval(test_dataset)["accuracy"]))
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory, forks):
    folder = tmp_path_factory.mktemp("training")
    (folder / "digits").mkdir()
    idx(folder / "digits", "train", *digits(120, 0))
    idx(folder / "digits", "t10k", *digits(20, 1))
    texts = {}
    for mode in ("PYNATIVE_MODE", "GRAPH_MODE"):
        script = folder / f"{mode}.py"
        script.write_text(PROGRAM.format(mode=mode))
        done = forks.command("run", script.name, cwd=folder)
        assert done.returncode == 0, done.stderr
        texts[mode] = done.stdout.splitlines()
    return texts


def test_losses_are_those_of_mindspore(tmp_path):
    """The program was run by MindSpore 2.10, too."""
    idx(tmp_path, "train", *digits(24))
    data = dataset.MnistDataset(str(tmp_path), "train", shuffle=False)
    data = data.map([dataset.vision.Rescale(1 / 255.0, 0), dataset.vision.Normalize((0.1307,), (0.3081,))], "image")
    data = data.map(dataset.vision.HWC2CHW(), "image").map(dataset.transforms.TypeCast(ms.int32), "label").batch(8)
    net = nn.SequentialCell(nn.Flatten(), nn.Dense(784, 16), nn.ReLU(), nn.Dense(16, 10))
    rng = np.random.default_rng(1)
    for param in net.trainable_params():
        param.set_data(ms.Tensor((rng.standard_normal(param.shape) * 0.05).astype(np.float32)))
    loss_fn, optimizer = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9)
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
    losses = []
    for _ in range(2):
        for image, label in data.create_tuple_iterator():
            loss, grads = grad_fn(image, label)
            optimizer(grads)
            losses.append(float(loss))
    np.testing.assert_allclose(losses, [2.29075, 2.25574, 2.09782, 1.86962, 1.68246, 1.06476], rtol=2e-5)


@pytest.mark.long
def test_a_network_learns_in_both_modes(printed):
    for lines in printed.values():
        name, accuracy = lines[-1].split()
        assert name == "accuracy" and float(accuracy) == 1.0
        assert len(lines) == 14


def test_both_modes_see_the_same_batches(printed):
    losses = [[float(line.split()[1]) for line in lines if line.startswith("loss")] for lines in printed.values()]
    assert len(losses[0]) == 12
    np.testing.assert_allclose(*losses, atol=2e-3)
