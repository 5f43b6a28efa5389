"""Globs of `--files`, and paths that they name or not: clients match them as the daemon does."""

GLOBS = ["src/**", "src", "/src/", "*.py", "/*.py", "src/*.py", "**/gen", "src/**/x.py", "a?.py", "[ab].py"]
GLOBS += ["[!a].py", "!*.py", "**", "*", "gen/", "src/gen", "\\!x.py", "x.*", "s*c/**", "!src/gen/**"]
CHOSEN = [[glob] for glob in GLOBS] + [[one, other] for one in GLOBS for other in ("!*.py", "src/**", "*.c")]
FILES = ["a.py", "b.py", "ab.py", "x.c", "src/a.py", "src/x.py", "src/gen/x.py", "src/gen/deep/x.py", "gen"]
FILES += ["!x.py", "src/p.png", "docs/src/a.py", "srcs/a.py"]
