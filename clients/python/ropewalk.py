"""Ropewalk for Python programs, above all for tests: starts the sidecar, owns documents, runs tool calls.

Synchronous: edits, questions and events are dealt with in the caller's thread, in order, while it waits."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Callable, Mapping, NamedTuple, Sequence

Document = NamedTuple("Document", [("text", str), ("version", int)])
Handlers = Mapping[str, Callable[[Any], Any]]


class RopewalkError(Exception):
    """Its arguments: what the sidecar refused, and the code of that; or only why the sidecar is gone."""


class Ropewalk:
    """`handlers` answer requests, by their names without `ropewalk/` ("approve"); `on_event` hears notifications."""

    def __init__(self, command: Sequence[str] = ("ropewalk",), *, folder: str | None = None, settings: Any = None,
                 handlers: Handlers | None = None, on_event: Callable[[str, Any], None] | None = None) -> None:
        self.documents: dict[str, Document] = {}
        no: Handlers = {"approve": lambda _: {"decisions": []}, "ask": lambda _: {"answers": [], "cancelled": True}}
        own: Handlers = {"workspace/applyEdit": self._apply, "resync": lambda at: (
            self.documents[at["uri"]]._asdict() if at["uri"] in self.documents else None)}
        self._handlers, self._on_event = {**no, **(handlers or {}), **own}, on_event or (lambda *_: None)
        self._last_id, self._answers, self._inbox = 0, dict[int, Any](), Queue[Any]()
        self._errors, pipe = tempfile.TemporaryFile(), subprocess.PIPE
        self._process: Any = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._errors)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        able = {"diagnostics" if name == "pullDiagnostics" else name: True for name in handlers or {}}
        capabilities = {"general": {"positionEncodings": ["utf-8"]}, "workspace": {"applyEdit": True},
                        "experimental": {"ropewalk": {**able, "resync": True, "events": bool(on_event)}}}
        roots = [{"uri": Path(folder).resolve().as_uri(), "name": Path(folder).name}] if folder else None
        self.server = self.request("initialize", {"processId": os.getpid(), "workspaceFolders": roots,
                                                  "capabilities": capabilities, "initializationOptions": settings})
        self.notify("initialized", {})

    def start(self, method: str, params: Any = None) -> int:
        """Sends any request and does not wait; gives its id."""
        self._last_id += 1
        self._send(id=self._last_id, method=method, params=params)
        return self._last_id

    def result(self, number: int, timeout: float | None = None) -> Any:
        """The result of a request; `queue.Empty` if nothing at all is heard for so many seconds."""
        while number not in self._answers:
            message = self._inbox.get(timeout=timeout)
            if isinstance(message, str):
                self._inbox.put(message)
                raise RopewalkError(message)
            self._receive(**message)
        if "error" in (answer := self._answers.pop(number)):
            raise RopewalkError(answer["error"]["message"], answer["error"]["code"])
        return answer["result"]

    def request(self, method: str, params: Any = None, timeout: float | None = None) -> Any:
        return self.result(self.start(method, params), timeout)

    def notify(self, method: str, params: Any = None) -> None:
        self._send(method=method, params=params)

    def call(self, name: str, arguments: Any, session: str | None = None, **more: Any) -> dict[str, Any]:
        """Runs a tool call to its end, cancelled or not; `more` is `callId`, `turnId`, `diagnostics` and so on."""
        return self.request("ropewalk/callTool", {"name": name, "arguments": arguments, "sessionId": session, **more})

    def cancel(self, call: str | None = None, session: str | None = None) -> int:
        return self.request("ropewalk/cancel", {"callId": call, "sessionId": session})["cancelled"]

    def open(self, uri: str, text: str, language: str = "plaintext") -> None:
        self.documents[uri] = Document(text, 1)
        self.notify("textDocument/didOpen", {"textDocument": dict(uri=uri, languageId=language, version=1, text=text)})

    def change(self, uri: str, edits: Sequence[Any], version: int | None = None) -> None:
        """Makes edits as LSP has them, rising and apart, columns in UTF-8: all of them, or none and an error."""
        document, limit = self.documents[uri], [1 << 31]
        lines, fits = document.text.encode().split(b"\n"), version in (None, document.version)
        for edit in reversed(edits):
            start, end = ([edit["range"][at]["line"], edit["range"][at]["character"]] for at in ("start", "end"))
            first, last = lines[start[0]], lines[end[0]]
            within = start[1] <= len(first.removesuffix(b"\r")) and end[1] <= len(last.removesuffix(b"\r"))
            fits = fits and start <= end <= limit and within
            text = first[:start[1]].decode() + edit["newText"] + last[end[1]:].decode()
            lines[start[0]:end[0] + 1], limit = text.encode().split(b"\n"), start
        if not fits:
            raise ValueError(f"the edits do not fit {uri}, which is at version {document.version}")
        self.documents[uri] = Document(b"\n".join(lines).decode(), document.version + 1)
        self.notify("textDocument/didChange", {
            "textDocument": {"uri": uri, "version": document.version + 1},
            "contentChanges": [{"range": edit["range"], "text": edit["newText"]} for edit in reversed(edits)]})

    def close_document(self, uri: str) -> None:
        del self.documents[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def close(self, timeout: float = 5.0) -> int:
        """Ends the sidecar in good order, or by force after so many seconds; its exit code."""
        self.start("shutdown")
        self.notify("exit")
        self._reader.join(timeout)
        self._process.kill()
        return self._process.wait()

    def _send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
        with suppress(OSError):  # Of its end, whoever waits hears by the reader.
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self._process.stdin.flush()

    def _apply(self, params: Any) -> dict[str, Any]:
        try:
            [change] = params["edit"]["documentChanges"]
            self.change(edits=change["edits"], **change["textDocument"])
            return {"applied": True}
        except (LookupError, TypeError, ValueError) as fault:
            return {"applied": False, "failureReason": str(fault)}

    def _receive(self, method: str = "", id: Any = None, params: Any = None, **answer: Any) -> None:
        handler = self._handlers.get(method.replace("ropewalk/", "", 1))
        if not method:
            self._answers[id] = answer
        elif id is None:
            self._on_event(method, params)
        elif handler:
            self._send(id=id, result=handler(params))
        else:
            self._send(id=id, error={"code": -32601, "message": f"{method} is not known here"})

    def _read(self) -> None:
        out, length = self._process.stdout, 0
        with suppress(ValueError):
            for line in iter(out.readline, b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line[15:])
                elif line == b"\r\n":
                    self._inbox.put(json.loads(out.read(length)))
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._process.kill()  # Whatever it still is, it cannot be understood.
        said = os.pread(self._errors.fileno(), 2000, max(0, os.fstat(self._errors.fileno()).st_size - 2000))
        self._inbox.put(f"the sidecar has ended with code {self._process.wait()}: {said.decode(errors='replace')}")
