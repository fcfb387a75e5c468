"""Scenarios of hooks and imperative gradients, written once for PyTorch and msjax.

Each takes `lib`, which gives the two libraries one face (`generate.py` has PyTorch's, `test_differential.py` msjax's),
and `log`, which takes a label and values: numbers, Tensors, None, strings, tuples of these.
"""

SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def watch(log, label):
    return lambda *values: log(label, *values)


def error_of(log, label, function):
    """Log whether a call raises RuntimeError."""
    try:
        function()
    except RuntimeError:
        log(label, "RuntimeError")
    else:
        log(label, "no error")


# ---- Tensor hooks


@scenario
def leaf_hook(lib, log):
    a = lib.leaf([1.0, 2.0])
    a.register_hook(watch(log, "a"))
    (a * a).sum().backward()
    log("grad", a.grad)


@scenario
def hooks_of_leaf_and_intermediate(lib, log):
    a = lib.leaf([1.0, 1.0, 1.0, 1.0, 1.0])
    b = 2 * a
    a.register_hook(watch(log, "a"))
    b.register_hook(watch(log, "b"))
    b.mean().backward()
    log("grad", a.grad)


@scenario
def hook_replaces(lib, log):
    a = lib.leaf([1.0, 2.0])
    b = a * 3
    b.register_hook(lambda grad: grad * 10)
    (b * b).sum().backward()
    log("grad", a.grad)


@scenario
def leaf_hook_replaces(lib, log):
    a = lib.leaf([1.0, 2.0])
    a.register_hook(lambda grad: grad + 100)
    (a * a).sum().backward()
    log("grad", a.grad)


@scenario
def several_hooks_feed_each_other(lib, log):
    a = lib.leaf([1.0])
    b = a * 2
    b.register_hook(lambda grad: log("first", grad))
    b.register_hook(lambda grad: grad * 2)
    b.register_hook(lambda grad: log("third", grad))
    b.register_hook(lambda grad: grad + 1)
    b.backward()
    log("grad", a.grad)


@scenario
def hook_removed(lib, log):
    a = lib.leaf([1.0])
    b = a * 2
    first = b.register_hook(lambda grad: grad * 10)
    b.register_hook(watch(log, "second"))
    first.remove()
    first.remove()
    b.backward()
    log("grad", a.grad)


@scenario
def hook_removed_between_backwards(lib, log):
    a = lib.leaf([1.0])
    b = a * 2
    handle = b.register_hook(watch(log, "b"))
    b.backward(retain_graph=True)
    handle.remove()
    b.backward()
    log("grad", a.grad)


@scenario
def handle_as_context(lib, log):
    a = lib.leaf([2.0])
    with a.register_hook(lambda grad: grad * 5):
        (a * a).backward()
    (a * a).backward()
    log("grad", a.grad)


@scenario
def hook_registers_another_upstream(lib, log):
    a = lib.leaf([1.0])
    b = a * 2
    c = b * 3
    c.register_hook(lambda grad: b.register_hook(watch(log, "late")) and None)
    c.backward()
    log("grad", a.grad)


@scenario
def hook_registered_after_use(lib, log):
    a = lib.leaf([1.0, 2.0])
    b = a * 2
    c = (b * b).sum()
    b.register_hook(watch(log, "b"))
    c.backward()


@scenario
def hook_of_shared_tensor_sees_sum(lib, log):
    a = lib.leaf([1.0, 2.0])
    b = a * 2
    b.register_hook(watch(log, "b"))
    (b * 3 + b * b + b.sum()).sum().backward()
    log("grad", a.grad)


@scenario
def order_of_branches(lib, log):
    s, t = lib.leaf([1.0, 2.0]), lib.leaf([3.0, 4.0])
    y, z = s * 2, t * 3
    for name, tensor in (("s", s), ("t", t), ("y", y), ("z", z)):
        tensor.register_hook(watch(log, name))
    (y * z).sum().backward()


