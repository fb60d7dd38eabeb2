import type { Goal, Measure } from "../finding.ts";
import { alternate, medianOf, ratioOf } from "../samples.ts";
import { atLeast, number, times } from "../words.ts";

type Case = {
  readonly label: string;
  readonly bytes: number;
  readonly forged: boolean;
  readonly goal: number;
};

const cases: readonly Case[] = [
  { label: "1 KB", bytes: 1_024, forged: false, goal: 3 },
  { label: "8 KB", bytes: 8_192, forged: false, goal: 5 },
  { label: "64 KB", bytes: 65_536, forged: false, goal: 7 },
  { label: "1 MB", bytes: 1_048_576, forged: false, goal: 7 },
  { label: "8 KB, forged", bytes: 8_192, forged: true, goal: 4 },
];
const ours = "this kit";
const parsing = "this kit + JSON.parse";
const library = "standardwebhooks";
const names = [ours, parsing, library, "svix", "stripe"];

export const measure: Measure = async ({ quick }) => {
  const rows: string[][] = [];
  const goals: Goal[] = [];
  const others = names.filter((name) => name !== ours);
  for (const each of cases) {
    const entered = names.filter((name) => !(each.forged && name === parsing));
    const argument = `${each.bytes}${each.forged ? " forged" : ""}`;
    const options = { rounds: quick ? 3 : 15, roundMs: quick ? 10 : 60 };
    const samples = await alternate("contenders/verify.ts", argument, entered, options);
    const isHere = (name: string) => entered.includes(name);
    rows.push([
      each.label,
      ...names.map((name) => (isHere(name) ? number(medianOf(samples, name)) : "–")),
      ...others.map((name) => (isHere(name) ? times(ratioOf(samples, ours, name)) : "–")),
    ]);
    goals.push(
      atLeast(`${each.label}: standardwebhooks ÷ this kit`, each.goal, ratioOf(samples, ours, library)),
    );
  }
  return {
    title: "Verifying a delivery",
    about:
      "One call of `verify` with the body in memory, in µs of processor time, then how many times as much the others take. " +
      "standardwebhooks, svix and stripe also parse the body as JSON; the column with `JSON.parse` is this kit doing so too.",
    goals,
    tables: [
      {
        columns: [
          "body",
          ...names.map((name) => `${name}, µs`),
          ...others.map((name) => `${name} ÷ ${ours}`),
        ],
        rows,
      },
    ],
    notes: [
      "Read from the code, not isolated by a measurement: the difference is in the hash. This kit gives the bytes to the platform's HMAC, standardwebhooks (and svix, which wraps it) decodes them to text and hashes that in JavaScript.",
    ],
  };
};
