import { createControlClient, type MockServer } from "@workspace-tasks/mock-server";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";
import { callGraphql, checkedControlClient, jsonPost, workspaceToken } from "../../../support/mock-client.ts";

const receiverUrl = "http://127.0.0.1:1/webhooks";

const it = mockTest.extend({
  mockOptions: {
    listen: false,
    clock: "virtual",
    receivers: new Map([[receiverUrl, () => new Response(null, { status: 503 })]]),
  },
});

const createClient = `mutation Add($input: CreateClientInput!) { createClient(input: $input) { client { id } } }`;

/** One `me` without a token, and a client for each name. */
async function makeRequests(mock: MockServer, ...names: string[]) {
  const token = await workspaceToken(mock);
  await callGraphql(mock, "{ me { __typename } }").catch(() => undefined);
  for (const name of names) {
    const input = { name, externalId: name, returnType: "F1040", taxYear: 2025 };
    await callGraphql(mock, createClient, { token, variables: { input } });
  }
}

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "no error",
    (error: Error) => error.message,
  );

describe("GET /requests", () => {
  it("filters by operation, code, key, workspace, status, variables and sequence", async ({ mock }) => {
    await makeRequests(mock, "Ada", "Ben");
    const control = checkedControlClient(mock);
    const [key] = (await control.listApiKeys()).data;
    const found = async (filter: Parameters<typeof control.listRequests>[0]) =>
      (await control.listRequests(filter)).data.map(({ sequence }) => sequence);
    expect(await found({ operation: "createClient" })).toEqual([2, 3]);
    expect(await found({ operationName: "Add", after: 2 })).toEqual([3]);
    expect(await found({ code: "UNAUTHENTICATED" })).toEqual([1]);
    expect(await found({ keyId: key?.id, workspaceId: mock.workspaceId, status: 200 })).toEqual([2, 3]);
    expect(await found({ variables: { input: { name: "Ben", taxYear: 2025 } } })).toEqual([3]);
    expect(await found({ variables: { input: { name: "Bob" } } })).toEqual([]);
    expect((await mock.control.listRequests({ variables: { input: { name: "Ben" } } })).data).toHaveLength(1);
  });

  it("takes variables as JSON in the query, and rejects other text", async ({ mock }) => {
    await makeRequests(mock, "Ada");
    const get = (variables: string) =>
      mock.fetch(`/_mock/v1/requests?variables=${encodeURIComponent(variables)}`);
    expect(await (await get('{"input":{"name":"Ada"}}')).json()).toMatchObject({ data: [{ sequence: 2 }] });
    const rejected = await get("Ada");
    expect([rejected.status, await rejected.json()]).toMatchObject([
      400,
      { error: { message: "variables: expected a JSON object" } },
    ]);
  });
});

describe("POST /requests/wait", () => {
  it("responds once enough matching requests were made", async ({ mock }) => {
    const control = createControlClient({ baseUrl: mock.baseUrl, fetch: mock.fetch });
    const waiting = control.waitForRequests({ operation: "createClient", count: 2 });
    await makeRequests(mock, "Ada", "Ben");
    expect((await waiting).data).toHaveLength(2);
  });

  it("names the nearest requests and why they differ", async ({ mock }) => {
    await makeRequests(mock, "Ada", "Ben");
    const variables = { input: { name: "Bob", returnType: "F1040" } };
    const expected = { operation: "createClient", status: 200, variables, timeoutMs: 1 };
    const response = await mock.fetch("/_mock/v1/requests/wait", jsonPost(expected));
    expect(response.status).toBe(408);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message.split("\n")).toEqual([
      "expected at least 1 matching request, got 0 within timeoutMs (1)",
      '  #3 createClient (200): variables.input.name: expected "Bob", got "Ben"',
      '  #2 createClient (200): variables.input.name: expected "Bob", got "Ada"',
      '  #1 me (200 UNAUTHENTICATED): operation: expected "createClient", got "me"; variables.input: expected an object, got nothing',
    ]);
  });

  it("fails at once when there are more than times", async ({ mock }) => {
    await makeRequests(mock, "Ada", "Ben");
    const message = await messageOf(mock.control.waitForRequests({ operation: "createClient", times: 1 }));
    expect(message).toBe(
      "expected exactly 1 matching request, got 2\n  #2 createClient (200)\n  #3 createClient (200)",
    );
  });
});

describe("expectations", () => {
  it("expectRequest returns the request, and waits for it", async ({ mock }) => {
    const expected = mock.expectRequest({ operation: "createClient", timeoutMs: 5_000 });
    await makeRequests(mock, "Ada");
    expect(await expected).toMatchObject({ sequence: 2, workspaceId: mock.workspaceId });
    await mock.expectNoRequest({ operation: "triggerTaxPrep" });
    expect(await messageOf(mock.expectNoRequest({ operation: "createClient" }))).toContain("#2 createClient");
    expect(await messageOf(mock.expectRequest({ operation: "triggerTaxPrep", timeoutMs: 1 }))).toContain(
      'operation: expected "triggerTaxPrep", got "me"',
    );
    await expect(mock.expectRequest({ operatio: "me" } as object)).rejects.toThrow("did you mean operation?");
  });

  it("expectDelivery names the nearest deliveries and why they failed", async ({ mock }) => {
    await mock.control.createEndpoint({ url: receiverUrl });
    const { taskId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    await mock.clock.settle();
    expect(await mock.expectDelivery({ subject: taskId, responseStatus: 503 })).toMatchObject({
      event: "task.running",
      lastStatus: 503,
      lastError: expect.stringContaining("503"),
    });
    await mock.expectNoDelivery({ event: "task.failed" });
    const message = await messageOf(mock.expectDelivery({ status: "succeeded", timeoutMs: 1 }));
    expect(message).toMatch(
      /^expected at least 1 matching delivery, got 0 within timeoutMs \(1\)\n {2}task\.running \S+ \(pending, .*503.*\): status: expected "succeeded", got "pending"$/,
    );
  });

  it("an expectation rejects an operation or event that cannot exist, which would always or never match", async ({
    mock,
  }) => {
    const operation = "operation: unknown operation createClien; did you mean createClient?";
    expect(await messageOf(mock.expectNoRequest({ operation: "createClien" }))).toBe(operation);
    expect(await messageOf(mock.expectRequest({ operation: "createClien" }))).toBe(operation);
    const event = "event: unknown event task.complete; did you mean task.completed?";
    expect(await messageOf(mock.expectNoDelivery({ event: "task.complete" }))).toBe(event);
    expect(await messageOf(mock.expectDelivery({ event: "task.complete" }))).toBe(event);
    await mock.control.addCatalogEvent({ name: "task.complete" });
    await mock.expectNoDelivery({ event: "task.complete" });
  });
});
