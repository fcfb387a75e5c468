"""Commands that pages name, and those of tests/, run in their smallest form."""

import re
from pathlib import Path

import pytest

import msjax as ms
from tests.commands.smallest import COMMANDS, ELSEWHERE, run

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md"), ROOT / ".ci" / "run"]


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.suite])
def test_runs(name, monkeypatch):
    monkeypatch.delenv("MSJAX_BENCH_TORCH", raising=False)
    kept = ms.get_context("program_cache_size")
    run(name)
    assert ms.get_context("program_cache_size") == kept


def test_every_command_that_a_page_names_is_run():
    named = {name for page in PAGES for name in re.findall(r"python[\d.]*\s+-m\s+([\w.]+)", page.read_text())}
    assert len(named) > 10 and not named - set(COMMANDS) - set(ELSEWHERE)


def test_every_command_of_the_tests_is_run():
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        for path in ROOT.glob("tests/**/*.py")
        if path != Path(__file__)
        and "argparse.ArgumentParser(" in path.read_text()
        and '__name__ == "__main__"' in path.read_text()
    }
    assert len(modules) > 10 and not modules - set(COMMANDS) - set(ELSEWHERE)
