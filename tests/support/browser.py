"""Chromium without a screen: pages at a width and in a style, measures by scripts, screenshots.

Commands and answers of the DevTools protocol go through two pipes, so no server and no package is
needed.
"""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.support.optional_tools import needs

__all__ = ["Browser"]

_MEASURES = Path(__file__).with_name("page_measures.js").read_text(encoding="utf-8")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-quic", "--remote-debugging-pipe"),
)


class Browser:
    """One page of Chromium; a context manager.

    Parameters
    ----------
    profile : Path
        Empty folder for the browser's own files.

    Attributes
    ----------
    messages : list of str
        Messages of the page's scripts, and errors that they did not catch.
    """

    def __init__(self, profile: Path):
        self.messages: list[str] = []
        self._count, self._rest, self._session = 0, b"", ""
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        shell = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        arguments = [needs("chromium"), *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, *arguments],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)

    def __enter__(self) -> "Browser":
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def show(self, address: str, *, width: int, style: str = "light", height: int = 900) -> None:
        """Load a page in a viewport of a width, in the style ``light`` or ``dark``."""
        self.messages.clear()
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": style}
        self._call("Emulation.setEmulatedMedia", features=[feature])
        self._call("Page.navigate", url=address)
        self.evaluate(
            "new Promise(done => { const wait = () => document.readyState === 'complete'"
            " && location.href !== 'about:blank' ? setTimeout(done, 500) : setTimeout(wait, 50);"
            " wait(); })"
        )

    def evaluate(self, script: str) -> Any:
        """Value of an expression in JavaScript, or of the promise that it returns."""
        answer = self._call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def measure(self, name: str) -> Any:
        """Result of a function of ``page_measures.js``."""
        return self.evaluate(f"(() => {{ {_MEASURES}; return {name}(); }})()")

    def screenshot(self, file: Path) -> None:
        """Write a picture of the whole page into a PNG file."""
        answer = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        command = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") == "Runtime.exceptionThrown":
                self.messages.append(json.dumps(answer["params"]["exceptionDetails"])[:500])
            elif answer.get("method") == "Runtime.consoleAPICalled":
                self.messages.append(json.dumps(answer["params"]["args"])[:500])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer
