/**
 * From what the editor shows, by real paths, to what each vault is to see. Remembers which note was looked at last:
 * a daemon whose note was left for one that it does not serve keeps it as active until it is closed.
 */

import type { Selection } from "../api.js";
import type { EditorView, TabSource } from "./api.js";
import { LISTED_MAX, RECENT_MAX, TABS_MAX } from "./limits.js";
import { nearest, type RealPaths, type Served } from "./paths.js";

/** A folder that a connected daemon serves. */
export interface Place<Of = unknown> extends Served {
  readonly vaultId: string;
  readonly of: Of;
}

/** What a daemon is told of one vault. */
export interface VaultView {
  active: string | null;
  focused: boolean;
  tabs: { note: string; source: TabSource }[];
  pins: string[];
  selection: Selection | null;
}

/** What a daemon is told, by the ids of its vaults. */
export interface DaemonView {
  readonly views: Map<string, VaultView>;
  /** The vault whose note the user looks at. */
  focus: string | undefined;
}

/** The editor's view by real paths, without what lies nowhere. */
export interface Located {
  readonly active: string | null;
  readonly focused: boolean;
  readonly tabs: readonly { readonly path: string; readonly source: TabSource }[];
  readonly pins: readonly string[];
  readonly selection: (Selection & { readonly path: string }) | null;
}

export const emptyView = (focused = false): VaultView => ({
  active: null,
  focused,
  tabs: [],
  pins: [],
  selection: null,
});

/** The view by real paths, as far as they are known; asks for those that are not. */
export function located(view: EditorView, paths: RealPaths): Located {
  const at = (path: string | null | undefined): string | null => (path ? (paths.real(path) ?? null) : null);
  const tabs = view.tabs.slice(-LISTED_MAX).flatMap(({ path, source = "navigation" }) => {
    const real = at(path);
    return real === null ? [] : [{ path: real, source }];
  });
  const pins = view.pins.slice(0, LISTED_MAX).flatMap((path) => at(path) ?? []);
  const active = at(view.active);
  const selected = view.selection;
  const isOfActive = selected !== null && active !== null && at(selected.path) === active;
  return {
    active,
    focused: view.focused,
    tabs,
    pins,
    selection: isOfActive ? { ...selected, path: active } : null,
  };
}

export class Sight {
  /** The notes that were active, the latest last, and whether they were open when last looked. */
  #recent: { readonly path: string; readonly isOpen: boolean }[] = [];
  #active: string | null = null;

  /**
   * Takes the next view. A note that goes in the look in which another one comes to the front was replaced in its
   * pane, and is still what was looked at last; one that goes otherwise was closed.
   */
  remember({ active, tabs, pins }: Located): void {
    const open = new Set([...tabs.map((tab) => tab.path), ...pins]);
    const cameToFront = active !== null && active !== this.#active;
    const others = this.#recent.flatMap(({ path, isOpen }) => {
      const isKept = open.has(path) || (isOpen ? cameToFront : active !== null);
      return isKept && path !== active ? [{ path, isOpen: open.has(path) }] : [];
    });
    this.#recent = others.slice(1 - RECENT_MAX);
    if (active !== null) this.#recent.push({ path: active, isOpen: true });
    this.#active = active;
  }

  /** What each daemon is to see; one that is missing is to see nothing. */
  views<Of>(places: readonly Place<Of>[], view: Located): Map<Of, DaemonView> {
    const made = new Map<Of, DaemonView>();
    const of = (place: Place<Of>): [DaemonView, VaultView] => {
      const daemon = getOr(made, place.of, () => ({ views: new Map(), focus: undefined }));
      return [daemon, getOr(daemon.views, place.vaultId, () => emptyView())];
    };
    for (const { path } of [...this.#recent].reverse()) {
      const found = nearest(places, path);
      if (found === undefined) continue;
      const [daemon, shown] = of(found.place);
      if (daemon.focus !== undefined) continue; // one note for each daemon: the latest
      daemon.focus = found.place.vaultId;
      shown.active = found.note;
      shown.focused = view.focused && path === view.active;
      if (path === view.active && view.selection !== null) shown.selection = linesOf(view.selection);
    }
    for (const path of view.pins) {
      const found = nearest(places, path);
      if (found === undefined) continue;
      const [, { pins }] = of(found.place);
      if (!pins.includes(found.note)) pins.push(found.note);
    }
    for (const { path, source } of view.tabs) {
      const found = nearest(places, path);
      if (found === undefined) continue;
      const [, { tabs, pins }] = of(found.place);
      if (tabs.some(({ note }) => note === found.note) || pins.includes(found.note)) continue;
      tabs.push({ note: found.note, source });
    }
    for (const { views } of made.values()) for (const shown of views.values()) shown.tabs = beside(shown);
    return made;
  }
}

/**
 * The tabs to tell. A note alone is the active note; beside others each is a tab too, so that going from one to the
 * next neither closes nor opens one.
 */
function beside({ active, tabs }: VaultView): VaultView["tabs"] {
  return tabs.length === 1 && tabs[0]?.note === active ? [] : tabs.slice(-TABS_MAX);
}

function linesOf({ startLine, endLine, text }: Selection): Selection {
  return text === undefined ? { startLine, endLine } : { startLine, endLine, text };
}

function getOr<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
