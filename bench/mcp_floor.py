"""The floor of a call over MCP: a loop that knows its answers by heart, `python mcp_floor.py ANSWERS [text]`.

ANSWERS is a JSON object: for each method the result that our daemon gave. A line is decoded, the result written
with the request's id. With `text` it is encoded anew each time, as a server must whose answers change.
"""

import json
import sys
from pathlib import Path


def main(answers: dict[str, object], *, encode: bool) -> None:
    """Answers until stdin ends; what it does not know gets an empty result."""
    known = {method: json.dumps(result, separators=(",", ":")).encode() for method, result in answers.items()}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" not in request:
            continue
        method, request_id = request["method"], request["id"]
        if encode:
            reply = {"jsonrpc": "2.0", "id": request_id, "result": answers.get(method, {})}
            answer = json.dumps(reply, separators=(",", ":")).encode() + b"\n"
        else:
            id_json = json.dumps(request_id).encode()
            answer = b'{"id":%s,"result":%s,"jsonrpc":"2.0"}\n' % (id_json, known.get(method, b"{}"))
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), encode=sys.argv[2:] == ["encode"])
