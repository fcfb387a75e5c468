"""Attacks by processes: several at once, some that are killed, disks that are full, folders that go while programs run."""

import shutil
import time

from tests.programs.attacks.attacked_scripts import OPERATORS, PROGRAMS


def _at_once(count, **options):
    """So many runs of one script at once, in an empty folder; and one after them."""

    def attack(case):
        case.without(PROGRAMS)
        begun = [case.begin(PROGRAMS, **options) for _ in range(count)]
        for run in begun:
            case.check(run)
        case.run(PROGRAMS, compiles=False)
        assert not list(case.place().glob(".*.tmp"))

    return attack


def _beside(damage, warns=False):
    """Runs while something is done to the folder again and again."""

    def attack(case):
        case.without(PROGRAMS)
        case.run(PROGRAMS)
        begun = [case.begin(PROGRAMS) for _ in range(3)]
        for _ in range(200):
            damage(case)
            time.sleep(0.01)
        for run in begun:
            case.check(run, warns=warns)
        case.run(PROGRAMS)
        case.run(PROGRAMS)

    return attack


def _each_file(change):
    def damage(case):
        for path in case.place().glob("*"):
            try:
                change(path)
            except OSError:
                continue  # another process was quicker

    return damage


def _cut(path):
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)


def _killed(seconds):
    """A process that is killed after some time, and one after it."""

    def attack(case):
        case.without(PROGRAMS)
        for more in (0, 0.3, 0.6):
            _, running = case.begin(PROGRAMS, kill_after=seconds + more)
            case.forks.finish(running)
            case.runs += 1
            case.run(PROGRAMS)
        case.run(PROGRAMS, compiles=False)

    return attack


def _full(size):
    """A disk that takes so many bytes of each file, and then has room again."""

    def attack(case):
        for _ in range(2):
            case.run(PROGRAMS, file_size=size)
        left = [*case.place().glob("msjax-*")] if case.store.exists() else []
        assert not [path.name for path in left if path.stat().st_size >= size], "files that are not whole"
        # A file of jax's that has only its beginning is compiled again each time, until the folder is trimmed.
        case.run(PROGRAMS)
        case.run(PROGRAMS)

    return attack


def _gone(case):
    """A folder that goes while a script runs."""
    import_first = "import os, shutil\n"
    remove = "shutil.rmtree(os.environ.get('MSJAX_COMPILE_CACHE', ''), ignore_errors=True)\n"
    for text in (import_first + remove + OPERATORS, import_first + OPERATORS + remove):
        case.run(OPERATORS)
        case.run(text)
        case.run(OPERATORS)


def _opened(case):
    """A folder that everybody may write to from some moment on."""
    case.run(OPERATORS)
    case.store.chmod(0o777)
    case.run(OPERATORS, warns=True)
    case.store.chmod(0o700)
    case.run(OPERATORS, compiles=False)


def _forked(case):
    """A script that forks while it compiles. Its child runs what is to run at the end, and has nothing to write.

    jax can't compile in the child, which crashes where it collects jax's objects at its end, without msjax, too.
    """
    begin, rest = OPERATORS.split("\n", 1)
    text = "import atexit, os, warnings\nwarnings.simplefilter('ignore')\n"
    text += f"{begin}\nif not (child := os.fork()):\n    atexit._run_exitfuncs()\n    os._exit(0)\n{rest}\nassert os.waitpid(child, 0)[1] == 0\n"
    case.run(text)
    case.run(text, compiles=False)


def _of_multiprocessing(case):
    """A script whose processes of multiprocessing compute."""
    text = (
        "import multiprocessing, os\n"
        "def work(i):\n    of('tanh', x=Tensor(np.ones(i + 1, np.float32)))\n    return i\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('fork').Pool(2) as pool:\n        print(sorted(pool.map(abs, [1, 2])))\n"
    )
    case.run(text + OPERATORS)
    case.run(text + OPERATORS, compiles=False)


def _small(case):
    """A folder that may have a few bytes only, and is trimmed while others run."""
    limit = "from msjax.engine.programs import disk_cache\ndisk_cache.enable(limit=5000)\n"
    case.run(PROGRAMS)
    begun = [case.begin(text) for text in (limit + OPERATORS, PROGRAMS, limit + PROGRAMS, OPERATORS)]
    for run in begun:
        case.check(run)
    case.run(PROGRAMS)
    case.run(PROGRAMS)


PROCESSES = {
    "three at once": _at_once(3),
    "eight at once": _at_once(8),
    "at once, all may write": _at_once(2, umask=0),
    "beside one that cuts files": _beside(_each_file(_cut)),
    "beside one that deletes files": _beside(_each_file(lambda path: path.unlink())),
    "beside one that deletes the folder": _beside(lambda case: shutil.rmtree(case.store, ignore_errors=True), None),
    "killed": _killed(0.5),
    "killed later": _killed(1.5),
    **{f"a full disk, after {size} bytes": _full(size) for size in (0, 10, 1000, 5000, 20000)},
    "a folder that goes": _gone,
    "a folder that is opened": _opened,
    "a fork": _forked,
    "multiprocessing": _of_multiprocessing,
    "a small folder": _small,
}
