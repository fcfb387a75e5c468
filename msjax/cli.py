"""The command ``msjax``: run MindSpore scripts, a demonstration, information."""

import argparse
import os
import runpy
import sys

_MODES = {"pynative": 1, "graph": 0}


def main(argv=None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="msjax", description="MindSpore's hooks and PyNative debugging, on JAX.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a MindSpore script or module, with msjax in the place of mindspore")
    run.add_argument("--dialect", choices=("tutorial", "mindspore-2.10", "mindspore-1"), help="where hooks sit and what they get")
    run.add_argument("--mode", choices=tuple(_MODES), help="the execution mode, whatever the script sets")
    run.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    run.add_argument("script", help="the script, or with -m the module")
    run.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    demo = commands.add_parser("demo", help="train LeNet-5 on real digits and show the hooks at work")
    demo.add_argument("--epochs", type=int, default=3, help="passes over the training images (default: 3)")
    demo.add_argument("--picture", default="msjax-demo.png", help="where the picture goes, if matplotlib is there")
    commands.add_parser("info", help="versions, devices and settings")
    options = parser.parse_args(argv)
    if options.command == "run":
        return _run(options)
    if options.command == "demo":
        from msjax.demo import run_demo

        return run_demo(options.epochs, options.picture)
    return _info()


def _run(options) -> int:
    from msjax import context
    from msjax.alias import install_as_mindspore

    install_as_mindspore()
    if options.dialect:
        context.set_context(hook_dialect=options.dialect)
    if options.mode:
        context.force_mode(_MODES[options.mode])
    sys.argv = [options.script, *options.args]
    if options.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        return 0
    if not os.path.exists(options.script):
        print(f"msjax: there is no script {options.script!r}", file=sys.stderr)
        return 2
    # As python does: the script's folder comes first on the path.
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    runpy.run_path(options.script, run_name="__main__")
    return 0


def _info() -> int:
    import platform

    import flax
    import jax
    import numpy

    import msjax

    rows = {
        "msjax": msjax.__version__,
        "jax": jax.__version__,
        "flax": flax.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "devices": ", ".join(f"{d.platform}:{d.id} ({d.device_kind})" for d in jax.devices()),
        "mode": {0: "graph", 1: "pynative"}[msjax.get_context("mode")],
        "hook dialect": msjax.get_context("hook_dialect"),
        "64-bit types": "on" if jax.config.jax_enable_x64 else "off (`msjax run` switches them on)",
    }
    for name, value in rows.items():
        print(f"{name:13} {value}")
    return 0
