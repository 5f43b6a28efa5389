"""What a daemon says of itself to a bridge, before the bridge passes anything of its agent's on.

Imports only a small part of the standard library, because the bridge uses this module.
"""

from typing import Final

SERVES: Final = "io.github.workspaced/serves"
"""A key in `_meta` of a `ping`, and of its answer if it comes before any other request: there an object with
`workspace`, `vaults` (the paths of the folders) and `onDemand` (whether the daemon ends without clients)."""
GREETING: Final = b'{"jsonrpc":"2.0","id":0,"method":"ping","params":{"_meta":{"%s":true}}}\n' % SERVES.encode()
