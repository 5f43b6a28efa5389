"""The command line with short limits: `python short_limits.py NAME=SECONDS... -- PYTHON -m workspaced ARGUMENTS`.

So a test that must outlast a limit takes a second instead of ten.
"""

import sys

from workspaced import limits

if __name__ == "__main__":
    given, rest = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    for each in given:
        name, _, value = each.partition("=")
        assert hasattr(limits, name), name
        setattr(limits, name, float(value))
    from workspaced.__main__ import main

    sys.argv = ["workspaced", *rest[3:]]
    main()
