"""Samples as the files of a test program: pytest, Inspect (`inspect eval`) and promptfoo.

A test of pytest asks no model: was the agent shown what a right answer says? The others have the tools of then,
which answer what was recorded. promptfoo reads each prompt as a template; so a prompt is the name of its sample,
and the provider knows the rest.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from workspaced_events.errors import InvalidArgument

from .models import ROUNDS_MAX
from .samples import Json, Sample

_SCORERS: Final = {
    "includes": "includes()",
    "exact": 'match(location="exact")',
    "regex": "found()",
    "model-graded": "model_graded_qa()",
}
_TASK: Final = '''\
"""Answers that were judged in a log of workspaced: `inspect eval task.py --model NAME`.

Made by `workspaced eval export`. Tools answer as they answered then, and else NOT_RECORDED.
"""

import json
import re
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, includes, match, model_graded_qa, scorer
from inspect_ai.solver import generate, solver
from inspect_ai.tool import ToolDef, ToolParams


@scorer(metrics=[accuracy()])
def found():
    """Whether the target, a regular expression, is found in the answer."""

    async def score(state, target):
        answer = state.output.completion
        return Score(value=CORRECT if re.search(target.text, answer) else INCORRECT, answer=answer)

    return score


def recorded(tool, answers):
    """The tool, which answers from the recordings."""

    async def answer(**arguments):
        for each in answers:
            if each["tool"] == tool["name"] and each["arguments"] == arguments:
                return each["answer"]
        return json.dumps({"success": False, "code": "NOT_RECORDED"})

    parameters = ToolParams(**tool["parameters"])
    return ToolDef(answer, tool["name"], tool["description"], parameters).as_tool()


@solver
def recorded_tools():
    async def solve(state, generate):
        state.tools = [recorded(each, state.metadata["answers"]) for each in state.metadata["tools"]]
        return state

    return solve


@task
def judged():
    samples = str(Path(__file__).with_name("samples.json"))
    return Task(dataset=json_dataset(samples), solver=[recorded_tools(), generate()], scorer=%(scorer)s)
'''


def inspect_files(samples: Sequence[Sample], scorer: str) -> dict[str, str]:
    """The files, by their paths. `scorer`: a key of the scorers by which `eval export` can judge."""
    dataset = [_sample(each) for each in samples]
    text = msgspec.json.format(msgspec.json.encode(dataset), indent=1).decode()
    return {"task.py": _TASK % {"scorer": _SCORERS[scorer]}, "samples.json": text + "\n"}


def _sample(sample: Sample) -> Json:
    tools = [_tool(each["function"]) for each in sample.body.get("tools", ()) if each.get("type") == "function"]
    return {
        "id": sample.name,
        "input": [_message(each) for each in sample.body["messages"]],
        "target": sample.wanted,
        "metadata": {
            "seq": sample.seq,
            "log": sample.log,
            "verdict": sample.verdict,
            "why": sample.why,
            "tools": tools,
            "answers": sample.answers,
        },
    }


def _tool(function: Json) -> Json:
    """A tool's definition; Inspect takes none without a description of it and of each parameter."""
    name, given = function["name"], function.get("parameters") or {}
    properties = {key: {"description": key, **each} for key, each in given.get("properties", {}).items()}
    parameters = {"properties": properties, "required": given.get("required", [])}
    return {"name": name, "description": function.get("description") or name, "parameters": parameters}


def _message(message: Json) -> Json:
    """A message of chat completions in Inspect's form."""
    content: Any = message.get("content") or ""
    if isinstance(content, list):
        content = [
            {"type": "image", "image": part["image_url"]["url"]} if part["type"] == "image_url" else part
            for part in content
        ]
    made = {**message, "content": content}
    if "tool_calls" in message:
        made["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": call["function"]["name"],
                "arguments": msgspec.json.decode(call["function"]["arguments"]),
            }
            for call in message["tool_calls"]
        ]
    return made


