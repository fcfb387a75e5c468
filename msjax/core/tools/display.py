"""Shows cells in notebooks as a foldable tree with Parameters, shapes and registered hooks."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from typing import Any

import treescope
from treescope import rendering_parts as parts

from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.errors import describe
from msjax.core.tools.describing import hooks_in_words, hooks_of, site_in_words
from msjax.core.tools.modules import takes_hooks
from msjax.nn.cell.base import Cell


class Tree:
    """A network as a tree: text when printed, foldable HTML in a notebook.

    Args:
        cell: the network.
    """

    def __init__(self, cell: Any):
        self.cell = cell

    def __str__(self) -> str:
        with _renderer():
            return treescope.render_to_text(self.cell)

    __repr__ = __str__

    def _repr_html_(self):
        with _renderer():
            return treescope.render_to_html(self.cell, roundtrip_mode=False)


def tree(cell: Any) -> Tree:
    """Show a network as a tree of its cells or modules, with Parameters, shapes and the hooks that are registered.

    Args:
        cell: a Cell, a flax nnx module, or an equinox model or a linen module that `hooks.hooked` made.

    Returns:
        An object that prints as text and that a notebook shows as a foldable tree.

    Raises:
        TypeError: `cell` is none of these.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> net = nn.SequentialCell(nn.ReLU(), nn.Tanh())
        >>> handle = net[0].register_forward_hook(print)
        >>> print(ms.tools.tree(net))
        SequentialCell(
          0=ReLU(),  # hooks: forward: print
          1=Tanh(),
        )
    """
    if not isinstance(cell, Cell) and not takes_hooks(cell):
        raise TypeError(
            f"For 'tree', the argument should be a flax nnx module, what hooks.hooked returned, or of msjax.nn, but got {describe(cell)}."
        )
    return Tree(cell)


def cell_html(cell: Cell) -> str:
    """The HTML that a notebook shows for a cell: its `tree`."""
    return tree(cell)._repr_html_()


@contextlib.contextmanager
def _renderer():
    base = treescope.active_renderer.get()
    # treescope appends a value's _repr_html_ by this hook; a cell's _repr_html_ calls this renderer, so leave it out.
    hooks = [hook for hook in base.wrapper_hooks if getattr(hook, "__name__", "") != "append_repr_html_when_present"]
    ours = dataclasses.replace(base, wrapper_hooks=hooks).extended_with(handlers=[_handler])
    # On its first rendering, treescope reads all names of numpy, including deprecated ones.
    with treescope.active_renderer.set_scoped(ours), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"numpy\.|treescope")
        yield


def _handler(node, path, subtree_renderer):
    """treescope's handler for cells, and for the hooks of modules; other values are left to other handlers."""
    if hasattr(node, "hook_path"):
        return parts.build_one_line_tree_node(parts.text(f"<{site_in_words(node) or 'none'}>"), path=path)
    if not isinstance(node, Cell):
        return NotImplemented
    children = [_tensor(name, value, path, subtree_renderer) for name, value in vars(node).items() if isinstance(value, Tensor)]
    for name, child in node._children():
        shown = subtree_renderer(child, path=None if path is None else f"{path}{_access(name)}")
        children.append(parts.siblings_with_annotations(f"{name}=", shown))
    name, totals, hooks = type(node).__name__, _totals(node), _hooks(node)
    if not children:
        line = parts.siblings_with_annotations(f"{name}()", extra_annotations=[_comment(node.extend_repr(), hooks)])
        return parts.build_one_line_tree_node(line, path=path)
    # Unfold the tree if there are hooks inside.
    watched = any(hooks_of(cell) for _, cell in node.cells_and_names())
    return parts.build_foldable_tree_node_from_children(
        prefix=f"{name}(", children=children, suffix=")", comma_separated=True, force_trailing_comma=True, path=path,
        first_line_annotation=_comment(totals, hooks),
        expand_state=parts.ExpandState.EXPANDED if watched else parts.ExpandState.WEAKLY_COLLAPSED,
    )  # fmt: skip


def _tensor(name, tensor, path, subtree_renderer):
    shown = subtree_renderer(tensor._value, path=None if path is None else f"{path}.{name}._value")
    kind = type(tensor).__name__
    notes = []
    if isinstance(tensor, Parameter):
        if not tensor.requires_grad:
            notes.append("not trained")
        if tensor._hooks is not None and tensor._hooks.hooks:
            notes.append(f"hooks: {len(tensor._hooks.hooks)} of its gradient")
    return parts.siblings_with_annotations(f"{name}={kind}(", shown, ")", extra_annotations=[_comment(*notes)])


def _access(name):
    return f".{name}" if name.isidentifier() else f"[{name}]"


def _totals(cell):
    count = sum(p.size for p in cell.get_parameters())
    return f"{count:,} parameters" if count else ""


def _hooks(cell):
    words = hooks_in_words(cell)
    return f"hooks: {words}" if words else ""


def _comment(*texts):
    text = "; ".join(t for t in texts if t)
    return parts.comment_color(parts.text(f"  # {text}" if text else ""))
