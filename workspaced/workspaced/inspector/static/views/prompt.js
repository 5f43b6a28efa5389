/** One prompt: its blocks, what was left out of it, its body, and how it differs from the one before. */

import { Command, Copy } from "../parts/copy.js";
import { Download } from "../parts/download.js";
import { bytes, clock, count, day, tokens } from "../parts/format.js";
import { JudgedAnswer } from "../parts/judged.js";
import { isTyped } from "../parts/keys_help.js";
import { Money, PricesNote, Uncached } from "../parts/money.js";
import { LAYERS, Legend, MARKS, PromptBar, ReuseName } from "../parts/prompt_bar.js";
import { CacheBadge, StaleBadge, Usage } from "../parts/prompt_facts.js";
import { Loaded, useResource } from "../parts/resource.js";
import { Term } from "../parts/term.js";
import { go, link } from "../router.js";
import { logArgument, quoted } from "../store.js";
import { html, useEffect, useRef, useState } from "../vendor/index.js";
import { SupposedOf } from "./prompt_supposed.js";

/**
 * @typedef {import("../types").PromptShown} Shown
 * @typedef {import("../types").ShownBlock} ShownBlock
 * @typedef {import("../types").BlockShown} BlockShown
 * @typedef {import("../types").PromptBody} Body
 * @typedef {import("../types").PromptDiff} Diff
 * @typedef {keyof typeof LAYERS} Layer
 */

const SHA_CHARS = 12;
/** Where a narrow page has the chosen block (prompts.css). */
const ABOVE_THE_LIST = "(max-width: 999px)";
/** Why a block is in a prompt: the manifest's word, in a sentence. */
const REASONS = /** @type {Record<string, string>} */ ({
  section: "part of the system prompt",
  library: "the library took it over at a compaction",
  sent: "stays in the history as it was sent",
  history: "the conversation so far",
  attached: "attached to the message",
  active: "the note that the user looked at",
  pinned: "a pin gives it to every prompt",
  changed: "changed since it was shown",
  frame: "words around other blocks",
  query: "what the user said",
  tool: "results of tools in this turn",
  budget: "the prompt would have been too long",
  fold: "a compaction left it out",
  withheld: "withheld from this client by now",
  gone: "its file is not there any more",
  summary: "stands for earlier messages",
});
const BADGES = /** @type {const} */ ({
  same: ["good", "rebuilt: same"],
  different: ["bad", "rebuilt: differs"],
  damaged: ["bad", "rebuilt: damaged"],
  notRecorded: ["", "rebuilt: not recorded"],
});

/**
 * `#/prompt/890`, `/layer/L2`, `/layer/L2/block/3`, `/body`, `/diff`, `/diff/870`, `/what-if`.
 * @param {{ seq: number, parts: string[] }} props
 */
export function Prompt({ seq, parts }) {
  const [offset, setOffset] = useState(0);
  useEffect(() => setOffset(0), [seq]);
  const found = /** @type {import("../parts/resource.js").Resource<Shown>} */ (
    useResource(`/api/prompts/${seq}`, { offset: offset || undefined })
  );
  return html`<section aria-labelledby="prompt-title">
    <h2 id="prompt-title">Prompt ${seq}</h2>
    <${Loaded} of=${found}>
      ${(/** @type {Shown} */ shown) => html`<${Opened} shown=${shown} parts=${parts} offset=${offset} setOffset=${setOffset} />`}
    </${Loaded}>
  </section>`;
}

