"""A model behind three providers' HTTP interfaces, for runtimes under test: `with ModelServer() as url`.

    POST /v1/chat/completions                    as OpenAI has it
    POST /v1/responses                           OpenAI, too
    POST /v1/messages                            Anthropic
    POST /v1beta/models/MODEL:generateContent    Gemini, and /v1beta/cachedContents; with v1, too
    POST /v1beta/models/MODEL:streamGenerateContent

A body is held against the provider's own Python types, then against what those cannot say and the provider refuses
all the same; a refusal has its status and form. It is stricter than they are in one thing: roles alternate in all
of them. A body with `"stream": true` is answered in events.

The model's answer is a function of the prompt. It calls a tool that is offered where the user asks to "look for"
something, or names a [[note]] that stands nowhere else; else it quotes the line of its context that shares the
most words with the question. A token is four characters. Each provider's cache is simulated: of blocks (OpenAI),
up to breakpoints (Anthropic), of named contents (Gemini); none of them keeps fewer than CACHED_MIN tokens.

Run as a script it prints its URL and serves until its input ends, or Ctrl-C.
"""

import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel

sys.path.insert(1, str(Path(__file__).parents[1]))  # as a script: `support` lies there

from support.model_streams import stream_of

CACHED_MIN: Final = 1_024
BLOCK: Final = 128
"""Tokens of a block of OpenAI's cache."""
LOOKBACK: Final = 20
"""So many parts before a breakpoint Anthropic looks for what it has."""
BREAKPOINTS_MAX: Final = 4
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
AS_GIVEN: Final = {
    "args",
    "response",
    "parameters",
    "parametersJsonSchema",
    "responseSchema",
    "responseJsonSchema",
}
"""Fields of a body for Gemini in which any name may be anything's."""
BEFORE_QUESTION: Final = re.compile(r"\[User query\]:|^</\w+>$", re.MULTILINE)
Json = dict[str, Any]


