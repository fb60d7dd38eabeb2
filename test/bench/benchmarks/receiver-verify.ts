import { alternate } from "../alternate.ts";
import {
  atLeast,
  type Benchmark,
  cellOf,
  type Goal,
  type MeasureOptions,
  number,
  type Result,
  times,
} from "../benchmark.ts";
import { medianIn, ratioIn } from "../statistics.ts";

const cases = [
  { label: "1 KB", bytes: 1_024, forged: false, goal: 3 },
  { label: "8 KB", bytes: 8_192, forged: false, goal: 5 },
  { label: "64 KB", bytes: 65_536, forged: false, goal: 7 },
  { label: "1 MB", bytes: 1_048_576, forged: false, goal: 7 },
  { label: "8 KB, forged", bytes: 8_192, forged: true, goal: 4 },
];
const ours = "this kit";
const parsing = "this kit + JSON.parse";
const library = "standardwebhooks";
const names = [ours, parsing, library];
const others = names.filter((name) => name !== ours);

export const benchmark: Benchmark = {
  title: "Verifying a delivery",
  question: "What does verifying a delivery of 8 KB cost?",
  answer: (result) =>
    `${cellOf(result, "8 KB", "this kit, µs")} µs; standardwebhooks takes ${cellOf(result, "8 KB", "standardwebhooks ÷ this kit")}`,
  about:
    "One call of `verify` with the body in memory: µs of CPU time, then the ratio of the others. standardwebhooks also parses the body as JSON; in the " +
    "column with `JSON.parse` this kit does so too.",
  notes: [
    "The difference is the hash: this kit passes the bytes to the platform's HMAC; standardwebhooks hashes text in JavaScript.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const rows: string[][] = [];
  const goals: Goal[] = [];
  const options = { rounds: quick ? 3 : 15, roundMs: quick ? 10 : 60 };
  for (const { label, bytes, forged, goal } of cases) {
    const entered = names.filter((name) => !(forged && name === parsing));
    const argument = `${bytes}${forged ? " forged" : ""}`;
    const samples = await alternate("contenders/verify.ts", argument, entered, options);
    const ratio = (name: string) => ratioIn(samples, ours, name, "cpuUs");
    rows.push([
      label,
      ...names.map((name) => number(medianIn(samples, name, "cpuUs"))),
      ...others.map((name) => (entered.includes(name) ? times(ratio(name)) : "–")),
    ]);
    goals.push(atLeast(`${label}: standardwebhooks ÷ this kit`, goal, ratio(library)));
  }
  const columns = [
    "body",
    ...names.map((name) => `${name}, µs`),
    ...others.map((name) => `${name} ÷ ${ours}`),
  ];
  return { goals, tables: [{ columns, rows }] };
}