/** @param {{ shown: Shown, parts: string[], offset: number, setOffset: (offset: number) => void }} props */
function Opened({ shown, parts, offset, setOffset }) {
  const { prompt } = shown;
  const [what = "layer"] = parts;
  useSteps(shown, parts);
  return html`<${Head} shown=${shown} />
    <${JudgedAnswer} seq=${prompt.seq} />
    ${prompt.layers.length
      ? html`<${PromptBar}
            layers=${prompt.layers}
            toolTokens=${prompt.toolTokens}
            tools=${prompt.tools ?? null}
            of=${prompt.estimate}
            marks=${shown.marks}
            onLayer=${(/** @type {string} */ layer) => go("prompt", prompt.seq, "layer", layer)}
          />
          <${Legend} marks tools=${prompt.toolTokens > 0} />`
      : html`<p class="notice">${prompt.notKept}</p>`}
    <nav class="subtabs" aria-label="Of this prompt">
      ${[
        ["layer", "Blocks"],
        ["body", "Body as sent"],
        ["diff", "Changes to the prompt before"],
        ["what-if", "What if"],
      ].map(
        ([name = "", title]) =>
          html`<a key=${name} href=${name === "layer" ? link("prompt", prompt.seq) : link("prompt", prompt.seq, name)} aria-current=${what === name ? "true" : null}>${title}</a>`,
      )}
    </nav>
    ${what === "body"
      ? html`<${BodyOf} shown=${shown} />`
      : what === "diff"
        ? html`<${DiffOf} shown=${shown} against=${parts[1]} />`
        : what === "what-if"
          ? html`<${SupposedOf} key=${prompt.seq} seq=${prompt.seq} />`
          : html`<${Blocks} shown=${shown} parts=${parts} offset=${offset} setOffset=${setOffset} />`}
    <${PricesNote} prices=${shown.prices} />`;
}

/** @param {{ shown: Shown }} props */
function Head({ shown }) {
  const { prompt, rebuilt } = shown;
  const [kind, words] = BADGES[/** @type {keyof typeof BADGES} */ (rebuilt.outcome)];
  return html`<p class="prompt-facts">
      <span class="badge ${kind}">${words}${rebuilt.differs ? ` in ${rebuilt.differs}` : ""}</span>
      <${CacheBadge} row=${prompt} /><${StaleBadge} row=${prompt} /> ${step("prompt before", shown.before)} ${step("next prompt", shown.after)}
      <a href=${link("prompt", "of", shown.conversation)}>conversation ${shown.conversation}</a>
    </p>
    ${rebuilt.why ? html`<p class="notice">${rebuilt.why}</p>` : null}
    <${Stale} prompt=${prompt} />
    ${shown.warnings.map((warning) => html`<p key=${warning} class="warning" role="status">${warning}</p>`)}
    <dl class="facts">
      <dt>For</dt>
      <dd>message ${prompt.message}${prompt.pipeline === "chat" ? "" : `, for ${prompt.pipeline}`}: ${prompt.words ? html`<q>${prompt.words}</q>` : "results of tools, or words that are not kept"}</dd>
      ${prompt.answer && html`<dt>Answered</dt><dd><q>${prompt.answer}</q></dd>`}
      <dt>At</dt>
      <dd>
        ${day(prompt.time)} ${clock(prompt.time)}, from the moment after event${" "}
        <a href=${link("at", shown.asOfSeq)}>${shown.asOfSeq}</a>
      </dd>
      <dt>Model</dt>
      <dd>${prompt.provider}/${prompt.model}, ${shown.shape ? `as a body for ${shown.shape}` : "as messages"}</dd>
      <${Sizes} shown=${shown} />
      ${shown.marks.length
        ? html`<dt>Cache marks</dt>
            <dd>${shown.marks.map((mark) => `${MARKS[mark.after] ?? mark.after} (${tokens(mark.tokens)})`).join(", ")}</dd>`
        : null}
    </dl>`;
}

/** What most often explains a wrong answer. @param {{ prompt: Shown["prompt"] }} props */
const Stale = ({ prompt }) =>
  prompt.stale.length > 0 &&
  html`<p class="warning" role="status">
    The model read an older version of ${prompt.stale.map((note, at) => html`${at ? ", " : ""}<a key=${note} href=${link("note", note)}>${note}</a>`)} than the note
    had by then. ${prompt.stale.length === 1 ? "Its line of life tells" : "Their lines of life tell"} when that changed; blocks that are <b>stale</b> hold the text that was read.
  </p>`;

/** @param {{ shown: Shown }} props */
function Sizes({ shown }) {
  const { prompt } = shown;
  return html`<dt>Size</dt>
      <dd>
        ~${tokens(prompt.estimate ?? 0)} of at most ${tokens(prompt.limit)}${prompt.toolTokens ? `, ${tokens(prompt.toolTokens)} of them definitions of tools` : ""}, counted by ${shown.estimator || "an unknown estimator"}
      </dd>
      <dt>Provider</dt>
      <dd><${Usage} row=${prompt} />${prompt.expected ? `; at least ${tokens(prompt.expected)} stood in the prompt before` : ""}</dd>
      <dt>Cost</dt>
      <dd><${Money} cost=${prompt.cost} prices=${shown.prices} /> <${Uncached} cost=${prompt.cost} uncached=${prompt.uncached} prices=${shown.prices} /></dd>`;
}

