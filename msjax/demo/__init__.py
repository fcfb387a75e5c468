"""The demonstration behind ``msjax demo``: trains LeNet-5 on real digits in PyNative mode and shows its hooks."""

from msjax.demo.run import DemoError, run_demo

__all__ = ["DemoError", "run_demo"]
