"""Draws docs/wings.svg from the imports of msjax: ``python docs/_drawings.py``.

A box is a package, with the first words of its docstring; boxes stand on the floors of the table in CONTRIBUTING.md. An arrow says that
files of a package import from another one; what already follows from other arrows is left out. tests/test_docs.py compares the drawing.
"""

import ast
import graphlib
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
WINGS = {
    "core": "hooks for JAX: msjax/core",
    "engine": "Tensors and Cells: msjax/engine and MindSpore's names",
}
# The doors, which import on first use, and what stands on the highest floor, which is one box.
DOORS = ("msjax", "msjax.hooks", "msjax.tools", "msjax.everything")
BOX, GAP, TALL, SPACE, LEFT = 200, 20, 50, 90, 30
WIDTH = 1160


def shown_at(module):
    """The package of a module: "core.hooks", "ops", "engine.compile"."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2] if parts[0] in WINGS else parts[:1])


def floors():
    """The floors, the lowest first: names of packages and modules, without the doors."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| \d+ \|.*$", text[text.index("| floor |") :].partition("\n\n")[0], re.M)
    return [re.findall(r"`(\w+)(?:/|\.py)`", row) for row in rows]


def imports(path):
    """The modules that a file imports, also those within functions, not those of annotations."""
    nodes, found = [ast.parse(path.read_text())], []
    for node in nodes:
        checking = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        nodes += node.orelse if checking else ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module.count(".") < 2
                else [node.module]
            )
    return [name for name in found if name.startswith("msjax.")]


def graph():
    """{package: the packages that it imports from}, without what follows from others."""
    found = {}
    for path in sorted((ROOT / "msjax").rglob("*.py")):
        parts = ["msjax", *path.relative_to(ROOT / "msjax").with_suffix("").parts]
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if (
            module not in DOORS
            and module.count(".") >= 1
            and module.split(".")[1:] not in ([wing] for wing in WINGS)
        ):
            for name in imports(path):
                if (
                    name not in DOORS
                    and shown_at(name) in SHOWN
                    and shown_at(name) != shown_at(module)
                ):
                    found.setdefault(shown_at(module), set()).add(shown_at(name))
    above = {package: set(below) for package, below in found.items()}
    for package in graphlib.TopologicalSorter(found).static_order():
        for below in found.get(package, ()):
            above[package] = above[package] | above.get(below, set())
    return {
        package: sorted(
            b for b in below if not any(b in above.get(other, ()) for other in below if other != b)
        )
        for package, below in found.items()
    }


def _packages():
    for path in sorted((ROOT / "msjax").glob("*/__init__.py")) + sorted(
        (ROOT / "msjax").glob("*/*/__init__.py")
    ):
        parts = path.parent.relative_to(ROOT / "msjax").parts
        if (len(parts) == (2 if parts[0] in WINGS else 1) and parts[0] not in WINGS) or (
            len(parts) == 2 and parts[0] in WINGS
        ):
            yield ".".join(parts)


SHOWN = {*_packages(), *(["core.door"] if (ROOT / "msjax/core/door.py").exists() else [])}


def says(package):
    """The first words of a package's docstring, in lines for a box."""
    path = ROOT / "msjax" / package.replace(".", "/")
    text = ast.get_docstring(
        ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())
    )
    words, lines = text.partition("\n")[0].rstrip(".").split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 33:
            lines.append("")
        lines[-1] += " " * bool(lines[-1]) + word
    return lines[:2] if len(lines) <= 2 else [lines[0], lines[1] + " ..."]


# On these floors, in this order.
ROWS = {3: ["engine.processes", "engine.programs", "engine.settings"]}


