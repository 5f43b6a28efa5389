/** The workspace at one moment, as a person sees it; what its event changed, and who caused it. */

import { folding } from "../folding.js";
import { moveTo, seqShown, shown } from "../moment_shown.js";
import { Command } from "../parts/copy.js";
import { EventFilters, EventList } from "../parts/event_list.js";
import { clock, count, day } from "../parts/format.js";
import { Json } from "../parts/json.js";
import { Failure } from "../parts/resource.js";
import { Waiting } from "../parts/waiting.js";
import { link } from "../router.js";
import { about, logArgument } from "../store.js";
import { html, signal } from "../vendor/index.js";

/** @typedef {import("../types").Moment} Shown */

const RECENT_SHOWN = 10;
const SIGNS = { added: "+", removed: "−", changed: "~", order: "↕" };
const SIGN_WORDS = { added: "added", removed: "removed", changed: "changed", order: "another order" };

/** Stays while other views are looked at: who comes back finds the list as it was. */
const filter = signal(/** @type {import("../parts/event_pages.js").EventFilter} */ ({}));

export function Moment() {
  const log = about.value;
  if (log?.events === 0) return html`<${Empty} />`;
  const { data, error, stale } = shown.value;
  return html`<div class="moment">
    <section aria-labelledby="moment-title" aria-busy=${stale}>
      ${error && html`<${Failure} error=${error} />`}
      ${data && stale && folding.value && html`<${Waiting} />`}
      ${data ? html`<${Told} shown=${data} /><${Workspace} shown=${data} />` : html`<h2 id="moment-title">Moment</h2><${Waiting} />`}
    </section>
    <section class="moment-events" aria-labelledby="events-title">
      <h2 id="events-title">Events</h2>
      <${EventFilters} filter=${filter.value} onChange=${(/** @type {any} */ next) => (filter.value = next)} />
      <${EventList} filter=${filter.value} present=${seqShown.value} last=${log?.last ?? 0} onPick=${moveTo} />
    </section>
  </div>`;
}

function Empty() {
  const log = about.value;
  return html`<section aria-labelledby="moment-title">
    <h2 id="moment-title">This log holds no events yet</h2>
    <p>
      Events come from an editor that publishes what its user looks at, and from agents that ask. Once there are some,
      this page shows the workspace after each of them.
    </p>
    ${log?.kind !== "daemon" && html`<p>To see a log with a story, let the demo make one, then run the line with <code>workspaced inspect</code> that it prints:</p>
    <${Command} line="workspaced demo" />`}
  </section>`;
}

// -- the event --

/** @param {{ shown: Shown }} props */
function Told({ shown: { seq, time, told, event, lines } }) {
  if (told === null) {
    return html`<h2 id="moment-title">Before the first event</h2>
      <p class="quiet">What the log begins with. <a href=${link("at", seq + 1)}>To event ${seq + 1}</a></p>`;
  }
  return html`<div class="told">
    <h2 id="moment-title">
      Event ${seq.toLocaleString("en")}${" "}
      <span class=${`badge lane-${told.lane}`}>${told.lane}</span>
      ${told.isFailed && html` <span class="badge bad">✕ failed</span>`}
    </h2>
    <p class="told-sentence"><strong>${told.who}</strong> ${told.sentence}</p>
    <p class="quiet">
      <time datetime=${time}>${day(time)} ${clock(time)}</time> · published by ${told.source}
      ${linksOf(told, event).map(([text, address]) => html` · <a key=${address} href=${address}>${text}</a>`)}
    </p>
    <h3>What it changed</h3>
    ${lines.length
      ? html`<ul class="changes">
          ${lines.map(
            (line, index) => html`<li key=${index} class=${line.kind}>
              <span class="sign" role="img" aria-label=${SIGN_WORDS[line.kind]}>${SIGNS[line.kind]}</span> ${line.text}
            </li>`,
          )}
        </ul>`
      : html`<p class="quiet">Nothing in the workspace: ${NO_CHANGE[told.lane] ?? "it only records what happened"}.</p>`}
    <${Json} value=${event} label="The event as JSON" />
  </div>`;
}

/** @type {Record<string, string>} */
const NO_CHANGE = {
  calls: "a call only reads",
  prompts: "conversations stand beside it",
  volunteered: "the agent was told what it holds",
};

/** @param {import("../types").EventRow} told @param {any} event @returns {[string, string][]} */
function linksOf({ type, seq, lane, notes }, event) {
  if (lane === "calls" || lane === "volunteered") return [[`call ${seq}`, link("call", seq)]];
  if (type === "prompt_assembled") return [[`prompt ${seq}`, link("prompt", seq)]];
  if (event?.data?.insertion) return [["its chat", link("prompt", "overlaid", event.data.insertion)]];
  const talk = event?.data?.conversation;
  if (talk) return [[`conversation ${talk}`, link("prompt", "of", talk)]];
  return notes.map((note) => [`why ${note}`, link("note", note)]);
}

// -- the workspace --

