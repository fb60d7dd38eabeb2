import { describe, expect, it } from "vitest";
import { defineOperation } from "../../../../sdk/call/operation.ts";
import type { Send } from "../../../../sdk/engine/engine.ts";
import { createTasks } from "../../../../sdk/operations/tasks.ts";
import { createTaxClients } from "../../../../sdk/operations/tax-clients.ts";
import { createWebhookEndpoints } from "../../../../sdk/operations/webhooks.ts";
import { clientOptionsOf, createFakeEngine, fakeMeta } from "../../../support/engine-fixture.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";

const operation = defineOperation("DeleteWebhookEndpoint", "webhooks.endpoints.delete");
const deleteEndpoint = (send: Send) =>
  send(
    operation,
    () => ({ endpointId: "e" }),
    undefined,
    (data) => data.deleteWebhookEndpoint,
  );

describe("a call", () => {
  it("a call resolves to the picked result, and withMeta adds the metadata without a second request", async () => {
    const engine = createFakeEngine({ respond: () => ({ deleteWebhookEndpoint: true }) });
    const call = deleteEndpoint(engine.send);
    expect(await call).toBe(true);
    expect(await call.withMeta()).toEqual({
      data: true,
      meta: fakeMeta,
    });
    expect(engine.sent).toHaveLength(1);
  });

  it.each([
    ["a mutation without its field", {}, "unknown"],
    ["a mutation with another field in place of its own", { updateWebhookEndpoint: true }, "unknown"],
    ["a mutation whose field is null", { deleteWebhookEndpoint: null }, "unknown"],
  ])("%s is RESPONSE_INVALID", async (_, data, outcome) => {
    const engine = createFakeEngine({ respond: () => data });
    const call = engine.send(operation, { endpointId: "e" }, undefined);
    const failure = await failureOf(call);
    expect(failure).toMatchObject({ code: "RESPONSE_INVALID", outcome, attempts: 1 });
    expect(failure.operationName).toBe("DeleteWebhookEndpoint");
  });

  it("a call resolves to the field of its operation, whatever other fields the service sends before it", async () => {
    const respond = () => ({ __typename: "Mutation", deleteWebhookEndpoint: true });
    const { send } = createFakeEngine({ respond });
    expect(await send(operation, { endpointId: "e" }, undefined)).toBe(true);
  });

  it("a response without a field that is read below another is RESPONSE_INVALID", async () => {
    const engine = createFakeEngine({ respond: () => ({}) });
    const read = (data: unknown) => (data as { me: { id: string } }).me.id;
    expect(await codeOf(engine.send(operation, { endpointId: "e" }, undefined, read))).toBe(
      "RESPONSE_INVALID",
    );
  });

  it("what the service does not have is NOT_FOUND, with the method and the request of the call", async () => {
    const me = { __typename: "WorkspaceUser", workspace: { tasks: [] } };
    const engine = createFakeEngine({ respond: () => ({ me }) });
    expect(await failureOf(createTasks(engine, clientOptionsOf(engine)).get("t"))).toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringMatching(/^tasks\.get: /),
      attempts: 1,
      httpStatus: 200,
      operationName: "ListTasks",
    });
  });

  it.each([null, { data: null, done: true, iterator: null }, { data: [null], done: true, iterator: null }])(
    "a list whose page is %j is RESPONSE_INVALID",
    async (webhookEndpoints) => {
      const me = { __typename: "WorkspaceUser", workspace: { webhookEndpoints, clients: webhookEndpoints } };
      const { send } = createFakeEngine({ respond: () => ({ me }) });
      const code = "RESPONSE_INVALID";
      expect(await codeOf(createWebhookEndpoints(send).list().toArray())).toBe(code);
      expect(await codeOf(createTaxClients(send).list().toArray())).toBe(code);
    },
  );

  it("a failed call leaves no unhandled rejection when only withMeta is awaited", async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", listener);
    try {
      const engine = createFakeEngine({ respond: () => Promise.reject(new Error("cut")) });
      await expect(deleteEndpoint(engine.send).withMeta()).rejects.toThrow("cut");
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  });
});
