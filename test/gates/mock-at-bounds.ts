// Fills a mock to its bounds: deliveries, request journal, tasks. Run with the heap that docs/mock-limits.md names, it
// ends with an error of V8 when that is too small:
//
//   node --max-old-space-size=1024 --conditions=workspace-tasks-source --import tsx test/gates/mock-at-bounds.ts
import { createMockServer } from "@workspace-tasks/mock-server";

const url = "http://receiver.localhost/webhooks";
const bodyChars = 16_384;
const queryChars = 4_000;
const requests = 10_000;
// Eight attempts, each with a response body, of this many deliveries exceed the bound in bytes.
const failing = 2_000;
const tasks = 200_000;

/** Another text for each number: equal texts would share their memory. */
const textOf = (number: number, chars: number) =>
  String(number)
    .padStart(16, "0")
    .repeat(chars / 16);

const reportHeap = (filledWith: string) =>
  console.log(`${filledWith}: ${Math.round(process.memoryUsage().heapUsed / 1_048_576)} MB`);

let attempts = 0;
await using mock = await createMockServer({
  listen: false,
  clock: "virtual",
  settings: { rateLimit: { requests: 1_000_000 } },
  receivers: new Map([[url, async () => new Response(textOf(attempts++, bodyChars), { status: 500 })]]),
});
const { control, clock } = mock;

const { id } = await control.createEndpoint({ url });
for (let count = 0; count < failing; count++) await control.startTask({ taskType: "TAX_ADVISOR" });
await clock.advance("3d");
await control.deleteEndpoint(id);
reportHeap(`deliveries with ${attempts} failed attempts`);

for (let count = 0; count < requests; count++) {
  const query = `# ${textOf(count, queryChars)}\nquery Me { me { __typename } }`;
  const body = JSON.stringify({ query, variables: { text: textOf(count, queryChars) } });
  const headers = { "content-type": "application/json", authorization: `Bearer ${count}` };
  await (await mock.fetch(`${mock.baseUrl}/graphql`, { method: "POST", headers, body })).text();
}
reportHeap(`and ${requests} requests`);

for (let count = failing; count < tasks; count++) await control.startTask({ taskType: "TAX_PREP" });
await clock.advance("1d");
reportHeap(`and ${tasks} completed tasks`);
