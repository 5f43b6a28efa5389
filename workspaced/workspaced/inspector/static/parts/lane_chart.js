/** Bars of counts over time, one row per lane, on uPlot's canvas; what a pointer does there becomes times. */

/** @typedef {{ name: string, colour: string, counts: readonly number[] }} Row `colour`: of a custom property in CSS */
/** @typedef {{ beginMs: number, endMs: number }} Stretch milliseconds since 1970 */
/** @typedef {{ stretch: Stretch, binned: Stretch, rows: Row[] }} Drawn `binned`: the stretch that the counts divide */

export const ROW_PX = 12;
export const AXIS_PX = 22;
const GAP_PX = 3;
const LEAST_PART = 0.3;
// Of a row's height: one event is seen beside thousands.
const LEAST_PX = 3;
const CLICK_PX = 3;
const AXIS_SPACE_PX = 90;
const LABEL_PX = 32;

/**
 * @typedef {object} Listener
 * @property {(stretch: Stretch) => void} zoom a stretch was brushed
 * @property {() => void} zoomOut
 * @property {(ms: number) => void} pick a time was clicked
 * @property {(ms: number | null) => void} hover the pointer is over a time, or nowhere
 * @property {(width: number) => void} resized in CSS pixels
 */

/**
 * @param {HTMLElement} root
 * @param {Listener} listener
 */
export async function laneChart(root, listener) {
  const { uPlot } = await import("../vendor/uplot.js");
  let drawn = /** @type {Drawn} */ ({ stretch: { beginMs: 0, endMs: 1 }, binned: { beginMs: 0, endMs: 1 }, rows: [] });
  let colours = /** @type {(name: string) => string} */ (() => "");
  const readColours = () => {
    const style = getComputedStyle(root);
    colours = (name) => style.getPropertyValue(name);
  };
  readColours();

  /** @param {InstanceType<typeof uPlot>} chart */
  function drawRows(chart) {
    const { ctx, bbox } = chart;
    const ratio = devicePixelRatio;
    const most = Math.log1p(Math.max(1, ...drawn.rows.flatMap((row) => row.counts)));
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    drawn.rows.forEach((row, index) => {
      const bottom = bbox.top + ((index + 1) * ROW_PX - GAP_PX / 2) * ratio;
      ctx.fillStyle = colours("--line");
      ctx.fillRect(bbox.left, bottom, bbox.width, 1);
      ctx.fillStyle = colours(row.colour);
      const binMs = (drawn.binned.endMs - drawn.binned.beginMs) / row.counts.length;
      row.counts.forEach((count, bin) => {
        if (count === 0) return;
        const left = chart.valToPos(drawn.binned.beginMs + bin * binMs, "x", true);
        const right = chart.valToPos(drawn.binned.beginMs + (bin + 1) * binMs, "x", true);
        const height = (ROW_PX - GAP_PX) * ratio * (LEAST_PART + ((1 - LEAST_PART) * Math.log1p(count)) / most);
        ctx.fillRect(left, bottom - height, Math.max(right - left, LEAST_PX * ratio), height);
      });
    });
    ctx.restore();
  }

  const chart = new uPlot(
    {
      width: Math.max(root.clientWidth, 50),
      height: AXIS_PX,
      ms: 1,
      padding: [0, 0, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: CLICK_PX },
        bind: { dblclick: () => () => (listener.zoomOut(), null) },
      },
      scales: { x: { time: true, range: () => [drawn.stretch.beginMs, drawn.stretch.endMs] }, y: { range: [0, 1] } },
      axes: [
        {
          size: AXIS_PX,
          space: AXIS_SPACE_PX,
          stroke: () => colours("--quiet"),
          grid: { stroke: () => colours("--line"), width: 1 },
          ticks: { stroke: () => colours("--line"), width: 1, size: 4 },
          font: "11px system-ui, sans-serif",
          values: (self, splits, _axis, _space, increment) =>
            splits.map((ms) => (isWhole(self, ms) ? tick(ms, increment) : "")),
        },
        { show: false },
      ],
      series: [{}, { show: false }],
      hooks: {
        drawAxes: [drawRows],
        setSelect: [
          (self) => {
            const { left, width } = self.select;
            if (width < CLICK_PX) return;
            listener.zoom({ beginMs: self.posToVal(left, "x"), endMs: self.posToVal(left + width, "x") });
            self.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          },
        ],
        setCursor: [
          (self) => {
            const left = self.cursor.left ?? -1;
            listener.hover(left < 0 ? null : self.posToVal(left, "x"));
          },
        ],
      },
    },
    [[0, 1], [null, null]],
    root,
  );

  let pressed = 0;
  chart.over.addEventListener("mousedown", (event) => (pressed = event.clientX));
  chart.over.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - pressed) >= CLICK_PX) return;
    listener.pick(chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x"));
  });

  const resizing = new ResizeObserver(() => {
    const width = Math.max(root.clientWidth, 50);
    if (width !== chart.width) chart.setSize({ width, height: chart.height });
    listener.resized(width);
  });
  resizing.observe(root);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const recolour = () => {
    readColours();
    chart.redraw();
  };
  scheme.addEventListener("change", recolour);

  return {
    /** @param {Drawn} next */
    draw(next) {
      drawn = next;
      const height = Math.max(drawn.rows.length, 1) * ROW_PX + AXIS_PX;
      if (height !== chart.height) chart.setSize({ width: chart.width, height });
      chart.setData([[drawn.stretch.beginMs, drawn.stretch.endMs], [null, null]]);
    },
    destroy() {
      resizing.disconnect();
      scheme.removeEventListener("change", recolour);
      chart.destroy();
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof laneChart>>} LaneChart */

/**
 * Whether a label at a time is not cut off at an end of the axis.
 * @param {{ width: number, valToPos: (ms: number, scale: string) => number }} chart
 * @param {number} ms
 */
function isWhole(chart, ms) {
  const left = chart.valToPos(ms, "x");
  return left >= LABEL_PX / 2 && left <= chart.width - LABEL_PX / 2;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * A time on the axis, local, as fine as the steps between them ask.
 * @param {number} ms
 * @param {number} increment milliseconds between two of them
 */
function tick(ms, increment) {
  const date = new Date(ms);
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  if (increment >= DAY_MS) return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const minute = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (increment >= MINUTE_MS) return minute;
  if (increment >= 1000) return `${minute}:${two(date.getSeconds())}`;
  return `:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
