"""A sidecar that does what the arguments of its calls say, however unkind: the other side of the clients' tests.

The call `play` has `acts`, done in their order; its result is all that came since the start, with the answers to what was
asked. The call `silent` is never answered.
"""

import array
import fcntl
import json
import os
import stat
import sys
import termios
import time

received = []


def frame(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def taken():
    """Waits until the other side has read all that was written, so that the next piece comes by itself."""
    unread = array.array("i", [1])
    ask = termios.TIOCOUTQ if stat.S_ISSOCK(os.fstat(1).st_mode) else termios.FIONREAD
    while unread[0]:
        try:
            fcntl.ioctl(1, ask, unread)
        except OSError:
            # Elsewhere than on Linux it cannot be asked.
            time.sleep(0.05)
            return
        os.sched_yield()


def write(pieces):
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        taken()


def cut(whole, places):
    places = [0, *places, len(whole)]
    return [whole[start:end] for start, end in zip(places, places[1:])]


def read():
    length = 0
    while (line := sys.stdin.buffer.readline()) != b"\r\n":
        if not line:
            sys.exit(1)
        name, value = line.split(b":")
        if name == b"Content-Length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length))


def play(act, answers):
    if "send" in act:
        whole = b"".join(frame(message) for message in act["send"])
        places = act.get("cut", [])
        if places == "everywhere":
            places = range(1, len(whole))
        write(cut(whole, places))
    if "raw" in act:
        write([act["raw"].encode()])
    if "huge" in act:
        write([frame({"method": "huge", "params": {"text": "é" * act["huge"]}})])
    if "ask" in act:
        write([frame({"id": 1000 + len(answers), **act["ask"]})])
        while (message := read()).get("id") != 1000 + len(answers) or "method" in message:
            received.append(message)
        answers.append({key: message[key] for key in ("result", "error") if key in message})
    if "die" in act:
        sys.stderr.write(act["say"])
        sys.stderr.flush()
        os._exit(act["die"])


def serve(message):
    method, params, result = message["method"], message.get("params"), None
    if method == "initialize":
        result = {"capabilities": {"positionEncoding": "utf-8"}}
    elif method == "ropewalk/cancel":
        result = {"cancelled": 7}
    elif method == "ropewalk/callTool" and params["name"] == "silent":
        return
    elif method == "ropewalk/callTool":
        answers = []
        for act in params["arguments"]["acts"]:
            play(act, answers)
        result = {"received": received, "answers": answers}
    elif method != "shutdown":
        write([frame({"id": message["id"], "error": {"code": -32601, "message": f"no {method}"}})])
        return
    write([frame({"id": message["id"], "result": result})])


while (message := read()).get("method") != "exit":
    received.append(message)
    if "id" in message:
        serve(message)
