"""What a bridge and the daemon say to each other when the bridge hands over its agent's pipes.

    bridge  OFFER                      as the first bytes of a connection
    daemon  READY                      else, also of an older daemon: it does not take them
    bridge  the two descriptors        with at least one byte: the lines that come before the agent's first
    daemon  REFUSED, or later ENDED    the agent ended; the end of the stream without it: the daemon did

The bridge waits until then. When it ends before, the daemon closes the pipes.

Imports only a small part of the standard library, because the bridge uses this module.
"""

from typing import Final

OFFER: Final = b"PIPES\n"
READY: Final = b"ready\n"
REFUSED: Final = b"no\n"
ENDED: Final = b"ended\n"
