"""The command ``msjax``: runs and checks MindSpore scripts, shows runs, runs the demonstration, and prints versions and settings."""

from __future__ import annotations

import argparse
import os
import sys

from msjax.engine.processes import main_module
from msjax.engine.settings.current import DIALECTS, GRAPH_MODE, PYNATIVE_MODE
from msjax.version import __version__

_MODES = {"pynative": PYNATIVE_MODE, "graph": GRAPH_MODE}


def main(argv: list[str] | None = None) -> int:
    """Run a command line.

    Args:
        argv (list[str], optional): the arguments; by default those of the process.

    Returns:
        int, the exit status: 0 for success, 1 if the script raised an exception or `check` found missing names, 2 for a wrong
        command line.
    """
    options = _parser().parse_args(argv)
    return options.function(options)


def _parser():
    parser = argparse.ArgumentParser(prog="msjax", description="MindSpore's hooks and PyNative debugging, on JAX.")
    parser.add_argument("--version", action="version", version=f"msjax {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run a MindSpore script or module, with msjax as mindspore")
    run.add_argument("--dialect", choices=DIALECTS, help="where hooks sit and what they get (default: tutorial)")
    run.add_argument("--mode", choices=tuple(_MODES), help="the execution mode, whatever the script sets")
    run.add_argument("--workers", type=_positive, metavar="N", help="start N processes of the script, which communicate")
    run.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="with --workers: end all of them when some have waited so long for one that hangs (default: 600; 0: never)",
    )
    run.add_argument(
        "--hosts", type=_positive, metavar="H", help="this command runs on H hosts; a launcher's variables may say it"
    )
    run.add_argument(
        "--host", type=int, metavar="I", help="the number of this host, 0 to H - 1; a launcher's variables may say it"
    )
    run.add_argument("--coordinator", metavar="HOST[:PORT]", help="where process 0 listens, on host 0 (default port: 8118)")
    _add_cache_option(run)
    kind = run.add_mutually_exclusive_group()
    kind.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    kind.add_argument("-c", dest="code", action="store_true", help="SCRIPT is the program itself")
    run.add_argument(
        "script", metavar="SCRIPT", help="the script (- for standard input), with -m the module, with -c the program"
    )
    run.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")
    run.set_defaults(function=_run)

    check = commands.add_parser("check", help="list the names in MindSpore programs that msjax lacks, without running them")
    check.add_argument("paths", metavar="PATH", nargs="+", help="a Python file, or a folder of them")
    check.set_defaults(function=_check)

    demo = commands.add_parser("demo", help="train LeNet-5 on real digits and show the hooks at work")
    demo.add_argument("--epochs", type=int, default=12, help="passes over the training images (default: 12)")
    demo.add_argument("--seed", type=int, default=0, help="of weights and order of images (default: 0)")
    demo.add_argument(
        "--picture", metavar="PATH", help="where the picture goes (default: msjax-demo.png, if matplotlib is installed)"
    )
    _add_cache_option(demo)
    demo.set_defaults(function=_demo)

    view = commands.add_parser("view", help="a page to look at: runs side by side, or a crash")
    view.add_argument(
        "runs", metavar="RUN", nargs="+", help="an .html or .csv file that tools.watch wrote, or the .npz bundle of tools.guard"
    )
    view.add_argument(
        "-o", "--output", metavar="PATH", help="the HTML file (default: RUN itself, if it is one page; else msjax-view.html)"
    )
    view.add_argument("--no-open", dest="open", action="store_false", help="only write the file, and print where it is")
    view.set_defaults(function=_view)

    info = commands.add_parser("info", help="versions, devices and settings")
    info.set_defaults(function=_info)
    return parser


def _add_cache_option(command):
    command.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help="compile everything again, instead of keeping compiled programs on disk (see `msjax info`)",
    )


def _keep_programs(options):
    """Store compiled programs on disk, unless the command line or the environment says otherwise."""
    from msjax.engine.processes.joining import place_in_environment
    from msjax.engine.programs import disk_cache
    from msjax.engine.settings import context

    # Programs in which processes communicate are compiled by all of them together.
    if options.cache and not disk_cache.is_off() and place_in_environment().size == 1:
        context.set_context(enable_compile_cache=True)


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"should be positive, but is {number}")
    return number


def _run(options) -> int:
    script = options.script
    if not (options.module or options.code or script == main_module.STDIN or os.path.exists(script)):
        return _wrong("run", f"there is no script {script!r}")
    if options.coordinator:
        from msjax.engine.processes.joining import with_port

        # For this process, or for those that it starts.
        name, port = with_port(options.coordinator).rsplit(":", 1)
        os.environ.update(MS_SCHED_HOST=name, MS_SCHED_PORT=port)
    if options.workers or options.hosts or options.host is not None:
        if script == main_module.STDIN and not options.code:
            return _wrong("run", "several processes can't read one program from standard input; write it to a file")
        return _run_workers(options)
    try:
        status = _run_script(options)
    except SystemExit as exit:
        if not _has_joined():
            raise
        status = exit.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    if status and _has_joined():
        # An ordinary exit would wait for the other processes.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status or 0


def _run_workers(options):
    from msjax.engine.processes.joining import ONE_HOST, host
    from msjax.engine.processes.launch import launch

    try:
        own = host(options.host, options.hosts)
    except ValueError as error:
        return _wrong("run", str(error))
    command = [sys.executable, "-m", "msjax", "run"]
    for name in ("dialect", "mode"):
        if getattr(options, name):
            command += [f"--{name}", getattr(options, name)]
    command += [] if options.cache else ["--no-cache"]
    kind = ["-m"] if options.module else ["-c"] if options.code else []
    command += [*kind, options.script, *options.args]
    timeout = 600 if options.timeout is None else options.timeout
    return launch(command, options.workers or 1, timeout or None, *([] if own == ONE_HOST else [own]))


