import { alternate } from "../alternate.ts";
import {
  type Benchmark,
  cellOf,
  type MeasureOptions,
  measuredFor,
  type Result,
  tableOf,
} from "../benchmark.ts";
import { atLeast, atMost, number, times } from "../format.ts";
import { differenceIn, medianIn, ratioIn } from "../statistics.ts";

const raw = "fetch + JSON.parse";
const ours = "this SDK";
const documentNode = "graphql-request, DocumentNode";
const names = [
  raw,
  ours,
  "this SDK, rateLimit: false",
  documentNode,
  "graphql-request, text",
  "@linear/sdk",
  "openai",
  "@shopify/graphql-client",
];

export const benchmark: Benchmark = {
  title: "A call through the SDK",
  question: "What does a call cost?",
  answer: (result) =>
    `${cellOf(result, ours, "µs")} µs, ${measuredFor(result, "this SDK over raw fetch")} more than \`fetch\`; graphql-request with a DocumentNode takes ${cellOf(result, documentNode, "÷ this SDK")}`,
  about:
    "CPU time of one call whose response has 20 tasks (5.01 KB), from a `fetch` in memory. The SDK's clock moves by half a second per call, so that it " +
    "paces its calls and exchanges its key for a token every few minutes, as in a program that uses its rate limit to the full. The peers do neither.",
  notes: [
    "What the SDK does beyond raw fetch, measured by leaving out one thing at a time (November 2026, in turns with the complete SDK; on a machine this busy a difference below 1 µs cannot be measured): graphql-request, which sends the call, 5 to 8 µs; the `AbortSignal` of each attempt, which lets a request be cancelled, 1 to 3; pacing, 2 to 4; the timer of each attempt, which limits its duration, at most 2; the limit on the size of the body nothing, since reading its stream and counting costs no more than `text()`. graphql-request alone does none of the last four.",
    "The `fetch` in memory ignores the signal; the platform's own does not. What graphql-request spends on printing a DocumentNode grows with the document, and this one is short.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const options = { rounds: quick ? 3 : 11, roundMs: quick ? 20 : 300 };
  const samples = await alternate("contenders/sdk-call.ts", "", names, options);
  const over = (name: string) => differenceIn(samples, name, raw, "cpuUs");
  const ratio = (name: string) => ratioIn(samples, ours, name, "cpuUs");
  return {
    goals: [
      atMost("this SDK over raw fetch", 40, over(ours), "µs"),
      atLeast("graphql-request with a DocumentNode ÷ this SDK", 1.1, ratio(documentNode)),
    ],
    tables: [
      tableOf(["", "µs", "µs over raw fetch", "÷ this SDK"], names, (name) => [
        name,
        number(medianIn(samples, name, "cpuUs")),
        number(over(name).median),
        times(ratio(name)),
      ]),
    ],
  };
}