@scenario
def order_of_leaves_in_one_step(lib, log):
    a, b, c = lib.leaf([1.0, 2.0]), lib.leaf([3.0, 4.0]), lib.leaf([5.0, 6.0])
    for name, tensor in (("a", a), ("b", b), ("c", c)):
        tensor.register_hook(watch(log, name))
    (a * b).sum().backward()
    (a * (b * c)).sum().backward()
    (a * a * b).sum().backward()


@scenario
def order_of_leaves_of_matmul(lib, log):
    x, w = lib.leaf([[1.0, 2.0]]), lib.leaf([[1.0, 2.0], [3.0, 4.0]])
    for name, tensor in (("x", x), ("w", w)):
        tensor.register_hook(watch(log, name))
    (x @ w).sum().backward()


@scenario
def order_of_leaves_of_linear(lib, log):
    net = lib.linear([[1.0, 2.0], [3.0, 4.0]], [0.5, 0.25])
    net.weight.register_hook(watch(log, "weight"))
    net.bias.register_hook(watch(log, "bias"))
    x = lib.tensor([[1.0, 1.0]])
    net(net(x)).sum().backward()


@scenario
def diamond(lib, log):
    a = lib.leaf([0.5, 1.5])
    left, right = a.exp(), a * a
    for name, tensor in (("a", a), ("left", left), ("right", right)):
        tensor.register_hook(watch(log, name))
    (left * right + right).sum().backward()
    log("grad", a.grad)


@scenario
def hook_scales_one_branch(lib, log):
    a = lib.leaf([1.0, 2.0])
    left, right = a * 2, a * 3
    left.register_hook(lambda grad: grad * 0)
    (left * right).sum().backward()
    log("grad", a.grad)


@scenario
def hook_fires_at_each_backward(lib, log):
    a = lib.leaf([1.0])
    b = a * a
    b.register_hook(watch(log, "b"))
    b.backward(retain_graph=True)
    b.backward()
    log("grad", a.grad)


@scenario
def hook_not_fired_where_no_gradient_flows(lib, log):
    a = lib.leaf([1.0])
    b = a * 2
    b.register_hook(watch(log, "b"))
    (b.detach() * a).backward()
    log("grad", a.grad)


@scenario
def hook_on_tensor_that_is_gone(lib, log):
    a = lib.leaf([1.0])
    a.register_hook(watch(log, "a"))
    b = a * 3
    del a
    b.backward()


@scenario
def clip_by_hook(lib, log):
    a = lib.leaf([1.0, 10.0, -10.0])
    a.register_hook(lambda grad: lib.clamp(grad, -1.0, 1.0))
    (a * a).sum().backward()
    log("grad", a.grad)


@scenario
def exception_in_hook_leaves_next_pass_clean(lib, log):
    a = lib.leaf([2.0])

    def raise_error(grad):
        raise KeyError("in the hook")

    b = a * a
    handle = b.register_hook(raise_error)
    try:
        b.backward()
    except KeyError:
        log("raised")
    handle.remove()
    log("grad", a.grad)
    (a * a).backward()
    log("grad", a.grad)


# ---- grad, retain_grad, accumulation


@scenario
def grad_of_intermediate_is_none(lib, log):
    a = lib.leaf([1.0, 1.0])
    b = 2 * a
    b.mean().backward()
    log("grads", a.grad, lib.quietly(lambda: b.grad))


@scenario
def retain_grad(lib, log):
    a = lib.leaf([1.0, 1.0, 1.0])
    b = 2 * a
    b.retain_grad()
    b.mean().backward()
    log("grads", a.grad, b.grad)


@scenario
def retain_grad_twice_and_accumulated(lib, log):
    a = lib.leaf([1.0, 2.0])
    b = a * a
    b.retain_grad()
    b.retain_grad()
    c = (b * b).sum()
    c.backward(retain_graph=True)
    c.backward()
    log("grads", a.grad, b.grad)


