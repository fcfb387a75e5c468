"""Names that modules import on first use: those that type checkers read, each when it is used and not before."""

import importlib
import linecache
import sys
from pathlib import Path

import pytest

from msjax.core.base.lazy import is_placeholder
from tests.test_architecture import MODULES

HEAD = """
from typing import TYPE_CHECKING
from msjax.core.base.lazy import on_first_use
"""
FILES = {
    "__init__": HEAD
    + """
from mslazy.eager import ready as ready
if TYPE_CHECKING:
    from mslazy import later as later
    from mslazy.named import Named as Named, private
    from mslazy.first import *
    from mslazy.second import *
else:
    __getattr__, __dir__ = on_first_use(__name__, {"Row*": "rows are no more.", "[a-z]*": "it is a part of another program."})
""",
    "eager": "ready = 1",
    "later": "",
    "unnamed": "",
    "named": "Named = 2; private = 3",
    "first": "__all__ = ['one', 'both', 'Named']; one = 1; both = 'first'; Named = 'starred'; hidden = 0",
    "second": "both = 'second'; two = 2; _three = 3",
    "own": HEAD + "__getattr__, __dir__ = on_first_use(__name__, None)",
    "other_name": HEAD + "if not TYPE_CHECKING:\n    __getattr__, __dir__ = on_first_use(__name__, elsewhere='mslazy')",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "mslazy").mkdir()
    for name, text in FILES.items():
        (tmp_path / "mslazy" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("mslazy")
    for name in [name for name in sys.modules if name.partition(".")[0] == "mslazy"]:
        del sys.modules[name]


def loaded():
    return {name.partition(".")[2] for name in sys.modules if name.startswith("mslazy.")}


def test_each_name_is_imported_when_it_is_used(package):
    assert package.ready == 1 and loaded() == {"eager"}
    assert package.later is sys.modules["mslazy.later"] and loaded() == {"eager", "later"}
    assert package.Named == 2 and loaded() == {"eager", "later", "named"}
    assert vars(package)["Named"] == 2
    from mslazy import unnamed

    assert package.unnamed is unnamed and loaded() == {"eager", "later", "named", "unnamed"}
    assert not hasattr(package, "__wrapped__") and not hasattr(package, "_three") and "first" not in loaded()
    assert package.one == 1 and {"first", "second"} < loaded()
    # The later star counts, and before all stars a line that names it.
    assert (package.two, package.both, package.Named) == (2, "second", 2)


def test_a_star_and_dir_have_what_type_checkers_see(package):
    names = {}
    exec("from mslazy import *", names)
    assert {name for name in names if not name.startswith("__")} == {"ready", "Named", "one", "both", "two"}
    assert loaded() == {"eager", "named", "first", "second"}
    assert {"later", "ready", "Named", "one", "two"} <= set(dir(package)) and not {"TYPE_CHECKING", "private"} & set(dir(package))


def test_a_star_of_a_module_that_is_being_imported_has_all_its_names_later(package, tmp_path):
    """The module asks its package for a name before it has defined its own, as where a part of it is a program's first import."""
    (tmp_path / "mslazy" / "second.py").write_text("import mslazy\nmslazy.one\n" + FILES["second"])
    importlib.import_module("mslazy.second")
    assert (package.two, package.both) == (2, "second")


def test_other_names_are_placeholders_or_errors(package):
    assert is_placeholder(package.RowTensor) and is_placeholder(package.private)
    with pytest.raises(NotImplementedError, match=r"doesn't offer mslazy.RowTensor: rows are no more"):
        package.RowTensor()
    with pytest.raises(NotImplementedError, match="part of another program"):
        package.private()
    own, other_name = importlib.import_module("mslazy.own"), importlib.import_module("mslazy.other_name")
    with pytest.raises(AttributeError, match=r"^mslazy.own has no 'one'\.$"):
        own.one  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'one'"):
        from mslazy.own import one  # noqa: F401
    assert other_name.one == 1 and "one" not in vars(other_name)
    from msjax import mint

    with pytest.raises(AttributeError, match=r"^msjax doesn't offer mindspore.mint.one\.$"):
        mint.one  # noqa: B018
    with pytest.raises(ImportError, match=r"^msjax doesn't offer mindspore.mint.one\.$"):
        from msjax.mint import one as _one  # noqa: F401


def test_a_module_without_source_says_so(package, monkeypatch):
    Path(package.__file__).unlink()
    linecache.clearcache()
    monkeypatch.setattr(type(package.__spec__.loader), "get_source", lambda loader, name: None)
    with pytest.raises(ImportError, match="mslazy reads the names that it offers from its source, which is not there"):
        package.Named  # noqa: B018


LAZY = {name: text for name, text in ((n, path.read_text()) for n, path in MODULES.items()) if "on_first_use(__name__" in text}


# All names of these raise when they are used.
WITHOUT_NAMES = {"msjax.compat.rewrite", "msjax.compat.special_ops"}


@pytest.mark.parametrize(
    "name", sorted(name for name, text in LAZY.items() if "TYPE_CHECKING" in text and name not in WITHOUT_NAMES)
)
def test_every_name_of_msjax_is_there(name):
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    assert names and all(hasattr(module, offered) for offered in names)
