"""Settings of MindSpore's model of what parallelism costs, which msjax keeps and never needs."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []

_VALUES: dict[str, Any] = {"multi_subgraphs": False, "rp_matmul_mem_coef": 0.1, "algo_single_loop": True}


def set_cost_model_context(**kwargs: Any) -> None:
    """Accepted for compatibility with MindSpore, without effect."""
    _VALUES.update(kwargs)


def get_cost_model_context(attr_key: str) -> Any:
    """What `set_cost_model_context` has set.

    Raises:
        ValueError: nothing has.
    """
    if attr_key not in _VALUES:
        raise ValueError(f"For 'get_cost_model_context', {attr_key!r} has not been set.")
    return _VALUES[attr_key]


def _set_multi_subgraphs(multi_subgraph: bool = True) -> None:
    set_cost_model_context(multi_subgraphs=multi_subgraph)


def _get_multi_subgraphs() -> bool:
    return get_cost_model_context("multi_subgraphs")


def _set_rp_matmul_mem_coef(coef: float) -> None:
    set_cost_model_context(rp_matmul_mem_coef=coef)


def _get_rp_matmul_mem_coef() -> float:
    return get_cost_model_context("rp_matmul_mem_coef")
