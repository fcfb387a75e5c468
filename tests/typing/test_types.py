"""The types that an editor or a type checker shows are those of the code."""

from tests.typing import tensor_methods


def test_the_stub_of_tensor_methods_is_current():
    message = "run `python -m tests.typing.tensor_methods` after changing Tensor's methods"
    assert tensor_methods.STUB.read_text() == tensor_methods.stub(), message