class Refused(Exception):
    """What the provider answers instead of a completion."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


# -- a prompt, whoever's it is --


@dataclass(frozen=True)
class Part:
    kind: Literal["text", "call", "result", "other"]
    text: str
    id: str = ""
    """Of a call, and of the result that answers it."""
    breakpoint: bool = False


@dataclass(frozen=True)
class Prompt:
    tools: dict[str, Part]
    system: list[Part]
    messages: list[tuple[str, list[Part]]]
    """Of `user` and `assistant`."""

    def parts(self) -> Iterator[Part]:
        """All of it, in the order that caches see."""
        yield from self.tools.values()
        yield from self.system
        for _role, parts in self.messages:
            yield from parts

    def check(self) -> None:
        """
        Raises:
            Refused: no provider would take it.
        """
        roles = [role for role, _parts in self.messages]
        if not roles or any(role != ("user", "assistant")[at % 2] for at, role in enumerate(roles)):
            raise Refused(f"messages: roles must alternate between user and assistant, got {roles}")
        if roles[-1] != "user":
            raise Refused("messages: the conversation must end with a user message")
        for name in self.tools:
            if not NAME.fullmatch(name):
                raise Refused(f"tools: name {name!r} does not match {NAME.pattern}")
        for at, (_role, parts) in enumerate(self.messages):
            if not parts or any(part.kind == "text" and not part.text.strip() for part in parts):
                raise Refused(f"messages.{at}: text content must be non-empty")
            results = [part.id for part in parts if part.kind == "result"]
            before = self.messages[at - 1][1] if at else []
            calls = [part.id for part in before if part.kind == "call"]
            if sorted(results) != sorted(calls) or len(set(calls)) < len(calls):
                raise Refused(f"messages.{at}: tool results {results} do not answer the tool calls {calls}")
            if any(part.kind != "result" for part in parts[: len(results)]):
                raise Refused(f"messages.{at}: tool results must come first")
        if any(not part.text.strip() for part in self.system):
            raise Refused("system: text content must be non-empty")


def tokens(parts: Iterable[Part]) -> int:
    return sum(len(part.text) for part in parts) // 4


def prefixes(parts: Iterable[Part]) -> list[tuple[int, str]]:
    """Of every beginning of them: its tokens, and a hash of it."""
    found, length, digest = list[tuple[int, str]](), 0, hashlib.sha256()
    for part in parts:
        length += len(part.text)
        digest.update(f"{part.kind} {len(part.text)} {part.text}".encode())
        found.append((length // 4, digest.hexdigest()))
    return found


# -- what the model says --


@dataclass(frozen=True)
class Reply:
    text: str
    call: tuple[str, str, Json] | None = None
    """Id, name and arguments."""

    @property
    def tokens(self) -> int:
        return (len(self.text) + len(json.dumps(self.call))) // 4


def reply_to(prompt: Prompt) -> Reply:
    """A function of the prompt; see the module's docstring."""
    said = [parts for role, parts in prompt.messages if role == "user"]
    start = max((at for at, parts in enumerate(said) if not answers_tools(parts)), default=0)
    own = [part.text for part in said[start] if part.kind == "text"]
    question = BEFORE_QUESTION.split(own[-1])[-1].strip() if own else ""
    found = [part for parts in said[:start] for part in parts if part.kind == "result"]
    earlier = [context for parts in said[:start] for part in parts for context in contexts_in(part)]
    given = [*prompt.system, *found, *earlier, *(part for parts in said[start:] for part in parts)]
    lines = [line.strip() for part in given for line in lines_of(part.text)]
    context = [line for line in lines if line and line not in question and not line.startswith(("<", "["))]
    if not answers_tools(said[-1]) and (call := _call(prompt, question, context)) is not None:
        return Reply("", (f"call_{len(prompt.messages)}", *call))
    wanted = words(question)
    best = max(context, key=lambda line: len(wanted & words(line)), default="")
    return Reply(f"It says: {best}" if best else "I was given nothing to read.")


def contexts_in(part: Part) -> list[Part]:
    """What a message of the user brought besides its words."""
    parted = BEFORE_QUESTION.split(part.text)
    return [Part("text", "".join(parted[:-1]))] if part.kind == "text" and len(parted) > 1 else []


def answers_tools(parts: Iterable[Part]) -> bool:
    return any(part.kind == "result" for part in parts)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))


def lines_of(text: str) -> list[str]:
    """Of a text, or of all texts in JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return text.splitlines()
    return [line for leaf in _leaves(value) for line in leaf.splitlines()]


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)


def _call(prompt: Prompt, question: str, context: list[str]) -> tuple[str, Json] | None:
    search = re.search(r"look for ([^.?!]+)", question)
    if search is not None and "search_workspace" in prompt.tools:
        return "search_workspace", {"query": search[1].strip()}
    note = re.search(r"\[\[([^]]+)]]", question)
    if note is None or "get_note_by_reference" not in prompt.tools or any(note[1] in line for line in context):
        return None
    return "get_note_by_reference", {"reference": note[0]}


# -- providers --


def form_of(type_: Any) -> Draft202012Validator:
    """Of the JSON that the provider's type describes: with the fields that it names, and no others."""
    schema = TypeAdapter(type_).json_schema()
    for described in (schema, *schema.get("$defs", {}).values()):
        if "properties" in described:
            described["additionalProperties"] = False
    return Draft202012Validator(schema)


def checked(body: Json, form: Draft202012Validator) -> Json:
    """`body`, as it is.

    Raises:
        Refused: it has another form.
    """
    if (error := best_match(form.iter_errors(body))) is not None:
        raise Refused(f"{'.'.join(map(str, error.absolute_path)) or 'body'}: {error.message}"[:500])
    return body


def text_parts(content: Any) -> list[Part]:
    """Of a string, or of blocks with a type."""
    if isinstance(content, str):
        return [Part("text", content)]
    return [_text_part(block) for block in content or ()]


