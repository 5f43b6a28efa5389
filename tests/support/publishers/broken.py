"""A plugin of pytest: each situation meets Neovim with a fault that it must notice (test_situations_can_fail.py).

The faults are Lua, run before the plugin starts. A situation without one meets a whole editor, and passes.
"""

import os
from pathlib import Path

import pytest

from support import neovim
from support.publishers import EDITORS, desk
from support.publishers.neovim import Neovim

SHORT_S = 3.0
"""A broken publisher keeps those waiting who wait for it."""

CLIENT = "local C = require('workspaced.client') "
SESSION = "local S = require('workspaced.session') "
PATHS = "local P = require('workspaced.paths') local note = P.note "
SCAN = "local D = require('workspaced.discovery') local scan = D.scan "

DEAF = CLIENT + "C.show = function() end"
STUTTERS = CLIENT + "local show = C.show C.show = function(self, ...) show(self, {}) show(self, ...) end"
KEEPS_CLOSED = CLIENT + (
    "local show, last = C.show, {} C.show = function(self, views, ...)"
    " for id, was in pairs(last) do views[id] = views[id] or { tabs = {} } end"
    " for id, view in pairs(views) do view.active = view.active or last[id] last[id] = view.active end"
    " show(self, views, ...) end"
)
BY_ACTIONS = CLIENT + (
    "C._differing = function(self, vault) local view = self._views[vault.id]"
    " if view and view.active and self._told ~= view.active then self._told = view.active"
    " local params = self:_publish('neovim', 'active_note_set', vim.json.encode({ note = view.active }), vault.id)"
    " return self:_request('workspaced/publish', params, function() end) end end"
)
SEES_NO_SPLITS = "require('workspaced.view').shown = function() return {} end"
UNPINS_NOTHING = SESSION + (
    "local pin = S.pin S.pin = function(type) if type == 'note_pinned' then pin(type) end end"
)
PINS_NOTHING = SESSION + "S.pin = function() end"
RENAMES_NOTHING = SESSION + (
    "local act = S.act S.act = function(action) if action.type ~= 'note_renamed' then act(action) end end"
)
ONE_LINE_TOO_MUCH = (
    "local V = require('workspaced.view') local selection = V.selection V.selection = function()"
    " local found = selection() if found then found.endLine = found.endLine + 1 end return found end"
)
SERVES_THE_OPENED_FOLDER_ALONE = PATHS + (
    "P.note = function(path, root) return root == vim.loop.cwd() and note(path, root) or nil end"
)
SEARCHES_ONCE = SCAN + (
    "local times = 0 D.scan = function(done) times = times + 1 if times == 1 then scan(done) end end"
)
IS_NEVER_COME_BACK_TO = SESSION + "S.focus_gained = function() end"
IS_NEVER_LEFT = SESSION + "S.focus_lost = function() end"
TAKES_FOCUS_THE_WRONG_WAY_ROUND = (
    "local N = require('workspaced.snapshots') local params = N.params"
    " N.params = function(s, v, w, l, is_focused) return params(s, v, w, l, not is_focused) end"
)

