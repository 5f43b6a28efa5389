"""Samples as a configuration of promptfoo, with a provider whose tools answer what was recorded.

promptfoo reads each prompt as a template; so a prompt is the name of its sample, and the provider knows the rest.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from .fork import ROUNDS_MAX
from .samples import Json, Sample

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
        "tests": [_test(each, scorer) for each in samples],
    }
    bodies = {each.name: {"body": each.body, "answers": each.answers} for each in samples}
    return {
        "promptfooconfig.json": _json(config),
        "samples.json": _json(bodies),
        "provider.mjs": _PROVIDER.replace("ROUNDS", str(ROUNDS_MAX)),
    }


def _test(sample: Sample, scorer: str) -> Json:
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
