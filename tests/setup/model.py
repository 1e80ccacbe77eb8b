"""A model for tests, on loopback: `model.py [--port N] TOOL ARGUMENTS [--then WORDS]`.

It speaks the API that agent CLIs use (`POST .../responses`, answered by server-sent events). In each conversation it asks for
one call: of the tool whose name ends in TOOL, with ARGUMENTS (JSON), and once it has the result, says WORDS and that result. It prints
its port in a line of its own, and then, as a line of JSON each, what it was sent: the names of the tools, or the result of the call.
"""

import argparse
import http.server
import json
import sys
import threading

LOCK = threading.Lock()


def say(value):
    with LOCK:
        print(json.dumps(value), flush=True)


def joined(namespace, name):
    return f"{namespace.rstrip('_')}__{name}"


def find(tools, wanted):
    """The tool whose name ends so: (its namespace or None, its name)."""
    for tool in tools:
        if tool.get("type") == "namespace":
            for inner in tool.get("tools", []):
                if joined(tool["name"], inner["name"]).endswith(wanted):
                    return tool["name"], inner["name"]
        elif tool.get("name", "").endswith(wanted):
            return None, tool["name"]
    return None


def names(tools):
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from (joined(tool["name"], inner["name"]) for inner in tool.get("tools", []))
        else:
            yield tool.get("name", tool.get("type", ""))


def text_of(output):
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "".join(part.get("text", "") for part in output)
    return json.dumps(output)


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    options = None
    number = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"object": "list", "data": [], "models": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
        with LOCK:
            Model.number += 1
            number = Model.number
        item = self.item(request, number)
        response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events = [
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | {"usage": usage}},
        ]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def item(self, request, number):
        options, tools = self.options, request.get("tools", [])
        results = [entry for entry in request.get("input", []) if entry.get("type") == "function_call_output"]
        if results:
            result = text_of(results[-1].get("output"))
            say({"result": result})
            return self.message(f"{options.then}{result}", number)
        found = find(tools, options.tool)
        say({"tools": sorted(names(tools))})
        if not found:
            return self.message(f"There is no tool {options.tool}.", number)
        namespace, name = found
        call = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": name,
            "arguments": options.arguments,
            "status": "completed",
        }
        return call | ({"namespace": namespace} if namespace else {})

    @staticmethod
    def message(text, number):
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("arguments")
    parser.add_argument("--then", default="The tool said: ")
    parser.add_argument("--port", type=int, default=0)
    Model.options = parser.parse_args()
    json.loads(Model.options.arguments)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", Model.options.port), Model)
    print(server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


main()
