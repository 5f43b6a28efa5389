/** The workspace at one moment, what differed from the moment before, and who caused it. */

import { Command } from "../parts/copy.js";
import { clock, day } from "../parts/format.js";
import { Json } from "../parts/json.js";
import { Loaded, useResource } from "../parts/resource.js";
import { link } from "../router.js";
import { at, logArgument, version } from "../store.js";
import { html, useEffect } from "../vendor/index.js";

/** @typedef {import("../types").Moment} Shown */

/** @param {{ parts: string[] }} props */
export function Moment({ parts }) {
  const [place = ""] = parts;
  useEffect(() => {
    at.value = place;
  }, [place]);
  const moment = /** @type {import("../parts/resource.js").Resource<Shown>} */ (
    useResource("/api/state", { at: place || undefined }, place ? 0 : version.value)
  );
  return html`<section aria-labelledby="moment-title">
    <h2 id="moment-title">Moment</h2>
    <${Loaded} of=${moment}>${(/** @type {Shown} */ shown) => html`<${Workspace} shown=${shown} />`}</${Loaded}>
  </section>`;
}

/** @param {{ shown: Shown }} props */
function Workspace({ shown }) {
  const { state } = shown;
  return html`<p>
      after event <a href=${link("at", shown.seq)}>${shown.seq}</a>, ${day(shown.time)} ${clock(shown.time)}
    </p>
    <dl class="facts">
      <dt>Active note</dt>
      <dd>${state.activeNote ? state.activeNote.id : "none"}</dd>
      <dt>Pinned</dt>
      <dd>${state.pinnedNotes.map((note) => note.id).join(", ") || "none"}</dd>
    </dl>
    <${Json} value=${shown.event} label="event" open />
    <${Json} value=${state} label="state" />
    <${Command} line=${`workspaced replay ${logArgument.value} --until ${shown.seq}`} />`;
}
