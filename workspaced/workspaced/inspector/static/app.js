/** The page: the log's name, the timeline, the tabs, and the view that the link names. */

import { get, hasToken, takeToken } from "./api.js";
import { followFolding } from "./folding.js";
import { count } from "./parts/format.js";
import { isTyped, KeysHelp, showKeys } from "./parts/keys_help.js";
import { Failure } from "./parts/resource.js";
import { Term } from "./parts/term.js";
import { OpeningLog } from "./parts/waiting.js";
import { follow, go, link, route } from "./router.js";
import { about, daemon } from "./store.js";
import { followLog } from "./tail.js";
import { Timeline } from "./timeline.js";
import { html, render, useEffect, useRef, useState } from "./vendor/index.js";
import { VIEWS } from "./views/index.js";

function App() {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  useEffect(() => {
    get("/api/about").then((found) => {
      about.value = found;
      followFolding();
    }, setError);
    followLog();
  }, []);
  if (error) return html`<main><${Failure} error=${error} /></main>`;
  return html`
    <${Header} />
    <${Timeline} />
    <${Tabs} />
    <main id="view">${about.value ? html`<${Shown} />` : html`<${OpeningLog} />`}</main>
  `;
}

function Header() {
  const log = about.value;
  if (log === null) return html`<header class="top"><h1>workspaced</h1></header>`;
  return html`<header class="top">
    <h1>workspaced <span class="log-name">${log.name}</span></h1>
    <p class="quiet">
      ${count(log.events, "event")} · ${count(log.calls, "call")} · ${count(log.prompts, "prompt")}
    </p>
    <${Daemon} />
    <${Notices} log=${log} />
    ${log.warnings.map((warning) => html`<p class="warning" role="status">${warning}</p>`)}
  </header>`;
}

/**
 * What somebody must know of this log before they believe what they see, or show it to others.
 * @param {{ log: import("./types").About }} props
 */
function Notices({ log }) {
  const { damage } = log;
  return html`
    ${damage &&
    html`<div class="failure" role="alert">
      <strong>The log is damaged; it is shown up to event ${log.last}.</strong> <bdi>${damage.message}</bdi> ${damage.hint}
      ${" "}<code>${damage.code}</code>
    </div>`}
    ${log.newerEvents > 0 &&
    html`<p class="warning" role="status">
      ${count(log.newerEvents, "event")} of this log can be read only by a newer workspaced: they are listed, but no moment
      shows what they changed. Update workspaced.
    </p>`}
    ${log.recordings === "missing" &&
    html`<p class="warning" role="status">
      ${log.kind === "export"
        ? html`An export holds events alone, not what agents were shown. Make a bundle instead: <code>workspaced bundle</code>`
        : html`What agents were shown at first is not kept here: it was swept to save space, or this is a copy without the
            folder <code>served</code>. Each call says what is missing.`}
    </p>`}
    ${log.recordings === "damaged" &&
    html`<p class="failure" role="alert">
      Recordings of what agents were shown are damaged. Each call says whether its own is; <code>workspaced replay --verify</code>
      ${" "}lists them.
    </p>`}
    ${log.redacted
      ? html`<p class="notice" role="note">This log is redacted: names and texts are pseudonyms, other than those of its user.</p>`
      : html`<p class="notice" role="note">
          This page shows all that the log holds, also what is <${Term} of="withheld" /> from agents. To show it to others, open what${" "}
          <code>workspaced bundle --redact</code> makes.
        </p>`}
  `;
}

/** Whether the log grows on this page. */
function Daemon() {
  const link = daemon.value;
  if (link === null) return null;
  if (link.connected) return html`<p class="badge good" role="status">live: the daemon tells what happens</p>`;
  return html`<p class="warning" role="status">${link.why}</p>`;
}

function Tabs() {
  const [name] = route.value;
  const tabs = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [name]);
  return html`<nav ref=${tabs} class="tabs" aria-label="Views">
    ${VIEWS.map(
      (view) =>
        html`<a key=${view.name} href=${link(view.name)} title=${`key ${view.key}`} aria-current=${view.name === name ? "page" : null}>${view.title}</a>`,
    )}
    <button type="button" aria-haspopup="dialog" title="key ?" onClick=${showKeys}>Keys</button>
  </nav>
  <${KeysHelp} views=${VIEWS} />`;
}

function Shown() {
  const [name, ...parts] = route.value;
  const view = VIEWS.find((each) => each.name === name);
  if (view === undefined) return html`<p>No view is called “${name}”. <a href=${link("at")}>To the moment</a></p>`;
  return html`<${view.component} parts=${parts} />`;
}

/** The keys that open views; not while somebody types. */
function onKey(/** @type {KeyboardEvent} */ event) {
  if (isTyped(event)) return;
  if (event.key === "?") showKeys();
  const view = VIEWS.find((each) => each.key === event.key);
  if (view !== undefined) go(view.name);
}

function NoToken() {
  return html`<main>
    <h1>workspaced inspector</h1>
    <p>
      This tab has no token yet. Open the address that <code>workspaced inspect</code> printed in the terminal, then
      this link again in the same tab.
    </p>
  </main>`;
}

takeToken();
follow();
addEventListener("keydown", onKey);
render(hasToken() ? html`<${App} />` : html`<${NoToken} />`, /** @type {Element} */ (document.getElementById("app")));
