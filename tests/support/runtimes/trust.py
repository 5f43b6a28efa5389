"""Codex's trust in hooks, put on record as its `/hooks` does when a person agrees."""

import json
import subprocess

from support.runtimes.programs import RUN_S, Codex, Json

GREETING = {"clientInfo": {"name": "tests", "version": "1"}}


def listed(program: Codex) -> list[Json]:
    """The hooks that Codex finds, with `key`, `currentHash` and `trustStatus`."""
    requests = (
        {"id": 1, "method": "initialize", "params": GREETING},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(program.vault)]}},
    )
    serving = subprocess.Popen(
        [str(program.executable()), "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=program.environment,
        cwd=program.vault,
    )
    assert serving.stdin is not None and serving.stdout is not None
    with serving:
        serving.stdin.write("".join(json.dumps(each) + "\n" for each in requests).encode())
        serving.stdin.flush()
        answers = (json.loads(line) for line in serving.stdout)
        found: Json = next(each for each in answers if each.get("id") == 2)
        serving.stdin.close()
        serving.wait(RUN_S)
    return list(found["result"]["data"][0]["hooks"])


def record(program: Codex) -> None:
    """Trusts the hooks as they are now."""
    settings = program.home / ".codex" / "config.toml"
    states = (
        f'\n[hooks.state."{each["key"]}"]\ntrusted_hash = "{each["currentHash"]}"\n' for each in listed(program)
    )
    settings.write_text(settings.read_text() + "".join(states))
