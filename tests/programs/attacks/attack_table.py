"""All attacks by name, and those that the tests take."""

import os

from tests.programs.attacks import attacked_files as files, attacked_sources as sources, attacking_processes as processes
from tests.programs.attacks.replaced import REPLACED


def _replaced(number, replace, computed):
    """An attack that replaces something in every second run.

    Args:
        number: of the attack: operands get a shape that no other attack has.
    """

    def attack(case):
        sizes = f"X = Tensor(np.linspace(-2, 2, {6 + number}, dtype=np.float32))\n"
        other, plain = sizes + replace + "\n" + computed, sizes + computed
        # What is replaced comes first: nothing of it may be found later.
        case.run(other)
        case.run(plain)
        case.run(other)
        # A program that calls Python is not kept.
        case.run(plain, compiles=None if "pyfunc" in computed else False)

    return attack


def _of_files(change):
    def attack(case):
        computed = files.COMPUTED_FILES
        case.run(computed)
        change(case)
        case.run(computed)
        assert not (case.folder / "unpickled").exists()
        case.run(computed)

    return attack


def _of_folder(prepare, kept):
    def attack(case):
        place = prepare(case.folder)
        for compiles in (True, not kept):
            case.run(
                files.COMPUTED_FOLDERS,
                {"MSJAX_COMPILE_CACHE": place},
                compiles=compiles,
                warns=not kept,
                umask=0,
                cwd=case.folder,
            )
        if kept:
            assert not any(mode & 0o022 for mode in files.modes((case.folder / place).resolve())), "others can write there"

    return attack


def _of_place(variables, kept):
    def attack(case):
        user = variables.get("user")
        case.folder.chmod(0o755)
        found = {k: v and v.format(at=case.folder) for k, v in variables.items() if k != "user"}
        before = {path.name for path in case.folder.iterdir()}
        for compiles in (True, not kept):
            case.run(
                files.COMPUTED_FOLDERS,
                {"MSJAX_COMPILE_CACHE": None, **found},
                compiles=compiles,
                warns=not kept,
                user=user if os.getuid() == 0 else None,
                cwd=case.folder,
            )
        made = {path.name for path in case.folder.iterdir()} - before
        assert {name for name in made if not name.startswith("script")} <= {"home", "cache"} and not (made and "~" in made)

    return attack


def _attacks():
    for number, (name, (replace, computed)) in enumerate(REPLACED.items()):
        yield f"replaced: {name}", _replaced(number, replace, computed)
    root = hasattr(os, "getuid") and os.getuid() == 0
    for name, change in files.FILES.items():
        if root or name not in files.NEED_ROOT:
            yield f"files: {name}", _of_files(change)
    for name, (prepare, kept) in files.FOLDERS.items():
        if root or "of another user" not in name:
            yield f"folder: {name}", _of_folder(prepare, kept)
    for name, (variables, kept) in files.PLACES.items():
        if root or "user" not in variables:
            yield f"place: {name}", _of_place(variables, kept)
    for name, attack in processes.PROCESSES.items():
        yield f"processes: {name}", attack
    for name, attack in sources.SOURCES.items():
        yield f"sources: {name}", attack
    for name, row in sources.VARIABLES.items():
        yield f"variables: {name}", sources.of_variables(*row)


ATTACKS = dict(_attacks())
QUICK = [
    "replaced: a lambda",
    "files: exchanged in turn",
    "folder: writable by all",
    "processes: a full disk, after 1000 bytes",
]
