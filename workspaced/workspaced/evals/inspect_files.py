"""Samples as a task of Inspect (`inspect eval`): its dataset, and tools that answer what was recorded."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

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