def _has_joined():
    from msjax.engine.processes.groups import PROCESSES

    return PROCESSES.place.size > 1


def _join():
    """Join the other processes, if there are any, before the script uses jax. Print the stacks of all threads on SIGUSR1."""
    from msjax.engine.processes.groups import PROCESSES
    from msjax.engine.processes.joining import place_in_environment

    if place_in_environment().size > 1:
        import faulthandler
        import signal

        faulthandler.register(signal.SIGUSR1)
        PROCESSES.initialize()


def _run_script(options):
    from msjax.alias import install_as_mindspore
    from msjax.engine.settings import context

    try:
        _join()
    except (ValueError, RuntimeError) as error:
        return _wrong("run", str(error))
    install_as_mindspore()
    _keep_programs(options)
    if options.dialect:
        context.set_context(hook_dialect=options.dialect)
    if options.mode:
        context.force_mode(_MODES[options.mode])
    _prepare_children(options)
    run = main_module.run_code if options.code else main_module.run_module if options.module else main_module.run_script
    try:
        run(options.script, options.args)
    except main_module.NoProgram as error:
        return _wrong("run", str(error))
    except KeyboardInterrupt as error:
        inner, shown = _inner(error.__traceback__), sys.excepthook
        if inner is not None:  # Python ends the process as the signal does, and shows the script's frames
            sys.excepthook = lambda kind, value, _: shown(kind, value.with_traceback(inner), inner)
        raise
    except Exception as error:
        inner = _inner(error.__traceback__)
        # Drop this command's own frames, which the traceback shows above the script's.
        sys.excepthook(type(error), error.with_traceback(inner), inner)
        return 1
    return 0


def _prepare_children(options):
    """Let processes that the script starts (multiprocessing, subprocess) import mindspore with the same settings."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alias_path")
    # Children of multiprocessing inherit sys.path, those of subprocess the environment.
    sys.path.append(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    if options.dialect:
        os.environ["MSJAX_HOOK_DIALECT"] = options.dialect
    if options.mode:
        os.environ["MSJAX_FORCED_MODE"] = options.mode


def _inner(traceback):
    """The part of a traceback from the script's first frame on; None if the script never ran."""
    own = {__file__, main_module.__file__, "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"}
    while traceback is not None and traceback.tb_frame.f_code.co_filename in own:
        traceback = traceback.tb_next
    return traceback


def _check(options) -> int:
    from msjax.alias import install_as_mindspore
    from msjax.compat.program_check.check import check_programs

    install_as_mindspore()
    try:
        lacks, files, unread = check_programs(options.paths)
    except (OSError, SyntaxError) as error:
        return _wrong("check", str(error))
    for path, error in unread:
        print(f"{path}:{error.lineno or 1}: not read, since it is no Python: {error.msg}", file=sys.stderr)
    stopping, apart = [lack for lack in lacks if not lack.apart], [lack for lack in lacks if lack.apart]
    for lack in stopping:
        print(lack)
    if apart:
        print("only in branches, or imported by programs that can do without:")
    for lack in apart:
        print(lack)
    print(f"{_names(stopping) or 'no names'} that msjax lacks in {files} file{'s' * (files != 1)}", end="")
    print(f", and {_names(apart)} in branches and optional imports" if apart else "")
    return 1 if stopping else 0


def _names(lacks):
    number = len({lack.name for lack in lacks})
    return f"{number} name{'s' * (number != 1)}" if number else ""


def _demo(options) -> int:
    from msjax.demo import DemoError, run_demo

    _keep_programs(options)
    try:
        run_demo(options.epochs, options.seed, options.picture)
    except DemoError as error:
        return _wrong("demo", str(error))
    return 0


def _view(options) -> int:
    import pathlib
    import webbrowser

    from msjax.tools import page

    path = options.output
    try:
        if path is None and len(options.runs) == 1 and options.runs[0].endswith(".html"):
            path = options.runs[0]
            page(path)  # an error if it is something else
        else:
            path = path or "msjax-view.html"
            page(*options.runs).save(path)
    except (OSError, ValueError) as error:
        return _wrong("view", str(error))
    print(path)
    if options.open:
        webbrowser.open(pathlib.Path(path).resolve().as_uri())
    return 0


def _info(options) -> int:
    import platform
    from importlib.metadata import version

    import flax
    import jax
    import numpy

    import msjax
    from msjax.engine.programs import disk_cache
    from msjax.engine.programs.allocator import keep_freed_memory
    from msjax.engine.settings import precision

    folder = disk_cache.folder()
    stored = disk_cache.files(folder)
    size = sum(n for _, n, _ in stored)
    x64 = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    rows = {
        "msjax": __version__,
        "jax": jax.__version__,
        "flax": flax.__version__,
        "optax": version("optax"),
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "devices": ", ".join(f"{d.platform}:{d.id} ({d.device_kind})" for d in jax.devices()),
        "mode": {code: name for name, code in _MODES.items()}[msjax.get_context("mode")],
        "hook dialect": msjax.get_context("hook_dialect"),
        "float32": f"{precision.described()} (`msjax run`: as MindSpore)",
        "64-bit types": "on" if x64 else "off (`msjax run` switches them on)",
        "freed memory": keep_freed_memory(),
        "compile cache": "off" if disk_cache.is_off() else f"{folder} ({len(stored)} programs, {size / 2**20:.1f} MiB)",
    }
    for name, value in rows.items():
        print(f"{name:13} {value}")
    return 0


def _wrong(command, reason) -> int:
    print(f"msjax {command}: error: {reason}", file=sys.stderr)
    return 2
