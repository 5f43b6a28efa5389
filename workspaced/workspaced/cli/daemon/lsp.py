"""`workspaced lsp`."""

import logging
import os

import click

from ...lsp.server import run_server
from ..shared.logs import log_to_stderr
from ..shared.options import daemon_options, json_option
from ..shared.target import choose


@click.command()
@click.option("--verbose", is_flag=True, help="Say on standard error what is told to whom, and what fails.")
@daemon_options
@json_option
def lsp_command(verbose: bool, socket_path: str | None, workspace: str | None, as_json: bool) -> int:
    """A language server for any editor, over standard input and output. The editor runs this.

    Shows agents what is open in the editor, and gives its user completion of links, definitions, backlinks, hover,
    an outline and renames. Finds the daemon that serves a document's folder.
    """
    del as_json  # the wrapper of all commands reads it: errors are JSON then
    log_to_stderr(logging.CRITICAL)
    if verbose:
        logging.getLogger("workspaced").setLevel(logging.INFO)
    named = socket_path or os.environ.get("WORKSPACED_SOCKET")
    socket = str(choose(socket_path, workspace).socket) if named or workspace else None
    return run_server(socket)