def _text_part(block: Json) -> Part:
    if block["type"] in {"text", "input_text", "output_text"}:
        return Part("text", block["text"], breakpoint="cache_control" in block)
    return Part("other", json.dumps(block), breakpoint="cache_control" in block)


class OpenAI:
    """Chat completions."""

    def __init__(self) -> None:
        self.blocks: set[str] = set()

    @staticmethod
    @cache
    def form() -> Draft202012Validator:
        from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

        return form_of(CompletionCreateParamsNonStreaming)

    def prompt(self, body: Json) -> Prompt:
        tools, system, messages = dict[str, Part](), list[Part](), list[tuple[str, list[Part]]]()
        for tool in body.get("tools", ()):
            tools[tool["function"]["name"]] = Part("other", json.dumps(tool))
        last = ""
        for message in body["messages"]:
            role, parts = message["role"], text_parts(message.get("content"))
            if role in {"system", "developer"}:
                system += parts
                continue
            if role == "tool":
                text = "".join(part.text for part in parts)
                parts = [Part("result", text, message["tool_call_id"])]
            if message.get("tool_calls") and message.get("content") == "":
                parts = []  # OpenAI takes empty words beside calls
            for call in message.get("tool_calls", ()):
                parts.append(Part("call", json.dumps(call["function"]), call["id"]))
            if last == "tool" and role in {"tool", "user"}:
                messages[-1][1].extend(parts)
            else:
                messages.append(("user" if role == "tool" else role, parts))
            last = role
        return Prompt(tools, system, messages)

    def answer(self, body: Json, _path: str) -> Json:
        prompt = self.prompt(checked(body, self.form()))
        prompt.check()
        reply = reply_to(prompt)
        read = tokens(prompt.parts())
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.call is not None:
            name, function, arguments = reply.call
            called = {"name": function, "arguments": json.dumps(arguments)}
            message["tool_calls"] = [{"id": name, "type": "function", "function": called}]
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if reply.call else "stop"}],
            "usage": {
                "prompt_tokens": read,
                "completion_tokens": reply.tokens,
                "total_tokens": read + reply.tokens,
                "prompt_tokens_details": {"cached_tokens": self._served(prompt)},
            },
        }

    def _served(self, prompt: Prompt) -> int:
        """Whole blocks of tokens, each known by all up to its end."""
        text = "".join(part.text for part in prompt.parts())
        ends = range(4 * BLOCK, len(text) + 1, 4 * BLOCK)
        names = [hashlib.sha256(text[:end].encode()).hexdigest() for end in ends]
        served = next((at for at, name in enumerate(names) if name not in self.blocks), len(names)) * BLOCK
        self.blocks.update(names)
        return served if served >= CACHED_MIN else 0

    @staticmethod
    def refusal(error: Refused) -> Json:
        return {"error": {"message": str(error), "type": "invalid_request_error", "param": None, "code": None}}


