"""The demonstration behind ``msjax demo``: LeNet-5 learns real digits in PyNative mode, with hooks at work."""

from msjax.demo.run import DemoError, run_demo

__all__ = ["DemoError", "run_demo"]
