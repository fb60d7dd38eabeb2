import { alternate } from "../alternate.ts";
import {
  atLeast,
  atMost,
  type Benchmark,
  cellOf,
  type MeasureOptions,
  number,
  type Result,
  tableOf,
  times,
} from "../benchmark.ts";
import { differenceIn, excessIn, medianIn, ratioIn } from "../statistics.ts";

const raw = "fetch + JSON.parse";
const ours = "this SDK";
const documentNode = "graphql-request, DocumentNode";
const text = "graphql-request, text";
const names = [raw, ours, "this SDK, rateLimit: false", documentNode, text];

export const benchmark: Benchmark = {
  title: "A call through the SDK",
  question: "What does a call cost?",
  answer: (result) =>
    `${cellOf(result, ours, "µs")} µs, ${cellOf(result, ours, "µs over raw fetch")} µs more than \`fetch\`; graphql-request with a DocumentNode takes ${cellOf(result, documentNode, "÷ this SDK")}`,
  about:
    "CPU time of a call whose response has 20 tasks (5.01 KB), from a `fetch` in memory. The SDK also paces its calls and exchanges its key for tokens; " +
    "graphql-request does not.",
  notes: [
    "graphql-request with a text, without anything of this SDK, is in the table: most of what a call costs beyond `fetch`. Of a whole call (sampled): its " +
      "own functions 4 %, its `URL` and `Headers` 4, the `AbortSignal` of an attempt 3, its timer 2.",
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
      atMost(
        "this SDK ÷ graphql-request with a text, over raw fetch",
        1.3,
        excessIn(samples, ours, text, raw, "cpuUs"),
        "×",
      ),
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
