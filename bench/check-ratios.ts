// Fails when ours became about twice as slow, compared with a peer: a short version of `npm run bench` for CI. A limit
// on absolute times would fail on every slower machine. Each limit is 1.75 times the usual ratio. `--twice` doubles our
// time to show that the check fails.

import { alternate } from "./alternate.ts";
import { ratioIn } from "./statistics.ts";

const attempts = 3;
const comparisons = [
  {
    file: "verify",
    argument: "8192 alone",
    ours: "this kit",
    peer: "standardwebhooks",
    usual: 0.1,
    warmUpMs: 200,
  },
  {
    file: "sdk-call",
    argument: "alone",
    ours: "this SDK, rateLimit: false",
    peer: "graphql-request, text",
    usual: 1.3,
    warmUpMs: 200,
  },
  {
    file: "mock-query",
    argument: "",
    ours: "this mock",
    peer: "graphql-http",
    usual: 0.48,
    warmUpMs: 800,
  },
];

const factor = process.argv.includes("--twice") ? 2 : 1;
for (const { file, argument, ours, peer, usual, warmUpMs } of comparisons) {
  const limit = usual * 1.75;
  let ratio = Number.POSITIVE_INFINITY;
  // Other programs can spoil one attempt, but hardly three.
  for (let attempt = 0; attempt < attempts && ratio > limit; attempt++) {
    const options = { rounds: 9, roundMs: 40, warmUpMs };
    const samples = await alternate(`contenders/${file}.ts`, argument, [ours, peer], options);
    ratio = factor * ratioIn(samples, peer, ours, "cpuUs").median;
  }
  const passed = ratio <= limit;
  if (!passed) process.exitCode = 1;
  console.log(
    `${passed ? "✓" : "✗"} ${file}: ${ours} ÷ ${peer} is ${ratio.toFixed(3)}, limit ${limit.toFixed(3)}`,
  );
}
if (process.exitCode) console.error("about twice as slow as usual; `npm run bench` shows more");