/**
 * @param {string} words
 * @param {number | null | undefined} seq
 */
const step = (words, seq) => (seq ? html`<a href=${link("prompt", seq)}>${words} ${seq}</a>` : null);

/**
 * Keys: j and k step from block to block, [ and ] from prompt to prompt.
 * @param {Shown} shown
 * @param {string[]} parts
 */
function useSteps(shown, parts) {
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (isTyped(event)) return;
      if (event.key === "[" && shown.before) go("prompt", shown.before);
      if (event.key === "]" && shown.after) go("prompt", shown.after);
      if (event.key === "j" || event.key === "k") {
        const at = shown.blocks.findIndex((block) => isAt(block, parts));
        const next = shown.blocks[event.key === "j" ? at + 1 : Math.max(0, at - 1)];
        if (next) go("prompt", shown.prompt.seq, "layer", LAYERS[next.layer].short, "block", next.index);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [shown, parts.join("/")]);
}

/**
 * @param {ShownBlock} block
 * @param {string[]} parts
 */
const isAt = (block, [, layer, , index]) => layerOf(layer) === block.layer && Number(index) === block.index;

/**
 * The layer that a link names: `L2` or `L2_PREVIOUS`.
 * @param {string | undefined} name
 * @returns {Layer | undefined}
 */
const layerOf = (name) =>
  /** @type {Layer[]} */ (Object.keys(LAYERS)).find((each) => each === name || LAYERS[each].short === name);

// -- blocks --

/** @param {{ shown: Shown, parts: string[], offset: number, setOffset: (offset: number) => void }} props */
function Blocks({ shown, parts, offset, setOffset }) {
  const { blocks, prompt } = shown;
  const [, layer, , index] = parts;
  const name = layerOf(layer);
  const inside = blocks.filter((block) => block.tokens > 0);
  const outside = blocks.filter((block) => block.tokens === 0);
  if (prompt.layers.length === 0) return null;
  return html`<div class="prompt-columns">
      <div>
        ${prompt.layers.map((each) => {
          const own = inside.filter((block) => block.layer === each.layer);
          return html`<${LayerBlocks} key=${each.layer} layer=${each} blocks=${own} shown=${shown} parts=${parts} chosen=${name === each.layer} />`;
        })}
        <${LeftOut} blocks=${outside} shown=${shown} parts=${parts} />
        ${shown.blocksTotal > blocks.length
          ? html`<p>
              Entries ${offset + 1} to ${offset + blocks.length} of ${shown.blocksTotal}.
              <button type="button" disabled=${offset === 0} onClick=${() => setOffset(Math.max(0, offset - 500))}>the ones before</button>
              <button type="button" disabled=${offset + blocks.length >= shown.blocksTotal} onClick=${() => setOffset(offset + blocks.length)}>the next ones</button>
            </p>`
          : null}
      </div>
      <aside class="block-detail" aria-label="The chosen block">
        ${name && index
          ? html`<${BlockOf} seq=${prompt.seq} layer=${name} index=${Number(index)} shown=${shown} />`
          : html`<p class="quiet">Choose a block to read it: its text, its version, and why it is here. Keys: j and k step through the blocks, [ and ] through the prompts.</p>`}
      </aside>
    </div>
    <${Command} line=${`workspaced context show ${quoted(shown.conversation)} ${logArgument.value} --prompt ${prompt.seq} --manifest`} />`;
}

/**
 * @param {object} props
 * @param {import("../types").LayerBar} props.layer
 * @param {ShownBlock[]} props.blocks
 * @param {Shown} props.shown
 * @param {string[]} props.parts
 * @param {boolean} props.chosen
 */
