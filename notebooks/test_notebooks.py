"""Every notebook runs from top to bottom, and is committed without outputs."""

import json
import os
from pathlib import Path

import pytest

PATHS = sorted(Path(__file__).parent.glob("*.ipynb"))

by_name = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


@pytest.mark.notebooks
@pytest.mark.filterwarnings("default")
@by_name
def test_runs(path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    # As a user starts it: not with the settings of the tests.
    for name in ("XLA_FLAGS", "JAX_ENABLE_X64"):
        monkeypatch.delenv(name, raising=False)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": path.parent}})
    client.execute(env=dict(os.environ))
    pictures = [o for cell in notebook.cells for o in cell.get("outputs", ()) if "image/png" in o.get("data", {})]
    plots = sum("plt.show()" in cell.source for cell in notebook.cells)
    assert len(pictures) == plots


@by_name
def test_is_without_outputs(path):
    for cell in json.loads(path.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


def test_there_are_notebooks():
    assert len(PATHS) == 12
