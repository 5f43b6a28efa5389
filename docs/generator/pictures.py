"""The pictures of README and docs, each once for light and once for dark themes.

    python docs/generator/pictures.py               writes the drawings
    python docs/generator/pictures.py --record      also runs `workspaced demo` and records its terminal

A drawing is a template beside this file, such as overview.svg, with a palette filled in. The recording is a real
run in a pseudo terminal; the pictures show its lines one after another, paced for a reader, in a window that
scrolls.
"""

import argparse
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

HERE: Final = Path(__file__).parent
IMAGES: Final = HERE.parent / "images"

PALETTES: Final = {
    "light": {
        "box": "#f6f8fa",
        "core": "#ffffff",
        "line": "#57606a",
        "accent": "#0969da",
        "text": "#1f2328",
        "dim": "#57606a",
    },
    "dark": {
        "box": "#161b22",
        "core": "#0d1117",
        "line": "#8b949e",
        "accent": "#58a6ff",
        "text": "#e6edf3",
        "dim": "#9da7b3",
    },
}
COLOURS: Final = {
    "light": {"31": "#cf222e", "32": "#1a7f37", "33": "#7d4e00", "36": "#0550ae"},
    "dark": {"31": "#ff7b72", "32": "#3fb950", "33": "#d29922", "36": "#79c0ff"},
}
"""Of the terminal's colours, those that the demo uses."""

COLUMNS: Final = 92
ROWS: Final = 22
LINE_PX: Final = 19
CHAR_PX: Final = 8.4
LINE_S: Final = 0.16
"""How long a line takes to appear."""
HEADING_S: Final = 1.4
"""The pause before a part of the story, and before each moment of it."""
END_S: Final = 6.0
_SGR: Final = re.compile(r"\x1b\[([\d;]*)m")


def write_drawings() -> None:
    """Fills each palette into each template."""
    for template in sorted(HERE.glob("*.svg")):
        for theme, palette in PALETTES.items():
            filled = template.read_text()
            for name, colour in palette.items():
                filled = filled.replace(f"{{{{{name}}}}}", colour)
            (IMAGES / f"{template.stem}-{theme}.svg").write_text(filled)


def recorded(command: list[str]) -> list[str]:
    """The lines that `command` writes to a terminal, with their colours.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(COLUMNS), "LC_ALL": "C.UTF-8"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    os.close(ours)
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, command)
    return written.decode().replace("\r\n", "\n").rstrip("\n").split("\n")


def terminal(lines: list[str], theme: str) -> str:
    """An SVG in which `lines` appear one after another, over and over."""
    palette = PALETTES[theme]
    moments, now = [], 0.4
    for line in lines:
        plain = _SGR.sub("", line)
        now += HEADING_S if plain[:1].isdigit() or "(after " in plain else LINE_S
        moments.append(now)
    total = now + END_S
    width, height = round(COLUMNS * CHAR_PX) + 32, ROWS * LINE_PX + 32
    frames = ["0% { transform: translateY(0); }"]
    for number, moment in enumerate(moments):
        if number >= ROWS:
            offset = (ROWS - 1 - number) * LINE_PX
            frames.append(f"{100 * moment / total:.3f}% {{ transform: translateY({offset}px); }}")
    frames.append(f"100% {{ transform: translateY({min(0, ROWS - len(lines)) * LINE_PX}px); }}")
    drawn = [
        f'<text xml:space="preserve" y="{(number + 1) * LINE_PX}" style="animation-name:l{number}">'
        f"{_spans(line, theme)}</text>"
        for number, line in enumerate(lines)
        if line
    ]
    appear = [
        f"@keyframes l{number} {{ 0%, {100 * moment / total:.3f}% {{ opacity: 0; }}"
        f" {100 * moment / total + 0.001:.3f}%, 100% {{ opacity: 1; }} }}"
        for number, moment in enumerate(moments)
        if lines[number]
    ]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>A recording of the command make demo</title>
<style>
text {{
  font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  fill: {palette["text"]};
  white-space: pre;
}}
g text {{ animation: {total:.1f}s step-end infinite; }}
#screen {{ animation: scroll {total:.1f}s step-end infinite; }}
@keyframes scroll {{ {" ".join(frames)} }}
{chr(10).join(appear)}
@media (prefers-reduced-motion: reduce) {{
  g text {{ animation: none; }}
  #screen {{ animation: none; transform: translateY({min(0, ROWS - len(lines)) * LINE_PX}px); }}
}}
</style>
<rect width="{width}" height="{height}" rx="8" fill="{palette["box"]}"/>
<svg x="16" y="12" width="{width - 32}" height="{ROWS * LINE_PX + 6}" overflow="hidden"><g id="screen">
{chr(10).join(drawn)}
</g></svg>
</svg>
"""


def _spans(line: str, theme: str) -> str:
    """A line's text with its colours, cut at the width of the terminal."""
    spans, style, left = [], "", COLUMNS
    parts = _SGR.split(line)
    for index, part in enumerate(parts):
        if index % 2:
            style = _style(part.split(";"), theme)
        elif part and left > 0:
            shown = part if len(part) <= left else part[: left - 1] + "…"
            left -= len(shown)
            spans.append(f'<tspan style="{style}">{escape(shown)}</tspan>' if style else escape(shown))
    return "".join(spans)


def _style(codes: list[str], theme: str) -> str:
    style = []
    for code in codes:
        if code in COLOURS[theme]:
            style.append(f"fill:{COLOURS[theme][code]}")
        elif code == "1":
            style.append("font-weight:bold")
        elif code == "2":
            style.append(f"fill:{PALETTES[theme]['dim']}")
        elif code == "3":
            style.append("font-style:italic")
    return ";".join(style)


def main() -> None:
    """Writes the pictures."""
    parser = argparse.ArgumentParser(description="Write the pictures of README and docs.")
    parser.add_argument("--record", action="store_true", help="also run `workspaced demo` and record it")
    options = parser.parse_args()
    write_drawings()
    if options.record:
        lines = ["$ make demo", *recorded([sys.executable, "-m", "workspaced", "demo"])]
        for theme in PALETTES:
            (IMAGES / f"demo-{theme}.svg").write_text(terminal(lines, theme))


if __name__ == "__main__":
    main()
