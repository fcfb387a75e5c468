"""The documentation is true: its Python code runs, and prints what the pages say it prints.

The ```python blocks of a page run in order, as one program. What a block prints has to stand in a ```text block
right behind it; a block without one has to print nothing. A block that raises shows, as the last line of its
```text block, the exception's type and the first line of its message. The links of the pages lead somewhere.
"""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

from tests.printed import same_print

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")

by_name = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


def blocks(text):
    """The Python blocks of a page.

    Returns:
        list of (line, code, output), with output None where no ```text block follows.
    """
    found = []
    fences = list(FENCE.finditer(text))
    for i, fence in enumerate(fences):
        if fence[1] != "python":
            continue
        following = fences[i + 1] if i + 1 < len(fences) else None
        shown = following is not None and following[1] == "text" and not text[fence.end() : following.start()].strip()
        found.append((text[: fence.start(2)].count("\n"), fence[2], following[2] if shown else None))
    return found


def run(code, line, page, namespace):
    """What a block prints, ended by the exception that it raises."""
    # Tracebacks and warnings name the page and its line.
    compiled = compile("\n" * line + code, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(compiled, namespace)
        except Exception as error:
            print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
            raised = error
        else:
            raised = None
    return printed.getvalue(), raised


@by_name
def test_code_prints_what_the_page_shows(page, no_alias_left):
    namespace = {"__name__": "__main__"}
    for line, code, output in blocks(page.read_text()):
        printed, raised = run(code, line, page, namespace)
        if raised is not None and (output is None or printed != output):
            raise raised
        assert same_print(printed, output or ""), f"{page.name}, line {line}, shows\n{output}\nbut prints\n{printed}"


@by_name
def test_code_fits_the_page(page):
    wide = [
        f"line {line + n}: {text}"
        for line, code, _ in blocks(page.read_text())
        for n, text in enumerate(code.splitlines(), 1)
        if len(text) > 100
    ]
    assert not wide, f"{page.name} has code of more than 100 columns, which the page cuts"


@by_name
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text())
    for target in LINK.findall(text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page if not path else page.parent / path
        assert linked.is_file(), f"{page.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", FENCE.sub("", linked.read_text()), re.MULTILINE)
            slugs = {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", h).strip().lower()) for h in headings}
            assert anchor in slugs, f"{page.name} links to {target}"


@pytest.mark.long
def test_the_drawing_of_the_packages_is_that_of_the_imports():
    drawings = runpy.run_path(str(ROOT / "docs" / "_drawings.py"))
    assert (ROOT / "docs" / "wings.svg").read_text() == drawings["draw"](), "draw it anew: python docs/_drawings.py"


@pytest.mark.parametrize("page", [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_files_that_pages_name_are_there(page):
    """Written in full, or within a wing, or, for short, by its last name in a sentence that names its folder."""
    named = set(re.findall(r"`((?:[\w.]+/)*\w+\.(?:py|md|json))(?::\d+)?`", page.read_text()))
    files = {str(path.relative_to(ROOT)) for path in ROOT.glob("*/**/*.*")} | {path.name for path in ROOT.iterdir()}
    assert len(named) > 10 and not [
        name for name in named if "NAME" not in name and not any(f"/{file}".endswith(f"/{name}") for file in files)
    ]


def test_the_pages_are_all_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text()
    missing = [page.name for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in menu]
    assert not missing
