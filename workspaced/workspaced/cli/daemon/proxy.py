"""`workspaced proxy`."""

import os
from pathlib import Path

import click
import platformdirs

from ...limits import CLIENT_NAME_CHARS_MAX, PROXY_PORT, UPSTREAM_TIMEOUT_S
from ...proxy.access import token_from
from ...proxy.server import Options, Started, run_proxy
from ..shared.logs import log_to_stderr
from ..shared.options import daemon_options, json_option
from ..shared.printing import print_json, say
from ..shared.target import choose

_OPENAI = "OPENAI_BASE_URL"
_VARIABLES = {"/openai": _OPENAI, "anthropic": "ANTHROPIC_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}
"""Which variable a runtime reads its URL from, by the first of these that the URL has; else it is OpenAI's. Other
providers have OpenAI's interface below `/openai`."""


@click.command()
@click.option("--upstream", required=True, metavar="URL", help="The base URL of the provider.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=PROXY_PORT, show_default=True, help="On 127.0.0.1; 0: any."
)
@click.option(
    "--client", default="proxy", show_default=True, metavar="NAME", help="The name whose sharing level counts."
)
@click.option(
    "--token-file", type=click.Path(path_type=Path), metavar="F", help="Where the token of the URL lies."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    default=UPSTREAM_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="The longest silence of the provider.",
)
@daemon_options
@json_option
def proxy_command(
    upstream: str,
    port: int,
    client: str,
    token_file: Path | None,
    timeout_s: float,
    socket_path: str | None,
    workspace: str | None,
    as_json: bool,
) -> int:
    """Put context into the requests of any runtime, on their way to the provider, until Ctrl-C.

    The runtime uses the URL that this prints instead of the provider's; nothing else changes.

    \b
    workspaced proxy --upstream https://api.openai.com/v1
    workspaced proxy --upstream https://api.anthropic.com
    """
    if not 1 <= len(client) <= CLIENT_NAME_CHARS_MAX:
        raise click.UsageError(f"--client takes a name of 1 to {CLIENT_NAME_CHARS_MAX} characters.")

    def ready(started: Started) -> None:
        if started.without_context:
            say(f"requests pass unchanged for now: {started.without_context}", err=True)
        if as_json:
            print_json({"url": started.url, "upstream": started.upstream, "pid": os.getpid()})
            return
        name = next((name for word, name in _VARIABLES.items() if word in started.upstream), _OPENAI)
        say(f"use {started.url} instead of {started.upstream}, such as {name}={started.url}")

    log_to_stderr()
    token = token_from(token_file or platformdirs.user_config_path("workspaced") / "proxy-token")
    socket = choose(socket_path, workspace).socket
    return run_proxy(Options(upstream, port, token, socket, client, timeout_s), ready)
