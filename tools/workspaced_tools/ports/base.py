"""The base of all structs that cross a port or the wire: camelCase names."""

import msgspec


class Wire(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """JSON with camelCase names."""