class Responses(OpenAI):
    """Responses, of histories that the caller keeps."""

    @staticmethod
    @cache
    def form() -> Draft202012Validator:
        from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

        return form_of(ResponseCreateParamsNonStreaming)

    def prompt(self, body: Json) -> Prompt:
        tools = {tool["name"]: Part("other", json.dumps(tool)) for tool in body.get("tools") or ()}
        system = text_parts(body.get("instructions"))
        messages = list[tuple[str, list[Part]]]()
        given = body["input"]
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            role, parts = self._item(item)
            if role == "system":
                system += parts
            elif messages and messages[-1][0] == role and _continues(messages[-1][1], parts):
                messages[-1][1].extend(parts)
            else:
                messages.append((role, parts))
        return Prompt(tools, system, messages)

    @staticmethod
    def _item(item: Json) -> tuple[str, list[Part]]:
        kind = item.get("type", "message")
        if kind == "function_call":
            return "assistant", [Part("call", json.dumps([item["name"], item["arguments"]]), item["call_id"])]
        if kind == "function_call_output":
            text = "".join(part.text for part in text_parts(item["output"]))
            return "user", [Part("result", text, item["call_id"])]
        if kind == "reasoning":
            return "assistant", [Part("other", json.dumps(item))]
        if kind != "message":
            raise Refused(f"input: the server under test takes no item of type {kind!r}")
        role = "system" if item["role"] in {"system", "developer"} else item["role"]
        wanted = "output_text" if role == "assistant" else "input_text"
        texts = {"input_text", "output_text"}
        if any(
            part["type"] in texts and part["type"] != wanted
            for part in (item["content"] if isinstance(item["content"], list) else ())
        ):
            raise Refused(f"input: a message of role {role} has texts of type {wanted}")
        return role, text_parts(item["content"])

    def answer(self, body: Json, _path: str) -> Json:
        prompt = self.prompt(checked(body, self.form()))
        prompt.check()
        reply, read = reply_to(prompt), tokens(prompt.parts())
        output: list[Json] = []
        if reply.text:
            part: Json = {"type": "output_text", "text": reply.text, "annotations": []}
            message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
            output.append({**message, "content": [part]})
        if reply.call is not None:
            name, function, arguments = reply.call
            call: Json = {"id": f"fc_{name}", "type": "function_call", "call_id": name, "status": "completed"}
            output.append({**call, "name": function, "arguments": json.dumps(arguments)})
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": body["model"],
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": body.get("tools") or [],
            "usage": {
                "input_tokens": read,
                "input_tokens_details": {"cached_tokens": self._served(prompt)},
                "output_tokens": reply.tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": read + reply.tokens,
            },
        }


def _continues(before: list[Part], parts: list[Part]) -> bool:
    """Whether an item belongs to the message before it: a round of calls, or of results and what follows."""
    return parts[0].kind in {"call", "result", "other"} or before[-1].kind in {"result", "other"}


class Anthropic:
    """Messages."""

    def __init__(self) -> None:
        self.written: set[str] = set()

    @staticmethod
    @cache
    def form() -> Draft202012Validator:
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

        return form_of(MessageCreateParamsNonStreaming)

    def prompt(self, body: Json) -> Prompt:
        tools = {
            tool["name"]: Part("other", json.dumps(tool), breakpoint="cache_control" in tool)
            for tool in body.get("tools", ())
        }
        messages = [(message["role"], self._parts(message["content"])) for message in body["messages"]]
        return Prompt(tools, text_parts(body.get("system")), messages)

    def _parts(self, content: Any) -> list[Part]:
        return text_parts(content) if isinstance(content, str) else [self._part(block) for block in content]

    @staticmethod
    def _part(block: Json) -> Part:
        marked = "cache_control" in block
        if block["type"] == "tool_use":
            return Part("call", json.dumps([block["name"], block["input"]]), block["id"], marked)
        if block["type"] == "tool_result":
            text = "\n".join(part.text for part in text_parts(block.get("content")))
            return Part("result", text, block["tool_use_id"], marked)
        return _text_part(block)

    def answer(self, body: Json, _path: str) -> Json:
        prompt = self.prompt(checked(body, self.form()))
        prompt.check()
        marked = [at for at, part in enumerate(prompt.parts()) if part.breakpoint]
        if len(marked) > BREAKPOINTS_MAX:
            raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}.")
        reply = reply_to(prompt)
        content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
        if reply.call is not None:
            name, function, arguments = reply.call
            content.append({"type": "tool_use", "id": name, "name": function, "input": arguments})
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "tool_use" if reply.call else "end_turn",
            "stop_sequence": None,
            "usage": {**self._usage(prompt, marked), "output_tokens": reply.tokens},
        }

    def _usage(self, prompt: Prompt, marked: list[int]) -> dict[str, int]:
        """What is behind the last breakpoint is read, what is before it comes from the cache or goes into it."""
        known = prefixes(prompt.parts())
        near = {at for mark in marked for at in range(max(0, mark - LOOKBACK), mark + 1)}
        served = max((known[at][0] for at in near if known[at][1] in self.written), default=0)
        kept = [known[at] for at in marked if known[at][0] >= CACHED_MIN]
        self.written.update(name for _tokens, name in kept)
        last = max((count for count, _name in kept), default=0)
        return {
            "input_tokens": tokens(prompt.parts()) - last,
            "cache_creation_input_tokens": last - served,
            "cache_read_input_tokens": served,
        }

    @staticmethod
    def refusal(error: Refused) -> Json:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}


