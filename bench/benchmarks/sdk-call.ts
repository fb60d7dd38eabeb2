import type { Measure } from "../finding.ts";
import { answerOf } from "../sample-query.ts";
import { alternate, medianOf, ratioOf, spreadOf } from "../samples.ts";
import { atLeast, atMost, number, times } from "../words.ts";

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

export const measure: Measure = async ({ quick }) => {
  const options = { rounds: quick ? 3 : 11, roundMs: quick ? 20 : 300 };
  const samples = await alternate("contenders/sdk-call.ts", "", names, options);
  const over = (name: string) =>
    spreadOf(
      (samples.get(name) ?? []).map(({ cpuUs }, round) => cpuUs - (samples.get(raw)?.[round]?.cpuUs ?? 0)),
    );
  return {
    title: "A call through the SDK",
    about:
      "Processor time of one call with an answer of 20 tasks (" +
      `${number(answerOf(20).length / 1_000)} KB) from a \`fetch\` in memory. The SDK's clock moves by half a second per call, so that ` +
      "it paces, and exchanges its key for a token every few minutes, as in a program that makes full use of its allowance; the peers do neither.",
    goals: [
      atMost("this SDK over raw fetch", 40, over(ours), "µs"),
      atLeast("graphql-request with a DocumentNode ÷ this SDK", 1.1, ratioOf(samples, ours, documentNode)),
    ],
    tables: [
      {
        columns: ["", "µs", "µs over raw fetch", "÷ this SDK"],
        rows: names.map((name) => [
          name,
          number(medianOf(samples, name)),
          number(over(name).median),
          times(ratioOf(samples, ours, name)),
        ]),
      },
    ],
    notes: [
      "What the SDK does beyond raw fetch, by leaving one thing out at a time (November 2026, in turns with the whole; on a machine as busy as this one a difference below 1 µs cannot be seen): graphql-request, which carries the call, 5 to 8 µs; the `AbortSignal` of each attempt, so that a request can be given up, 1 to 3; pacing, 2 to 4; the timer of each attempt, so that nothing hangs, at most 2; the limit on the size of the body nothing at all, since reading its stream and counting costs no more than `text()`. graphql-request by itself does none of the last four.",
      "The `fetch` in memory does not look at the signal, as the platform's own does. What graphql-request spends on printing a DocumentNode grows with the document, and this one is short.",
    ],
  };
};
