/** Conversations, one conversation as a column of prompts, and, in prompt.js, one prompt. */

import { Command, Copy } from "../parts/copy.js";
import { clock, count, day, tokens } from "../parts/format.js";
import { Money, PricesNote, Uncached } from "../parts/money.js";
import { Legend, PromptBar } from "../parts/prompt_bar.js";
import { CacheBadge, StaleBadge, Usage } from "../parts/prompt_facts.js";
import { Loaded, useResource } from "../parts/resource.js";
import { Term } from "../parts/term.js";
import { go, link } from "../router.js";
import { logArgument, quoted } from "../store.js";
import { html } from "../vendor/index.js";
import { Prompt } from "./prompt.js";

/**
 * @typedef {import("../types").Conversations} Conversations
 * @typedef {import("../types").ListedConversation} Listed
 * @typedef {import("../types").PromptColumn} Column
 * @typedef {import("../types").PromptRow} Row
 * @typedef {import("../types").OverlaidChat} Chat
 */

/**
 * `#/prompt`: the conversations; `#/prompt/of/TALK`: one of them; `#/prompt/overlaid/CHAT`: a chat whose program
 * keeps the history; `#/prompt/890`: a prompt.
 * @param {{ parts: string[] }} props
 */
export function Prompts({ parts }) {
  const [first = "", name = "", , before] = parts;
  if (/^\d+$/.test(first)) return html`<${Prompt} seq=${Number(first)} parts=${parts.slice(1)} />`;
  if (first === "overlaid") return html`<${OverlaidChat} name=${name} />`;
  if (first === "of") return html`<${Conversation} name=${name} before=${before} />`;
  return html`<${List} />`;
}

function List() {
  const found = /** @type {import("../parts/resource.js").Resource<Conversations>} */ (
    useResource("/api/conversations")
  );
  return html`<section aria-labelledby="prompts-title">
    <h2 id="prompts-title">Prompts</h2>
    <p class="quiet">What models were sent, and what they answered. Choose a conversation, then a prompt: it shows each note in it, and which version.</p>
    <${Loaded} of=${found}>${(/** @type {Conversations} */ shown) => html`<${Table} shown=${shown} /><${Overlaid} chats=${shown.overlaid} />`}</${Loaded}>
  </section>`;
}

