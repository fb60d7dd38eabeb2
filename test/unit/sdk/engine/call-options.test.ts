import { createClient, type WorkspaceTasksClient } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { version } from "../../../../sdk/kernel/version.ts";
import { connectionLost } from "../../../support/fake-service.ts";
import { createScriptedService } from "../../../support/scripted-service.ts";

const me = () => Response.json({ data: { me: { __typename: "User", id: "u" } } });
const notFound = () =>
  Response.json({ errors: [{ message: "not found", extensions: { code: "NOT_FOUND" } }] });

describe("headers", () => {
  it("are sent with calls, token exchanges and uploads, those of a call with that call only", async () => {
    const { client, calls, exchanges } = createScriptedService([me], {
      headers: { "X-Team": "a", "x-trace": "1" },
    });
    await client.me({ headers: { "X-Trace": "2" } });
    await client.me();
    await client.uploads
      .upload(new Uint8Array(1), { fileName: "a", mimeType: "b", maxRetries: 0 })
      .catch(() => {});
    const seen = [...exchanges, ...calls].map(({ headers }) => [
      headers.get("x-team"),
      headers.get("x-trace"),
    ]);
    expect(seen).toEqual([
      ["a", "1"],
      ["a", "2"],
      ["a", "1"],
      ["a", "1"],
    ]);
    expect(calls[0]?.headers.get("authorization")).toBe("Bearer workspace-token-1");
    await client.close();
  });

  it.each([
    [{ Authorization: "Bearer x" }, ".Authorization: expected another header: the client sends its token"],
    [{ "content-type": "text/plain" }, ".content-type: expected another header: the client sends JSON"],
    [{ "x a": "1" }, ": expected header names without spaces and separators, got others"],
    [
      { "x-a": "a\r\nb: c" },
      ".x-a: expected visible ASCII characters, as in any HTTP header, got others, or none",
    ],
    [{ "x-a": 1 }, ".x-a: expected visible ASCII characters, as in any HTTP header, got a number"],
    [new Headers(), ": expected a plain object, got an object"],
    [new Map([["x-a", "1"]]), ": expected a plain object, got an object"],
    [[["a", "b"]], ": expected a plain object, got an array"],
  ])("the headers %o are rejected, of a client and of a call", async (headers, message) => {
    const given = { headers: headers as never };
    expect(() => createClient({ baseUrl: "https://service.example", apiKey: "k", ...given })).toThrow(
      expect.objectContaining({ code: "CONFIGURATION_INVALID", message: `createClient: headers${message}` }),
    );
    const { client, calls } = createScriptedService([me]);
    const rejection = { code: "ARGUMENT_INVALID", message: `me: headers${message}` };
    await expect(client.me(given)).rejects.toMatchObject(rejection);
    expect(calls).toEqual([]);
  });
});

it("the user agent of a client, or of a call, follows that of the SDK", async () => {
  const { client, calls } = createScriptedService([me], { headers: { "User-Agent": "ledger/2.1" } });
  await client.me();
  await client.me({ headers: { "user-agent": "job" } });
  const own = `workspace-tasks/${version}`;
  const sent = calls.map(({ headers }) => headers.get("user-agent"));
  expect(sent.slice(-2)).toEqual([`${own} ledger/2.1`, `${own} job`]);
});

describe("maxRetries of a call", () => {
  it("replaces the client's", async () => {
    const { client, calls } = createScriptedService([() => new Response("", { status: 503 })], {
      maxRetries: 1,
    });
    await expect(client.me({ maxRetries: 0 })).rejects.toMatchObject({ attempts: 1 });
    await expect(client.me({ maxRetries: 2 })).rejects.toMatchObject({ attempts: 3 });
    await expect(client.me()).rejects.toMatchObject({ attempts: 2 });
    expect(calls).toHaveLength(6);
    await expect(client.me({ maxRetries: 21 })).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
  });
});

describe("a mutation whose connection is lost", () => {
  const endpoint = { id: "e", url: "https://a.example", description: "", enabled: true, eventTypes: null };
  const updated = () => Response.json({ data: { updateWebhookEndpoint: endpoint } });
  const mutation = "mutation M { something }";
  const done = () => Response.json({ data: { something: true } });

  it("is repeated when its operation is idempotent", async () => {
    const { client, calls } = createScriptedService([connectionLost, updated]);
    expect(await client.webhooks.endpoints.update("e", { enabled: true })).toEqual(endpoint);
    expect(calls).toHaveLength(2);
  });

  it.each<[string, string, unknown, (partner: WorkspaceTasksClient["partner"]) => Promise<unknown>]>([
    [
      "workspaces.addUsers",
      "addUsersToTheWorkspace",
      [],
      ({ workspaces }) => workspaces.addUsers("w", { userEmails: ["a@b.example"] }),
    ],
    [
      "connections.collect",
      "collectProviderConnection",
      { id: "c" },
      ({ connections }) => connections.collect("c"),
    ],
    ["jobs.startImport", "initiateTaxPrepsImport", { id: "j" }, ({ jobs }) => jobs.startImport("j")],
  ])("is repeated by partner.%s", async (_, field, result, send) => {
    const { client, calls } = createScriptedService(
      [connectionLost, () => Response.json({ data: { [field]: result } })],
      { gatewayUrl: "https://gateway.example" },
    );
    expect(await send(client.partner)).toEqual(result);
    expect(calls).toHaveLength(2);
  });

  it("is not repeated when the caller says that it is not idempotent", async () => {
    const { client, calls } = createScriptedService([connectionLost, updated]);
    const call = client.webhooks.endpoints.update("e", { enabled: true }, { idempotent: false });
    await expect(call).rejects.toMatchObject({ code: "NETWORK_FAILED", outcome: "unknown" });
    expect(calls).toHaveLength(1);
  });

  it("is repeated when the caller says that it is idempotent, otherwise not", async () => {
    const repeated = createScriptedService([connectionLost, done]);
    expect(await repeated.client.request(mutation, {}, { idempotent: true })).toEqual({ something: true });
    const other = createScriptedService([connectionLost, done]);
    await expect(other.client.request(mutation)).rejects.toMatchObject({ outcome: "unknown" });
    expect([repeated.calls.length, other.calls.length]).toEqual([2, 1]);
  });

  it("has deleted an endpoint that the repeated call does not find", async () => {
    const { client, calls } = createScriptedService([connectionLost, notFound]);
    expect(await client.webhooks.endpoints.delete("e")).toBe(true);
    expect(calls).toHaveLength(2);
  });

  it("fails with NOT_FOUND where the first call already finds no endpoint", async () => {
    const { client } = createScriptedService([notFound]);
    await expect(client.webhooks.endpoints.delete("e")).rejects.toMatchObject({
      code: "NOT_FOUND",
      outcome: "rejected",
    });
  });

  it("reports an import that has started as CONFLICT with outcome unknown", async () => {
    const conflict = () =>
      Response.json({ errors: [{ message: "started", extensions: { code: "CONFLICT" } }] });
    const { client } = createScriptedService([connectionLost, conflict], {
      gatewayUrl: "https://gateway.example",
    });
    await expect(client.partner.jobs.startImport("j")).rejects.toMatchObject({
      code: "CONFLICT",
      outcome: "unknown",
    });
  });
});
