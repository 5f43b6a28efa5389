/** Agents: what each may see, was told and asked; levels and pauses. */

import { Command } from "../parts/copy.js";
import { bytes, clock, count, day } from "../parts/format.js";
import { Loaded, useResource } from "../parts/resource.js";
import { Term } from "../parts/term.js";
import { link } from "../router.js";
import { about, at, logArgument, quoted, version } from "../store.js";
import { html } from "../vendor/index.js";

/** @typedef {import("../types").Agents} Shown */
/** @typedef {import("../types").Agent} Agent */
/** @typedef {import("../types").CallTotals} CallTotals */

const LEVEL_WORDS = { all: "notes that are not withheld", names: "paths and titles only", none: "nothing" };
const TELLING_WORDS = { on: "what changes", "selection-off": "what changes, but not what is selected", off: "nothing" };

/** @param {{ parts: string[] }} props `#/agents`, or `#/agents/1234`: as of a moment */
export function AgentsView({ parts }) {
  const place = parts[0] ?? at.value;
  const agents = /** @type {import("../parts/resource.js").Resource<Shown>} */ (
    useResource("/api/agents", { at: place || undefined }, place ? 0 : version.value)
  );
  return html`<section aria-labelledby="agents-title">
    <h2 id="agents-title">Agents</h2>
    <p class="quiet">What each may see, asked for, and was told without asking. What a model was sent as a prompt stands in <a href=${link("prompt")}>Prompts</a>.</p>
    ${place &&
    html`<p>As of event <a href=${link("at", place)}>${place}</a>. <a href=${link("agents")} onClick=${() => (at.value = "")}>Show the present</a></p>`}
    <${Loaded} of=${agents}>
      ${(/** @type {Shown} */ shown) => html`<${Everybody} shown=${shown} />`}
    </${Loaded}>
  </section>`;
}

/** @param {{ shown: Shown }} props */
function Everybody({ shown }) {
  const log = about.value;
  const isLive = log?.kind === "daemon";
  return html`
    ${(isLive || shown.pause) && html`<${Pause} pause=${shown.pause} />`}
    <p>
      An agent without a <${Term} of="level" /> of its own is shown <code>${shown.defaultLevel}</code> (${LEVEL_WORDS[shown.defaultLevel]}), and is told
      without asking <code>${shown.defaultVolunteering}</code> (${TELLING_WORDS[shown.defaultVolunteering]}).
    </p>
    ${shown.agents.length === 0
      ? html`<p class="notice">
          No agent has asked anything by then, and none has a level of its own. <code>workspaced connect</code> connects one.
        </p>`
      : html`<div class="agents">${shown.agents.map((agent) => html`<${One} key=${agent.client} agent=${agent} />`)}</div>`}
    ${shown.settings.length > 0 &&
    html`<h3>Who set what</h3>
      <ul class="latest">
        ${shown.settings.map(
          (each) =>
            html`<li key=${each.seq} class="reach">
              <a href=${link("at", each.seq)}>${each.seq}</a> <span class="quiet">${day(each.time)} ${clock(each.time).slice(0, 8)}</span>
              ${" "}<bdi>${each.who} ${each.sentence}</bdi>
            </li>`,
        )}
      </ul>`}
    ${isLive
      ? html`<${Command} line=${`workspaced share --socket ${quoted(log.socket)}`} />`
      : html`<p class="quiet">No command line gives the same. Nearest: what each asked.</p>
          <${Command} line=${`workspaced calls ${logArgument.value}`} />`}
  `;
}

/** @param {{ pause: Shown["pause"] }} props */
function Pause({ pause }) {
  if (pause === null) {
    return html`<p>Agents are answered and told, and what you do is recorded.</p>`;
  }
  const who = pause.by || "somebody";
  return html`<div class="warning" role="status">
    <strong>Paused</strong> since ${day(pause.since)} ${clock(pause.since)} by <bdi>${who}</bdi>${pause.seq !== null &&
    html` (<a href=${link("at", pause.seq)}>event ${pause.seq}</a>)`}${pause.until
      ? `, until ${day(pause.until)} ${clock(pause.until)}`
      : ", until somebody resumes"}. Agents are answered nothing, and nothing of what you do is recorded.
  </div>`;
}

/** @param {{ agent: Agent }} props */
function One({ agent }) {
  const { client } = agent;
  return html`<article class="card" aria-labelledby=${`agent-${client}`}>
    <h3 id=${`agent-${client}`}>
      <bdi>${client}</bdi>
      ${agent.isConnected && html` <span class="badge good">connected</span>`}
    </h3>
    <dl class="facts">
      <dt>Is shown</dt>
      <dd>
        <code>${agent.level}</code>
        ${` ${LEVEL_WORDS[agent.level]} `}<${SetBy} seq=${agent.levelSeq} />
      </dd>
      <dt>Is told unasked</dt>
      <dd>
        <code>${agent.volunteering}</code>
        ${` ${TELLING_WORDS[agent.volunteering]} `}<${SetBy} seq=${agent.volunteeringSeq} />
      </dd>
      <dt>Asked</dt>
      <dd>${sum(agent.asked, "call")}</dd>
      <dt>Was told</dt>
      <dd>${sum(agent.told, "time")}</dd>
    </dl>
    <${Latest} of=${agent.asked} title="Its last calls" />
    <${Latest} of=${agent.told} title="What it was told last" />
    ${agent.asked.tools.length > 0 &&
    html`<details>
      <summary>${count(agent.asked.tools.length, "tool")} called</summary>
      <ul>
        ${agent.asked.tools.map(({ tool, calls }) => html`<li key=${tool}><code>${tool}</code> ${count(calls, "call")}</li>`)}
      </ul>
    </details>`}
  </article>`;
}

/** @param {{ seq: number | null }} props */
const SetBy = ({ seq }) => (seq === null ? null : html`<a href=${link("at", seq)}>set by event ${seq}</a>`);

/**
 * @param {CallTotals} asked
 * @param {string} unit
 */
const sum = ({ calls, failed, bytes: answered }, unit) =>
  calls === 0 ? "never" : `${count(calls, unit)}, ${bytes(answered)}${failed ? `, ${failed} failed` : ""}`;

/** @param {{ of: CallTotals, title: string }} props */
function Latest({ of, title }) {
  if (of.latest.length === 0) return null;
  return html`<h4>${title}</h4>
    <ul class="latest">
      ${of.latest.map(
        (call) =>
          html`<li key=${call.seq}>
            <a href=${link("call", call.seq)}>${call.seq}</a>
            <span class="quiet" title=${day(call.time)}>${clock(call.time).slice(0, 8)}</span>
            <code>${call.what}</code>
            ${call.ok ? html`<span>${bytes(call.bytes)}</span>` : html`<span class="badge bad">failed</span>`}
          </li>`,
      )}
    </ul>`;
}
