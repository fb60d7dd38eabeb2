import { expect, test } from "vitest";
import { defineOperation } from "../../../../sdk/call/operation.ts";
import { startCall } from "../../../../sdk/engine/call.ts";
import { DeleteWebhookEndpointDocument } from "../../../../sdk/generated/operations.ts";
import { createFakeEngine } from "../../../support/fake-engine.ts";

const plan = {
  operation: defineOperation("DeleteWebhookEndpoint", DeleteWebhookEndpointDocument),
  variables: () => ({ endpointId: "e" }),
  result: (data: { readonly deleteWebhookEndpoint: boolean }) => data.deleteWebhookEndpoint,
};

test("a call resolves to the plain result, and tells how it came about only when asked", async () => {
  const engine = createFakeEngine({ answer: () => ({ deleteWebhookEndpoint: true }) });
  const call = startCall(engine, plan, undefined);
  expect(await call).toBe(true);
  expect(await call.withMeta()).toEqual({
    data: true,
    meta: { attempts: 1, queuedMs: 0, retryAfterSeenMs: undefined },
  });
  expect(engine.sent).toHaveLength(1);
});

test("a call that fails is reported once, also when only its meta data is awaited", async () => {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", listener);
  try {
    const engine = createFakeEngine({ answer: () => Promise.reject(new Error("cut")) });
    await expect(startCall(engine, plan, undefined).withMeta()).rejects.toThrow("cut");
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", listener);
  }
});

test("bad arguments reject the call instead of throwing out of it", async () => {
  const engine = createFakeEngine();
  const call = startCall(
    engine,
    {
      ...plan,
      variables: () => {
        throw new TypeError("bad");
      },
    },
    undefined,
  );
  await expect(call).rejects.toThrow("bad");
  expect(engine.sent).toEqual([]);
});
