import { readSigningSecrets, type SecretStore } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../support/outcome-of.ts";
import { createSdkFixture, type SdkFixture } from "../../support/sdk-fixture.ts";
import { compareAndSwap, url } from "./stepped-endpoints.ts";

const hour = 3_600_000;

interface Fixture extends SdkFixture {
  readonly state: { text: string | null };
  readonly secrets: SecretStore;
  stored(): readonly string[];
}

async function withStore(use: (fixture: Fixture) => Promise<void>): Promise<void> {
  await using fixture = await createSdkFixture("in-process");
  const state = { text: null };
  const secrets = compareAndSwap(state);
  await use({
    ...fixture,
    state,
    secrets,
    stored: () => readSigningSecrets(state.text, fixture.mock.clock.now()),
  });
}

describe("ensureEndpoint", () => {
  it("creates the endpoint and stores its secret, and changes nothing the second time", () =>
    withStore(async ({ client, secrets, stored, requests }) => {
      const first = await client.webhooks.ensureEndpoint({ url, secrets });
      expect(first).toMatchObject({
        changed: true,
        others: [],
        endpoint: { url, enabled: true, eventTypes: null },
      });
      expect(first.secrets).toEqual(stored());
      const second = await client.webhooks.ensureEndpoint({
        url: url.replace("receiver", "RECEIVER"),
        secrets,
      });
      expect(second).toEqual({ ...first, changed: false });
      expect(await requests("createWebhookEndpoint")).toBe(1);
      expect(await requests("rotateWebhookEndpointSecret")).toBe(0);
    }));

  it("stops after three secrets when the store forgets them, which then sign for an hour", () =>
    withStore(async ({ client, mock, requests }) => {
      const forgets = { read: async () => null, write: async () => true };
      const failure = await failureOf(client.webhooks.ensureEndpoint({ url, secrets: forgets }));
      expect(failure).toMatchObject({
        code: "SECRET_STORE_FAILED",
        message: expect.stringContaining("got a store without it, 3 times"),
      });
      expect(await requests("createWebhookEndpoint")).toBe(1);
      expect(await requests("rotateWebhookEndpointSecret")).toBe(2);
      const signatures = async () => {
        await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
        await mock.clock.advance("1m");
        const delivery = (await mock.control.listDeliveries({ event: "task.running" })).data.at(-1);
        const { attempts } = await mock.control.getDelivery(delivery?.id ?? "");
        return attempts.at(-1)?.requestHeaders["webhook-signature"]?.split(" ").length;
      };
      expect(await signatures()).toBe(3);
      await mock.clock.advance("1h");
      expect(await signatures()).toBe(1);
    }));

  it("updates what differs: events, a given description, and that it is paused", () =>
    withStore(async ({ client, secrets, requests }) => {
      const wanted = { url, secrets, description: "a", eventTypes: ["task.failed", "task.running"] };
      const { endpoint } = await client.webhooks.ensureEndpoint(wanted);
      await client.webhooks.endpoints.update(endpoint.id, { enabled: false });
      const resumed = await client.webhooks.ensureEndpoint({ ...wanted, description: undefined });
      expect(resumed.endpoint).toMatchObject({ enabled: true, description: "a", id: endpoint.id });
      const eventTypes = [...wanted.eventTypes].reverse();
      expect(await client.webhooks.ensureEndpoint({ ...wanted, eventTypes })).toMatchObject({
        changed: false,
      });
      const all = await client.webhooks.ensureEndpoint({ url, secrets, description: null });
      expect(all).toMatchObject({ changed: true, endpoint: { eventTypes: null, description: "" } });
      expect(await requests("updateWebhookEndpoint")).toBe(3);
    }));

  it("keeps the oldest of equal endpoints, and reports those with other events", () =>
    withStore(async ({ client, secrets, mock, stored }) => {
      const create = async (eventTypes: string[] | null) => {
        await mock.clock.advance(1_000);
        return (await client.webhooks.endpoints.create({ url, eventTypes })).endpoint;
      };
      const other = await create(["task.failed"]);
      const oldest = await create(null);
      await create(null);
      await client.webhooks.endpoints.create({ url: "https://receiver.example/another" });
      const { endpoint, others, changed } = await client.webhooks.ensureEndpoint({ url, secrets });
      expect({ endpoint, others, changed }).toMatchObject({
        endpoint: { id: oldest.id },
        others: [other],
        changed: true,
      });
      expect(stored()).toHaveLength(1);
      expect(await client.webhooks.endpoints.list().toArray()).toHaveLength(3);
    }));

  it("creates the endpoint again when it was deleted, and the receiver accepts its old secret for a day", () =>
    withStore(async ({ client, secrets, stored, mock }) => {
      const first = await client.webhooks.ensureEndpoint({ url, secrets });
      await client.webhooks.endpoints.delete(first.endpoint.id);
      const again = await client.webhooks.ensureEndpoint({ url, secrets });
      expect(again.endpoint.id).not.toBe(first.endpoint.id);
      expect(stored()).toEqual([...again.secrets.slice(0, 1), ...first.secrets]);
      await mock.clock.advance(24 * hour);
      expect(stored()).toEqual(again.secrets.slice(0, 1));
    }));

  it("rejects the store of another URL, and leaves it as it is", () =>
    withStore(async ({ client, secrets, state }) => {
      const first = await client.webhooks.ensureEndpoint({ url, secrets });
      const { text } = state;
      const moved = { url: "https://moved.example/webhooks", secrets };
      const error = await failureOf(client.webhooks.ensureEndpoint(moved));
      expect(error).toMatchObject({ code: "SECRET_STORE_FAILED", outcome: "not_sent" });
      expect(error.message).toContain("use a store of its own for each url");
      expect(state.text).toBe(text);
      // The same URL, written in another way.
      const upper = { url: url.replace("https://", "HTTPS://"), secrets };
      expect((await client.webhooks.ensureEndpoint(upper)).endpoint.id).toBe(first.endpoint.id);
      expect(await client.webhooks.endpoints.list().toArray()).toHaveLength(1);
    }));

  it("waits while another process has a secret issued, and 30 s after that was killed takes over", () =>
    withStore(async ({ client, secrets, state, mock, stored }) => {
      const { endpoint } = await client.webhooks.ensureEndpoint({ url, secrets });
      const pending = { id: "another process", untilMs: mock.clock.now() + 30_000 };
      state.text = JSON.stringify({ ...JSON.parse(String(state.text)), pending });
      const startMs = mock.clock.now();
      const taken = await mock.clock.runUntil(client.webhooks.ensureEndpoint({ url, secrets }));
      expect(taken).toMatchObject({ changed: true, endpoint: { id: endpoint.id } });
      expect(stored()).toHaveLength(2);
      expect(mock.clock.now() - startMs).toBeGreaterThanOrEqual(30_000);
      expect(mock.clock.now() - startMs).toBeLessThan(35_000);
    }));

  it("does not wait for a marker of a wrong clock, and ends with its signal, its deadline or its client when it waits", () =>
    withStore(async ({ client, secrets, state, mock }) => {
      const { endpoint } = await client.webhooks.ensureEndpoint({ url, secrets });
      const mark = (untilMs: number) => {
        state.text = JSON.stringify({ ...JSON.parse(String(state.text)), pending: { id: "x", untilMs } });
      };
      mark(mock.clock.now() + 365 * 24 * hour);
      expect(await client.webhooks.ensureEndpoint({ url, secrets })).toMatchObject({
        endpoint: { id: endpoint.id },
      });
      mark(mock.clock.now() + 30_000);
      const late = failureOf(client.webhooks.ensureEndpoint({ url, secrets }, { deadlineMs: 2_000 }));
      expect(await mock.clock.runUntil(late)).toMatchObject({
        code: "DEADLINE_EXCEEDED",
        outcome: "not_sent",
      });
      const signal = AbortSignal.abort();
      const aborted = failureOf(client.webhooks.ensureEndpoint({ url, secrets }, { signal }));
      expect(await aborted).toMatchObject({ code: "ABORTED" });
      const waiting = failureOf(client.webhooks.ensureEndpoint({ url, secrets }));
      await client.close();
      expect(await waiting).toMatchObject({ code: "CLIENT_CLOSED" });
    }));

  it("leaves no marker behind when the service rejects the call", () =>
    withStore(async ({ client, secrets, state }) => {
      const rejected = failureOf(
        client.webhooks.ensureEndpoint({ url, secrets, eventTypes: ["task.faild"] }),
      );
      expect(await rejected).toMatchObject({ code: "WEBHOOK_EVENT_TYPE_UNSUPPORTED", outcome: "rejected" });
      expect(JSON.parse(String(state.text)).pending).toBeNull();
      expect(await client.webhooks.ensureEndpoint({ url, secrets })).toMatchObject({ changed: true });
    }));
});

