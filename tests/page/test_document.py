"""The HTML document: one file, its policy, its size, reading it again."""

import base64
import hashlib
import html
import re

import numpy as np
import pytest

from msjax.core.page import document
from msjax.core.page.page import Page
from tests.page.made_runs import run_of

HOSTILE = "</title><img src=x onerror=alert(1)>{{code}}"


def sha(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_allows_the_page_itself_and_nothing_else():
    text = Page("x", []).html()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1))
    assert policy == document.policy() and "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    style, code = re.search(r"<style>(.*?)</style>", text, re.S).group(1), re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(code) == 1 and sha(style) in policy and sha(code[0]) in policy


def test_the_page_asks_nobody_and_makes_no_markup_of_data():
    text = Page("x", []).html()
    code = "".join(re.findall(r"<script>(.*?)</script>", text, re.S))
    addresses = set(re.findall(r"https?://[^\"'\s]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of SVG
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "fetch(",
        "XMLHttpRequest",
    ):
        assert word not in code
    assert not re.search(r"<\w+[^>]* (on\w+|src|href|style)=", text.replace(code, ""))


def test_hostile_titles_and_names_stay_text():
    page = Page(HOSTILE, [{"kind": "run", "title": HOSTILE, "runs": [run_of([HOSTILE], 3).data()]}])
    text = page.html()
    assert text.count("<script") == 2 and text.count("</title>") == 1 and "<img" not in text
    assert HOSTILE not in text


def test_reading_a_page_again(tmp_path):
    page = Page("two", [{"kind": "run", "title": "Run", "runs": [run_of(["a", "b.c"], 5).data()]}])
    page.save(tmp_path / "page.html")
    again = Page.read(tmp_path / "page.html")
    assert again.title == "two"
    first, second = (p.views[0]["runs"][0]["kinds"]["activation"] for p in (page, again))
    assert second["names"] == ["a", "b.c"]
    np.testing.assert_array_equal(first["planes"]["norm"], second["planes"]["norm"])
    np.testing.assert_array_equal(first["first"], second["first"])


@pytest.mark.parametrize("text", ["", "<html>", '<script id="data" type="application/json">{"format":</script>'])
def test_a_file_that_is_no_page(tmp_path, text):
    (tmp_path / "x.html").write_text(text)
    with pytest.raises(ValueError, match="is no page of msjax, or is cut off"):
        Page.read(tmp_path / "x.html")


def test_a_file_is_there_whole_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    document.write(path, "old")

    def fails(self):
        raise OSError("the disk is full")

    monkeypatch.setattr("msjax.core.base.whole_files.FileBeside.complete", fails)
    with pytest.raises(OSError, match="full"):
        document.write(path, "new")
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_a_thousand_modules_and_ten_thousand_steps_are_three_megabytes(tmp_path):
    size, rng = 2000, np.random.default_rng(0)
    run = run_of([f"blocks.{i}" for i in range(1000)], 1).data()
    kind = run["kinds"]["activation"]
    kind["first"], kind["last"] = 1 + 5 * np.arange(size, dtype=np.int32), 5 + 5 * np.arange(size, dtype=np.int32)
    # Random numbers, which nothing makes smaller.
    low, high = np.sort(rng.lognormal(size=(2, 1000, size)).astype(np.float32), axis=0)
    kind["planes"] = {"norm": (low + high) / 2, "norm_min": low, "norm_max": high}
    path = tmp_path / "large.html"
    Page("large", [{"kind": "run", "title": "Run", "runs": [run]}]).save(path)
    assert 2_000_000 < path.stat().st_size <= 3_000_000
    shown = document.read(path)[1][0]["runs"][0]["kinds"]["activation"]
    assert shown["last"][-1] == 10_000 and len(shown["first"]) > 300
    assert shown["planes"]["norm_max"].max() == pytest.approx(high.max(), rel=0.03)
