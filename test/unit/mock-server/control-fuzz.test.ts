import fc from "fast-check";
import { expect, test } from "vitest";
import { createMockServer, type MockServer } from "workspace-tasks/mock-server";
import { routes } from "../../../mock-server/control/routes.ts";
import { createEndpoint } from "../../support/mock-client.ts";

// Whatever is sent to the control API, the answer is one of its own: never a 500, never a stack, and the
// mock goes on.

const json = fc.jsonValue({ maxDepth: 4 });
const fields = [
  "workspaceId",
  "taskType",
  "status",
  "stages",
  "outcome",
  "by",
  "name",
  "payload",
  "documents",
  "connectionId",
  "deliveries",
  "count",
  "timeoutMs",
  "api",
  "instructions",
  "chances",
  "kind",
  "steps",
  "do",
  "role",
  "limit",
  "iterator",
];
const body = fc.oneof(json, fc.dictionary(fc.constantFrom(...fields), json));

async function setUp(): Promise<{ mock: MockServer; ids: string[] }> {
  const mock = await createMockServer({ listen: false, clock: "virtual", receivers });
  const { endpointId } = await createEndpoint(mock, receiverUrl);
  const { taskId, clientId } = mock.admin.startTask({ taskType: "TAX_PREP", progression: "manual" });
  const deliveryId = mock.admin.deliveries().data[0]?.id ?? "";
  return { mock, ids: [endpointId, taskId, clientId, deliveryId, mock.workspaceId] };
}

const receiverUrl = "http://127.0.0.1:1/hooks";
const receivers = new Map([[receiverUrl, () => new Response(null, { status: 204 })]]);

async function expectOwnAnswer(mock: MockServer, method: string, path: string, sent: unknown): Promise<void> {
  const response = await mock.fetch(`/_mock/v1${path}`, {
    method,
    ...(method === "GET" || method === "DELETE"
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(sent) }),
  });
  const text = await response.text();
  expect(text).not.toMatch(/\n\s+at |\.ts:/);
  expect(response.status, `${method} ${path} ${JSON.stringify(sent)} → ${text}`).toBeLessThan(500);
  if (!response.ok) {
    expect(JSON.parse(text)).toEqual({
      error: { code: expect.any(String), message: expect.any(String), issues: expect.any(Array) },
    });
  }
}

// A wait that nobody ends would take its time limit, and a reset would make the ids mean nothing.
const fuzzed = routes.filter(({ path }) => path !== "/wait" && path !== "/reset");

test("any body sent to any route is answered in the API's own words", async () => {
  const { mock, ids } = await setUp();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...fuzzed),
      fc.constantFrom(...ids, "none"),
      body,
      async (route, id, sent) => {
        await expectOwnAnswer(mock, route.method, route.path.replace(/\{[^}]+\}/g, id), sent);
      },
    ),
    { numRuns: 600, seed: 20_260_115 },
  );
  expect(mock.admin.health().status).toBe("ok");
  await mock.close();
});

test("any query sent to any list is answered in the API's own words", async () => {
  const { mock } = await setUp();
  const query = fc.dictionary(fc.constantFrom(...fields, "event", "endpointId", "subject"), fc.string());
  const lists = routes.filter((route) => route.query);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...lists), query, async (route, sent) => {
      await expectOwnAnswer(mock, "GET", `${route.path}?${new URLSearchParams(sent)}`, undefined);
    }),
    { numRuns: 200, seed: 20_260_115 },
  );
  await mock.close();
});

test("a body that is right is done, so the answers above are not all refusals", async () => {
  const { mock, ids } = await setUp();
  const response = await mock.fetch(`/_mock/v1/tasks/${ids[1]}/status`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ status: "COMPLETED" }),
  });
  expect(response.status).toBe(200);
  await mock.close();
});
