"""Scenarios: hooks of modules, training, saved tensors, recomputation, names."""

from tests.autograd.scenario_kit import error_of, scenario, watch

# ---- hooks of modules


def two_layers(lib):
    return lib.sequential(lib.linear([[0.5, -1.0], [2.0, 1.5]], [0.1, 0.2]), lib.tanh(), lib.linear([[1.0, -2.0]], [0.3]))


def named(net):
    return list(net.named_modules())


@scenario
def forward_hooks(lib, log):
    net = two_layers(lib)
    for name, module in named(net):
        module.register_forward_pre_hook(lambda module, args, name=name: log("pre " + name, args))
        module.register_forward_hook(lambda module, args, output, name=name: log("post " + name, args, output))
    net(lib.tensor([[1.0, 2.0]]))


@scenario
def forward_hooks_replace(lib, log):
    net = two_layers(lib)
    net[0].register_forward_pre_hook(lambda module, args: (args[0] * 10,))
    net[1].register_forward_pre_hook(lambda module, args: args[0] * 0.1)
    net[1].register_forward_hook(lambda module, args, output: output + 1)
    x = lib.leaf([[1.0, 2.0]])
    out = net(x)
    out.sum().backward()
    log("out", out, x.grad, *(p.grad for p in net.parameters()))


@scenario
def forward_hooks_with_keywords(lib, log):
    class Scaled(lib.Module):
        def run(self, x, scale=1.0):
            return x * scale

    net = Scaled()
    net.register_forward_pre_hook(lambda module, args, kwargs: (args, {"scale": kwargs["scale"] * 2}), with_kwargs=True)
    net.register_forward_hook(lambda module, args, kwargs, output: log("hook", args, kwargs["scale"], output), with_kwargs=True)
    log("out", net(lib.tensor([1.0]), scale=3.0))


@scenario
def forward_hooks_prepended(lib, log):
    net = lib.tanh()
    for name in "ab":
        net.register_forward_pre_hook(lambda module, args, name=name: log("pre " + name))
        net.register_forward_hook(lambda module, args, output, name=name: log("post " + name))
    net.register_forward_pre_hook(lambda module, args: log("pre first"), prepend=True)
    net.register_forward_hook(lambda module, args, output: log("post first"), prepend=True)
    net(lib.tensor([1.0]))


@scenario
def always_called_hook(lib, log):
    class Broken(lib.Module):
        def run(self, x):
            raise KeyError("broken")

    net = Broken()
    net.register_forward_hook(lambda module, args, output: log("never"))
    net.register_forward_hook(lambda module, args, output: log("always", output), always_call=True)
    try:
        net(lib.tensor([1.0]))
    except KeyError:
        log("raised")


@scenario
def backward_hooks(lib, log):
    net = two_layers(lib)
    for name, module in named(net):
        module.register_full_backward_hook(lambda module, grad_input, grad_output, name=name: log(name, grad_input, grad_output))
    x = lib.leaf([[1.0, 2.0]])
    net(x).sum().backward()
    log("grads", x.grad, *(p.grad for p in net.parameters()))


@scenario
def backward_hooks_without_input_gradient(lib, log):
    net = two_layers(lib)
    for name, module in net.named_children():
        module.register_full_backward_hook(lambda module, grad_input, grad_output, name=name: log(name, grad_input, grad_output))
    lib.quietly(lambda: net(lib.tensor([[1.0, 2.0]])).sum().backward())


@scenario
def backward_pre_and_post_hooks(lib, log):
    net = two_layers(lib)
    for name, module in named(net):
        module.register_full_backward_pre_hook(lambda module, grad_output, name=name: log("pre " + name, grad_output))
        module.register_full_backward_hook(lambda module, grad_input, grad_output, name=name: log("post " + name, grad_input))
    net(lib.leaf([[1.0, 2.0]])).sum().backward()


@scenario
def backward_hook_replaces(lib, log):
    net = two_layers(lib)
    net[1].register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
    net[0].register_full_backward_hook(lambda module, grad_input, grad_output: log("0", grad_input, grad_output))
    x = lib.leaf([[1.0, 2.0]])
    net(x).sum().backward()
    log("grads", x.grad, *(p.grad for p in net.parameters()))