function LayerBlocks({ layer, blocks, shown, parts, chosen }) {
  const { short, long } = LAYERS[layer.layer];
  const id = `layer-${short}`;
  useEffect(() => {
    if (chosen && parts.length <= 2) document.getElementById(id)?.scrollIntoView({ block: "start" });
  }, [chosen]);
  return html`<section aria-labelledby=${id}>
    <h3 id=${id}><${Term} of="layer">${short}</${Term}> ${long} <span class="quiet">~${tokens(layer.tokens)}, ${bytes(layer.bytes)}</span></h3>
    ${blocks.length === 0
      ? html`<p class="quiet">${layer.tokens ? "Its blocks stand on another page of the list." : "Empty."}</p>`
      : html`<${BlockTable} blocks=${blocks} shown=${shown} parts=${parts} label=${`Blocks of ${short}`} />`}
  </section>`;
}

/** @param {{ blocks: ShownBlock[], shown: Shown, parts: string[], label: string }} props */
function BlockTable({ blocks, shown, parts, label }) {
  const most = Math.max(1, ...shown.blocks.map((block) => block.tokens));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table class="blocks">
      <thead>
        <tr><th scope="col">Block</th><th scope="col" class="block-kind">Kind</th><th scope="col">Why</th><th scope="col">Cache</th><th scope="col" class="number">Tokens</th></tr>
      </thead>
      <tbody>
        ${blocks.map(
          (block) => html`<tr key=${block.index} class=${isAt(block, parts) ? "chosen" : ""}>
            <th scope="row"><${BlockLink} block=${block} shown=${shown} parts=${parts} /></th>
            <td class="block-kind">${block.kind}</td>
            <td>${block.why}${block.state === "stale" ? html` <span class="badge warn">stale</span>` : block.state === "full" ? "" : `, ${block.state}`}</td>
            <td><${ReuseName} kind=${block.reuse ?? null} /></td>
            <td class="number">
              ${tokens(block.tokens)}
              <span class="share"><span class="reuse ${block.reuse ?? ""}" style=${{ width: `${(100 * block.tokens) / most}%` }}></span></span>
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {{ block: ShownBlock, shown: Shown, parts: string[] }} props */
const BlockLink = ({ block, shown, parts }) =>
  html`<a
    href=${link("prompt", shown.prompt.seq, "layer", LAYERS[block.layer].short, "block", block.index)}
    aria-current=${isAt(block, parts) ? "true" : null}
    >${block.id}</a
  >`;

/** @param {ShownBlock} block */
const why = (block) => (block.state === "full" ? block.why : `${block.why}, ${block.state}`);

/** @param {{ blocks: ShownBlock[], shown: Shown, parts: string[] }} props */
function LeftOut({ blocks, shown, parts }) {
  return html`<section aria-labelledby="left-out">
    <h3 id="left-out">Not in it, or only referred to</h3>
    ${blocks.length === 0
      ? html`<p class="quiet">Nothing was left out.</p>`
      : html`<div class="scroll" tabindex="0" role="region" aria-label="What was left out">
          <table class="blocks">
            <thead>
              <tr><th scope="col">What</th><th scope="col">Layer</th><th scope="col">State</th><th scope="col">Why</th></tr>
            </thead>
            <tbody>
              ${blocks.map(
                (block) => html`<tr key=${`${block.layer}${block.index}`}>
                  <th scope="row"><${BlockLink} block=${block} shown=${shown} parts=${parts} /> <span class="quiet">${block.kind}</span></th>
                  <td>${LAYERS[block.layer].short}</td>
                  <td>${block.state}</td>
                  <td>${block.why}${block.detail ? `: ${block.detail}` : ""}</td>
                </tr>`,
              )}
            </tbody>
          </table>
        </div>`}
  </section>`;
}

/** @param {{ seq: number, layer: Layer, index: number, shown: Shown }} props */
function BlockOf({ seq, layer, index, shown }) {
  const [offset, setOffset] = useState(0);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    setOffset(0);
    if (matchMedia(ABOVE_THE_LIST).matches) place.current?.scrollIntoView({ block: "start" });
  }, [seq, layer, index]);
  const found = /** @type {import("../parts/resource.js").Resource<BlockShown>} */ (
    useResource(`/api/prompts/${seq}/layers/${layer}/blocks/${index}`, { offset: offset || undefined })
  );
  return html`<div ref=${place}>
    <${Loaded} of=${found}>
      ${(/** @type {BlockShown} */ read) => html`<${BlockText} read=${read} shown=${shown} offset=${offset} setOffset=${setOffset} />`}
    </${Loaded}>
  </div>`;
}

/** @param {{ read: BlockShown, shown: Shown, offset: number, setOffset: (offset: number) => void }} props */
function BlockText({ read, shown, offset, setOffset }) {
  const { block, since, text } = read;
  return html`<h3>${read.title || block.id}</h3>
    <dl class="facts">
      <dt>Block</dt>
      <dd>${LAYERS[block.layer].short} ${block.index}: ${block.kind} <code>${block.id}</code></dd>
      <dt>Why</dt>
      <dd>${why(block)}${REASONS[block.why] ? `: ${REASONS[block.why]}` : ""}${block.detail ? `; ${block.detail}` : ""}${block.turn ? `; sent with message ${block.turn}` : ""}</dd>
      <dt>Cache</dt>
      <dd><${ReuseName} kind=${block.reuse ?? null} /></dd>
      <dt>Size</dt>
      <dd>~${tokens(block.tokens)}, ${bytes(block.bytes)}</dd>
      ${block.revision ? html`<dt>Version</dt><dd>sha256 <code title=${block.revision}>${block.revision.slice(0, SHA_CHARS)}</code>${read.mtime ? `, last changed ${day(read.mtime)} ${clock(read.mtime)}` : ""}</dd>` : null}
      ${block.note ? html`<dt>Note</dt><dd><a href=${link("note", block.note)}>${block.note}</a>${block.state === "stale" ? html` <span class="badge warn">had a newer text by then</span>` : null}</dd>` : null}
      ${since
        ? html`<dt>Since</dt>
            <dd>
              <a href=${link("prompt", since.seq)}>prompt ${since.seq}</a>, ${day(since.time)} ${clock(since.time)}: in${since.isAtLeast ? " at least" : ""} ${count(since.prompts, "prompt")}
            </dd>`
        : null}
    </dl>
    ${text === null || text === undefined
      ? html`<p class="notice">${read.notKept || "It has no text."}</p>`
      : html`<p class="quiet">
            ${count(read.chars, "character")}${read.nextOffset || offset ? `, from ${offset + 1} on` : ""} <${Copy} text=${text} label="copy text" />
          </p>
          <pre class="block-text" tabindex="0" aria-label="Text of the block">${text}</pre>
          ${offset ? html`<button type="button" onClick=${() => setOffset(0)}>from the beginning</button>` : null}
          ${read.nextOffset ? html`<button type="button" onClick=${() => setOffset(read.nextOffset ?? 0)}>the next part</button>` : null}`}
    <${Command} line=${`workspaced context show ${quoted(shown.conversation)} ${logArgument.value} --prompt ${shown.prompt.seq} --layers`} />`;
}

// -- the body --

/** @param {{ shown: Shown }} props */
function BodyOf({ shown }) {
  const { seq } = shown.prompt;
  const [offset, setOffset] = useState(0);
  useEffect(() => setOffset(0), [seq]);
  const found = /** @type {import("../parts/resource.js").Resource<Body>} */ (
    useResource(`/api/prompts/${seq}/body`, { offset: offset || undefined })
  );
  return html`<section aria-labelledby="body-title">
    <h3 id="body-title">Body as sent</h3>
    <${Loaded} of=${found}>
      ${(/** @type {Body} */ body) => html`
        <p class="prompt-facts">
          ${body.same === true ? html`<span class="badge good">its hash is the recorded one</span>` : null}
          ${body.same === false ? html`<span class="badge bad">its hash is not the recorded one</span>` : null}
          <span>${body.shape ? `for ${body.shape}` : "The runtime was given messages, not a body; these are they"}: ${bytes(body.bytes)} without blanks</span>
          <${Copy} text=${body.text} label=${offset || body.nextOffset ? "copy this part" : "copy"} />
          <${Download} path=${`/api/prompts/${seq}/sent`} label="save the bytes as sent" />
        </p>
        ${body.changes.map((change) => html`<p key=${change} class="notice">${change}</p>`)}
        <pre class="block-text" tabindex="0" aria-label="The body as JSON">${body.text}</pre>
        ${offset ? html`<button type="button" onClick=${() => setOffset(0)}>from the beginning</button>` : null}
        ${body.nextOffset ? html`<button type="button" onClick=${() => setOffset(body.nextOffset ?? 0)}>the next part</button>` : null}
        <${Command} line=${`workspaced context show ${quoted(shown.conversation)} ${logArgument.value} --prompt ${seq}${body.shape ? " --body sent" : ""} --json`} />
      `}
    </${Loaded}>
  </section>`;
}

// -- the difference --

/** @param {{ shown: Shown, against: string | undefined }} props */
function DiffOf({ shown, against }) {
  const has = Boolean(against ?? shown.before);
  const found = /** @type {import("../parts/resource.js").Resource<Diff>} */ (
    useResource(has ? `/api/prompts/${shown.prompt.seq}/diff` : null, { against })
  );
  return html`<section aria-labelledby="diff-title">
    <h3 id="diff-title">Changes to the prompt before</h3>
    ${has
      ? html`<${Loaded} of=${found}>${(/** @type {Diff} */ diff) => html`<${Differences} diff=${diff} shown=${shown} />`}</${Loaded}>`
      : html`<p class="quiet">It is the first prompt of its conversation that the log knows: there is nothing to compare.</p>`}
  </section>`;
}

/** @param {{ diff: Diff, shown: Shown }} props */
function Differences({ diff, shown }) {
  return html`<p>
      ${diff.first
        ? html`First to change, in the order sent: <b>${LAYERS[diff.first].short} ${LAYERS[diff.first].long}</b>: ${diff.causes.join(", ") || "the conversation went on"}.`
        : "Both are the same."}
    </p>
    <p>
      Both begin with the same ${tokens(diff.common)}, which a cache can serve; ${tokens(diff.lost)} of prompt${" "}
      <a href=${link("prompt", diff.before)}>${diff.before}</a> are lost to it, ${tokens(diff.anew)} of prompt ${diff.after} are read anew.
    </p>
    <div class="scroll" tabindex="0" role="region" aria-label="Layers of both prompts">
      <table>
        <thead>
          <tr><th scope="col">Layer</th><th scope="col">Text</th><th scope="col" class="number">In ${diff.before}</th><th scope="col" class="number">In ${diff.after}</th></tr>
        </thead>
        <tbody>
          ${diff.layers.map(
            (layer) => html`<tr key=${layer.layer}>
              <th scope="row">${LAYERS[layer.layer].short} ${LAYERS[layer.layer].long}</th>
              <td>${layer.same ? "same" : "changed"}</td>
              <td class="number">${tokens(layer.beforeTokens)}</td>
              <td class="number">${tokens(layer.afterTokens)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <h3>Entries that came and went</h3>
    ${diff.entries.length === 0 ? html`<p class="quiet">None.</p>` : null}
    <ul class="diff entries">
      ${diff.entries.map(
        (entry, at) =>
          html`<li key=${at} class=${entry.sign === "+" ? "added" : "removed"}>${`${entry.sign} ${LAYERS[entry.layer].short} ${entry.kind} ${entry.id}: ${entry.state}, ${entry.why}, ${tokens(entry.tokens)}`}</li>`,
      )}
    </ul>
    ${diff.entriesLeftOff ? html`<p class="quiet">${count(diff.entriesLeftOff, "further entry")} are not shown.</p>` : null}
    <h3>Text, line by line</h3>
    ${diff.tooLong ? html`<p class="notice">The texts differ in too many lines to compare them here.</p>` : null}
    ${diff.lines.length
      ? html`<pre class="diff" tabindex="0" aria-label="Differences of the text">${diff.lines.map(
          (line, at) => html`<span key=${at} class=${line[0] === "+" ? "added" : line[0] === "-" ? "removed" : line[0] === "@" ? "quiet" : ""}>${line + "\n"}</span>`,
        )}</pre>`
      : null}
    ${diff.linesLeftOff ? html`<p class="quiet">${count(diff.linesLeftOff, "further line")} are not shown; the command line shows all.</p>` : null}
    <${Command} line=${`workspaced context show ${quoted(shown.conversation)} ${logArgument.value} --prompt ${diff.after}`} />`;
}
