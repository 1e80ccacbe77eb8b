"""Does the steps of a scenario with the client in Python, and prints what came of each, as JSON."""

import json
import sys

from ropewalk import Ropewalk, RopewalkError

command, handlers, steps = (json.loads(word) for word in sys.argv[1:])
events, started = [], []


def constant(value):
    return lambda _: value


client = Ropewalk(command, handlers={name: constant(value) for name, value in handlers.items()},
                  on_event=lambda method, params: events.append([method, params]))


def do(step, *words):
    if step == "text":
        return client.documents[words[0]]._asdict()
    if step == "events":
        return [[method, len(params["text"]) if method == "huge" else params] for method, params in events]
    if step == "start":
        started.append(client.start("ropewalk/callTool", {"name": words[0], "arguments": words[1]}))
        return 1
    if step == "result":
        return client.result(started[-1])
    return getattr(client, {"closeDocument": "close_document"}.get(step, step))(*words)


said = []
for step in steps:
    try:
        said.append(do(*step))
    except RopewalkError as error:
        message, *code = error.args
        said.append({"error": message, "code": code[0] if code else None})
    except Exception as error:
        said.append({"error": str(error)})
print(json.dumps(said))
