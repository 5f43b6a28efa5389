"""Why, as somebody looks a note up and reads who was shown it."""

import re
from typing import Any

import pytest
from support.inspector import Inspector
from support.inspector_page import OpenPage

pytestmark = pytest.mark.thorough


def test_a_note_is_found_and_its_calls_lead_on(open_page: OpenPage, recorded: Inspector) -> None:
    page = open_page(recorded.url).show("note")
    lives = {
        note["path"]: recorded.get(f"/api/notes/{note['path']}")["traces"]
        for note in recorded.get("/api/notes", limit=500)["notes"]
    }
    path, asked = next(
        (path, each)
        for path, traces in lives.items()
        for each in traces
        if each["kind"] == "asked" and each["revision"]
    )
    page.get_by_label("Note", exact=True).fill(path)
    page.get_by_role("link", name=path, exact=True).click()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=str(asked["seq"]), exact=True))
    row.filter(has_text=asked["revision"][:8]).first.wait_for()
    row.get_by_role("link").first.click()
    assert page.url.endswith(f"#/call/{asked['seq']}")


def test_a_call_that_asked_for_it_in_vain_is_said(open_page: OpenPage, daemon: Any) -> None:
    running = daemon(notes={"hr/Salary.md": "# Salary\n", ".workspacedignore": "hr/\n"})
    running.connect("agent").tool("get_note_by_reference", {"reference": "Salary"})
    with Inspector("--socket", running.socket, env=running.env) as inspector:
        page = open_page(inspector.url).page
        page.evaluate("location.hash = '#/note/hr%2FSalary.md'")
        page.get_by_text("No agent was shown it, as far as recordings tell. Last asked in vain:").wait_for()
        page.get_by_text("agent asks get_note_by_reference for Salary and gets NOTE_NOT_FOUND").first.wait_for()
        page.get_by_role("link", name=re.compile("^call ")).click()
        page.wait_for_url("**/#/call/*")
        page.close()  # before what it talks with ends
