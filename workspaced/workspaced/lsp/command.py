"""`workspaced lsp`."""

import logging
import os

import click

from ..terminal.daemon import choose
from ..terminal.options import daemon_options, given
from ..terminal.printing import log_to_stderr
from .server import run_server


@click.command()
@click.option("--verbose", is_flag=True, help="Say on standard error what is told to whom, and what fails.")
@daemon_options
def lsp_command(verbose: bool) -> int:
    """A language server for any editor, over standard input and output. The editor runs this.

    Shows agents what is open in the editor, and gives its user completion of links, definitions, backlinks, hover
    and renames. Finds the daemon that serves a document's folder.
    """
    log_to_stderr(logging.CRITICAL)
    if verbose:
        logging.getLogger("workspaced").setLevel(logging.INFO)
    is_named = given("socket") or given("workspace") or os.environ.get("WORKSPACED_SOCKET")
    return run_server(str(choose().socket) if is_named else None)
