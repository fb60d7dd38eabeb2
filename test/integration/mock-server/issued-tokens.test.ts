// A client keeps a token for as long as it is valid, by key and URL. Both stay over a reset, a world of one name and a
// restart on one port, so the token must be accepted there as well.

import { createMockServer, type MockServerOptions, type MockWorld } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";

const meQuery = JSON.stringify({
  query: "{ me { ... on WorkspaceUser { role workspace { id } } ... on User { id } } }",
});

/** The code of a query with the token; `null` when it is accepted. */
async function codeOf(
  world: Pick<MockWorld, "fetch">,
  token: string,
  path = "/graphql",
): Promise<string | null> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const response = await world.fetch(path, { method: "POST", headers, body: meQuery });
  const { errors } = (await response.json()) as { errors?: { extensions: { code: string } }[] };
  return errors?.[0]?.extensions.code ?? null;
}

async function tokensOf({ control }: Pick<MockWorld, "control">, apiKey?: string) {
  const { data } = await control.listPartnerKeys();
  const { accessToken } = await control.createPartnerToken({ keyId: data[0]?.id ?? "" });
  return { ...(await control.createTokens(apiKey === undefined ? {} : { apiKey })), accessToken };
}

async function codesOf(world: Pick<MockWorld, "fetch">, tokens: Awaited<ReturnType<typeof tokensOf>>) {
  return [
    await codeOf(world, tokens.workspaceToken),
    await codeOf(world, tokens.userToken),
    await codeOf(world, tokens.accessToken, "/gateway/graphql"),
  ];
}

const accepted = [null, null, null];
const rejected = Array(3).fill("UNAUTHENTICATED");
const clocks = ["real", "virtual"] as const;

it.each(clocks)("a reset keeps all tokens of the first keys, with a %s clock", async (clock) => {
  await using mock = await createMockServer({ listen: false, clock });
  const tokens = await tokensOf(mock);
  for (let reset = 0; reset < 3; reset++) {
    await mock.control.reset();
    expect(await codesOf(mock, tokens)).toEqual(accepted);
  }
});

it.each(clocks)(
  "a world accepts the tokens of an earlier one of its name, with a %s clock",
  async (clock) => {
    await using mock = await createMockServer({ listen: false });
    const first = await mock.worlds.create({ name: "one", clock });
    const tokens = await tokensOf(first);
    await first.close();
    const second = await mock.worlds.create({ name: "one", clock });
    expect(await codesOf(second, tokens)).toEqual(accepted);
    // Also by the token alone, without the path of the world.
    expect(await codesOf(mock, tokens)).toEqual(accepted);
    const other = await mock.worlds.create({ name: "two", clock });
    expect(await codesOf(other, tokens)).toEqual(rejected);
  },
);

it("a mock accepts the tokens of an earlier one with its seed, on the same port", async () => {
  const first = await createMockServer();
  const tokens = await tokensOf(first);
  const options = { port: Number(new URL(first.baseUrl).port) };
  await first.close();
  const at = async (changes: MockServerOptions) => {
    await using mock = await createMockServer({ ...options, ...changes });
    return await codesOf(mock, tokens);
  };
  expect([await at({}), await at({ seed: 2 })]).toEqual([accepted, rejected]);
});

it("a restored snapshot accepts the tokens of its keys", async () => {
  await using mock = await createMockServer({ listen: false });
  const { apiKey } = await mock.control.createApiKey({ access: "read_only" });
  const tokens = await tokensOf(mock, apiKey);
  const snapshot = await mock.control.getSnapshot();
  await mock.control.reset();
  expect(await codeOf(mock, tokens.workspaceToken)).toBe("UNAUTHENTICATED");
  await mock.control.restoreSnapshot(snapshot);
  expect(await codesOf(mock, tokens)).toEqual(accepted);
});

it("the key of a token decides what it may do: after a reset the same text can be another key", async () => {
  await using mock = await createMockServer({ listen: false });
  const { apiKey } = await mock.control.createApiKey({ access: "read_only" });
  await using client = createClient({ baseUrl: mock.baseUrl, fetch: mock.fetch, apiKey });
  const create = () => client.webhooks.endpoints.create({ url: "https://receiver.example/webhooks" });
  await expect(create()).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  await mock.control.reset();
  await mock.control.createApiKey({ access: "read_write" });
  expect((await create()).endpoint.url).toBe("https://receiver.example/webhooks");
  await mock.control.reset();
  await mock.control.createApiKey({ role: "l1" });
  await expect(create()).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
});

it("a reset does not accept a token whose key it does not have, nor one that has expired", async () => {
  await using mock = await createMockServer({ listen: false, clock: "virtual" });
  const { apiKey } = await mock.control.createApiKey();
  const tokens = await tokensOf(mock, apiKey);
  const { workspaceToken } = await mock.control.createTokens();
  await mock.control.reset();
  expect(await codeOf(mock, tokens.workspaceToken)).toBe("UNAUTHENTICATED");
  expect(await codeOf(mock, workspaceToken)).toBeNull();
  await mock.clock.advance("3m");
  expect(await codeOf(mock, workspaceToken)).toBe("UNAUTHENTICATED");
});

it("one client makes calls through four resets in a row", async () => {
  await using mock = await createMockServer();
  await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey, rateLimit: false });
  for (let reset = 0; reset < 4; reset++) {
    expect((await client.me()).__typename).toBe("WorkspaceUser");
    await mock.control.reset();
  }
});

it("the first keys outlive any test: neither virtual time nor another system time ends them", async () => {
  await using mock = await createMockServer({ listen: false, clock: "virtual" });
  const { apiKey } = await mock.control.createApiKey();
  await mock.clock.advance("400d");
  expect(await mock.control.createTokens()).toMatchObject({ workspaceToken: expect.any(String) });
  await expect(mock.control.createTokens({ apiKey })).rejects.toThrow(
    "Invalid refresh token: the API key is expired",
  );
});
