"""Why a test of MindSpore's does not pass here, in classes."""

from __future__ import annotations

import re

# The first whose pattern is found in the last line of the error.
_CLASSES = (
    ("too long", r"_TooLong"),
    ("not found", r"^not run"),
    ("the process dies", r"^the process"),
    ("no error", r"DID NOT RAISE"),
    ("text of an error", r"Regex pattern did not match|Pattern not found|in str\(|\.value\)|should .*, but got .* in |catch_expected_error"),
    ("private name", r"(Import|ModuleNotFound|Attribute)Error: (msjax doesn't offer \S*\._|cannot import name '_)"),
    ("public name", r"(Import|ModuleNotFound|Attribute)Error: (msjax doesn't offer|cannot import name)"),
    ("attribute", r"AttributeError"),
    ("refused", r"NotImplementedError|can't be compiled|does not support|is not supported"),
    ("environment", r"No module named|FileNotFoundError|No such file|CalledProcessError|Permission|not installed"),
    ("values differ", r"^(E\s+)?(AssertionError|assert )|Not equal to tolerance|Mismatched"),
    ("another error", r"(Type|Value|Runtime|Index|Key|Name)Error"),
)  # fmt: skip


def cause(entry: dict[str, str]) -> str:
    """The class of a result, as pytest_process.py writes it."""
    if entry["ends"] == "skipped":
        return "skipped here"
    why = entry.get("why", "")
    return next((name for name, pattern in _CLASSES if re.search(pattern, why)), "something else")
