import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Goal, Machine, Recorded, Table } from "./finding.ts";
import { drawPlot } from "./plot.ts";

/** The order in which a reader meets them; what is not named comes last. */
const order = [
  "verify",
  "receive",
  "mock-start",
  "mock-query",
  "mock-deliveries",
  "mock-time",
  "sdk-call",
  "sdk-burst",
  "sdk-storm",
  "import-time",
  "sdk-memory",
  "growth-fan-out",
  "growth-inbox",
  "growth-processes",
];

/** Writes docs/benchmarks.md and its images from everything in results/. */
export function writeReport(folder: string): void {
  const results = join(folder, "results");
  const found = readdirSync(results)
    .filter((file) => file.endsWith(".json"))
    .map((file) => JSON.parse(readFileSync(join(results, file), "utf8")) as Recorded)
    .sort((a, b) => placeOf(a) - placeOf(b) || a.name.localeCompare(b.name));
  const docs = join(folder, "..", "docs");
  mkdirSync(join(docs, "images"), { recursive: true });
  for (const plot of found.flatMap(({ plots = [] }) => plots)) {
    writeFileSync(join(docs, "images", `benchmark-${plot.name}.svg`), drawPlot(plot));
  }
  writeFileSync(join(docs, "benchmarks.md"), page(found, peerVersions(folder)));
  console.log("\nwrote docs/benchmarks.md");
}

const placeOf = ({ name }: Recorded) => (order.includes(name) ? order.indexOf(name) : order.length);

function page(found: readonly Recorded[], peers: string): string {
  const goals = found.flatMap((finding) => finding.goals.map((goal) => ({ ...goal, finding })));
  const missed = goals.filter(({ met }) => !met);
  return `# Benchmarks

<!-- Written by bench/report.ts from bench/results; do not edit by hand. -->

\`npm run bench\` measures all of this (\`-- --only verify,mock-query\` some of it, \`-- --quick\` only shows that it runs).
What is compared takes turns in one run, several rounds; the ratios are the claim, and each stands with the range of its
middle half. Absolute times belong to one small shared machine and mean little elsewhere. Unless a column says
otherwise, time is processor time of the process that does the work: unlike time on the wall it does not grow when
other programs run, though it still does a little when they empty the caches.

Compared with: ${peers}.

${goals.length - missed.length} of ${goals.length} goals are met.${missed.length > 0 ? ` Missed: ${missed.map(({ what, finding }) => `${what} ([${finding.title.toLowerCase()}](#${anchor(finding.title)}))`).join("; ")}.` : ""}

${found.map(section).join("\n\n")}
`;
}

function section({ title, about, goals, tables, plots = [], notes = [], machine }: Recorded): string {
  return [
    `## ${title}`,
    about,
    ...(goals.length > 0 ? [goalTable(goals)] : []),
    ...tables.map(markdown),
    ...plots.map((plot) => `![${plot.title}](images/benchmark-${plot.name}.svg)`),
    ...notes,
    `<sub>${machineWords(machine)}</sub>`,
  ].join("\n\n");
}

function goalTable(goals: readonly Goal[]): string {
  return markdown({
    columns: ["goal", "wanted", "measured", ""],
    rows: goals.map(({ what, target, measured, met }) => [what, target, measured, met ? "✓" : "missed"]),
  });
}

function markdown({ columns, rows }: Table): string {
  const text = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [
    text(columns),
    `|${columns.map((_, index) => (index ? "---:|" : "---|")).join("")}`,
    ...rows.map(text),
  ].join("\n");
}

function machineWords({ date, node, processor, cores, load, quick }: Machine): string {
  const [before, after] = load;
  const busy = `load ${before.toFixed(1)} before, ${after.toFixed(1)} after`;
  return `${date}, Node ${node}, ${cores} cores of ${processor}, ${busy}${quick ? "; a quick run" : ""}`;
}

const anchor = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");

function peerVersions(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, "peers", "package.json"), "utf8"));
  const root = JSON.parse(readFileSync(join(folder, "..", "package.json"), "utf8"));
  const all: Record<string, string> = {
    standardwebhooks: root.dependencies.standardwebhooks,
    express: root.devDependencies.express,
    ...manifest.dependencies,
  };
  return Object.entries(all)
    .map(([name, version]) => `${name} ${version.replace("^", "")}`)
    .sort()
    .join(", ");
}
