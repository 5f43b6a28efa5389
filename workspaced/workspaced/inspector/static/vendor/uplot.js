// uPlot as a module. Its file is a script that sets a global variable, and is kept as published; an importer of this
// module waits until the script ran. Import it when a chart is wanted, `await import("./vendor/uplot.js")`: it is two
// thirds of all libraries' bytes. Its styles are uPlot.min.css.

const SCRIPT = new URL("./uPlot.iife.min.js", import.meta.url).href;

await new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.src = SCRIPT;
  script.onload = resolve;
  script.onerror = () => reject(new Error(`${SCRIPT} cannot be loaded: reload the page.`));
  document.head.append(script);
});

/** @typedef {typeof import("uplot")} Charts */

/** The class of charts. */
export const uPlot = /** @type {{ uPlot: Charts }} */ (/** @type {unknown} */ (globalThis)).uPlot;
