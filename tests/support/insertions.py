"""What of ours stands in a request's body."""

import json
import re

_QUOTED = rb'"(<workspace as-of=(?:[^"\\]|\\.)*</workspace>)'
_WHOLE = re.compile(
    rb'\[\{"type":"text","text":' + _QUOTED + rb'"\},\{"type":"text","text":(?P<theirs>"(?:[^"\\]|\\.)*")\}\]'
    rb'|\{(?:"type":"(?:input_)?text",)?"text":' + _QUOTED + rb'"\},'
    rb'|,\{(?:"type":"(?:input_)?text",)?"text":' + _QUOTED + rb'"\}'
    rb'|(?<=")' + _QUOTED[1:] + rb"\\n\\n"
)


def without(body: bytes) -> bytes:
    """The body as its client sent it."""
    return _WHOLE.sub(lambda found: found["theirs"] or b"", body)


def told(body: bytes) -> list[str]:
    """The texts, in their order."""
    found = [next(filter(None, (*each[:1], *each[2:])), b"") for each in _WHOLE.findall(body)]
    return [json.loads(b'"' + each + b'"') for each in found]