@scenario
def backward_hook_of_linear_leaves_its_weights_alone(lib, log):
    net = two_layers(lib)
    net[2].register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 0,))
    x = lib.leaf([[1.0, 2.0]])
    net(x).sum().backward()
    log("grads", x.grad, *(p.grad for p in net.parameters()))


@scenario
def backward_pre_hook_replaces(lib, log):
    net = two_layers(lib)
    net[2].register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
    net[2].register_full_backward_hook(lambda module, grad_input, grad_output: log("2", grad_input, grad_output))
    x = lib.leaf([[1.0, 2.0]])
    net(x).sum().backward()
    log("grads", x.grad, *(p.grad for p in net.parameters()))


@scenario
def several_backward_hooks(lib, log):
    net = lib.tanh()
    net.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    net.register_full_backward_pre_hook(lambda module, grad_output: log("pre", grad_output))
    net.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] + 1,))
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("post", grad_input, grad_output))
    x = lib.leaf([0.5])
    net(x).backward()
    log("grad", x.grad)


@scenario
def backward_hooks_prepended(lib, log):
    net = lib.tanh()
    for name in "ab":
        net.register_full_backward_pre_hook(lambda module, grad_output, name=name: log("pre " + name))
        net.register_full_backward_hook(lambda module, grad_input, grad_output, name=name: log("post " + name))
    net.register_full_backward_pre_hook(lambda module, grad_output: log("pre first"), prepend=True)
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("post first"), prepend=True)
    net(lib.leaf([0.5])).backward()


@scenario
def backward_hooks_of_nested_modules(lib, log):
    class Inner(lib.Module):
        def __init__(self):
            super().__init__()
            self.act = lib.tanh()

        def run(self, x):
            return self.act(x) * 2

    class Outer(lib.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def run(self, x):
            return self.inner(x * 3) + x

    net = Outer()
    for name, module in named(net):
        module.register_full_backward_pre_hook(lambda module, grad_output, name=name: log("pre " + name, grad_output))
        module.register_full_backward_hook(lambda module, grad_input, grad_output, name=name: log("post " + name, grad_input))
        module.register_forward_hook(lambda module, args, output, name=name: log("forward " + name, output))
    x = lib.leaf([0.1])
    net(x).backward()
    log("grad", x.grad)


@scenario
def module_called_twice(lib, log):
    net = lib.linear([[2.0]], [1.0])
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("hook", grad_input, grad_output))
    x = lib.leaf([[1.5]])
    net(net(x)).sum().backward()
    log("grads", x.grad, net.weight.grad, net.bias.grad)


@scenario
def module_called_twice_in_parallel(lib, log):
    net = lib.tanh()
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("hook", grad_input, grad_output))
    x, y = lib.leaf([0.5]), lib.leaf([0.25])
    (net(x) * 2 + net(y) * 3).backward()
    log("grads", x.grad, y.grad)


@scenario
def module_of_several_inputs(lib, log):
    class Times(lib.Module):
        def run(self, x, y):
            return x * y * y

    net = Times()
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("hook", grad_input, grad_output))
    x, y = lib.leaf([2.0]), lib.leaf([3.0])
    net(x, y).backward()
    log("grads", x.grad, y.grad)


@scenario
def module_of_several_outputs(lib, log):
    class Two(lib.Module):
        def run(self, x):
            return x * 2, x * x

    net = Two()
    net.register_full_backward_pre_hook(lambda module, grad_output: log("pre", grad_output))
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("hook", grad_input, grad_output))
    x = lib.leaf([3.0])
    first, second = net(x)
    (first * second).backward()
    log("grad", x.grad)
    x.grad = None
    first, second = net(x)
    second.backward()
    log("grad", x.grad)


@scenario
def forward_hook_within_backward_hooks(lib, log):
    net = lib.tanh()
    net.register_forward_hook(lambda module, args, output: output * 10)
    net.register_full_backward_pre_hook(lambda module, grad_output: log("pre", grad_output))
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("post", grad_input, grad_output))
    x = lib.leaf([0.5])
    (net(x) * 2).backward()
    log("grad", x.grad)