def camelled(value: Any) -> Any:
    """The fields of a body for Gemini as its REST interface names them. It takes `mime_type` as well as
    `mimeType`, and its own client sends both. Schemas, arguments and results stay as they are.

    Raises:
        Refused: an object has a field by both names.
    """
    if isinstance(value, list):
        return [camelled(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {to_camel(name): each for name, each in value.items()}
    if len(found) < len(value):
        raise Refused(f"Invalid JSON payload received: a field is set twice among {sorted(value)}")
    return {name: each if name in AS_GIVEN else camelled(each) for name, each in found.items()}


class Gemini:
    """generateContent, and the contents that it is told to keep."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[str, Prompt]] = {}
        """The model and the beginning of prompts, by name."""

    @staticmethod
    @cache
    def forms() -> tuple[Draft202012Validator, Draft202012Validator]:
        from google.genai import types

        class Base(BaseModel):
            model_config = ConfigDict(alias_generator=to_camel, extra="forbid")
            contents: list[types.Content] | None = None
            system_instruction: types.Content | None = None
            tools: list[types.Tool] | None = None
            tool_config: types.ToolConfig | None = None

        class Generate(Base):
            contents: list[types.Content]
            generation_config: types.GenerationConfig | None = None
            safety_settings: list[types.SafetySetting] | None = None
            cached_content: str | None = None

        class Keep(Base):
            model: str
            display_name: str | None = None
            ttl: str | None = None

        return form_of(Generate), form_of(Keep)

    def prompt(self, body: Json) -> Prompt:
        declared = [each for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ())]
        tools = {each["name"]: Part("other", json.dumps(each)) for each in declared}
        roles = {"user": "user", "model": "assistant"}
        messages = [
            (roles.get(each.get("role", ""), each.get("role", "")), list(map(self._part, each.get("parts", ()))))
            for each in body.get("contents", ())
        ]
        return Prompt(tools, list(map(self._part, body.get("systemInstruction", {}).get("parts", ()))), messages)

    @staticmethod
    def _part(part: Json) -> Part:
        if (call := part.get("functionCall")) is not None:
            return Part("call", json.dumps(call), call.get("id") or call["name"])
        if (result := part.get("functionResponse")) is not None:
            text = "\n".join(map(str, result["response"].values()))
            return Part("result", text, result.get("id") or result["name"])
        return Part("text", part["text"]) if "text" in part else Part("other", json.dumps(part))

    def answer(self, body: Json, path: str) -> Json:
        body = checked(camelled(body), self.forms()[0])
        own = self.prompt(body)
        prompt, served = own, 0
        if (name := body.get("cachedContent")) is not None:
            if {"systemInstruction", "tools", "toolConfig"} & body.keys():
                raise Refused("CachedContent can not be used with system_instruction, tools or tool_config.")
            model, start = self.kept.get(name, ("", own))
            if model != path.split("/", 2)[2].rsplit(":", 1)[0]:
                raise Refused("CachedContent not found (or permission denied)", 403)
            prompt = Prompt(start.tools, start.system, [*start.messages, *own.messages])
            served = tokens(start.parts())
        prompt.check()
        reply = reply_to(prompt)
        part: Json = {"text": reply.text}
        if reply.call is not None:
            part = {"functionCall": dict(zip(("id", "name", "args"), reply.call, strict=True))}
        read = tokens(prompt.parts())
        used = {
            "promptTokenCount": read,
            "candidatesTokenCount": reply.tokens,
            "totalTokenCount": read + reply.tokens,
        }
        return {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {**used, **({"cachedContentTokenCount": served} if served else {})},
        }

    def keep(self, body: Json, _path: str) -> Json:
        """Makes a cached content."""
        body = checked(camelled(body), self.forms()[1])
        prompt = self.prompt(body)
        if (count := tokens(prompt.parts())) < CACHED_MIN:
            least = f"min_total_token_count={CACHED_MIN}"
            raise Refused(f"Cached content is too small. total_token_count={count}, {least}")
        name = f"cachedContents/{len(self.kept) + 1}"
        self.kept[name] = (body["model"], prompt)
        return {"name": name, "model": body["model"], "usageMetadata": {"totalTokenCount": count}}

    @staticmethod
    def refusal(error: Refused) -> Json:
        status = "PERMISSION_DENIED" if error.status == 403 else "INVALID_ARGUMENT"
        return {"error": {"code": error.status, "message": str(error), "status": status}}


# -- the server --


def _whole(body: Json) -> Json:
    """The body as if it did not ask for events: the types of streamed requests differ in that alone."""
    return {key: value for key, value in body.items() if key != "stream"}


@dataclass(frozen=True)
class Exchange:
    """A request and what came of it, for tests."""

    path: str
    body: Json
    status: int
    answer: Json
    raw: bytes = b""
    """The body as it came."""


@dataclass
class ModelServer:
    """`with` it runs, on a port of its own, and gives its URL."""

    exchanges: list[Exchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        openai, responses, anthropic, gemini = OpenAI(), Responses(), Anthropic(), Gemini()
        self._routes: Mapping[str, tuple[Callable[[Json, str], Json], Callable[[Refused], Json]]] = {
            r"/v1/chat/completions": (openai.answer, openai.refusal),
            r"/v1/responses": (responses.answer, responses.refusal),
            r"/v1/messages": (anthropic.answer, anthropic.refusal),
            r"/v1(beta)?/models/[^/:]+:(g|streamG)enerateContent": (gemini.answer, gemini.refusal),
            r"/v1(beta)?/cachedContents": (gemini.keep, gemini.refusal),
        }
        self._lock = threading.Lock()

    def answered(self, path: str, body: Json, raw: bytes = b"") -> Exchange:
        """What the provider that owns the path says."""
        for route, (answer, refusal) in self._routes.items():
            if re.fullmatch(route, path):
                with self._lock:
                    try:
                        made = Exchange(path, body, 200, answer(_whole(body), path), raw)
                    except Refused as error:
                        made = Exchange(path, body, error.status, refusal(error), raw)
                    self.exchanges.append(made)
                return made
        return Exchange(path, body, 404, {"error": {"message": f"no such path: {path}"}})

    def events(self, path: str, body: Json, answer: Json) -> Iterator[bytes] | None:
        """The answer as a stream, if the request asks for one."""
        stream = stream_of(path, body)
        return stream(answer, body) if stream is not None else None

    def __enter__(self) -> str:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                body = json.loads(raw)
                path = urlsplit(self.path).path
                made = server.answered(path, body, raw)
                events = server.events(path, body, made.answer) if made.status == 200 else None
                if events is not None:
                    self._stream(events)
                    return
                data = json.dumps(made.answer).encode()
                self.send_response(made.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, events: Iterator[bytes]) -> None:
                """Ends with the connection."""
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for each in events:
                    self.wfile.write(each)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}"

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


if __name__ == "__main__":
    with ModelServer() as running, suppress(KeyboardInterrupt):
        print(running, flush=True)  # noqa: T201
        sys.stdin.read()
