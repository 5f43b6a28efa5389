"""Draws media/icon.png: an eye on a note. `python clients/vscode/scripts/icon.py`"""

from pathlib import Path

from PIL import Image, ImageDraw

SIZE, FINER = 128, 4
GROUND, PAPER, INK = "#1f2a44", "#f5f2ea", "#2f6fde"


def scaled(*values: float) -> list[float]:
    return [value * FINER for value in values]


def drawn() -> Image.Image:
    image = Image.new("RGBA", (SIZE * FINER, SIZE * FINER))
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle(scaled(0, 0, 127, 127), 24 * FINER, fill=GROUND)
    draw.rounded_rectangle(scaled(28, 18, 100, 110), 8 * FINER, fill=PAPER)
    for top, right in ((30, 88), (42, 72), (98, 80)):
        draw.rounded_rectangle(scaled(40, top, right, top + 4), 2 * FINER, fill="#b9b4a6")
    draw.chord(scaled(34, 44, 94, 104), 205, 335, fill=INK)
    draw.chord(scaled(34, 40, 94, 100), 25, 155, fill=INK)
    draw.ellipse(scaled(50, 58, 78, 86), fill=PAPER)
    draw.ellipse(scaled(57, 65, 71, 79), fill=GROUND)
    return image.resize((SIZE, SIZE), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    drawn().save(Path(__file__).parents[1] / "media" / "icon.png", optimize=True)
