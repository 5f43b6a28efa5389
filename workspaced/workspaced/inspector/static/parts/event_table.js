/** Events as sentences, in a table of any length: each leads to the moment after it, and shows its JSON. */

import { link } from "../router.js";
import { html, useEffect, useRef, useState } from "../vendor/index.js";
import { clock, day } from "./format.js";
import { Json } from "./json.js";
import { useRowsInSight } from "./rows_in_sight.js";

/** @typedef {import("../types").EventTold} EventTold */

/** @param {{ events: readonly EventTold[], label: string }} props `events`: newest first */
export function EventTable({ events, label }) {
  const [open, setOpen] = useState(/** @type {EventTold | null} */ (null));
  const { box, begin, end, rowPx, onScroll } = useRowsInSight(events);
  return html`
    <div ref=${box} class="event-box" role="region" aria-label=${label} tabindex="0" onScroll=${onScroll} onKeyDown=${onKey}>
      <table class="event-table" aria-rowcount=${events.length + 1}>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Time</th>
            <th scope="col">Kind</th>
            <th scope="col">What happened</th>
            <th scope="col">From</th>
            <th scope="col"><span class="unseen">JSON</span></th>
          </tr>
        </thead>
        <tbody>
          <tr aria-hidden="true" style=${{ height: `${begin * rowPx}px` }}></tr>
          ${events
            .slice(begin, end)
            .map((event, at) => html`<${Row} key=${event.seq} event=${event} index=${begin + at + 2} isOpen=${open?.seq === event.seq} onOpen=${setOpen} />`)}
          <tr aria-hidden="true" style=${{ height: `${(events.length - end) * rowPx}px` }}></tr>
        </tbody>
      </table>
    </div>
    ${open && html`<${Opened} key=${open.seq} event=${open} />`}
  `;
}

/** @param {{ event: EventTold, index: number, isOpen: boolean, onOpen: (event: EventTold | null) => void }} props */
const Row = ({ event, index, isOpen, onOpen }) =>
  html`<tr data-row aria-rowindex=${index} class=${isOpen ? "open" : ""}>
    <td><a href=${link("at", event.seq)}>${event.seq}</a></td>
    <td title=${`${day(event.time)} ${event.time}`}>${clock(event.time)}</td>
    <td><span class=${`kind ${event.lane}`}>${event.lane}</span></td>
    <td class="sentence" title=${event.sentence}><bdi>${event.sentence}</bdi></td>
    <td class="quiet from"><bdi>${event.source}</bdi></td>
    <td>
      <button
        type="button"
        class="copy"
        aria-expanded=${isOpen}
        aria-label=${`JSON of event ${event.seq}`}
        onClick=${() => onOpen(isOpen ? null : event)}
      >
        {…}
      </button>
    </td>
  </tr>`;

/** @param {{ event: EventTold }} props */
function Opened({ event }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), []);
  return html`<section ref=${place} aria-label=${`Event ${event.seq} as JSON`}>
    <p><a href=${link("at", event.seq)}>Event ${event.seq}</a> <bdi>${event.sentence}</bdi></p>
    <${Json} value=${event.event} label=${event.type} open />
  </section>`;
}

/** Arrow keys move through the rows. */
function onKey(/** @type {KeyboardEvent} */ event) {
  const by = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (by === undefined || event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element)) return;
  const row = event.target.closest("[data-row]");
  if (row === null && event.target !== event.currentTarget) return;
  const next = row === null ? event.target.querySelector("[data-row]") : row[/** @type {"nextElementSibling"} */ (by)];
  event.preventDefault();
  next?.querySelector("a")?.focus();
}
