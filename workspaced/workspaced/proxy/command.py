"""`workspaced proxy`."""

import os
from functools import partial
from pathlib import Path
from typing import Final

import click
import platformdirs

from ..discovery.beside import noted
from ..terminal.daemon import choose
from ..terminal.options import check_client, daemon_options
from ..terminal.output import output
from ..terminal.printing import log_to_stderr, say
from .access import token_from
from .application import run_proxy
from .daemon_link import DaemonLink
from .upstream import Upstream

_UPSTREAM_TIMEOUT_S: Final = 600.0
"""The longest silence of a provider; the SDKs of OpenAI and Anthropic wait as long."""
_PROXY_PORT: Final = 7410
"""Unless another one is asked for, so that the URL stays the same."""
_OPENAI = "OPENAI_BASE_URL"
_VARIABLES = {"/openai": _OPENAI, "anthropic": "ANTHROPIC_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}
"""Which variable a runtime reads its URL from, by the first of these that the URL has; else it is OpenAI's. Other
providers have OpenAI's interface below `/openai`."""


@click.command()
@click.option("--upstream", required=True, metavar="URL", help="The base URL of the provider.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=_PROXY_PORT, show_default=True, help="On 127.0.0.1; 0: any."
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
    default=_UPSTREAM_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="The longest silence of the provider.",
)
@daemon_options
def proxy_command(upstream: str, port: int, client: str, token_file: Path | None, timeout_s: float) -> int:
    """Put context into the requests of any runtime, on their way to the provider, until Ctrl-C.

    The runtime uses the URL that this prints instead of the provider's; nothing else changes.

    \b
    workspaced proxy --upstream https://api.openai.com/v1
    workspaced proxy --upstream https://api.anthropic.com
    """
    check_client(client)

    def ready(url: str, provider: str, without_context: str) -> None:
        if without_context:
            say(f"requests pass unchanged for now: {without_context}", err=True)
        name = next((name for word, name in _VARIABLES.items() if word in provider), _OPENAI)
        answer = {"url": url, "upstream": provider, "pid": os.getpid()}
        output(answer, f"use {url} instead of {provider}, such as {name}={url}")

    log_to_stderr()
    token = token_from(token_file or platformdirs.user_config_path("workspaced") / "proxy-token")
    socket = choose().socket
    with noted("proxy", f"passes requests on to {upstream}"):
        link = partial(DaemonLink, socket, client)
        return run_proxy(Upstream(upstream, timeout_s), port, token, link, ready)