@scenario
def tensor_hooks_among_module_hooks(lib, log):
    class Watched(lib.Module):
        def run(self, x):
            hidden = x * 2
            hidden.register_hook(watch(log, "hidden"))
            return hidden * hidden

    net = Watched()
    net.register_full_backward_pre_hook(lambda module, grad_output: log("pre", grad_output))
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("post", grad_input))
    x = lib.leaf([1.0])
    y = x * 1
    y.register_hook(watch(log, "input"))
    out = net(y)
    out.register_hook(watch(log, "output"))
    out.backward()


@scenario
def parameter_hooks_among_module_hooks(lib, log):
    net = two_layers(lib)
    for name, module in named(net):
        module.register_full_backward_hook(lambda module, grad_input, grad_output, name=name: log("module " + name))
    for name, parameter in net.named_parameters():
        parameter.register_hook(lambda grad, name=name: log(name, grad))
    net(lib.leaf([[1.0, 2.0]])).sum().backward()


@scenario
def parameter_hooks_replace(lib, log):
    net = two_layers(lib)
    net[0].weight.register_hook(lambda grad: grad * 0)
    net[2].bias.register_hook(lambda grad: grad - 5)
    net(lib.tensor([[1.0, 2.0]])).sum().backward()
    log("grads", *(p.grad for p in net.parameters()))


@scenario
def hooks_for_all_modules(lib, log):
    net = two_layers(lib)
    net[1].register_forward_pre_hook(lambda module, args: log("own pre"))
    net[1].register_forward_hook(lambda module, args, output: log("own post"))
    net[1].register_full_backward_pre_hook(lambda module, grad_output: log("own backward pre"))
    net[1].register_full_backward_hook(lambda module, grad_input, grad_output: log("own backward"))
    handles = [
        lib.for_all_forward_pre(lambda module, args: log("all pre")),
        lib.for_all_forward(lambda module, args, output: log("all post", output)),
        lib.for_all_backward_pre(lambda module, grad_output: log("all backward pre", grad_output)),
        lib.for_all_backward(lambda module, grad_input, grad_output: log("all backward", grad_input)),
    ]
    try:
        net(lib.leaf([[1.0, 2.0]])).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    log("removed")
    net(lib.leaf([[1.0, 2.0]])).sum().backward()


@scenario
def hooks_for_all_modules_replace(lib, log):
    net = two_layers(lib)
    x = lib.leaf([[1.0, 2.0]])
    with (
        lib.for_all_forward(lambda module, args, output: output * 2),
        lib.for_all_backward(lambda module, grad_input, grad_output: tuple(g * 3 for g in grad_input)),
    ):
        net(x).sum().backward()
    log("grads", x.grad, *(p.grad for p in net.parameters()))


@scenario
def hooks_removed_and_added(lib, log):
    net = lib.tanh()
    handle = net.register_full_backward_hook(lambda module, grad_input, grad_output: log("one"))
    net(lib.leaf([0.5])).backward()
    handle.remove()
    net.register_full_backward_hook(lambda module, grad_input, grad_output: log("two"))
    net(lib.leaf([0.5])).backward()


@scenario
def capture_class(lib, log):
    class Hook:
        def __init__(self, module, backward=False):
            if backward:
                self.handle = module.register_full_backward_hook(self.hook_fn)
            else:
                self.handle = module.register_forward_hook(self.hook_fn)

        def hook_fn(self, module, inputs, outputs):
            self.inputs, self.outputs = inputs, outputs

        def close(self):
            self.handle.remove()

    net = two_layers(lib)
    forward = [Hook(module) for module in net._modules.values()]
    backward = [Hook(module, backward=True) for _, module in net._modules.items()]
    net(lib.leaf([[1.0, 2.0]])).sum().backward()
    for hook in [*forward, *backward]:
        log("hook", hook.inputs, hook.outputs)
        hook.close()


# ---- training, saved tensors, recomputation


