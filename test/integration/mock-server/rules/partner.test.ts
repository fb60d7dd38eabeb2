import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { deferred } from "../../../../sdk/kernel/deferred.ts";
import { callGraphql, workspaceToken } from "../../../support/mock-client.ts";

async function startConnection(checkConnection: () => Promise<boolean>) {
  const mock = await createMockServer({ listen: false, checkConnection });
  const options = { token: await workspaceToken(mock), router: "gateway" as const };
  const call = (query: string, variables: object) => callGraphql(mock, query, { ...options, variables });
  const { startProviderConnection } = await call(
    `mutation ($workspaceId: ID!) { startProviderConnection(workspaceId: $workspaceId, providerKey: "acme") { id } }`,
    { workspaceId: mock.workspaceId },
  );
  const collect = async (inputs?: object) => {
    const { collectProviderConnection } = await call(
      `mutation ($id: ID!, $inputs: JSON) { collectProviderConnection(connectionId: $id, inputs: $inputs) { status settings } }`,
      { id: startProviderConnection.id, inputs },
    );
    return collectProviderConnection;
  };
  const stored = async () => {
    const { connections } = (await mock.control.getSnapshot()).state;
    return connections.find(({ id }) => id === startProviderConnection.id);
  };
  return { collect, stored, [Symbol.asyncDispose]: () => mock.close() };
}

describe("collectProviderConnection", () => {
  it("called twice at once ends with the result of the second call", async () => {
    const checks = [deferred<boolean>(), deferred<boolean>()];
    let started = 0;
    await using connection = await startConnection(() => checks[started++]?.promise ?? Promise.resolve(true));
    const older = connection.collect({ from: "older" });
    const newer = connection.collect({ from: "newer" });
    checks[1]?.resolve(true);
    // Time in which the newer check would end, if it did not wait for the older one.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    checks[0]?.resolve(false);
    expect(await older).toEqual({ status: "failed", settings: null });
    expect(await newer).toEqual({ status: "active", settings: { from: "newer" } });
    expect(await connection.stored()).toMatchObject({ status: "active", settings: { from: "newer" } });
  });

  it("stores no inputs when the check fails, and keeps those of an earlier one", async () => {
    const results = [false, true, false];
    await using connection = await startConnection(async () => results.shift() ?? true);
    expect(await connection.collect({ a: 1 })).toEqual({ status: "failed", settings: null });
    expect(await connection.collect({ a: 2 })).toEqual({ status: "active", settings: { a: 2 } });
    expect(await connection.collect({ a: 3 })).toEqual({ status: "failed", settings: { a: 2 } });
  });

  it("is checked again after a check that threw", async () => {
    let calls = 0;
    await using connection = await startConnection(async () => {
      if (++calls === 1) throw new Error("the platform broke");
      return true;
    });
    const [first, second] = await Promise.allSettled([connection.collect(), connection.collect({ a: 1 })]);
    expect(first?.status).toBe("rejected");
    expect(second).toMatchObject({ status: "fulfilled", value: { status: "active", settings: { a: 1 } } });
  });
});
