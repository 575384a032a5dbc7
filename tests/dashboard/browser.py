"""A headless Chromium, driven over its pipe: real pages, real clicks, and what the browser complains about."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import orjson

from tests import node

PROGRAM = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)
ANSWER_S = 120
AXE = node.MODULES / "axe-core" / "axe.min.js"
"""Deque's rules of accessibility (WCAG 2), which `make test` gets from npm."""
SHOTS = os.environ.get("MEMHUB_TEST_SHOTS")
"""A folder for the screenshots that tests take, for people to look at."""

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "about:blank",
)


# The browser reads at descriptor 3 and writes at 4; dash, that is sh, cannot move descriptors of two digits there.
_AT_3_AND_4 = """
import os, sys
os.dup2(int(sys.argv[1]), 100), os.dup2(int(sys.argv[2]), 101)
os.dup2(100, 3), os.dup2(101, 4)
os.closerange(5, 256)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page. `complaints` are its console errors, exceptions and violations of the content policy."""

    def __init__(self, reader: asyncio.StreamReader, writer: Any) -> None:
        self.complaints: list[str] = []
        self._reader = reader
        self._writer = writer
        self._session: str | None = None
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def open(self, address: str) -> None:
        """Goes there and waits until it is loaded."""
        self._loaded.clear()
        await self.send("Page.navigate", url=address)
        await self.loaded()

    async def loaded(self) -> None:
        await asyncio.wait_for(self._loaded.wait(), ANSWER_S)

    async def look(self, *, scheme: Literal["light", "dark"], width: int, height: int = 900) -> None:
        phone = width < 600
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone
        )
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def scripts(self, *, on: bool) -> None:
        await self.send("Emulation.setScriptExecutionDisabled", value=not on)

    async def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        answer = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, script: str) -> None:
        """Waits until an expression holds: the page itself tells when, by its next frames."""
        await self.run(
            f"new Promise((done) => {{ const look = () => ({script}) ? done(true) : setTimeout(look, 20); look(); }})"
        )

    async def follow(self, script: str) -> None:
        """Does what leads to another page, and waits for that."""
        self._loaded.clear()
        await self.run(script)
        await self.loaded()

    async def press(self, key: str) -> None:
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            await self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    async def shoot(self, name: str) -> bytes:
        """A picture of the whole page; kept where MEMHUB_TEST_SHOTS says."""
        size = (await self.send("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 4000), "scale": 1}
        answer = await self.send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        picture = base64.b64decode(answer["data"])
        if SHOTS:
            (Path(SHOTS) / f"{name}.png").write_bytes(picture)
        return picture

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        answered = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        self._writer.write(orjson.dumps(message) + b"\0")
        answer = await asyncio.wait_for(answered, ANSWER_S)
        assert "error" not in answer, answer["error"]
        result: dict[str, Any] = answer["result"]
        return result

    async def begin(self) -> None:
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        self._session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.send(f"{domain}.enable")

    async def end(self) -> None:
        self._reading.cancel()
        self._writer.close()

    async def _read(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                message = orjson.loads((await self._reader.readuntil(b"\0"))[:-1])
                if "id" in message:
                    self._waiting.pop(message["id"]).set_result(message)
                else:
                    self._hear(message["method"], message.get("params", {}))

    def _hear(self, event: str, told: dict[str, Any]) -> None:
        match event:
            case "Page.loadEventFired":
                self._loaded.set()
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning"):
                self.complaints.append(str(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
            case "Page.javascriptDialogOpening":
                self.complaints.append(f"dialog: {told['message']}")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser with an empty profile of its own; it and all of its processes are gone at the end of the block."""
    assert PROGRAM is not None
    with tempfile.TemporaryDirectory(prefix="mh-chromium-", ignore_cleanup_errors=True) as profile:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        command = [sys.executable, "-c", _AT_3_AND_4, str(theirs_in), str(theirs_out), PROGRAM]
        process = await asyncio.create_subprocess_exec(
            *command, f"--user-data-dir={profile}", *_FLAGS,
            pass_fds=(theirs_in, theirs_out), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=2**26)
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_in, "rb", 0)
        )
        writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(ours_out, "wb", 0))
        browser = Browser(reader, writer)
        try:
            await browser.begin()
            yield browser
        finally:
            await browser.end()
            reading.close()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