/** @param {{ shown: Shown }} props */
function Workspace({ shown: { seq, state, publishers, changes } }) {
  const added = new Set(
    changes.filter((each) => each.kind === "added" || each.kind === "changed").map((each) => `${each.field} ${each.id ?? ""}`),
  );
  const isNew = (/** @type {string} */ field, id = "") => added.has(`${field} ${id}`);
  const vault = state.vaults.find((each) => each.id === state.currentVaultId);
  const levels = Object.entries(state.sharing ?? {});
  const told = Object.entries(state.volunteering ?? {});
  return html`<div class="workspace">
    <h2>The workspace after it</h2>
    ${state.paused && html`<p class="warning"><strong>Paused</strong> since ${clock(state.paused.since)}, until
      ${state.paused.until ? ` ${clock(state.paused.until)}` : " somebody resumes it"}: nothing is recorded, agents are answered nothing.</p>`}
    <div class="workspace-parts">
      <section>
        <h3>Active note</h3>
        <p class="active-note">
          ${state.activeNote ? html`<${Note} id=${state.activeNote.id} isNew=${isNew("activeNote")} />` : html`<span class="quiet">none</span>`}
        </p>
        ${state.activeNote && html`<p class="quiet">since ${clock(state.activeNote.since)}${publishers
          .filter((each) => each.isActive)
          .map((each) => `, in ${each.source}`)}</p>`}
        <${Selected} selection=${state.selection} isNew=${isNew("selection")} />
      </section>
      <section>
        <h3>Pinned <${Number_} of=${state.pinnedNotes} /></h3>
        <${List} of=${state.pinnedNotes} none="no pins">${(/** @type {import("../types").PinJson} */ pin) => html`
          <${Note} id=${pin.id} isNew=${isNew("pinnedNotes", pin.id)} /> <span class="used">since ${clock(pin.pinnedAt)}</span>`}</${List}>
      </section>
      <section>
        <h3>Tabs <${Number_} of=${state.temporaryTabs} /></h3>
        <${List} of=${state.temporaryTabs} none="no temporary tabs">${(/** @type {import("../types").TabJson} */ tab) => html`
          <${Note} id=${tab.noteId} isNew=${isNew("temporaryTabs", tab.id)} />
          ${tab.id === state.activeTabId && html` <span class="badge">in front</span>`}
          <span class="used">by ${tab.source}, used ${clock(tab.lastAccessed)}</span>`}</${List}>
      </section>
      <section>
        <h3>Recent <${Number_} of=${state.recentNotes} /></h3>
        <${List} of=${state.recentNotes.slice(0, RECENT_SHOWN)} none="nothing yet">${(/** @type {import("../types").RecentJson} */ each) => html`
          <${Note} id=${each.id} isNew=${isNew("recentNotes", each.id)} /> <span class="used">${clock(each.at)}</span>`}</${List}>
        ${state.recentNotes.length > RECENT_SHOWN && html`<p class="quiet">and ${count(state.recentNotes.length - RECENT_SHOWN, "more note")} in the JSON below</p>`}
      </section>
      <section>
        <h3>Editors that show their view</h3>
        <${List} of=${publishers} none="none">${(/** @type {import("../types").ViewPublisher} */ each) => html`
          ${each.source}${each.isActive && html` <span class="badge">shows the active note</span>`}${each.confidence && html` <span class="badge warn">inferred</span>`}`}</${List}>
      </section>
      <section>
        <h3>What agents may see</h3>
        ${levels.length + told.length === 0 && html`<p class="quiet">every agent: everything; told without asking: yes</p>`}
        <ul class="plain">
          ${levels.map(([client, level]) => html`<li key=${client}>
            ${client === "*" ? "every other agent" : client}: <span class="badge">${level}</span>${isNew("sharing", client) && html` <${New} />`}</li>`)}
          ${told.map(([client, level]) => html`<li key=${`told ${client}`}>
            ${client === "*" ? "every other agent" : client}, told without asking: <span class="badge">${level}</span>${isNew("volunteering", client) && html` <${New} />`}</li>`)}
        </ul>
      </section>
    </div>
    <p class="quiet">Vault ${vault ? vault.name : "none"}${state.archived.length ? ` · ${count(state.archived.length, "archived note")}` : ""}</p>
    <${Json} value=${state} label="The state as JSON" />
    <${Command} line=${`workspaced replay ${logArgument.value} --until ${seq}`} />
  </div>`;
}

const New = () => html`<span class="badge good">new</span>`;

/** @param {{ id: string, isNew: boolean }} props */
const Note = ({ id, isNew }) => html`<a class="mono" href=${link("note", id)}>${id}</a>${isNew && html` <${New} />`}`;

/** @param {{ of: readonly unknown[] }} props */
const Number_ = ({ of }) => of.length > 0 && html`<span class="quiet">${of.length}</span>`;

/** @param {{ of: readonly any[], none: string, children: (each: any) => any }} props */
const List = ({ of, none, children }) =>
  of.length === 0 ? html`<p class="quiet">${none}</p>` : html`<ul class="plain">${of.map((each, index) => html`<li key=${index}>${children(each)}</li>`)}</ul>`;

/** @param {{ selection: import("../types").Selection | null, isNew: boolean }} props */
function Selected({ selection, isNew }) {
  // An empty text is a cursor: nothing is selected there.
  if (selection === null || selection.text === "") return null;
  const { startLine, endLine, text, textSha256 } = selection;
  return html`<p>
      selected ${startLine === 0 ? "something that is not shown" : startLine === endLine ? `line ${startLine}` : `lines ${startLine} to ${endLine}`}${isNew && html` <${New} />`}
    </p>
    ${text && html`<blockquote tabindex="0">${text}</blockquote>`}
    ${textSha256 && html`<p class="quiet">its text is kept as the blob <code>${textSha256.slice(0, 12)}</code></p>`}`;
}
