"""Drives chromium without a display, by its DevTools protocol over a pipe: nothing but the browser is needed."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome")


def found() -> str | None:
    """The path of the browser; None if none is here."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A browser with one page.

    Attributes:
        problems: what its console and the page's policy complained of.
    """

    def __init__(self, width=1280, height=860):
        self._folder = tempfile.mkdtemp()
        self.downloads = os.path.join(self._folder, "kept")
        os.mkdir(self.downloads)
        (there, self._out), (self._in, back) = os.pipe(), os.pipe()
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            "--no-first-run",
        ]
        command = [found(), *options, f"--user-data-dir={self._folder}/profile", f"--window-size={width},{height}", "about:blank"]
        self._process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{there} 4>&{back}', *command],
            pass_fds=(there, back),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self._number, self._left, self._session, self.problems = 0, b"", None, []
        self._loaded = 0
        target = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.send("Performance.enable", timeDomain="threadTicks")
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.downloads)
        self.size(width, height)

    def send(self, method, **params):
        """Call a method of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None and not method.startswith(("Target", "Browser")):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _read(self):
        while b"\0" not in self._left:
            got = os.read(self._in, 1 << 20)
            if not got:
                raise RuntimeError("the browser has ended")
            self._left += got
        text, _, self._left = self._left.partition(b"\0")
        event = json.loads(text)
        if event.get("method") == "Page.loadEventFired":
            self._loaded += 1
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"):
            self.problems.append(event["params"]["entry"]["text"])
        if event.get("method") == "Runtime.consoleAPICalled":
            self.problems.append(str(event["params"]["args"]))
        return event

    def open(self, path):
        """Open a file, and wait until the page is ready; the seconds from the start until then, as the page counts them."""
        loaded = self._loaded
        self.send("Page.navigate", url=f"file://{os.path.abspath(path)}")
        while self._loaded == loaded:
            self._read()
        self.until("document.documentElement.dataset.ready !== undefined")
        return float(self.eval("document.documentElement.dataset.ready")) / 1000

    def processor(self):
        """The seconds of the processor that the page's thread has used."""
        metrics = {metric["name"]: metric["value"] for metric in self.send("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    def eval(self, code):
        """The value of an expression of JavaScript."""
        result = self.send("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{code}: {result['exceptionDetails']['exception'].get('description')}")
        return result["result"].get("value")

    def until(self, code, seconds=20):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.eval(code):
            if time.monotonic() > end:
                raise RuntimeError(f"never true: {code}; {self.problems}")
            time.sleep(0.02)

    def click(self, selector, x=0.5, y=0.5):
        """Click into an element, at a part of its width and height."""
        found = self.eval(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        at = {"x": found[0] + x * found[2], "y": found[1] + y * found[3]}
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, **at, button="left", clickCount=int(kind != "mouseMoved"))

    def press(self, *keys):
        """Press keys, one after the other."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def dark(self, dark):
        """Have the system ask for dark colours, or for light ones."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def size(self, width, height):
        """Set the size of the window."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        """Write a PNG of the window."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def kept(self, suffix):
        """The content of the file with such a name that the page has let its reader keep."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            names = [name for name in os.listdir(self.downloads) if name.endswith(suffix)]
            if names:
                path = os.path.join(self.downloads, names[0])
                with open(path, "rb") as file:
                    content = file.read()
                os.unlink(path)
                return content
            time.sleep(0.05)
        raise RuntimeError(f"no {suffix} was kept: {self.problems}")

    def close(self):
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)