@scenario
def retain_grad_sees_what_hooks_left(lib, log):
    a = lib.leaf([1.0])
    b = a * 2
    b.retain_grad()
    b.register_hook(lambda grad: grad * 7)
    b.backward()
    log("grads", a.grad, b.grad)


@scenario
def retain_grad_of_a_leaf(lib, log):
    a = lib.leaf([1.0])
    a.retain_grad()
    (a * 2).backward()
    log("grads", a.grad)
    error_of(log, "plain", lambda: lib.tensor([1.0]).retain_grad())


@scenario
def accumulates_over_graphs(lib, log):
    a = lib.leaf([1.0, 2.0])
    for factor in (1, 10, 100):
        (a * factor).sum().backward()
        log("grad", a.grad)


@scenario
def accumulates_in_the_same_tensor(lib, log):
    a = lib.leaf([1.0, 2.0])
    a.sum().backward()
    first = a.grad
    (a * 2).sum().backward()
    log("first", first)
    log("same", first is a.grad)


@scenario
def grad_set_to_none(lib, log):
    a = lib.leaf([1.0])
    (a * 2).backward()
    a.grad = None
    log("none", a.grad)
    (a * 3).backward()
    log("grad", a.grad)


@scenario
def grad_set_to_a_tensor(lib, log):
    a = lib.leaf([1.0])
    a.grad = lib.tensor([100.0])
    (a * 3).backward()
    log("grad", a.grad)


@scenario
def unused_leaf_has_no_grad(lib, log):
    a, b = lib.leaf([1.0]), lib.leaf([2.0])
    (a * 2).backward()
    log("grads", a.grad, b.grad)


@scenario
def gradient_argument(lib, log):
    a = lib.leaf([1.0, 2.0])
    (a * a).backward(lib.tensor([1.0, 10.0]))
    log("grad", a.grad)


@scenario
def gradient_argument_reaches_hooks(lib, log):
    a = lib.leaf([[1.0, 2.0], [3.0, 4.0]])
    b = a * 2
    b.register_hook(watch(log, "b"))
    b.backward(gradient=lib.tensor([[1.0, 0.0], [0.0, -1.0]]))
    log("grad", a.grad)


@scenario
def backward_of_a_leaf(lib, log):
    a = lib.leaf([3.0])
    a.register_hook(watch(log, "a"))
    a.backward()
    log("grad", a.grad)


@scenario
def backward_of_one_element_of_two_axes(lib, log):
    a = lib.leaf([[3.0]])
    (a * a).backward()
    log("grad", a.grad)


@scenario
def backward_to_chosen_inputs(lib, log):
    a, b = lib.leaf([2.0]), lib.leaf([3.0])
    (a * b).backward(inputs=[a])
    log("grads", a.grad, b.grad)


@scenario
def errors(lib, log):
    a = lib.leaf([1.0, 2.0])
    error_of(log, "several elements", lambda: (a * 2).backward())
    error_of(log, "no gradient", lambda: lib.tensor([1.0]).backward())
    error_of(log, "gradient of another shape", lambda: (a * 2).backward(lib.tensor([1.0])))
    b = (a * a).sum()
    b.backward()
    error_of(log, "freed", lambda: b.backward())
    error_of(log, "no leaf", lambda: setattr(a * 2, "requires_grad", False))
    error_of(log, "detached", lambda: (a * 2).detach().sum().backward())
    error_of(log, "hook after accumulation on no leaf", lambda: (a * 2).register_post_accumulate_grad_hook(print))
    log("grad", a.grad)


@scenario
def integers_require_no_gradient(lib, log):
    error_of(log, "set", lambda: setattr(lib.integers([1, 2]), "requires_grad", True))


@scenario
def steps_without_values_survive_backward(lib, log):
    a = lib.leaf([1.0, 2.0])
    trunk = a + 1
    (trunk * trunk).sum().backward()
    (trunk * 3).sum().backward()
    c = (a + 1).sum()
    c.backward()
    c.backward()
    log("grad", a.grad)