@scenario
def training(lib, log):
    net = two_layers(lib)
    step = lib.sgd(net, 0.1)
    x, target = lib.tensor([[1.0, 2.0], [-1.0, 0.5]]), lib.tensor([[0.5], [-0.5]])
    norms = []
    for parameter in net.parameters():
        parameter.register_hook(lambda grad: norms.append((grad * grad).sum()))
    for _ in range(3):
        net.zero_grad()
        difference = net(x) - target
        loss = (difference * difference).mean()
        loss.backward()
        step()
        log("loss", loss, *norms)
        norms.clear()
    log("weights", *net.parameters())


@scenario
def accumulated_over_batches(lib, log):
    net = two_layers(lib)
    for batch in ([[1.0, 2.0]], [[-1.0, 0.5]]):
        (net(lib.tensor(batch)).sum() / 2).backward()
    log("grads", *(p.grad for p in net.parameters()))
    net.zero_grad(set_to_none=False)
    log("zeros", *(p.grad for p in net.parameters()))
    net.zero_grad()
    log("none", *(p.grad for p in net.parameters()))


@scenario
def frozen_parameters(lib, log):
    net = two_layers(lib)
    for parameter in net[0].parameters():
        parameter.requires_grad = False
    net(lib.tensor([[1.0, 2.0]])).sum().backward()
    log("grads", *(p.grad for p in net.parameters()))


@scenario
def shared_parameter(lib, log):
    net = lib.linear([[2.0]], [1.0])
    both = lib.sequential(net, lib.tanh(), net)
    net.weight.register_hook(watch(log, "weight"))
    both(lib.tensor([[0.25]])).sum().backward()
    log("grads", net.weight.grad, net.bias.grad)
    log("names", *(name for name, _ in both.named_parameters()))


@scenario
def saved_tensors_doubled(lib, log):
    a, b = lib.leaf([1.0, 2.0]), lib.leaf([3.0, 4.0])
    with lib.saved_tensors_hooks(lambda tensor: tensor * 2, lambda packed: packed * 5):
        c = a * b
    d = c * a
    d.sum().backward()
    log("grads", a.grad, b.grad)


@scenario
def saved_tensors_through_text(lib, log):
    a = lib.leaf([1.0, 2.0])
    with lib.saved_tensors_hooks(lambda tensor: repr(tensor.tolist()), lambda text: lib.tensor(eval(text))):
        b = (a.exp() * a).sin()
    b.sum().backward()
    log("grad", a.grad)


@scenario
def recomputed(lib, log):
    net = two_layers(lib)
    net[1].register_forward_hook(lambda module, args, output: log("forward"))
    net[1].register_full_backward_hook(lambda module, grad_input, grad_output: log("backward", grad_input, grad_output))
    x = lib.leaf([[1.0, 2.0]])
    out = lib.recompute(net, x * 2) * 3
    log("out", out)
    out.sum().backward()
    log("grads", x.grad, *(p.grad for p in net.parameters()))


@scenario
def names_of_members(lib, log):
    class Net(lib.Module):
        def __init__(self):
            super().__init__()
            self.body = two_layers(lib)
            self.head = lib.linear([[1.0]], [0.0])

        def run(self, x):
            return self.head(self.body(x))

    net = Net()
    log("modules", *(name for name, _ in net.named_modules()))
    log("children", *(name for name, _ in net.named_children()))
    log("parameters", *(name for name, _ in net.named_parameters()))
    log("counts", len(list(net.modules())), len(list(net.children())), len(list(net.parameters())))
    log("state", *net.state_dict())
    log("training", net.eval() is net, net.head.training, net.train() is net, net.head.training)


@scenario
def state_dict_hooks(lib, log):
    net = two_layers(lib)
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: log("pre", prefix))
    net.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.__delitem__("0.bias"))
    state = net.state_dict()
    log("keys", *state)
    other = two_layers(lib)
    other.register_load_state_dict_pre_hook(
        lambda module, state, prefix, metadata, strict, missing, unexpected, errors: log("load pre", strict, *state)
    )
    other.register_load_state_dict_post_hook(lambda module, keys: log("load post", *keys.missing_keys))
    error_of(log, "strict", lambda: other.load_state_dict(state))
    other.load_state_dict(state, strict=False)
