"""The house: imports point down and in no circle, files and folders stay readable, tests lie as the package lies, dependencies are declared.

The floors are those of the table in CONTRIBUTING.md. A lazy import, inside a function, counts like any other.
"""

import ast
import graphlib
import importlib.metadata
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "msjax"
LONGEST_FILE, LARGEST_FOLDER = 500, 24
# They offer names from floors above, which are imported when they are first used.
DOORS = ("msjax", "msjax.hooks", "msjax.tools")
# Folders of packages: the two wings, where rooms lie.
WINGS = ("core", "engine")
# What jax does not promise to keep. Of these modules, files use what primitives and interpreters of jaxprs are made of; see
# msjax/core/base/jax_slots.py for the rest, and for the attributes.
UNPROMISED = ("jax.api_util", "jax.core", "jax.experimental", "jax.extend", "jax.interpreters", "jax.lib", "jaxlib")
EXTENSIONS = {
    "jax.core": ("ShapedArray", "Tracer"),
    "jax.experimental.layout": ("Format",),
    "jax.extend.core": ("ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Primitive", "Var", "jaxpr_as_fun"),
    "jax.interpreters.ad": ("Zero", "deflinear", "deflinear2", "is_undefined_primal", "primitive_jvps"),
    "jax.interpreters.batching": ("primitive_batchers",),
    "jax.interpreters.mlir": ("LoweringRuleContext", "lower_fun", "register_lowering"),
}
JAX_SLOTS = re.compile(
    r"(?<!self)\._trace\b|attr\(\w+, ._trace|\._executable\b|create_cpp_call|\bconfig\.values\b|make_user_context"
    r"|module_context|axis_context|cached_primitive_lowerings|\bsource_info\b|\bdebug_info\b|manual_axis_type|\.ctx\.manager\b|/jax/\w+/"
)
# For type checkers, in place of the files beside them: the types of what is attached to a class later, or of which it is a part.
STUBS = {"common/attached.pyi", "dataset/attached.pyi", "nn/cell/cell_type.pyi"}
# So many files import one another in circles, annotations included, and so many at most in one circle. Only to be made smaller.
IN_CIRCLES_OF_ANNOTATIONS, LARGEST_CIRCLE = 9, 5
# Attributes of flax nnx that are not public.
FLAX_SLOTS = re.compile(r"_raw_value|_var_metadata|_pytree__|\bnnx(\.\w+)*\._[a-z]")
# Rooms whose tests lie with those of another: room -> the file.
TESTED_IN = {
    "__init__": "test_importing.py",
    "__main__": "test_cli.py",
    "bridge": "tools/test_faults.py",
    "alias_path": "test_cli.py",
    "door": "wings/test_wings.py",
    "context": "settings/test_context.py",
    "everything": "test_importing.py",
    "device_context": "settings/test_precision.py",
    "hal": "test_runtime.py",
    "parallel": "test_compat.py",
    "version": "test_compat.py",
}
# Tests of the whole, and what tests need.
OF_THE_WHOLE = {
    "accelerators", "architecture", "bench", "commands", "differential", "docs", "doctests", "engine", "expected", "importing", "kernels", "libraries",
    "mindspore_tests", "mixtures", "typing", "wings", "__init__", "conftest", "printed", "x64",
}  # fmt: skip


