"""The tasks of docs/others.md, against what TransformerLens, nnsight, pyvene and Captum computed from the same weights."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
KNOWN = json.loads((ROOT / "tests" / "data" / "study_tasks.json").read_text())


@pytest.fixture(scope="module")
def tools():
    """The files of the folder, and a model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples" / "study_tasks")
        yield {name: importlib.import_module(name) for name in ("run", "table", "with_msjax")}


@pytest.mark.parametrize("task", [*KNOWN, "conductance", "shap", "smoothed", "probe", "paths", "circuit"])
@pytest.mark.long
def test_a_task_gives_what_other_tools_gave(tools, task):
    model, given = tools["with_msjax"].setup()
    value = tools["run"].array(getattr(tools["with_msjax"], task)(model, *given))
    assert not np.isinf(value).any() and np.nansum(abs(value)) > 0
    if task not in KNOWN:  # of other samples, or by another rule
        return
    shape, *numbers = tools["table"].fingerprint(value)
    assert shape == KNOWN[task][0]
    scale = np.abs(numbers).max()
    np.testing.assert_allclose(numbers, KNOWN[task][1:], rtol=1e-3, atol=1e-3 * scale)
