"""Scenarios: leaves, modes, writing in place, hooks after accumulation, higher derivatives."""

from tests.autograd.scenario_kit import error_of, scenario, watch

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
