"""``mindspore.common._stub_tensor``: a class of Tensors whose values are still being computed, for programs that ask whether one is."""

__all__ = ["StubTensor"]


class StubTensor:
    """No Tensor is one: jax computes behind each of them."""