@scenario
def freed_part_of_a_shared_graph(lib, log):
    a = lib.leaf([1.0, 2.0])
    trunk = a.exp()
    one, two = (trunk * 2).sum(), (trunk * 3).sum()
    one.backward()
    error_of(log, "two", two.backward)


@scenario
def retain_graph_for_two_losses(lib, log):
    a = lib.leaf([1.0, 2.0])
    trunk = a.exp()
    (trunk * 2).sum().backward(retain_graph=True)
    log("one", a.grad)
    (trunk * 3).sum().backward()
    log("both", a.grad)


# ---- leaves, modes


@scenario
def flags(lib, log):
    a, b = lib.leaf([1.0]), lib.tensor([1.0])
    c, d = a * 2, b * 2
    e = c.detach()
    log("requires_grad", *(t.requires_grad for t in (a, b, c, d, e)))
    log("is_leaf", *(t.is_leaf for t in (a, b, c, d, e)))
    log("grad_fn", *(t.grad_fn is None for t in (a, b, c, d, e)))


@scenario
def requires_grad_switched(lib, log):
    a = lib.tensor([1.0, 2.0])
    before = a * 2
    log("returns itself", a.requires_grad_() is a)
    (a * 3).sum().backward()
    log("grad", a.grad, before.requires_grad)
    a.requires_grad = False
    log("after", (a * 3).requires_grad, a.grad)
    a.requires_grad_(True)
    (a * 5).sum().backward()
    log("grad", a.grad)


@scenario
def detach_cuts(lib, log):
    a = lib.leaf([2.0])
    (a * a.detach()).backward()
    log("grad", a.grad)
    b = (a * a).detach().requires_grad_()
    (b * b).backward()
    log("grads", a.grad, b.grad)


@scenario
def no_grad(lib, log):
    a = lib.leaf([2.0])
    with lib.no_grad():
        b = a * 2
        log("inside", b.requires_grad, b.is_leaf)
        with lib.enable_grad():
            c = a * 3
    log("outside", (b * 2).requires_grad, c.requires_grad, a.requires_grad)
    (b * a + c).backward()
    log("grad", a.grad)


@scenario
def no_grad_as_decorator(lib, log):
    a = lib.leaf([2.0])

    @lib.no_grad()
    def double(x):
        return x * 2

    log("flags", double(a).requires_grad, (a * 2).requires_grad)


@scenario
def modes_end_with_exceptions(lib, log):
    a = lib.leaf([2.0])
    try:
        with lib.no_grad():
            raise KeyError
    except KeyError:
        log("flags", (a * 2).requires_grad)
    with lib.set_grad_enabled(False):
        log("flags", (a * 2).requires_grad)
    log("flags", (a * 2).requires_grad)


@scenario
def hooks_run_unrecorded(lib, log):
    a = lib.leaf([2.0])
    b = a * 3
    b.register_hook(lambda grad: log("hook", grad.requires_grad, (a * 2).requires_grad))
    b.backward()


# ---- in-place


@scenario
def leaf_written_in_place(lib, log):
    a = lib.leaf([1.0, 2.0])

    def write():
        a[0] = 5.0

    error_of(log, "leaf", write)
    with lib.no_grad():
        write()
    log("value", a, a.requires_grad, a.is_leaf)
    (a * a).sum().backward()
    log("grad", a.grad)


@scenario
def number_written_in_place(lib, log):
    a = lib.leaf([1.0, 2.0, 3.0])
    b = a * 2
    b[1] = 10.0
    (b * b).sum().backward()
    log("grad", b, a.grad)


@scenario
def tensor_written_in_place(lib, log):
    a, c = lib.leaf([1.0, 2.0, 3.0]), lib.leaf([4.0])
    b = a * 2
    b[0:1] = c * c
    (b * b).sum().backward()
    log("grads", b, a.grad, c.grad)