describe("rotateEndpointSecret", () => {
  it("stores the new secret before the old one, which is dropped when the next is stored after its time", () =>
    withStore(async ({ client, secrets, stored, mock, state }) => {
      const first = await client.webhooks.ensureEndpoint({ url, secrets });
      const { secrets: both } = await client.webhooks.rotateEndpointSecret({
        secrets,
        gracePeriodSeconds: 3_600,
      });
      expect(both).toEqual([both[0], ...first.secrets]);
      expect(stored()).toEqual(both);
      await mock.clock.advance(hour);
      expect(stored()).toEqual(both.slice(0, 1));
      await client.webhooks.rotateEndpointSecret({ secrets, gracePeriodSeconds: 0 });
      expect(stored()).toHaveLength(1);
      for (const old of both) expect(state.text).not.toContain(old);
    }));

  it("fails for an empty store and for a grace period above seven days", () =>
    withStore(async ({ client, secrets, stored }) => {
      const empty = failureOf(client.webhooks.rotateEndpointSecret({ secrets }));
      expect(await empty).toMatchObject({
        code: "ARGUMENT_INVALID",
        message: expect.stringMatching("webhooks.rotateEndpointSecret: secrets: .*call ensureEndpoint first"),
      });
      const ensured = await client.webhooks.ensureEndpoint({ url, secrets });
      const long = failureOf(client.webhooks.rotateEndpointSecret({ secrets, gracePeriodSeconds: 604_801 }));
      expect(await long).toMatchObject({ code: "SECRET_GRACE_PERIOD_OUT_OF_RANGE" });
      expect(stored()).toEqual(ensured.secrets);
    }));
});

