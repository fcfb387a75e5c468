"""Shows cells in notebooks as a foldable tree with Parameters, shapes and registered hooks."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from typing import Any

import treescope
from treescope import rendering_parts as parts

from msjax.core.hooks.hook import HookSite
from msjax.core.models.hooked import framework_with_hooks
from msjax.core.tools.describing import hooks_in_words
from msjax.core.tools.model_tools import tools_of


class Tree:
    """A network as a tree: text when printed, foldable HTML in a notebook."""

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
        >>> from msjax import nn, tools
        >>> net = nn.SequentialCell(nn.ReLU(), nn.Tanh())
        >>> handle = net[0].register_forward_hook(print)
        >>> print(tools.tree(net))
        SequentialCell(
          0=ReLU(),  # hooks: forward: print
          1=Tanh(),
        )
    """
    framework_with_hooks(cell, "tree")
    return Tree(cell)


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
    if isinstance(node, HookSite):
        return parts.build_one_line_tree_node(parts.text(f"<{hooks_in_words(node) or 'none'}>"), path=path)
    tools = tools_of(node)
    return NotImplemented if tools is None else tools.tree_node(node, path, subtree_renderer)
