"""Scenarios: hooks of Tensors, and what they leave in `grad`."""

from tests.autograd.scenario_kit import error_of, scenario, watch

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