describe("a store that fails ends the call with a code, and says what was expected", () => {
  const read = async () => null;
  const never = () => new Promise<never>(() => {});
  const throws = () => {
    throw new Error("whsec_c2VjcmV0 is down");
  };
  const failed = "SECRET_STORE_FAILED";
  const conflict = "SECRET_STORE_CONFLICT";
  const slow = "expected a result within 5000 ms";
  it.each<[title: string, store: object, code: string, message: string]>([
    ["read throws", { read: throws, write: never }, failed, "read: it failed, see cause"],
    ["read throws undefined", { read: () => Promise.reject(), write: never }, failed, "read: it failed"],
    ["read hangs", { read: never, write: never }, failed, `read: ${slow}`],
    ["read returns a number", { read: async () => 7, write: never }, failed, "read: expected a string or"],
    ["read returns another text", { read: async () => "whsec_c2VjcmV0", write: never }, failed, "JSON text"],
    ["write throws", { read, write: throws }, failed, "secrets.write: it failed, see cause"],
    ["write hangs", { read, write: never }, failed, `secrets.write: ${slow}`],
    ["write stores nothing", { read, write: async () => {} }, conflict, "write: another process changed"],
    ["write always returns false", { read, write: async () => false }, conflict, "another process changed"],
    ["there is no write", { read }, "ARGUMENT_INVALID", "expected a store with read and write"],
  ])("%s", (_, store, code, message) =>
    withStore(async ({ client, mock, requests }) => {
      const secrets = store as SecretStore;
      const error = await mock.clock.runUntil(failureOf(client.webhooks.ensureEndpoint({ url, secrets })));
      expect(error).toMatchObject({ code, outcome: "not_sent" });
      expect(error.message).toContain(message);
      expect(`${error.message} ${error.cause}`).not.toContain("whsec_");
      expect(await requests("createWebhookEndpoint")).toBe(0);
    }),
  );

  it("after a secret was issued: the outcome is unknown, and the next call has another one issued", () =>
    withStore(async ({ client, secrets, mock, stored, requests }) => {
      let writes = 0;
      const write: SecretStore["write"] = async (next, previous) => {
        if (++writes === 2) throw new Error("down");
        return secrets.write(next, previous);
      };
      const failing = { ...secrets, write };
      const error = await failureOf(client.webhooks.ensureEndpoint({ url, secrets: failing }));
      expect(error).toMatchObject({ code: "SECRET_STORE_FAILED", outcome: "unknown" });
      await mock.clock.runUntil(client.webhooks.ensureEndpoint({ url, secrets }));
      expect(stored()).toHaveLength(1);
      expect(await requests("rotateWebhookEndpointSecret")).toBe(1);
    }));
});