def places():
    """({package: (x, y) of its box}, the packages of the highest floor, which share one box)."""
    found, rows = {}, floors()
    top = len(rows) - 1
    for level, names in enumerate(rows[:-1]):
        own = {
            wing: [
                p
                for p in ROWS.get(level, sorted(SHOWN))
                if p.split(".")[-1] in names and (p.split(".")[0] == "core") == (wing == "core")
            ]
            for wing in WINGS
        }
        for column, package in enumerate(own["engine"]):
            found[package] = (
                LEFT + 430 + column * (BOX + GAP) + 20 * (level % 2),
                60 + (top - level) * SPACE,
            )
    for level, package in enumerate(("base", "hooks", "jaxprs", "models", "study", "tools")):
        found[f"core.{package}"] = LEFT + 50 * (level % 2), 60 + (top - 1.4 * level) * SPACE
    found["core.page"] = LEFT + 280, 60 + (top - 1.4) * SPACE
    if "core.door" in SHOWN:
        found["core.door"] = LEFT + 222, 60 + (top - 3.2) * SPACE
    return found, sorted(p for p in SHOWN if p in rows[-1])


def text(x, y, size, words, weight="400"):
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="#1a237e">{words}</text>'


def box(x, y, width, name, lines, fill):
    drawn = [
        f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{TALL}" rx="6" fill="{fill}" stroke="#3f51b5"/>',
        text(x + 8, y + 17, 13, name, "600"),
    ]
    return drawn + [text(x + 8, y + 30 + 12 * i, 10, line) for i, line in enumerate(lines)]


def arrow(start, end, colour):
    line = f'x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}" stroke="{colour}"'
    return f'<line {line} stroke-width="1.4" marker-end="url(#a)"/>'


def above(below, package):
    """All that a package imports, directly or not."""
    found, pending = set(), [package]
    for each in pending:
        pending += [other for other in below.get(each, ()) if other not in found]
        found.update(below.get(each, ()))
    return found


def draw():
    """The drawing, as the text of an SVG file."""
    where, high = places()
    below, drawn = graph(), []
    high_at = LEFT + 430, 60
    arrows = [
        (package, other)
        for package, others in sorted(below.items())
        if package in where
        for other in others
        if other in where
    ]
    for package, other in arrows:
        crosses = (package.split(".")[0] == "core") != (other.split(".")[0] == "core")
        (x, y), (u, v) = where[package], where[other]
        start, end = (
            ((x, y + TALL / 2), (u + BOX, v + TALL / 2))
            if crosses
            else ((x + BOX / 2, y + TALL), (u + BOX / 2, v))
        )
        if not crosses and v <= y:  # beside one another, on the same floor
            start, end = (
                (x + (BOX if u > x else 0), y + TALL / 2),
                (u + (0 if u > x else BOX), v + TALL / 2),
            )
        colour = "#c62828" if crosses else "#3f51b5"
        drawn.append(arrow(start, end, colour))
    for package, (x, y) in where.items():
        drawn += box(
            x,
            y,
            BOX,
            package.split(".")[-1]
            if package.startswith("core")
            else package.replace("engine.", ""),
            says(package),
            "#e0f2f1" if package.startswith("core") else "#e8eaf6",
        )
    # Of what the highest floor imports, all that does not follow from the rest of it.
    targets = {other for package in high for other in below.get(package, ()) if other in where}
    for other in sorted(targets - {b for t in targets for b in above(below, t)}):
        u, v = where[other]
        drawn.append(
            arrow(
                (high_at[0] + 8, high_at[1] + TALL),
                (u + BOX / 2, v),
                "#c62828" if other.startswith("core") else "#3f51b5",
            )
        )
    names = ", ".join(high)
    drawn += box(
        *high_at,
        WIDTH - high_at[0] - 20,
        "bridge, train, dataset, mint, numpy, ...",
        textwrap.wrap(names, 110),
        "#fff8e1",
    )
    heads = [
        text(LEFT, 28, 15, WINGS["core"], "600"),
        text(LEFT + 430, 28, 15, WINGS["engine"], "600"),
    ]
    heads += [
        text(LEFT, 46, 11, "doors: msjax.hooks, msjax.tools"),
        text(LEFT + 430, 46, 11, "door: msjax"),
    ]
    height = 60 + (len(floors()) - 1) * SPACE + TALL + 20
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="The packages of msjax in two wings, and which imports from which" font-family="Helvetica, Arial, sans-serif">',
            '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="#3f51b5"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            *heads,
            *drawn,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    (ROOT / "docs" / "wings.svg").write_text(draw())
