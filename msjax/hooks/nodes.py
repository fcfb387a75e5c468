"""Hook nodes: identities whose backward calls hooks with the gradients that pass."""

import jax

from msjax.common.node import FunctionNode, place_on_tape
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, wrap
from msjax.context import SETTINGS
from msjax.hooks.returns import gradients_result
from msjax.hooks.table import with_global
from msjax.state import STATE


def is_tensor(value):
    return isinstance(value, Tensor)


def hook_gradients(tensors, function, label):
    """Tensors equal to the given ones; where gradients flow back through them, `function` gets and returns those.

    Args:
        tensors: a list of Tensors.
        function: from a list of gradients (Tensor or None, one each) to such a list.
        label: the node's name.
    """
    edges, base = place_on_tape(tensors)
    if base is None:
        return list(tensors)
    node = FunctionNode(base, edges, len(tensors), function, label)
    return _outputs(node, tensors, [e is not None for e in edges])


def _outputs(node, tensors, on_tape):
    """Stand-ins for Tensors as the outputs of a node, where a gradient is recorded."""
    out = []
    for i, (tensor, there) in enumerate(zip(tensors, on_tape)):
        if there:
            tensor = wrap(tensor._value)
            tensor._node, tensor._oidx = node, i
        out.append(tensor)
    return out


class CellBackward:
    """The backward hooks of one call of a Cell: a node on its inputs, and one or two on its outputs.

    The node on the outputs keeps what arrives; the node on the inputs, which runs when the whole cell
    has, calls the backward hooks with both. Hooks are read when they run: one that was removed in
    the meantime doesn't.
    """

    __slots__ = ("cell", "cells", "inputs", "n_outputs", "grad_output")

    def __init__(self, cell):
        self.cell = cell
        self.cells = tuple(STATE.cells)
        self.inputs = None
        self.n_outputs = 0
        self.grad_output = None

    def on_inputs(self, args):
        """The positional arguments, with their Tensors passed through the node on the inputs."""
        leaves, treedef = jax.tree.flatten(args, is_leaf=is_tensor)
        at = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
        tensors = [leaves[i] for i in at]
        edges, base = place_on_tape(tensors)
        floating = [t.is_floating_point() or t.is_complex() for t in tensors]
        # Without an input on the tape the node still marks where the cell began.
        self.inputs = FunctionNode(
            base or STATE.scope, edges, len(tensors), self._call_hooks, f"backward hooks of {type(self.cell).__name__}"
        )
        if base is None:
            return args
        on_tape = [
            e is not None or (f and isinstance(t, Parameter) and t.requires_grad) for e, f, t in zip(edges, floating, tensors)
        ]
        for i, tensor in zip(at, _outputs(self.inputs, tensors, on_tape)):
            leaves[i] = tensor
        return jax.tree.unflatten(treedef, leaves)

    def on_outputs(self, out):
        """The result, with its Tensors passed through the node that keeps the gradients that arrive."""
        return self._through(out, self._keep, partner=True)

    def pre_on_outputs(self, out):
        """The result, with its Tensors passed through the node that calls the backward pre hooks."""
        return self._through(out, self._call_pre_hooks)

    def _through(self, out, function, partner=False):
        if isinstance(out, Tensor):
            leaves, treedef = [out], None
        else:
            leaves, treedef = jax.tree.flatten(out, is_leaf=is_tensor)
        at = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
        tensors = [leaves[i] for i in at]
        edges, base = place_on_tape(tensors)
        if base is None:
            return out
        node = FunctionNode(base, edges, len(tensors), function, f"backward hooks of {type(self.cell).__name__}")
        if partner:
            self.n_outputs = len(tensors)
            node.partner = self.inputs
        for i, tensor in zip(at, _outputs(node, tensors, [e is not None for e in edges])):
            leaves[i] = tensor
        return leaves[0] if treedef is None else jax.tree.unflatten(treedef, leaves)

    # ---- in the backward sweep

    def _call_pre_hooks(self, grads):
        grads = tuple(grads)
        for hook in with_global(self.cell._hooks).backward_pre:
            result = hook.fn(cell_argument(self.cell), grads)
            grads = gradients_result(hook.fn, "backward pre hook", result, grads, self.cells)
        return list(grads)

    def _keep(self, grads):
        self.grad_output = tuple(grads)
        return grads

    def _call_hooks(self, grads):
        grad_output = self.grad_output or (None,) * self.n_outputs
        self.grad_output = None
        grads = tuple(grads)
        for hook in with_global(self.cell._hooks).backward:
            cell = cell_argument(self.cell)
            result = (
                hook.fn(cell, grad_output, grads) if SETTINGS.hook_dialect == "mindspore-1" else hook.fn(cell, grads, grad_output)
            )
            grads = gradients_result(hook.fn, "backward hook", result, grads, self.cells)
        return list(grads)


def cell_argument(cell):
    """What hooks get for the cell: the user's object; in MindSpore 1's dialect a text, ``Name(id)``."""
    return f"{type(cell).__name__}({id(cell)})" if SETTINGS.hook_dialect == "mindspore-1" else cell
