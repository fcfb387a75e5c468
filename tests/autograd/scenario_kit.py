"""Scenarios of hooks and imperative gradients, written once for PyTorch and msjax.

Each takes `lib`, a common interface to both libraries (`record_torch.py` has PyTorch's, `test_against_torch.py` msjax's),
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