def _module_name(path):
    parts = ["msjax", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def _for_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", ""))


@cache
def _nodes(module):
    """The nodes of a file's syntax tree, without those that only type checkers see."""
    nodes, pending = [], [ast.parse(MODULES[module].read_text())]
    for node in pending:
        nodes.append(node)
        pending += node.orelse if _for_checkers(node) else ast.iter_child_nodes(node)
    return nodes


@cache
def _nodes_for_checkers(module):
    """The nodes of a file's syntax tree that only type checkers see."""
    blocks = [node.body for node in ast.walk(ast.parse(MODULES[module].read_text())) if _for_checkers(node)]
    return [node for block in blocks for outer in block for node in ast.walk(outer)]


@cache
def _imports_on_first_use(module):
    """Whether a file's imports for type checkers are those that it makes when a name is first used."""
    return any(isinstance(node, ast.Name) and node.id == "on_first_use" for node in _nodes(module))


@cache
def _later(package):
    """{name: module} of the names that a package's ``__init__`` imports when they are first used."""
    imports = [
        node for node in _nodes_for_checkers(package) if isinstance(node, ast.ImportFrom) and _imports_on_first_use(package)
    ]
    return {alias.name: node.module for node in imports for alias in node.names}


def _imported(module, nodes):
    """(line, full name) of everything that nodes of a file import, from msjax or elsewhere."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{MODULES[module]}:{node.lineno} should import by the full name"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full not in MODULES and node.module in MODULES:
                    full = _later(node.module).get(alias.name, node.module)
                found.append((node.lineno, full))
    return found


@cache
def _imports(module):
    return _imported(module, _nodes(module))


def _of_msjax(module, imports):
    return [(line, name) for line, name in imports if name in MODULES and name != module]


def _edges(module):
    """(line, module) of the other modules of msjax that a file imports."""
    return _of_msjax(module, _imports(module))


def _edges_for_checkers(module):
    """(line, module) of the other modules of msjax that only a file's annotations need."""
    nodes = [] if _imports_on_first_use(module) else _nodes_for_checkers(module)
    return _of_msjax(module, _imported(module, nodes))


def _named_later(module):
    """(line, module) of the modules that a file imports by their names, in strings, or when a name is first used."""
    strings = []
    for node in _nodes(module):
        if MODULES[module].name == "__init__.py":
            strings.append(node)
        elif isinstance(node, ast.Call) and "import_module" in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
            strings += node.args
    found = [(s.lineno, s.value) for s in strings if isinstance(s, ast.Constant)]
    if _imports_on_first_use(module):
        found += _imported(module, _nodes_for_checkers(module))
    return _of_msjax(module, found)


def _room(module):
    """The package or module, directly in msjax or in a wing, to which a module belongs; "__init__" for msjax itself and its wings.

    The doors `msjax.hooks` and `msjax.tools` belong to the packages whose names they offer.
    """
    parts = module.split(".")[1:]
    if parts[:1] and parts[0] in WINGS:
        return parts[1] if parts[1:] else "__init__"
    return parts[0] if parts else "__init__"


def _floors():
    """{room: floor}, the lowest floor first, from the table in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| (?:\d+|door) \|.*$", text[text.index("| floor |") :].partition("\n\n")[0], re.MULTILINE)
    # A higher floor may name a room of a lower one.
    return {name: floor for floor, row in reversed([*enumerate(rows)]) for name in re.findall(r"`(\w+)(?:/|\.py)`", row)}


def _assert_no_circle(graph):
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        raise AssertionError("circle of imports: " + " <- ".join(error.args[1])) from None


def _shown(module, line):
    return f"{MODULES[module].relative_to(ROOT)}:{line}"


def test_the_table_of_floors_names_what_there_is():
    assert set(_floors()) == {_room(module) for module in MODULES}


def _pointing_up(edges):
    """{(module, target): line} of the imports whose target lies on a higher floor."""
    floors = _floors()
    found = ((module, line, target) for module in MODULES for line, target in edges(module))
    return {(module, target): line for module, line, target in found if floors[_room(target)] > floors[_room(module)]}


def test_no_import_points_up():
    found = _pointing_up(lambda module: _edges(module) + ([] if module in DOORS else _named_later(module)))
    assert not found, "\n".join(f"{_shown(module, line)} imports {target}" for (module, target), line in found.items())


def test_no_annotation_points_up():
    found = _pointing_up(_edges_for_checkers)
    shown = "\n".join(f"{_shown(module, line)} names {target}" for (module, target), line in found.items())
    assert not found, f"{shown}\na Protocol on the lower floor would do"


def test_stub_files_are_few():
    assert {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.pyi")} == STUBS


def test_annotations_close_few_circles():
    reached = {}
    graph = {module: {target for _, target in _edges(module) + _edges_for_checkers(module)} for module in MODULES}
    for module in graph:
        seen, pending = set(), [module]
        while pending:
            new = graph[pending.pop()] - seen
            seen |= new
            pending += new
        reached[module] = seen
    circles = {frozenset(m for m in reached[module] if module in reached[m]) for module in graph if module in reached[module]}
    assert sum(map(len, circles)) <= IN_CIRCLES_OF_ANNOTATIONS, sorted(map(sorted, circles))
    assert max(map(len, circles), default=0) <= LARGEST_CIRCLE, sorted(map(sorted, circles))


def test_no_circle_of_files():
    _assert_no_circle({module: {target for _, target in _edges(module)} for module in MODULES})


def test_no_circle_of_packages():
    graph = {}
    for module in MODULES:
        graph.setdefault(_room(module), set()).update(_room(target) for _, target in _edges(module))
    _assert_no_circle({room: targets - {room} for room, targets in graph.items()})


def test_no_circle_of_folders_of_msjax():
    graph = {}
    for module in set(MODULES) - {*DOORS, "msjax.everything"}:
        folders = {target.split(".")[1] for _, target in _edges(module) if target not in DOORS}
        graph.setdefault(module.split(".")[1], set()).update(folders)
    _assert_no_circle({folder: targets - {folder} for folder, targets in graph.items()})


def test_private_parts_of_jax_are_left_alone():
    wrong = []
    for module in MODULES:
        wrong += [_shown(module, line) for line, name in _imports(module) if "_src" in name.split(".")]
        wrong += [
            _shown(module, node.lineno) for node in _nodes(module) if isinstance(node, ast.Attribute) and node.attr == "_src"
        ]
    assert not wrong, wrong


def _names_of_jax(module):
    """(line, full name) of everything in jax's modules that a file refers to."""
    known, found = {}, []
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.split(".")[0]] = alias.name if alias.asname else alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            known.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    for node in _nodes(module):
        if isinstance(node, ast.Attribute):
            parts, inner = [], node
            while isinstance(inner, ast.Attribute):
                parts.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id in known:
                found.append((node.lineno, ".".join([known[inner.id], *reversed(parts)])))
    return [(line, name) for line, name in found if name.partition(".")[0] in ("jax", "jaxlib")]


