"""Opens pages in chromium, without a display, and uses them: ``python -m tests.page.browser [--pictures FOLDER] [--quick]``.

What is opened: a run of 1,000 modules and 10,000 steps, an nnx transformer that explodes, a fault, a comparison, a study, hostile names.
"""

import argparse
import os
import tempfile
import time

os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import numpy as np

from msjax import tools
from msjax.core.page.page import Page
from tests.page.browser import chromium, examples

OPENS = 1.0  # seconds at most, of the browser's processor time and of a quiet machine's clock

CHOSEN = "document.querySelector('#detail h2')?.textContent ?? ''"
ROWS = "document.querySelectorAll('.labels .row').length"


class Use:
    """Uses pages as a reader does.

    Args:
        browser (Chromium): it.
        folder: for the files.
        pictures: a folder for pictures, or None.
    """

    def __init__(self, browser, folder, pictures):
        self.browser, self.folder, self.pictures = browser, folder, pictures

    def open(self, page, dark=False):
        """Open a page, or a file; the seconds of the clock and of the processor."""
        path = page
        if isinstance(page, Page):
            path = os.path.join(self.folder, "page.html")
            page.save(path)
        self.browser.dark(dark)
        before = self.browser.processor()
        clock = self.browser.open(path)
        return clock, self.browser.processor() - before

    def picture(self, name):
        if self.pictures is not None:
            for dark in (False, True):
                self.browser.dark(dark)
                self.browser.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
                self.browser.picture(os.path.join(self.pictures, f"{name}_{'dark' if dark else 'light'}.png"))
            self.browser.dark(False)

    def check(self, what, found, expected=True):
        if callable(expected):
            assert expected(found), f"{what}: {found!r}"
        else:
            assert found == expected, f"{what}: {found!r} instead of {expected!r}; {self.browser.problems}"
        assert not self.browser.problems, self.browser.problems
        print(f"  {what}", flush=True)

    def chosen(self):
        return self.browser.eval(CHOSEN)

    def choose(self, label, value):
        """Choose a value of the list with a label."""
        self.browser.eval(
            f"(() => {{ const box = [...document.querySelectorAll('label')].find(e => e.firstChild.data === '{label}').querySelector('select'); "
            f"box.value = '{value}'; box.dispatchEvent(new Event('change')) }})()"
        )

    # ---- pages

    def large(self):
        page = examples.page_of(examples.large())
        size = len(page.html())
        clock, processor = self.open(page)
        print(f"1,000 modules, 10,000 steps: {size / 1e6:.2f} MB, ready after {clock:.2f} s, {processor:.2f} s of the processor")
        self.check("is at most 3 MB", size <= 3_000_000)
        self.check("is ready in a second of the processor", processor, lambda s: s <= OPENS)
        self.browser.click("#unfold")
        self.browser.until("document.querySelector('.map').getAttribute('aria-rowcount') > 1000")
        begin = self.browser.processor()
        for i in range(20):
            self.browser.eval(
                f"document.querySelector('.map').scrollTop = {i} * 700; new Promise(done => requestAnimationFrame(() => done(1)))"
            )
        print(f"  a screen of rows further: {(self.browser.processor() - begin) / 20 * 1000:.0f} ms of the processor")
        self.check("few of the rows are elements", self.browser.eval(ROWS), lambda n: 20 < n < 40)
        self.browser.click("#fold")
        self.browser.until(f"{ROWS} < 5")

    def run(self, path):
        self.open(path)
        self.picture("run")
        self.check(
            "the list names the first jump",
            self.browser.eval("document.querySelector('#found').textContent"),
            lambda t: "step 310" in t,
        )
        self.browser.click("#found li button")
        self.check(
            "a click shows a module's curves", self.browser.eval("document.querySelectorAll('#detail svg .curve').length"), 1
        )
        self.check(
            "and its histogram over time",
            self.browser.eval("document.querySelectorAll('#detail svg rect').length"),
            lambda n: n > 30,
        )
        self.picture("run_module")
        before = self.browser.eval(ROWS)
        self.browser.click("#fold")
        self.check("folding leaves fewer rows", self.browser.eval(ROWS), lambda n: n < before)
        folded = self.browser.eval(ROWS)
        self.browser.eval("document.querySelector('.map').focus()")
        first = "[...document.querySelectorAll('.labels .row')].findIndex(e => e.getAttribute('aria-expanded') === 'false')"
        self.browser.press(*["ArrowUp"] * 30, *["ArrowDown"] * self.browser.eval(first), "+")
        self.check("the key + unfolds", self.browser.eval(ROWS), lambda n: n > folded)
        self.browser.press("-")
        self.check("the key - folds", self.browser.eval(ROWS), folded)
        self.browser.press("ArrowRight", "Enter")
        told = self.browser.eval("document.querySelector('#say').textContent")
        self.check("arrows are told to those who do not see", told, lambda t: "step" in t and "norm" in t)
        wide = self.browser.eval("document.querySelector('.feet').textContent")
        self.browser.press("z")
        self.check("the key z zooms", self.browser.eval("document.querySelector('.feet').textContent"), lambda t: t != wide)
        self.browser.click("#table")
        self.check(
            "a table has the numbers", self.browser.eval("document.querySelectorAll('#detail table tr').length"), lambda n: n >= 2
        )
        self.exports()
        self.browser.click("#theme")
        self.check("the switch makes it dark", self.browser.eval("document.documentElement.dataset.theme"), "dark")

    def exports(self):
        self.browser.click(".csv")
        lines = self.browser.kept(".csv").decode().splitlines()
        self.check("CSV is kept", lines[0], lambda head: head.startswith('"row"'))
        self.browser.click(".png")
        self.check("PNG is kept", self.browser.kept(".png")[:4], b"\x89PNG")
        self.browser.click(".svg")
        self.check("SVG is kept", self.browser.kept(".svg")[:5], b"<?xml")

    def side_by_side(self, path):
        other = Page.read(path).views[0]["runs"][0]
        for kind in other["kinds"].values():
            kind["planes"] = {plane: np.array(values) for plane, values in kind["planes"].items()}
            kind["planes"]["norm"][:, 20:] *= 3
        self.open(tools.page(path, Page("b", [{"kind": "run", "title": "Run", "runs": [{**other, "name": "other"}]}])))
        self.check("two runs have two maps", self.browser.eval("document.querySelectorAll('.panel canvas').length"), 2)
        self.picture("runs")
        self.choose("Runs", "difference")
        self.check("or one, of their difference", self.browser.eval("document.querySelectorAll('.panel canvas').length"), 1)
        self.check("which is named", self.browser.eval("document.querySelector('.heads').textContent"), lambda t: "other by" in t)
        self.picture("runs_difference")

    def fault(self):
        self.open(tools.page(examples.fault_in_a_scan(os.path.join(self.folder, "crash.npz"))))
        links = self.browser.eval("[...document.querySelectorAll('.chain li')].map(e => e.textContent)")
        self.check(
            "the chain ends at the logarithm", links[-1], lambda t: t.startswith("Cause: log1p in layers") and "jnp.log1p(" in t
        )
        self.check(
            "it can be replayed",
            self.browser.eval("document.querySelector('#replay').textContent"),
            lambda t: "tools.replay(" in t,
        )
        self.picture("fault")

    def comparison(self):
        self.open(tools.page(examples.comparison()))
        self.browser.click("#found li button")
        self.check("the first difference is one click away", self.chosen(), "blocks.2.up")
        self.picture("comparison")
        self.exports()

    def study(self):
        self.open(examples.study())
        self.check("each pattern has a small map", self.browser.eval("document.querySelectorAll('.thumbs button').length"), 2)
        self.choose("layer", "1")
        self.browser.click(".thumbs button:nth-child(2)")
        self.check(
            "a click shows it",
            self.browser.eval("document.querySelector('.thumbs button:nth-child(2)').getAttribute('aria-pressed')"),
            "true",
        )
        self.picture("study")
        self.exports()
        for i, name in enumerate(("sweep", "attribution", "graph")):
            self.browser.click(f"#tabs button:nth-child({i + 2})")
            self.picture(f"study_{name}")
        self.check(
            "the ablated block is marked",
            self.browser.eval("[...document.querySelectorAll('.graph .edited')].map(e => e.getAttribute('aria-label'))[0]"),
            lambda t: t.startswith("blocks.0, edited"),
        )

    def hostile(self):
        self.open(examples.hostile())
        for i in range(self.browser.eval("document.querySelectorAll('#tabs button').length")):
            self.browser.click(f"#tabs button:nth-child({i + 1})")
            self.browser.eval("document.querySelectorAll('#found button, .row, summary').forEach(e => e.click())")
        self.check(
            "names are text",
            self.browser.eval(
                "[window.hurt === undefined, document.querySelectorAll('main img, main script').length, document.scripts.length]"
            ),
            [True, 0, 2],
        )
        self.browser.eval(
            "(() => { const e = document.createElement('script'); e.textContent = 'window.hurt = 1'; document.body.append(e) })()"
        )
        hurt, told = self.browser.eval("window.hurt === undefined"), self.browser.problems[:]
        self.browser.problems.clear()
        self.check(
            "the policy forbids code that comes later", [hurt, any("Content Security Policy" in t for t in told)], [True, True]
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.page.browser", description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", metavar="FOLDER", help="write pictures of the views, light and dark")
    parser.add_argument("--quick", action="store_true", help="a run of hand-written numbers, and neither comparison nor study")
    options = parser.parse_args()
    if chromium.found() is None:
        return print("left out: no chromium is here to open pages")
    begin, browser = time.monotonic(), chromium.Chromium()
    try:
        with tempfile.TemporaryDirectory() as folder:
            use, path = Use(browser, folder, options.pictures), os.path.join(folder, "exploding.html")
            whole = {"comparison": use.comparison, "study": use.study}
            (examples.made_explosion if options.quick else examples.exploding)(path)
            acts = {
                "large": use.large,
                "run": lambda: use.run(path),
                "side by side": lambda: use.side_by_side(path),
                "fault": use.fault,
            }
            for name, act in {**acts, **({} if options.quick else whole), "hostile": use.hostile}.items():
                print(name)
                act()
    finally:
        browser.close()
    print(f"pages: all is well, after {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
