"""Settings of CPUs: how many threads operators take."""

from __future__ import annotations

import sys

from msjax.core.base.checks import check_int

op_tuning = sys.modules[__name__]


def threads_num(num: int) -> None:
    """Accepted for MindSpore's programs, without effect: XLA chooses its threads.

    With one thread, MindSpore draws the same dropout masks in each run; these are msjax's whatever the number is.

    Args:
        num (int): the number of threads.

    Raises:
        TypeError: no int.
        ValueError: not positive.

    Example:
        >>> import msjax as ms
        >>> ms.device_context.cpu.op_tuning.threads_num(1)
    """
    check_int(num, "num", "threads_num", low=1)