def _is_promised(name):
    if not any(f"{name}.".startswith(f"{module}.") for module in UNPROMISED):
        return True
    allowed = {f"{module}.{each}" for module, names in EXTENSIONS.items() for each in names}
    return any(f"{name}.".startswith(f"{each}.") or each.startswith(f"{name}.") for each in allowed)


def test_what_jax_does_not_promise_is_used_in_one_file():
    wrong = []
    for module in MODULES:
        if module != "msjax.core.base.jax_slots":
            wrong += [f"{_shown(module, line)} uses {name}" for line, name in _names_of_jax(module) if not _is_promised(name)]
            lines = MODULES[module].read_text().splitlines()
            wrong += [f"{_shown(module, i)}: {line.strip()}" for i, line in enumerate(lines, 1) if JAX_SLOTS.search(line)]
    assert not wrong, "move to msjax/core/base/jax_slots.py, with a test:\n" + "\n".join(wrong)


def test_the_test_for_promises_of_jax_sees_names_through_imports():
    promised = ("jax.jit", "jax.extend.core", "jax.extend.core.Primitive", "jax.interpreters.ad.Zero.from_primal_value")
    assert all(map(_is_promised, promised))
    assert not any(map(_is_promised, ("jax.core.eval_context", "jax.extend.linear_util", "jax.interpreters.mlir.ir")))
    names = {name for _, name in _names_of_jax("msjax.core.base.jax_slots")}
    assert {"jax.extend.linear_util.cache", "jax.interpreters.mlir.ir.Attribute.parse"} <= names
    assert JAX_SLOTS.search(MODULES["msjax.core.base.jax_slots"].read_text())


def test_private_slots_of_flax_are_used_in_one_file():
    wrong = []
    for module in MODULES:
        lines = MODULES[module].read_text().splitlines() if module != "msjax.core.base.flax_slots" else []
        wrong += [_shown(module, i) for i, line in enumerate(lines, 1) if FLAX_SLOTS.search(line)]
    assert not wrong, wrong


def test_arrays_of_tensors_are_assigned_in_few_files():
    """Elsewhere, `_set_value`, `_hold` and `rebind` tell the views of a Tensor that it holds another array."""
    allowed = {
        "msjax.common.random",
        "msjax.common.tensor",
        "msjax.common.tensor_hooks",
        "msjax.common.initializer",
        "msjax.dataset.iterators",  # no Tensor
        "msjax.engine.autograd.inplace",
        "msjax.engine.autograd.memory",
        "msjax.engine.autograd.imperative",
        "msjax.engine.autograd.recording",
        "msjax.engine.autograd.views",
        "msjax.ops.methods.operators",
    }
    assignment = re.compile(r"\._value(, [\w.]+)* = ")
    assert {module for module in MODULES if assignment.search(MODULES[module].read_text())} == allowed


def test_files_are_of_a_readable_length():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in [*MODULES.values(), *TESTS]}
    assert not {path: length for path, length in lengths.items() if length > LONGEST_FILE}


def test_folders_hold_few_files():
    folders = {path.parent for path in [*MODULES.values(), *TESTS]}
    counts = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in folders}
    assert not {folder: count for folder, count in counts.items() if count > LARGEST_FOLDER}


def test_dependencies_are_those_that_are_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [texts for extra, texts in project["optional-dependencies"].items() if extra not in ("accelerators", "dev", "docs")]
    declared = {re.split(r"[^\w-]", text)[0] for text in sum(extras, project["dependencies"])}
    # One name can be imported from several distributions, as orbax; one that isn't installed is taken to be its own.
    distributions = importlib.metadata.packages_distributions()
    used, undeclared = set(), set()
    for module in MODULES:
        for line, name in _imports(module):
            top = name.partition(".")[0]
            if top != "msjax" and top not in sys.stdlib_module_names:
                providers = set(distributions.get(top, [top])) & declared
                used |= providers
                undeclared |= set() if providers else {f"{_shown(module, line)} imports {top}"}
    assert not undeclared
    assert used == declared


def test_tests_lie_as_the_package_lies():
    """A room has the folder tests/ROOM or the file tests/test_ROOM.py, unless `TESTED_IN` says where else its tests are."""
    rooms = {_room(module) for module in MODULES}
    places = {path.relative_to(ROOT / "tests").parts[0] for path in TESTS}
    there = {place.removeprefix("test_").removesuffix(".py") for place in places} - OF_THE_WHOLE
    assert not there - rooms, "tests of no package"
    assert rooms - there == set(TESTED_IN), "packages without tests, or with tests in two places"
    assert all((ROOT / "tests" / file).exists() for file in TESTED_IN.values())


def test_names_of_test_files_are_unique():
    names = [path.name for path in TESTS if path.name not in ("__init__.py", "__main__.py")]
    assert not {name for name in names if names.count(name) > 1}
