import { expect, it } from "vitest";
import {
  joinWrites,
  startPipelining,
} from "../../../../../../receiver-kit/inbox/postgres/connection/pipelining.ts";
import type { PostgresClient } from "../../../../../../receiver-kit/inbox/postgres/sql/postgres-pool.ts";

const clientWith = (fields: object) =>
  ({ getTransactionStatus: () => "I", ...fields }) as unknown as PostgresClient & { pipeline?: unknown };

it.each([false, true])("pipelining ends with the state that the application chose: %s", (chosen) => {
  const client = clientWith({ pipeline: chosen });
  const stop = startPipelining(client);
  expect(client.pipeline).toBe(true);
  stop?.();
  expect(client.pipeline).toBe(chosen);
});

it.each([
  ["does not know it", {}],
  ["does not tell the state of its transaction", { pipeline: false, getTransactionStatus: undefined }],
])("a client that %s does not pipeline", (_, fields) => {
  const client = clientWith(fields);
  expect(startPipelining(client)).toBeUndefined();
  expect(client.pipeline).not.toBe(true);
});

it("a client that cannot be switched while it is busy does not pipeline", () => {
  const client = {
    getTransactionStatus: () => "I",
    get pipeline() {
      return false;
    },
    set pipeline(_: boolean) {
      throw new Error("the client is busy");
    },
  };
  expect(startPipelining(client as unknown as PostgresClient)).toBeUndefined();
});

it("what is sent until the next tick leaves in one write", async () => {
  const calls: string[] = [];
  const stream = { cork: () => calls.push("cork"), uncork: () => calls.push("uncork") };
  joinWrites(clientWith({ connection: { stream } }));
  await null;
  calls.push("sent by a continuation");
  await new Promise(process.nextTick);
  expect(calls).toEqual(["cork", "sent by a continuation", "uncork"]);
});

it("a client without a socket is left as it is", () => {
  const client = clientWith({ connection: {} });
  joinWrites(client);
  expect(client).toEqual(clientWith({ connection: {}, getTransactionStatus: client.getTransactionStatus }));
});
