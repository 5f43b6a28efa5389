/** Events as sentences, in a table: each leads to the moment after it, and shows its JSON. */

import { link } from "../router.js";
import { Fragment, html, useState } from "../vendor/index.js";
import { clock, day } from "./format.js";
import { Json } from "./json.js";

/** @typedef {import("../types").EventTold} EventTold */

/** @param {{ events: readonly EventTold[] }} props newest first */
export function EventTable({ events }) {
  const [open, setOpen] = useState(/** @type {number | null} */ (null));
  return html`<table class="event-table">
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
      ${events.map((event) => {
        const isOpen = open === event.seq;
        return html`<${Fragment} key=${event.seq}>
          <tr>
            <td><a href=${link("at", event.seq)}>${event.seq}</a></td>
            <td title=${`${day(event.time)} ${event.time}`}>${clock(event.time)}</td>
            <td><span class=${`kind ${event.lane}`}>${event.lane}</span></td>
            <td class="sentence"><bdi>${event.sentence}</bdi></td>
            <td class="quiet"><bdi>${event.source}</bdi></td>
            <td>
              <button
                type="button"
                class="copy"
                aria-expanded=${isOpen}
                aria-label=${`JSON of event ${event.seq}`}
                onClick=${() => setOpen(isOpen ? null : event.seq)}
              >
                {…}
              </button>
            </td>
          </tr>
          ${isOpen &&
          html`<tr>
            <td colspan="6"><${Json} value=${event.event} label=${event.type} open /></td>
          </tr>`}
        </${Fragment}>`;
      })}
    </tbody>
  </table>`;
}
