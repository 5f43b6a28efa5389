/** A term with its sentence from the glossary, which shows while the term is under the pointer or has the focus. */

import { html } from "../vendor/index.js";
import { GLOSSARY } from "./glossary.js";

/**
 * @param {{ of: string, children?: any }} props `of`: the term as the glossary spells it; `children`: as the page
 * spells it, by default the same
 */
export const Term = ({ of, children }) =>
  html`<dfn class="term" tabindex="0">${children ?? of}<span class="meaning" role="tooltip">${GLOSSARY[of]}</span></dfn>`;
