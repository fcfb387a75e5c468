"""Scenarios: the two posts about PyTorch's hooks, with the values fixed where they leave them open.

Their `register_backward_hook` is `register_full_backward_hook` here: the older one, in PyTorch, shows gradients of the
module's last operator in the place of those of its inputs.
"""

import math

from tests.autograd.scenario_kit import scenario


@scenario
def post_grad_of_leaf_only(lib, log):
    a = lib.ones(5)
    a.requires_grad = True
    b = 2 * a
    c = b.mean()
    c.backward()
    log("grads", a.grad, lib.quietly(lambda: b.grad))


@scenario
def post_retain_grad(lib, log):
    a = lib.ones(5)
    a.requires_grad = True
    b = 2 * a
    b.retain_grad()
    c = b.mean()
    c.backward()
    log("grads", a.grad, b.grad)


@scenario
def post_hooks_in_place_of_retain_grad(lib, log):
    a = lib.ones(5)
    a.requires_grad = True
    b = 2 * a
    a.register_hook(lambda x: log("a.grad", x))
    b.register_hook(lambda x: log("b.grad", x))
    c = b.mean()
    c.backward()


@scenario
def post_hook_class(lib, log):
    class Net(lib.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = lib.linear([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0])
            self.s1 = lib.sigmoid()
            self.fc2 = lib.linear([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0])
            self.s2 = lib.sigmoid()
            self.fc1.weight = lib.Parameter(lib.tensor([[0.15, 0.2], [0.250, 0.30]]))
            self.fc1.bias = lib.Parameter(lib.tensor([0.35]))
            self.fc2.weight = lib.Parameter(lib.tensor([[0.4, 0.45], [0.5, 0.55]]))
            self.fc2.bias = lib.Parameter(lib.tensor([0.6]))

        def run(self, x):
            x = self.fc1(x)
            x = self.s1(x)
            x = self.fc2(x)
            return self.s2(x)

    class Hook:
        def __init__(self, module, backward=False):
            if backward is False:
                self.hook = module.register_forward_hook(self.hook_fn)
            else:
                self.hook = module.register_full_backward_hook(self.hook_fn)

        def hook_fn(self, module, input, output):
            self.input = input
            self.output = output

        def close(self):
            self.hook.remove()

    net, data, target = Net(), lib.tensor([0.05, 0.1]), lib.tensor([0.01, 0.99])
    log("loss", lib.mse_loss()(net(data), target))
    forward = [Hook(layer[1]) for layer in list(net._modules.items())]
    backward = [Hook(layer[1], backward=True) for layer in list(net._modules.items())]
    out = net(data)
    lib.quietly(lambda: out.backward(lib.tensor([1, 1]), retain_graph=True))
    for hook in forward:
        log("forward", hook.input, hook.output)
    for hook in backward:
        log("backward", hook.input, hook.output)
    log("grads", *(p.grad for p in net.parameters()))
    lib.quietly(lambda: out.backward(lib.tensor([1, 1])))
    log("grads", *(p.grad for p in net.parameters()))


@scenario
def post_convolution(lib, log):
    def waves(*shape):
        size = math.prod(shape)
        return lib.tensor([math.sin(i) / 2 for i in range(size)]).reshape(*shape)

    class MyNet(lib.Module):
        def __init__(self):
            super().__init__()
            self.conv = lib.conv2d(3, 10, 2, stride=2)
            self.relu = lib.relu()
            self.flatten = lambda x: x.view(-1)
            self.fc1 = lib.linear([[0.0] * 160] * 5, [0.0] * 5)
            for parameter in self.parameters():
                lib.fill(parameter, waves(*parameter.shape))

        def run(self, x):
            x = self.relu(self.conv(x))
            return self.fc1(self.flatten(x))

    net = MyNet()

    def hook_fn(m, i, o):
        log("hook", m is net.conv)
        for label, grads in (("input", i), ("output", o)):
            for grad in grads:
                log(label, *((None,) if grad is None else (tuple(grad.shape), grad.sum(), (grad * grad).sum())))

    net.conv.register_full_backward_hook(hook_fn)
    net.fc1.register_full_backward_hook(hook_fn)
    out = net(waves(1, 3, 8, 8))
    lib.quietly(lambda: (1 - out.mean()).backward())
    log("out", out)
    log("grads", net.conv.weight.grad, net.conv.bias.grad, net.fc1.bias.grad)
