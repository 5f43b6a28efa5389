"""Requests, what is asked of the daemon for them, and what they become: the TypeScript client is held to the same.

Run as a script it writes tests/data/overlay/requests.json.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final, get_args

from workspaced.overlay.asking import overlaid, params_of
from workspaced.overlay.json_places import Unreadable
from workspaced.overlay.request import MESSAGES, TAG, Form, read_request

FILE: Final = Path(__file__).parents[1] / "data" / "overlay" / "requests.json"
OURS: Final = f'{TAG}"9">\x00\x1f\x7f\b\f\n\t/é "q" \\ \u2028 \U0001f525\n</workspace>'
FORMS: Final[tuple[Form, ...]] = get_args(Form)
Case = tuple[Form, str]


def _user(form: Form, *contents: str) -> str:
    """A request with these contents of the user, each as it stands in JSON."""
    name = "parts" if form == "gemini" else "content"
    messages = (f'{{"role":"user","{name}":{each}}}' for each in contents)
    return f'{{"{MESSAGES[form]}":[{",".join(messages)}]}}'


def _messages(form: Form, *messages: str, rest: str = "") -> str:
    return f'{{"{MESSAGES[form]}":[{",".join(messages)}]{rest}}}'


def _openai(content: str, role: str = "user") -> str:
    return f'{{"role":"{role}","content":{content}}}'


_CONTENTS: Final = (
    '"hi"',
    '" hi\\r\\n\\t"',
    '"\\u00a0hi\\u2003"',
    '"\\u00e9 é \\ud83d\\udd25 🔥"',
    '"cut \\ud83d"',
    '"\\udd25 cut \\\\ud83d \\ud83d\\ud83d\\udd25 \\ud83dx"',
    '"\\/ \\b\\f\\n\\r\\t \\u0000 \\" \\\\"',
    '""',
    "null",
    "[]",
    " [ ] ",
    "1.10",
    '{"text":"hi"}',
    '[{"type":"text","text":"a"},{"type":"text","text":" b "}]',
    '[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]',
    ' [ { "type" : "text" , "text" : "a" } , {"type":"image","source":{"data":"]}\\""}} ] ',
    '[{"type":"image_url","image_url":{"url":"data:,"}}]',
    '["a",1,null,{"type":"text","text":"b"}]',
    '[{"type":"text","text":7},{"type":"text","text":"b","thought":"yes"}]',
    '[{"text":"a","thought":true},{"text":"b","thought":false}]',
    '[{"text":"a","text":"b"}]',
    '[{"type":"tool_result","tool_use_id":"c","content":"r"},{"type":"text","text":"and now?"}]',
    '[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"r"}]}]',
    '[{"type":"text","text":"first"},{"type":"tool_result","tool_use_id":"c","content":"r"}]',
    '[{"type":"tool_result","content":"r"},{"type":"text","text":"<system-reminder>x</system-reminder>"}]',
    '[{"type":"text","text":" <system-reminder>x</system-reminder>"},{"type":"text","text":"hi"}]',
    '"<task-notification>done</task-notification>"',
    '"<workspace as-of=\\"3\\">told</workspace>\\n\\nhi"',
    '[{"functionResponse":{"name":"f","response":{}}},{"text":"hi"}]',
    '[{"functionResponse":null,"function_response":{"name":"f"}},{"text":"hi"}]',
    '[{"function_response":{"name":"f"}}]',
    '[{"toolResponse":{"id":"c"}},{"tool_response":null,"text":"hi"}]',
    '[{"type":"web_search_tool_result","tool_use_id":"c","content":[]},{"type":"text","text":"hi"}]',
    '[{"inlineData":{"mimeType":"image/png","data":""}}]',
)
"""Of one message, in each of the forms, whether it is theirs or not."""

_HI: Final = _openai('"hi"')
_THOUGHT: Final = (
    '[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"yo"},'
    '{"type":"tool_use","id":"c","name":"f","input":{"text":"no"}}]'
)
_ITEM: Final = '{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}'
_ANSWER: Final = '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yo"}]}'
_CUSTOM_CALL: Final = (
    '{"type":"reasoning","summary":[]}',
    '{"type":"custom_tool_call","input":"x"}',
    '{"type":"custom_tool_call_output","output":"y"}',
)
_GEMINI: Final = (
    '{"parts":[{"text":"hi"}]}',
    '{"role":"model","parts":[{"text":"th","thought":true},{"text":"yo"}]}',
    '{"role":"user","parts":[{"functionResponse":{}}]}',
    '{"role":"user","parts":[{"text":"so?"}]}',
)
_CHATS: Final[tuple[Case, ...]] = (
    ("openai", _messages("openai", _openai('"s"', "system"), _HI, _openai('"yo"', "assistant"), _openai('"so?"'))),
    ("openai", _messages("openai", _HI, _openai("null", "assistant"), _openai('"r"', "tool"))),
    ("openai", _messages("openai", _HI, _openai('"r"', "function"), _openai('"so?"', "user"))),
    ("openai", _messages("openai", _HI, _openai('"It is"', "assistant"))),
    ("openai", _messages("openai", _HI, _openai('"a"', "assistant"), _openai('"b"', "assistant"))),
    ("openai", _messages("openai", _HI, _HI, _openai('"hi"', "developer"))),
    ("openai", _messages("openai", "[]", "null", '"x"', '{"role":5,"content":"a"}', '{"role":"user"}', _HI)),
    ("openai", _messages("openai", '{"role":"user","content":"a","content":"b"}')),
    ("openai", _messages("openai", '{"role":"user","content":"a","x":1,"\\u0078":2}')),
    ("openai", _messages("openai", '{"r\\u006fle":"user","content":"a","__proto__":{"role":"tool"}}')),
    (
        "openai",
        _messages("openai", _HI, rest=',"x":[1.10,-0,1e400,-0.0E+2,10000000000000000000],"y":{"y":{"y":1}}'),
    ),
    ("openai", _messages("openai", _HI, rest=',"prompt_cache_key":"k"')),
    ("openai", _messages("openai", _HI, rest=',"metadata":{ "user_id" : "é" },"session_id":""')),
    ("openai", _messages("openai", _HI, rest=',"metadata":{"cut":"\\ud83d"},"prompt_cache_key":null')),
    ("openai", _messages("openai", _HI, rest=',"metadata":{}')),
    *(
        ("openai", _messages("openai", _HI, rest=f',"tools":{tools}'))
        for tools in ("[]", "[ ]", "null", "{}", "[1]")
    ),
    ("openai", _messages("openai", _HI, rest=',"metadata":1,"metadata":2')),
    ("openai", ' \n\t{\r "model" : "m" , "messages" : [ ' + _HI + " , " + _HI + ' ] , "last" : true } \n'),
    ("openai", _messages("openai", _openai('"' + "x" * 3000 + '"'))),
    (
        "anthropic",
        _messages(
            "anthropic", _HI, _openai(_THOUGHT, "assistant"), _openai('[{"type":"tool_result","tool_use_id":"c"}]')
        ),
    ),
    ("responses", '{"input":" all of it "}'),
    ("responses", '{"input":"","previous_response_id":"resp_1"}'),
    ("responses", '{"input":[{"role":"user","content":"hi"}],"previous_response_id":null}'),
    ("responses", '{"input":"","conversation":{"id":"conv_1"},"previous_response_id":""}'),
    ("responses", '{"input":"","conversation":"conv_\\u0031 \\ud83d é"}'),
    ("responses", '{"input":[{"type":"function_call_output","output":"r"}],"previous_response_id":"resp_1"}'),
    ("responses", '{"input":[],"previous_response_id":"resp_1","prompt_cache_key":"k"}'),
    ("responses", '{"input":"so?","previous_response_id":"resp_\\u0031"}'),
    ("responses", '{"input":[],"previous_response_id":7,"conversation":{"id":null}}'),
    ("responses", '{"input":"","conversation":{"id":"a","id":"b"}}'),
    ("anthropic", _messages("anthropic", _HI, rest=',"thread":{"type":"create"}')),
    ("anthropic", _messages("anthropic", _HI, rest=',"thread":{"type":"continue","previous_message_id":"msg_1"}')),
    ("anthropic", _messages("anthropic", _HI, rest=',"thread":null')),
    ("responses", _messages("responses", _HI, *_CUSTOM_CALL)),
    *(
        ("responses", _messages("responses", _HI, each))
        for each in (
            '{"type":"item_reference","id":"i"}',
            '{"id":"i"}',
            '{"type":"mcp_approval_response","approve":true}',
            '{"type":"compaction","encrypted_content":"e"}',
            '{"type":"configuration_update","reasoning":{}}',
            '{"type":"additional_tools","role":"developer","tools":[]}',
        )
    ),
    ("responses", _messages("responses", _ITEM, _ANSWER, _HI)),
    ("gemini", _messages("gemini", *_GEMINI)),
    ("gemini", '{"contents":[{"role":"model","parts":[{"text":"yo"}]}]}'),
    ("gemini", '{"contents":{"parts":[{"text":"hi"}]}}'),
    ("openai", '{"messages":[{"role":"user","content":"a"}],"messages":[]}'),
    ("openai", '{"model":"m"}'),
    ("openai", "[1]"),
    ("openai", "1"),
    ("openai", ""),
    ("openai", '{"messages":null}'),
    ("openai", '{"messages":[' + _HI + "],}"),
    ("openai", '{"messages":[' + _HI + '],"n":01}'),
    ("openai", '{"messages":[' + _HI + '],"n":NaN}'),
    ("openai", '{"messages":[' + _HI + '],"s":"\\x"}'),
    ("openai", '{"messages":[' + _HI + '],"s":"\n"}'),
    ("openai", '{"messages":[' + _HI + "]} {}"),
    ("openai", "\ufeff" + _messages("openai", _HI)),
)
CASES: Final[tuple[Case, ...]] = (
    *((form, _user(form, content, '"later"')) for form in FORMS for content in _CONTENTS),
    *((form, _user(form, content)) for form in FORMS for content in _CONTENTS[-14:]),
    *_CHATS,
)


def vector(form: Form, body: str) -> dict[str, Any]:
    """What the daemon is asked of a request, and the request with a text before each odd turn.

    Without params it cannot be read, without an overlaid body it takes nothing.
    """
    raw = body.encode()
    try:
        request = read_request(form, raw)
    except Unreadable:
        return {"form": form, "body": body, "params": None}
    params = params_of(request)
    texts = [{"turn": turn["key"], "text": f"{OURS}{number}"} for number, turn in enumerate(params["turns"])][::2]
    try:
        made = overlaid(request, raw, {"insertions": texts}).decode()
    except Unreadable:
        made = None
    return {"form": form, "body": body, "params": params, "insertions": texts, "overlaid": made}


def text_of_file() -> str:
    return json.dumps([vector(*case) for case in CASES], indent=1) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text_of_file())
    sys.stdout.write(f"{len(CASES)} requests\n")
