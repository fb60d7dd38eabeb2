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
      atLeast("graphql-request with a DocumentNode ÷ this SDK", 1, ratioOf(samples, ours, documentNode)),
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
      "Beyond raw fetch the SDK makes an `AbortController` and a timer for each attempt, so that a body that stalls ends too, reads the body as a stream, so that its size has a limit, and goes through the queue of the allowance. The clients beside it do none of the three; what graphql-request spends on printing a DocumentNode grows with the document, and this one is short.",
    ],
  };
};
