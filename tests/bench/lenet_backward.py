"""The PyNative LeNet-5 training step by `backward()`, with hooks on every leaf cell, against PyTorch eager.

    MSJAX_BENCH_TORCH=/path/to/python-with-torch python tests/bench/lenet_backward.py [--repeats 40] [--steps 20] [--cores N]

PyTorch runs in a process of its own, which waits while msjax is timed, and the other way round: one repetition times a
few steps of each, one after the other, so that both see the same machine. Both networks have the same weights; losses
and gradients are compared before anything is timed. Printed are, for each batch size and with and without hooks, the
ratio of the times (median, minimum and maximum over the repetitions), the fastest step of each and the ratio of those.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

LAYERS = (("conv1", (6, 1, 5, 5)), ("conv2", (16, 6, 5, 5)), ("fc1", (120, 400)), ("fc2", (84, 120)), ("fc3", (10, 84)))


def data(batch):
    """(weights by name, images, labels), the same in both processes."""
    rng = np.random.default_rng(0)
    weights = {}
    for name, shape in LAYERS:
        weights[name + ".weight"] = rng.normal(0, 0.1, shape).astype(np.float32)
        if name.startswith("fc"):
            weights[name + ".bias"] = rng.normal(0, 0.1, shape[:1]).astype(np.float32)
    images = rng.normal(0, 1, (batch, 1, 32, 32)).astype(np.float32)
    return weights, images, rng.integers(0, 10, batch).astype(np.int32)


def observe(cell, inputs, output):
    """A hook that only looks."""


def torch_steps(batch, hooks):
    """(step, results): a function that makes one training step, and one that returns the loss and a gradient."""
    import torch
    from torch import nn

    class LeNet5(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, bias=False), nn.Conv2d(6, 16, 5, bias=False)
            self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)
            self.relu1, self.relu2, self.relu3, self.relu4 = nn.ReLU(), nn.ReLU(), nn.ReLU(), nn.ReLU()
            self.pool1, self.pool2, self.flatten = nn.MaxPool2d(2, 2), nn.MaxPool2d(2, 2), nn.Flatten()

        def forward(self, x):
            x = self.pool1(self.relu1(self.conv1(x)))
            x = self.pool2(self.relu2(self.conv2(x)))
            x = self.relu4(self.fc2(self.relu3(self.fc1(self.flatten(x)))))
            return self.fc3(x)

    weights, images, labels = data(batch)
    net, criterion = LeNet5(), nn.CrossEntropyLoss()
    net.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    x, y = torch.from_numpy(images), torch.from_numpy(labels).long()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    if hooks:
        for module in net.modules():
            if not list(module.children()):
                module.register_forward_hook(observe)
                module.register_full_backward_hook(observe)

    def step():
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, lambda: (step(), net.conv1.weight.grad.numpy().copy())


def msjax_steps(batch, hooks):
    """As `torch_steps`."""
    import msjax as ms
    from msjax import nn

    class LeNet5(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.Conv2d(6, 16, 5, pad_mode="valid")
            self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
            self.relu1, self.relu2, self.relu3, self.relu4 = nn.ReLU(), nn.ReLU(), nn.ReLU(), nn.ReLU()
            self.pool1, self.pool2, self.flatten = nn.MaxPool2d(2, 2), nn.MaxPool2d(2, 2), nn.Flatten()

        def construct(self, x):
            x = self.pool1(self.relu1(self.conv1(x)))
            x = self.pool2(self.relu2(self.conv2(x)))
            x = self.relu4(self.fc2(self.relu3(self.fc1(self.flatten(x)))))
            return self.fc3(x)

    weights, images, labels = data(batch)
    net, criterion = LeNet5(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    net.load_state_dict({name: ms.Tensor(w) for name, w in weights.items()})
    x, y = ms.Tensor(images), ms.Tensor(labels)
    parameters = net.trainable_params()
    optimizer = nn.SGD(parameters, learning_rate=0.0)
    if hooks:
        for cell in net.modules():
            if not list(cell.children()):
                cell.register_forward_hook(observe)
                cell.register_backward_hook(observe)

    def step():
        net.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer([p.grad for p in parameters])
        return loss.item()

    return step, lambda: (step(), net.conv1.weight.grad.asnumpy())


def serve():
    """In PyTorch's process: answer one request a line."""
    made = {}
    for line in sys.stdin:
        batch, hooks, steps = json.loads(line)
        key = batch, hooks
        if key not in made:
            made[key] = torch_steps(*key)
        step, results = made[key]
        if not steps:
            loss, grad = results()
            answer = [loss, grad.ravel().tolist()]
        else:
            answer = timed(step, steps)
        print(json.dumps(answer), flush=True)


def timed(step, steps):
    """Seconds of one step, the mean over several."""
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - begin) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--cores", type=int, help="run both on so many cores; on a busy machine, 1 is fairest")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    if arguments.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.cores])
    python = os.environ.get("MSJAX_BENCH_TORCH")
    if not python:
        sys.exit("Set MSJAX_BENCH_TORCH to a Python that has PyTorch.")
    torch = subprocess.Popen([python, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(*request):
        torch.stdin.write(json.dumps(request) + "\n")
        torch.stdin.flush()
        return json.loads(torch.stdout.readline())

    print(f"{'LeNet-5 step by backward()':34} {'median':>7} {'min':>7} {'max':>7}   fastest step: msjax, PyTorch, ratio")
    for batch in (1, 32):
        for hooks in (False, True):
            step, results = msjax_steps(batch, hooks)
            loss, grad = results()
            torch_loss, torch_grad = ask(batch, hooks, 0)
            assert abs(loss - torch_loss) < 1e-4 * abs(torch_loss), (loss, torch_loss)
            np.testing.assert_allclose(grad.ravel(), torch_grad, rtol=1e-3, atol=1e-5)
            timed(step, 10), ask(batch, hooks, 10)
            pairs = [(timed(step, arguments.steps), ask(batch, hooks, arguments.steps)) for _ in range(arguments.repeats)]
            ratios = [ours / theirs for ours, theirs in pairs]
            name = f"batch {batch}, {'hooks on every leaf' if hooks else 'no hooks'}"
            fastest = [min(pair[i] for pair in pairs) * 1e3 for i in (0, 1)]
            print(
                f"{name:34} {statistics.median(ratios):7.2f} {min(ratios):7.2f} {max(ratios):7.2f}   "
                f"{fastest[0]:.2f} ms, {fastest[1]:.2f} ms, {fastest[0] / fastest[1]:.2f}",
                flush=True,
            )
    torch.stdin.close()
    torch.wait()


if __name__ == "__main__":
    main()
