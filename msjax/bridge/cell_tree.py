"""Cells as foldable trees in notebooks: their Parameters, shapes and hooks."""

from __future__ import annotations

from typing import Any

from treescope import rendering_parts as parts

from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.tools.describing import hooks_in_words, hooks_of
from msjax.nn.cell.base import Cell


def cell_node(node: Cell, path: Any, subtree_renderer: Any) -> Any:
    """What treescope shows of a cell."""
    children = [_tensor(name, value, path, subtree_renderer) for name, value in vars(node).items() if isinstance(value, Tensor)]
    for name, child in node._children():
        access = f".{name}" if name.isidentifier() else f"[{name}]"
        shown = subtree_renderer(child, path=None if path is None else f"{path}{access}")
        children.append(parts.siblings_with_annotations(f"{name}=", shown))
    name, count, words = type(node).__name__, sum(p.size for p in node.get_parameters()), hooks_in_words(node)
    totals, hooks = f"{count:,} parameters" if count else "", f"hooks: {words}" if words else ""
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


def _comment(*texts):
    text = "; ".join(t for t in texts if t)
    return parts.comment_color(parts.text(f"  # {text}" if text else ""))
