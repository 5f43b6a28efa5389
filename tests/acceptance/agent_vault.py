"""The notes that `agent_loop.py` reads. Needs neither the SDK nor anything of ours."""

LINES = 600
RARE = "amphidromic"
NOTES = {
    "log/today.md": "# Today\n\nThe ferry is late again, see [[Tide tables#Neap|the tables]].\n",
    "log/tomorrow.md": "# Tomorrow\n\nNothing yet.\n",
    "reference/tides.md": "---\ntitle: Tide tables\n---\n"
    + "".join(f"Line {number}: high water at {number % 24:02}:{number % 60:02}.\n" for number in range(LINES))
    + f"\n## Neap\n\nNear an {RARE} point there is hardly any tide.\n",
}
