/** The page: the log's name, the timeline, the tabs, and the view that the link names. */

import { get, hasToken, takeToken } from "./api.js";
import { count } from "./parts/format.js";
import { Failure } from "./parts/resource.js";
import { follow, go, link, route } from "./router.js";
import { about, daemon } from "./store.js";
import { followLog } from "./tail.js";
import { Timeline } from "./timeline.js";
import { html, render, useEffect, useState } from "./vendor/index.js";
import { VIEWS } from "./views/index.js";

function App() {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  useEffect(() => {
    get("/api/about").then((found) => (about.value = found), setError);
    followLog();
  }, []);
  if (error) return html`<main><${Failure} error=${error} /></main>`;
  return html`
    <${Header} />
    <${Timeline} />
    <${Tabs} />
    <main id="view">${about.value ? html`<${Shown} />` : html`<p class="quiet" aria-busy="true">Opening the log.</p>`}</main>
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
    ${log.hides && html`<p class="quiet">Notes that are withheld from agents are hidden here; <code>workspaced inspect --reveal</code> shows them.</p>`}
    ${log.warnings.map((warning) => html`<p class="warning" role="status">${warning}</p>`)}
  </header>`;
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
  return html`<nav class="tabs" aria-label="Views">
    ${VIEWS.map(
      (view) =>
        html`<a key=${view.name} href=${link(view.name)} aria-current=${view.name === name ? "page" : null}>${view.title}</a>`,
    )}
  </nav>`;
}

function Shown() {
  const [name, ...parts] = route.value;
  const view = VIEWS.find((each) => each.name === name);
  if (view === undefined) return html`<p>No view is called “${name}”. <a href=${link("at")}>To the moment</a></p>`;
  return html`<${view.component} parts=${parts} />`;
}

/** The keys that open views; not while somebody types. */
function onKey(/** @type {KeyboardEvent} */ event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
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
