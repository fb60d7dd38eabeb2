import { parseEvent } from "@workspace-tasks/events";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callGraphql, workspaceToken } from "../../../support/mock-client.ts";

const urls = { billing: "https://billing.example/hooks", portal: "https://portal.example/hooks" };
const responses = new Map<string, () => Response>();
let mock: MockServer;

beforeAll(async () => {
  const receiver = ({ url }: Request) => responses.get(url)?.() ?? new Response(null, { status: 204 });
  const receivers = new Map(Object.values(urls).map((url) => [url, receiver]));
  mock = await createMockServer({ listen: false, clock: "virtual", receivers });
});
afterAll(() => mock.close());

/** A reset mock with a task whose delivery `billing` has rejected, and `portal` accepted. */
async function rejectedDelivery(body = '{"error":"the database is locked"}') {
  await mock.control.reset();
  responses.set(urls.billing, () => new Response(body, { status: 500 }));
  const billing = await mock.control.createEndpoint({ url: urls.billing });
  const portal = await mock.control.createEndpoint({ url: urls.portal });
  const { taskId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
  await mock.clock.advance(0);
  const { data } = await mock.control.listDeliveries({ endpointId: billing.id });
  return { billing, portal, taskId, deliveryId: data[0]?.id ?? "" };
}

describe("a rejected delivery in the control API", () => {
  it("is marked in the list, in its task and in the overview, and has its next try", async () => {
    const { billing, taskId, deliveryId } = await rejectedDelivery();
    const { data } = await mock.control.listDeliveries({ rejected: true });
    expect(data).toMatchObject([
      {
        id: deliveryId,
        lastStatus: 500,
        nextTry: 2,
        triesMax: 8,
        url: billing.url,
        taskId,
        client: "Client 1",
      },
    ]);
    expect((await mock.control.listDeliveries({ rejected: false })).data).toHaveLength(1);
    expect((await mock.control.listTasks()).data).toMatchObject([{ rejectedDeliveries: 1 }]);
    expect(await mock.control.getTask(taskId)).toMatchObject({ rejectedDeliveries: 1 });
    expect(await mock.control.getOverview()).toMatchObject({ rejectedDeliveries: 1 });
    await mock.control.updateEndpoint(billing.id, { enabled: false });
    expect(await mock.control.getOverview()).toMatchObject({ rejectedDeliveries: 1 });
    await mock.control.updateEndpoint(billing.id, { enabled: true });
    responses.clear();
    await mock.clock.advance("5s");
    expect(await mock.control.getOverview()).toMatchObject({ rejectedDeliveries: 0 });
    expect(await mock.control.getDelivery(deliveryId)).toMatchObject({ rejected: false, nextTry: null });
  });

  it("is counted by what became of it, and found by that and by its time", async () => {
    await rejectedDelivery();
    const { bars } = await mock.control.countDeliveries();
    expect(bars).toEqual([{ index: 0, counts: { delivered: 1, rejected: 1, waiting: 0, cancelled: 0 } }]);
    const find = async (query: object) => (await mock.control.listDeliveries(query)).data.length;
    expect(await find({ outcome: "rejected" })).toBe(1);
    expect(await find({ outcome: "waiting" })).toBe(0);
    const { now } = await mock.control.getClock();
    expect(await find({ from: now })).toBe(2);
    expect(await find({ to: now })).toBe(0);
  });

  it("is found by its last response", async () => {
    await rejectedDelivery();
    const find = async (lastResponse: string) =>
      (await mock.control.listDeliveries({ lastResponse })).data.map(({ lastStatus }) => lastStatus);
    expect(await find("500")).toEqual([500]);
    expect(await find("5xx")).toEqual([500]);
    expect(await find("2xx")).toEqual([204]);
    expect(await find("none")).toEqual([]);
    await expect(find("6xx")).rejects.toMatchObject({ code: "QUERY_INVALID" });
  });

  it("keeps 16 KB of a response, and says when the response was longer", async () => {
    const { deliveryId } = await rejectedDelivery("x".repeat(16_384));
    const [whole] = (await mock.control.getDelivery(deliveryId)).attempts;
    expect(whole?.responseBody).toHaveLength(16_384);
    expect(whole).not.toHaveProperty("responseTruncated");
    responses.set(urls.billing, () => new Response("x".repeat(16_385), { status: 500 }));
    const { attempts } = await mock.control.replayDelivery(deliveryId);
    expect(attempts[1]).toMatchObject({ responseBody: whole?.responseBody, responseTruncated: true });
    await mock.control.restoreSnapshot(await mock.control.getSnapshot());
    expect((await mock.control.getDelivery(deliveryId)).attempts[1]).toHaveProperty("responseTruncated");
  });

  it("is sent again with all others that match; the ones of a paused endpoint are skipped", async () => {
    const { billing } = await rejectedDelivery();
    const { taskId } = await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    await mock.clock.advance(0);
    responses.clear();
    expect(await mock.control.replayDeliveries({ subject: taskId })).toEqual({ started: 1, skipped: 0 });
    await mock.clock.advance(0);
    expect((await mock.control.listDeliveries({ rejected: true })).data).toHaveLength(1);
    await mock.control.updateEndpoint(billing.id, { enabled: false });
    expect(await mock.control.replayDeliveries()).toEqual({ started: 0, skipped: 1 });
  });
});

describe("the search of the control API", () => {
  it("finds a task, its client, its deliveries and a request by what they contain", async () => {
    const { taskId, deliveryId, billing } = await rejectedDelivery();
    const token = await workspaceToken(mock);
    await callGraphql(mock, "query Me { me { __typename } }", { token });
    const find = async (text: string) =>
      (await mock.control.search({ text })).data.map(({ kind, isId }) => `${kind}${isId ? " by id" : ""}`);
    expect(await find(taskId)).toEqual(["task by id", "delivery", "delivery"]);
    expect(await find(deliveryId)).toEqual(["delivery by id"]);
    expect(await find("CLIENT 1")).toEqual(["task", "client", "delivery", "delivery"]);
    expect(await find("database is locked")).toEqual(["delivery"]);
    const { data } = await mock.control.search({ text: "database is locked" });
    expect(data).toMatchObject([
      { title: "task.running", detail: `rejected 500 · Client 1 · ${urls.billing}` },
    ]);
    expect(await find(billing.id)).toEqual(["endpoint by id", "delivery"]);
    expect(await find("query me")).toEqual(["request"]);
    expect(await find(".*")).toEqual([]);
    expect(await find("  query me ")).toEqual(["request"]);
    await expect(find("  ")).rejects.toThrow("text: expected text of at least 1 character");
    const inLists = { text: "binder" };
    expect((await mock.control.listTasks(inLists)).data).toHaveLength(1);
    expect((await mock.control.listDeliveries(inLists)).data).toHaveLength(2);
    expect((await mock.control.listRequests({ text: "__typename" })).data).toHaveLength(1);
  });
});

describe("a webhook endpoint in the control API", () => {
  it("is sent an event alone, even one that it does not subscribe to", async () => {
    const { billing } = await rejectedDelivery();
    responses.clear();
    await mock.control.updateEndpoint(billing.id, { eventTypes: ["task.failed"] });
    const event = { name: "documents.synced", payload: { test: true }, endpointId: billing.id };
    const { eventId } = await mock.control.sendEvent(event);
    await mock.clock.advance(0);
    const { deliveries } = await mock.control.getEvent(eventId);
    expect(deliveries).toMatchObject([{ endpointId: billing.id, status: "succeeded" }]);
    await mock.control.updateEndpoint(billing.id, { enabled: false });
    await expect(mock.control.sendEvent(event)).rejects.toMatchObject({ code: "CONFLICT" });
  });
});

describe("the catalog in the control API", () => {
  it("has an example of every event that the event contract accepts", async () => {
    await mock.control.reset();
    await mock.control.addCatalogEvent({ name: "invoice.paid" });
    const { data } = await mock.control.listCatalog();
    expect(data.map(({ name }) => name)).toContain("invoice.paid");
    await mock.control.createEndpoint({ url: urls.portal });
    for (const { name, example } of data) {
      const { eventId } = await mock.control.sendEvent({ name, payload: example });
      const { body } = await mock.control.getEvent(eventId);
      expect(parseEvent(JSON.parse(body)), name).toMatchObject({ event: { event: name } });
    }
  });
});

describe("tokens in the control API", () => {
  it("are issued for the id of an API key or a partner key", async () => {
    await mock.control.reset();
    const { id } = await mock.control.createApiKey({ role: "l2" });
    const { workspaceToken: token } = await mock.control.createTokens({ keyId: id });
    const { me } = await callGraphql(mock, "{ me { __typename ... on WorkspaceUser { role } } }", { token });
    expect(me).toMatchObject({ role: "l2" });
    const [partner] = (await mock.control.listPartnerKeys()).data;
    const { accessToken } = await mock.control.createPartnerToken({ keyId: partner?.id ?? "" });
    expect(accessToken).toMatch(/^ey/);
    await expect(mock.control.createTokens({ keyId: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("a request in the control API", () => {
  it("has its headers and response, without the secrets in them", async () => {
    await mock.control.reset();
    const token = await workspaceToken(mock);
    const create = `mutation ($input: CreateWebhookEndpointInput!) {
      createWebhookEndpoint(input: $input) { signingSecret endpoint { url } }
    }`;
    const created = await callGraphql(mock, create, { token, variables: { input: { url: urls.portal } } });
    const { data } = await mock.control.listRequests({ order: "desc", result: "succeeded", limit: 1 });
    const { message } = await mock.control.getRequest(String(data[0]?.sequence));
    expect(message?.responseBody).toContain(urls.portal);
    expect(message?.responseHeaders["content-type"]).toContain("application/json");
    expect(message?.requestHeaders["authorization"]).toBe("[redacted]");
    const shown = JSON.stringify(message);
    for (const secret of [token, created.createWebhookEndpoint.signingSecret]) {
      expect(shown).not.toContain(secret);
    }
  });
});

describe("attempts that are due", () => {
  it("run, or wait for a free connection, or for the event before them, in the overview and in each delivery", async () => {
    const response = deferred<Response>();
    await using slow = await createMockServer({
      listen: false,
      receivers: new Map([[urls.billing, () => response.promise.then((each) => each.clone())]]),
      settings: { delivery: { inFlightPerEndpointMax: 2 } },
    });
    const { control } = slow;
    await control.createEndpoint({ url: urls.billing });
    const start = () => control.startTask({ taskType: "BINDER", progression: "manual" });
    const { taskId } = await start();
    await control.setTaskStatus(taskId, { status: "COMPLETED" });
    const linesOf = async () =>
      (await control.getOverview()).upcoming.map(({ state, count, at }) => [state, count, at !== null]);
    expect(await linesOf()).toEqual([
      ["running", 1, true],
      ["waits for an event", 1, false],
    ]);
    await start();
    await start();
    expect(await linesOf()).toEqual([
      ["running", 2, true],
      ["waits for a connection", 2, false],
    ]);
    const { data } = await control.listDeliveries();
    expect(data.map(({ due, runningSince }) => [due, runningSince !== null])).toEqual([
      ["running", true],
      ["waits for a connection", false],
      ["running", true],
      ["waits for a connection", false],
    ]);
    response.resolve(new Response(null, { status: 204 }));
    await control.waitForDeliveries({ status: "succeeded", times: 4 });
    expect(await linesOf()).toEqual([]);
    expect((await control.getOverview()).health).toMatchObject([
      { attempts: 4, succeeded: 4, failingSince: null, lastSuccessAt: expect.any(String) },
    ]);
  });
});