/** @param {{ shown: Conversations }} props */
function Table({ shown }) {
  const { conversations, prices } = shown;
  if (conversations.length === 0 && shown.overlaid.length > 0) return null;
  if (conversations.length === 0) {
    return html`<p>
        This log holds no conversation. Prompts are here once a runtime assembles them with workspaced
        (<code>workspaced/context/assemble</code>, an adapter, or <code>workspaced proxy</code>).
      </p>
      <p class="quiet">What agents asked for with tools stands in <a href=${link("call")}>Calls</a>.</p>`;
  }
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Conversations">
      <table class="conversations">
        <thead>
          <tr>
            <th scope="col"><${Term} of="conversation">Conversation</${Term}></th>
            <th scope="col">Last message</th>
            <th scope="col">Model</th>
            <th scope="col" class="number">Messages</th>
            <th scope="col" class="number"><${Term} of="prompt">Prompts</${Term}></th>
            <th scope="col" class="number">Tokens read</th>
            <th scope="col" class="number">From cache</th>
            <th scope="col">Cache</th>
            <th scope="col" class="number">Cost</th>
          </tr>
        </thead>
        <tbody>
          ${[...conversations].reverse().map((each) => html`<${Line} key=${each.conversation} each=${each} prices=${prices} />`)}
        </tbody>
      </table>
    </div>
    ${conversations.length >= shown.rememberedMax
      ? html`<p class="notice">The last ${count(shown.rememberedMax, "conversation")} are listed; links to prompts of older ones work.</p>`
      : null}
    <${PricesNote} prices=${prices} />
    <${Command} line=${`workspaced context list ${logArgument.value}`} />`;
}

/** @param {{ each: Listed, prices: import("../types").Prices }} props */
function Line({ each, prices }) {
  const { cache } = each;
  return html`<tr>
    <th scope="row">
      <a href=${link("prompt", "of", each.conversation)}>${each.conversation}</a>${each.ended ? html` <span class="badge">ended</span>` : null}
      ${each.words && html`<br /><q class="first-words">${each.words}</q>`}
      ${each.stale > 0 && html`<br /><span class="badge warn">${count(each.stale, "prompt")} with older notes</span>`}
    </th>
    <td>${each.end ? `${day(each.end)} ${clock(each.end).slice(0, 8)}` : "none"}</td>
    <td>${each.provider}/${each.model}</td>
    <td class="number">${each.messages}</td>
    <td class="number">${each.prompts}</td>
    <td class="number">${cache.inputTokens ? tokens(cache.inputTokens) : html`<span class="quiet">not reported</span>`}</td>
    <td class="number">${cache.inputTokens ? share(cache.cachedTokens, cache.inputTokens) : ""}</td>
    <td>${count(cache.hits, "hit")}, ${cache.misses} missed${cache.notReported ? `, ${cache.notReported} not reported` : ""}</td>
    <td class="number"><${Money} cost=${each.cost} prices=${prices} /> <${Uncached} cost=${each.cost} uncached=${each.uncached} prices=${prices} /></td>
  </tr>`;
}

/**
 * @param {number} part
 * @param {number} whole
 */
const share = (part, whole) => `${Math.round((100 * part) / whole)} %`;

/** @param {{ chats: readonly import("../types").ListedChat[] }} props */
const Overlaid = ({ chats }) =>
  chats.length > 0 &&
  html`<h3>Chats of programs that keep the history</h3>
    <p class="quiet">Texts were put into their requests, and nothing of theirs was changed or recorded.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Overlaid chats">
      <table class="conversations">
        <thead>
          <tr>
            <th scope="col">Chat</th>
            <th scope="col">Last told</th>
            <th scope="col">Client</th>
            <th scope="col">Form</th>
            <th scope="col" class="number">Insertions</th>
            <th scope="col" class="number">Requests</th>
          </tr>
        </thead>
        <tbody>
          ${[...chats].reverse().map(
            (each) => html`<tr key=${each.chat}>
              <th scope="row"><a href=${link("prompt", "overlaid", each.chat)}>${each.chat.slice(0, HASH_CHARS)}</a></th>
              <td>${day(each.last)} ${clock(each.last).slice(0, 8)}</td>
              <td>${each.caller}</td>
              <td>${each.form}</td>
              <td class="number">${each.insertions}</td>
              <td class="number">${each.requests}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;

// -- one overlaid chat --

const HASH_CHARS = 12;

/** @param {{ name: string }} props */
function OverlaidChat({ name }) {
  const chat = /** @type {import("../parts/resource.js").Resource<Chat>} */ (useResource(`/api/overlaid/${encodeURIComponent(name)}`));
  return html`<section aria-labelledby="chat-title">
    <p><a href=${link("prompt")}>All conversations</a></p>
    <h2 id="chat-title">What was put into the chat ${name.slice(0, HASH_CHARS)}</h2>
    <${Loaded} of=${chat}>${(/** @type {Chat} */ shown) => html`<${Inserted} shown=${shown} />`}</${Loaded}>
  </section>`;
}

/** @param {{ shown: Chat }} props */
const Inserted = ({ shown }) =>
  html`<p class="quiet">By ${shown.caller}. The chat is known by a hash of its name, or of its first words.</p>
    <ol class="prompt-column">
      ${shown.insertions.map((each) => html`<${Insertion} key=${each.seq} each=${each} />`)}
    </ol>
    <h3>Requests</h3>
    <ul>
      ${shown.requests.map((each) => html`<${Request} key=${each.seq} each=${each} />`)}
    </ul>
    <${Command} line=${`workspaced context show ${shown.chat} ${logArgument.value}`} />`;

/** @param {{ each: import("../types").InsertionShown }} props */
const Insertion = ({ each }) =>
  html`<li class="prompt-line">
    <div class="prompt-head">
      <a href=${link("call", each.seq)}>Event ${each.seq}</a>
      <span class="quiet">${clock(each.time)}, before the words of turn ${each.turn.slice(0, HASH_CHARS)}, ${each.form}</span>
      ${each.requests === 0
        ? html`<span class="badge warn">no request is known to have left with it</span>`
        : html`<span class="badge">left with ${count(each.requests, "request")}</span>`}
      ${each.withdrawnAt !== null && html`<span class="badge warn">withdrawn at event ${each.withdrawnAt}</span>`}
    </div>
    ${each.notes.length > 0 &&
    html`<p class="quiet">
      ${each.notes.map((told, at) => html`${at > 0 && ", "}<a key=${told.note} href=${link("note", told.note)}>${told.note}</a>${told.revision !== null && html` <code>${told.revision.slice(0, HASH_CHARS)}</code>`}`)}
    </p>`}
    ${each.text === null
      ? html`<p class="notice">The text is not kept.</p>`
      : html`<${Copy} text=${each.text} label="copy the text" /><pre tabindex="0">${each.text}</pre>`}
  </li>`;

/** @param {{ each: import("../types").RequestShown }} props */
const Request = ({ each }) =>
  html`<li>
    <a href=${link("at", each.seq)}>Event ${each.seq}</a> <span class="quiet">${clock(each.time)}</span>${" "}
    ${each.insertions.length ? `left with ${each.insertions.join(", ")}` : "left with what is not recorded any more"};${" "}
    ${each.inputTokens === null
      ? "nothing was reported of it"
      : `the provider read ${tokens(each.inputTokens)}, ${each.cachedTokens} of them from its cache, and gave ${each.outputTokens}`}
  </li>`;

// -- one conversation --

/** @param {{ name: string, before: string | undefined }} props */
function Conversation({ name, before }) {
  const column = /** @type {import("../parts/resource.js").Resource<Column>} */ (
    useResource(`/api/conversations/${encodeURIComponent(name)}`, { before })
  );
  return html`<section aria-labelledby="conversation-title">
    <p><a href=${link("prompt")}>All conversations</a></p>
    <h2 id="conversation-title">Conversation ${name}</h2>
    ${column.data?.words && html`<p>It began with <q>${column.data.words}</q></p>`}
    <${Loaded} of=${column}>${(/** @type {Column} */ shown) => html`<${Prompted} shown=${shown} />`}</${Loaded}>
  </section>`;
}

/** @param {{ shown: Column }} props */
function Prompted({ shown }) {
  const { conversation, prompts, earlier, prices } = shown;
  const widest = Math.max(1, ...prompts.map((each) => each.estimate));
  return html`<p class="quiet">
      ${shown.provider}/${shown.model}${shown.vault ? `, about the vault ${shown.vault}` : ""}${shown.ended ? ", ended" : ""}. The widest bar is ${tokens(widest)}, estimated.
    </p>
    <${Legend} tools=${prompts.some((each) => each.toolTokens > 0)} />
    ${earlier === null || earlier === undefined
      ? null
      : html`<p><a href=${link("prompt", "of", conversation, "before", earlier)}>Earlier prompts, before ${earlier}</a></p>`}
    ${prompts.length === 0 ? html`<p>No prompt of this conversation is in the log.</p>` : null}
    <ol class="prompt-column">
      ${prompts.map((each) => html`<${PromptLine} key=${each.seq} row=${each} widest=${widest} prices=${prices} />`)}
    </ol>
    <${PricesNote} prices=${prices} />
    <${Command} line=${`workspaced context show ${quoted(conversation)} ${logArgument.value} --cache`} />`;
}

/** @param {{ row: Row, widest: number, prices: import("../types").Prices }} props */
function PromptLine({ row, widest, prices }) {
  return html`<li class="prompt-line">
    <div class="prompt-head">
      <a href=${link("prompt", row.seq)}>Prompt ${row.seq}</a>
      <span class="quiet">${clock(row.time)}${row.pipeline === "chat" ? "" : `, for ${row.pipeline}`}</span>
      ${row.words
        ? html`<q class="prompt-words">${row.words}</q>`
        : html`<span class="prompt-words quiet">message ${row.message}: results of tools, or words that are not kept</span>`}
    </div>
    ${row.layers.length
      ? html`<${PromptBar}
          layers=${row.layers}
          toolTokens=${row.toolTokens}
          tools=${row.tools ?? null}
          of=${widest}
          onLayer=${(/** @type {string} */ layer) => go("prompt", row.seq, "layer", layer)}
        />`
      : html`<p class="notice">${row.notKept}</p>`}
    ${row.answer && html`<p class="prompt-answer"><span class="quiet">answered</span> <q>${row.answer}</q></p>`}
    <div class="prompt-facts">
      <${StaleBadge} row=${row} />
      <${CacheBadge} row=${row} />
      <span>~${tokens(row.estimate)}</span>
      <${Usage} row=${row} />
      <${Money} cost=${row.cost} prices=${prices} /> <${Uncached} cost=${row.cost} uncached=${row.uncached} prices=${prices} />
    </div>
  </li>`;
}
