import type { Plot } from "./benchmark.ts";

const width = 720;
const height = 400;
const frame = { left: 84, right: 44, top: 52, bottom: 84 };
const colours = ["#1f6feb", "#d1571b", "#2f8f46", "#8b4fc9", "#b8860b"];
const dashes = ["", "8 4", "2 4", "12 4 2 4", "4 2"];

interface Axis {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

/** A line chart as SVG text. Its colours follow the reader's scheme, so that light and dark pages share one file. */
export function drawPlot(plot: Plot): string {
  const points = plot.series.flatMap((series) => series.points);
  const x = logAxis(
    points.map(([value]) => value),
    [frame.left, width - frame.right],
  );
  const y = logAxis(
    points.map(([, value]) => value),
    [height - frame.bottom, frame.top],
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeText(plot.title)}">
<style>
  .paper { fill: #ffffff } text { fill: #24292f; font: 13px system-ui, sans-serif } .title { font-weight: 600; font-size: 15px }
  .grid { stroke: #d0d7de } .frame { stroke: #57606a; fill: none }
  @media (prefers-color-scheme: dark) { .paper { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d } .frame { stroke: #8b949e } }
</style>
<rect class="paper" width="${width}" height="${height}"/>
<text class="title" x="${frame.left}" y="24">${escapeText(plot.title)}</text>
<text x="${frame.left}" y="42">${escapeText(plot.y)}</text>
${x.ticks.map((value) => verticalLine(x.at(value), value)).join("\n")}
${y.ticks.map((value) => horizontalLine(y.at(value), value)).join("\n")}
<path class="frame" d="M${frame.left} ${frame.top}V${height - frame.bottom}H${width - frame.right}"/>
<text x="${(frame.left + width - frame.right) / 2}" y="${height - frame.bottom + 40}" text-anchor="middle">${escapeText(plot.x)}</text>
${plot.series.map((series, index) => line(series, index, x, y)).join("\n")}
</svg>
`;
}

function line({ name, points }: Plot["series"][number], index: number, x: Axis, y: Axis): string {
  const colour = colours[index % colours.length];
  const dash = dashes[index % dashes.length];
  const style = `stroke="${colour}" stroke-width="2.5" fill="none"${dash ? ` stroke-dasharray="${dash}"` : ""}`;
  const path = points
    .map(([px, py], at) => `${at ? "L" : "M"}${x.at(px).toFixed(1)} ${y.at(py).toFixed(1)}`)
    .join("");
  const dots = points
    .map(
      ([px, py]) =>
        `<circle cx="${x.at(px).toFixed(1)}" cy="${y.at(py).toFixed(1)}" r="4" fill="${colour}"/>`,
    )
    .join("");
  const legendX = frame.left + (index % 3) * 210;
  const legendY = height - 26 + Math.floor(index / 3) * 18;
  const key = `<path d="M${legendX} ${legendY}h28" ${style}/><text x="${legendX + 36}" y="${legendY + 4}">${escapeText(name)}</text>`;
  return `<path d="${path}" ${style}/>${dots}${key}`;
}

function verticalLine(at: number, value: number): string {
  const bottom = height - frame.bottom;
  const text = `<text x="${at.toFixed(1)}" y="${bottom + 18}" text-anchor="middle">${label(value)}</text>`;
  return `<path class="grid" d="M${at.toFixed(1)} ${frame.top}V${bottom}"/>${text}`;
}

function horizontalLine(at: number, value: number): string {
  const text = `<text x="${frame.left - 8}" y="${(at + 4).toFixed(1)}" text-anchor="end">${label(value)}</text>`;
  return `<path class="grid" d="M${frame.left} ${at.toFixed(1)}H${width - frame.right}"/>${text}`;
}

/** Ticks at powers of ten; at powers of two where the values lie close together. */
function logAxis(values: readonly number[], [from, to]: readonly [number, number]): Axis {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const base = most / least > 20 ? 10 : 2;
  const log = (value: number) => Math.log(value) / Math.log(base);
  const low = Math.floor(log(least) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(log(most) - 1e-9));
  const ticks = Array.from({ length: high - low + 1 }, (_, step) => base ** (low + step));
  return { ticks, at: (value) => from + ((log(value) - low) / (high - low)) * (to - from) };
}

function label(value: number): string {
  return value >= 1 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(2)));
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