_ASSERTIONS: Final = {"includes": "icontains", "exact": "equals", "regex": "regex", "model-graded": "llm-rubric"}
# The rounds of `models.Models.ask` once more, for Node: a provider in Python would need workspaced in whichever
# interpreter promptfoo finds, and whoever is given these tests may have none.
_PROVIDER: Final = """\
// Sends a judged prompt to a model with chat completions below OPENAI_BASE_URL; tools answer what was recorded.
// Made by `workspaced eval export`.
import { readFileSync } from "node:fs";

const samples = JSON.parse(readFileSync(new URL("./samples.json", import.meta.url), "utf8"));

export default class Recorded {
  constructor(options) {
    this.config = options.config ?? {};
    this.label = options.label;
  }

  id() {
    return this.label ?? `workspaced:${this.config.model ?? "recorded"}`;
  }

  async callApi(prompt) {
    const { body, answers } = samples[prompt.trim()];
    const messages = [...body.messages];
    const usage = { prompt: 0, completion: 0, total: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const model = this.config.model ?? body.model;
      const { message, counted, error } = await this.ask({ ...body, model, messages });
      if (error) return { error };
      usage.prompt += counted?.prompt_tokens ?? 0;
      usage.completion += counted?.completion_tokens ?? 0;
      usage.total = usage.prompt + usage.completion;
      if (!message.tool_calls?.length) return { output: message.content ?? "", tokenUsage: usage };
      messages.push(message, ...message.tool_calls.map((call) => this.answered(call, answers)));
    }
    return { error: "The model called tools in ROUNDS rounds, and gave no answer." };
  }

  async ask(body) {
    const base = (process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1").replace(/\\/+$/, "");
    const headers = { "content-type": "application/json" };
    if (process.env.OPENAI_API_KEY) headers.authorization = `Bearer ${process.env.OPENAI_API_KEY}`;
    const signal = AbortSignal.timeout(120_000);
    const url = `${base}/chat/completions`;
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
    if (!response.ok) return { error: `${response.status} ${(await response.text()).slice(0, 500)}` };
    const { choices, usage } = await response.json();
    return { message: choices[0].message, counted: usage };
  }

  answered(call, answers) {
    const same = (one, two) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(two));
    const given = JSON.parse(call.function.arguments || "{}");
    const found = answers.find((each) => each.tool === call.function.name && same(each.arguments, given));
    const content = found?.answer ?? JSON.stringify({ success: false, code: "NOT_RECORDED" });
    return { role: "tool", tool_call_id: call.id, content };
  }
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}
"""


def promptfoo_files(samples: Sequence[Sample], scorer: str) -> dict[str, str]:
    """The files, by their paths. `scorer`: a key of the scorers by which `eval export` can judge."""
    config = {
        "description": "Answers that were judged in a log of workspaced",
        "prompts": ["{{sample}}"],
        "providers": [{"id": "file://provider.mjs", "config": {}}],
        "tests": [_promptfoo_test(each, scorer) for each in samples],
    }
    bodies = {each.name: {"body": each.body, "answers": each.answers} for each in samples}
    return {
        "promptfooconfig.json": _json(config),
        "samples.json": _json(bodies),
        "provider.mjs": _PROVIDER.replace("ROUNDS", str(ROUNDS_MAX)),
    }


def _promptfoo_test(sample: Sample, scorer: str) -> Json:
    return {
        "description": f"{sample.name}: {sample.why or sample.verdict}",
        "vars": {"sample": sample.name},
        "metadata": {"seq": sample.seq, "log": sample.log},
        "assert": [{"type": _ASSERTIONS[scorer], "value": _untemplated(sample.wanted)}],
    }


def _untemplated(text: str) -> str:
    """The text as a template that gives it.

    Of a text that names a file or a package promptfoo runs the code, and a judgement may be somebody else's words.
    """
    is_run = text.startswith(("file://", "package:"))
    return ("{{ '' }}" if is_run else "") + text.replace("{", "{{ '{' }}")


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n"


FILE: Final = "test_judged.py"
_HEAD: Final = '''\
"""Answers that were judged in a log of workspaced: was the agent shown what a right answer says?

Made by `workspaced eval export`. The notes beside this file are as they were shown. Write into one what it should
have said: then the test says whether that would have been enough.
"""

{imports}from pathlib import Path

HERE = Path(__file__).parent
LOG = HERE / {log!r}
'''
_TEST: Final = """

def test_{name}({fixture}):
    {said}
    shown = {shown}
    assert {check}, "it does not show what was wanted: " + {wanted!r}
"""


def pytest_files(samples: Sequence[Sample], scorer: str, log: str) -> dict[str, str]:
    """The files, by their paths.

    Args:
        scorer: `includes` or `regex`; others judge an answer, and here no model gives one.
        log: the log's path as the module's folder sees it.

    Raises:
        InvalidArgument: another scorer.
    """
    if scorer not in {"includes", "regex"}:
        raise InvalidArgument(
            f"The scorer {scorer!r} judges an answer, and these tests ask no model.",
            hint="Give --scorer includes or regex, or --to inspect or promptfoo.",
        )
    imports = "import re\n" if scorer == "regex" else ""
    if any(sample.tool for sample in samples):
        imports = "import json\n" + imports
    files = {FILE: _HEAD.format(imports=imports, log=log) + "".join(_test(each, scorer) for each in samples)}
    for sample in samples:
        folder = PurePosixPath("notes", sample.name)
        files |= {str(folder / note): text for note, text in sample.notes.items()}
    return files


def _test(sample: Sample, scorer: str) -> str:
    notes = f'HERE / "notes" / "{sample.name}"'
    if sample.tool:
        answer = f"mcp_at(LOG, {sample.seq}, {notes}).call({sample.tool!r}, **{sample.arguments!r})"
        fixture, shown = "mcp_at", f"json.dumps({answer}, ensure_ascii=False)"
    else:
        fixture, shown = "prompt_at", f"prompt_at(LOG, {sample.seq}, {notes}).text()"
    check = {
        "includes": f"{sample.wanted.casefold()!r} in shown.casefold()",
        "regex": f"re.search({sample.wanted!r}, shown)",
    }[scorer]
    said = f"# Judged {sample.verdict}" + (f": {sample.why!r}" if sample.why else "")
    return _TEST.format(
        name=sample.name, fixture=fixture, said=said, shown=shown, check=check, wanted=sample.wanted
    )