FAULTS = {
    "test_each_note_that_is_opened_is_active_by_one_event_and_nothing_done_is_nothing_told": STUTTERS,
    "test_an_editor_that_the_user_has_left_still_tells_what_it_shows": SESSION
    + "S.focus_lost = function() S.stop() end",
    "test_notes_shown_side_by_side_are_tabs_and_the_one_in_focus_is_active": SEES_NO_SPLITS,
    "test_a_note_is_pinned_and_unpinned": UNPINS_NOTHING,
    "test_of_a_selection_too_long_to_tell_there_are_the_lines_alone": (
        "require('workspaced.limits').selection_bytes_max = 1e9"
    ),
    "test_a_thousand_switches_in_a_moment_are_few_events_and_end_right": (
        "require('workspaced.limits').coalesce_ms = 0"
    ),
    "test_a_pause_leaves_nothing_of_it_and_its_end_tells_the_present": CLIENT
    + "C.pause = function(self, _, done) self.paused = { since = 'now' } done() end",
    "test_a_withheld_note_is_recorded_and_shown_to_no_agent": DEAF,
    "test_any_name_is_told_in_its_composed_form": DEAF,
    "test_a_name_that_is_no_utf8_is_told_to_nobody": PATHS + "P.is_utf8 = function() return true end",
    "test_a_file_outside_every_vault_is_told_to_nobody": PATHS
    + "P.note = function(path, root) return note(path, root) or path:match('([^/]*%.md)$') end",
    "test_a_vault_above_the_opened_folder_has_its_notes": SERVES_THE_OPENED_FOLDER_ALONE,
    "test_a_vault_below_the_opened_folder_has_its_notes": SERVES_THE_OPENED_FOLDER_ALONE,
    "test_of_two_vaults_of_one_daemon_each_has_its_own_notes": CLIENT + "C._switch = function() end",
    "test_of_two_daemons_each_has_the_notes_of_its_own_vault": SCAN
    + "D.scan = function(done) scan(function(records) done({ records[1] }) end) end",
    "test_a_pin_goes_with_its_note_also_while_no_daemon_runs": RENAMES_NOTHING,
    "test_a_note_that_is_moved_or_deleted_by_another_program_is_shown_as_it_is_then": KEEPS_CLOSED,
    "test_what_a_killed_editor_showed_leaves_after_the_grace_and_one_started_again_shows_anew": BY_ACTIONS,
    "test_pins_by_command_outlast_the_editor_and_those_of_its_view_do_not": BY_ACTIONS,
    "test_an_editor_that_quits_takes_its_view_back_without_a_grace": CLIENT
    + "C.bye = function(self) self:_close() end",
    "test_a_daemon_started_after_the_editor_is_found": SEARCHES_ONCE,
    "test_a_daemon_that_comes_back_is_told_what_is_shown_now": SEARCHES_ONCE,
    "test_the_same_walk_is_the_same_log": ONE_LINE_TOO_MUCH,
    "test_a_daemon_that_stands_still_holds_nobody_up_and_is_told_the_last_view": CLIENT
    + "local show = C.show C.show = function(self, ...) self._missed = self._missed or self._open > 0"
    " if not self._missed then show(self, ...) end end",
    "test_an_editor_quits_though_the_daemon_stands_still": CLIENT
    # It waits for an answer that it asks for then: whether one was still due depends on the machine's speed.
    + "C.bye = function(self) local heard self:_tell('workspaced/hello', '{}', function() heard = true end)"
    " vim.wait(60000, function() return heard end) self:_close() end",
    "test_a_socket_that_accepts_and_never_answers_holds_up_nobody_else": CLIENT
    + "local greet = C._greet C._greet = function(self) greet(self) os.execute('sleep 9') end",
    "test_a_daemon_is_found_among_two_hundred_records_of_daemons_that_are_gone": SCAN
    + "D.scan = function(done) scan(function(records) done({ records[#records] }) end) end",
    "test_the_editor_that_the_user_comes_back_to_is_right_at_once": IS_NEVER_COME_BACK_TO,
    "test_what_moves_in_an_editor_that_the_user_is_not_in_changes_nothing": IS_NEVER_LEFT,
    "test_after_a_restart_focus_decides_and_not_who_reconnects_last": TAKES_FOCUS_THE_WRONG_WAY_ROUND,
    "test_pins_are_the_union": PINS_NOTHING,
    "test_a_note_that_both_show_stays_until_the_last_one_closes_it": SEES_NO_SPLITS,
    "test_the_one_that_leaves_takes_only_its_own": SEES_NO_SPLITS,
    "test_an_editor_that_knows_wins_over_a_view_that_is_inferred": BY_ACTIONS,
}
"""For each situation."""


class BrokenNeovim(Neovim):
    """Neovim with the fault of the situation that runs."""

    def __init__(self, home: Path, cwd: Path, env: dict[str, str], vault: Path) -> None:
        situation = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].partition(" ")[0].partition("[")[0]
        super().__init__(home, cwd, env, vault, setup=FAULTS.get(situation, "") + " vim.g.planted = 1")
        if self._editor.lua("return vim.g.planted") != 1:
            pytest.exit(f"the fault for {situation} is no Lua", returncode=4)


EDITORS.clear()
EDITORS["neovim"] = BrokenNeovim
desk.UNTIL_S = SHORT_S
neovim.ANSWER_S = 2 * SHORT_S
neovim.UNTIL_MS = int(SHORT_S * 1_000)