@scenario
def written_from_its_source(lib, log):
    a = lib.leaf([1.0, 2.0, 3.0])
    b = a * 1
    b[0] = a[1] * a[2]
    b.sum().backward()
    log("grad", b, a.grad)


@scenario
def added_in_place(lib, log):
    a = lib.leaf([1.0, 2.0])
    b = a * 2
    b += 1
    b *= a
    b.sum().backward()
    log("grad", b, a.grad)


@scenario
def hook_before_and_after_writing(lib, log):
    a = lib.leaf([1.0, 2.0])
    b = a * 2
    b.register_hook(watch(log, "before"))
    b[0] = 7.0
    b.register_hook(watch(log, "after"))
    (b * b).sum().backward()
    log("grad", a.grad)


@scenario
def retain_grad_and_writing(lib, log):
    a = lib.leaf([1.0, 2.0])
    b = a * 2
    b.retain_grad()
    b[0] = 7.0
    (b * b).sum().backward()
    log("grads", a.grad, b.grad)


@scenario
def step_by_hand(lib, log):
    w = lib.leaf([1.0, -2.0])
    for _ in range(3):
        w.grad = None
        ((w - 3) * (w - 3)).sum().backward()
        with lib.no_grad():
            w[:] = w - 0.25 * w.grad
        log("w", w, w.requires_grad, w.is_leaf)


# ---- hooks after accumulation, higher order


@scenario
def hook_after_accumulation(lib, log):
    a = lib.leaf([1.0, 2.0])
    handle = a.register_post_accumulate_grad_hook(lambda tensor: log("after", tensor.grad))
    a.register_hook(watch(log, "hook"))
    (a * 2).sum().backward()
    (a * 3).sum().backward()
    handle.remove()
    (a * 4).sum().backward()
    log("grad", a.grad)


@scenario
def hooks_after_accumulation_in_order(lib, log):
    a, b = lib.leaf([1.0]), lib.leaf([2.0])
    c = b * 5
    c.register_hook(watch(log, "c"))
    for name, tensor in (("a", a), ("b", b)):
        tensor.register_post_accumulate_grad_hook(lambda tensor, name=name: log(name, tensor.grad))
    (a * c).backward()


@scenario
def step_in_hook_after_accumulation(lib, log):
    net = lib.sequential(lib.linear([[1.0, 2.0]], [0.5]), lib.linear([[3.0]], [0.25]))

    def step(parameter):
        with lib.no_grad():
            parameter[:] = parameter - 0.1 * parameter.grad
        parameter.grad = None

    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        net(lib.tensor([[1.0, -1.0]])).sum().backward()
        log("weights", *net.parameters())
        log("grads", *(p.grad for p in net.parameters()))


@scenario
def second_derivative(lib, log):
    a = lib.leaf([2.0])
    (a * a * a).backward(create_graph=True)
    first, a.grad = a.grad, None
    log("first", first, first.requires_grad)
    first.backward()
    log("second", a.grad)


@scenario
def third_derivative(lib, log):
    a = lib.leaf([0.7])
    value = a.sin() * a.exp()
    for _ in range(3):
        a.grad = None
        value.backward(create_graph=True)
        value = a.grad
        log("derivative", value)


@scenario
def gradient_penalty(lib, log):
    net = lib.sequential(lib.linear([[0.5, -1.0], [2.0, 1.5]], [0.1, 0.2]), lib.tanh(), lib.linear([[1.0, -2.0]], [0.3]))
    x = lib.leaf([[0.3, -0.2]])
    net(x).sum().backward(create_graph=True)
    penalty = (x.grad * x.grad).sum()
    net.zero_grad()
    penalty.backward()
    log("grads", *(p.grad for p in list(net.parameters())[:-1]))


@scenario
def hooks_in_second_derivative(lib, log):
    a = lib.leaf([2.0])
    b = a * a
    b.register_hook(lambda grad: grad * 10)
    (b * b).backward(create_graph=True)
    first, a.grad = a.grad, None
    log("first", first)
    first.backward()
    log("second", a.grad)


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
