import { readFileSync } from "node:fs";
import * as graphql from "graphql";
import { describe, expect, it } from "vitest";
import { type CallOptions, useService } from "./harness.ts";
import { endpointMutations, mutation } from "./operations.ts";

const service = useService();

/** An argument or a field of an input with a value of its type; nothing for one that may be absent. */
function given({ name, type }: { readonly name: string; readonly type: graphql.GraphQLInputType }): string {
  if (!graphql.isNonNullType(type)) return "";
  const inner: graphql.GraphQLInputType = type.ofType;
  if (graphql.isListType(inner)) return `${name}: []`;
  if (!graphql.isInputObjectType(inner)) return `${name}: ${inner.name === "Int" ? 1 : '"x"'}`;
  return `${name}: { ${Object.values(inner.getFields()).map(given).join(" ")} }`;
}
const { create } = endpointMutations(service);
const createOne = (token: string) => create({ url: "https://hooks.example.com/in" }, { token });

const meQuery =
  "{ me { __typename ... on WorkspaceUser { id role user { id } workspace { id } } ... on User { id } } }";
const me = (token: string | null, options: CallOptions = {}) =>
  service.graphql(meQuery, {}, { token, ...options });
const exchange = mutation(
  service,
  "exchangeSurfaceRefreshTokenForAccessTokens",
  "$refreshToken: String!, $expiresInSeconds: Int",
  "{ userToken workspaceToken }",
  () => ({ token: null }),
);

/** Whether a token is accepted. */
async function isValid(token: string): Promise<boolean> {
  const { errors, code } = await me(token);
  if (errors) expect(code).toBe("UNAUTHENTICATED");
  return !errors;
}

function payloadOf(token: string) {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
}

describe("K2 lifetime", () => {
  it.each([
    ["no requested lifetime", undefined, 180_000],
    ["a shorter lifetime", 5, 5_000],
    ["the shortest lifetime", 1, 1_000],
    ["a longer lifetime, which is clamped", 3_600, 180_000],
  ])("K2 tokens of an exchange with %s expire exactly when they should", async (_, seconds, lifetimeMs) => {
    // Within a second.
    await service.advance(437);
    const { workspaceToken, userToken } = await service.tokens(service.apiKey, seconds);
    const nowMs = Date.parse((await service.control.getClock()).now);
    const { iat, exp } = payloadOf(workspaceToken);
    expect([iat, exp]).toEqual([Math.floor(nowMs / 1_000), Math.floor((nowMs + lifetimeMs) / 1_000)]);
    await service.advance(lifetimeMs - 1);
    expect([await isValid(workspaceToken), await isValid(userToken)]).toEqual([true, true]);
    await service.advance(1);
    expect([await isValid(workspaceToken), await isValid(userToken)]).toEqual([false, false]);
  });
});

it("K3 a key is exchanged again, and an earlier exchange's tokens keep their own expiry", async () => {
  const first = await service.tokens();
  await service.advance("100s");
  const second = await service.tokens();
  expect(await isValid(first.workspaceToken)).toBe(true);
  await service.advance("80s");
  expect([await isValid(first.workspaceToken), await isValid(second.workspaceToken)]).toEqual([false, true]);
  await service.advance("100s");
  const third = await service.tokens();
  expect([await isValid(second.workspaceToken), await isValid(third.workspaceToken)]).toEqual([false, true]);
});

describe("K4 failed exchange", () => {
  it.each(["", "Bearer", "a.b.c", "x".repeat(8_000)])(
    "K4 a token that the service never issued is rejected (%#)",
    async (token) => {
      expect(await isValid(token)).toBe(false);
    },
  );

  it("K4 a token with a changed payload is rejected", async () => {
    const { workspaceToken } = await service.tokens();
    const [header, , signature] = workspaceToken.split(".");
    const claims = { ...payloadOf(workspaceToken), exp: 9_999_999_999 };
    const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
    expect(await isValid(`${header}.${payload}.${signature}`)).toBe(false);
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url");
    expect(await isValid(`${none}.${payload}.`)).toBe(false);
  });
});

describe("K6 membership", () => {
  it("K6 tokens act as the key's user in the key's workspace", async () => {
    const key = await service.key({ role: "l2" });
    const { workspaceToken } = await service.tokens(key.apiKey);
    expect((await me(workspaceToken)).data.me).toEqual({
      __typename: "WorkspaceUser",
      id: key.membershipId,
      role: "l2",
      user: { id: key.userId },
      workspace: { id: key.workspaceId },
    });
  });

  it("K6 a changed role applies to valid tokens at once", async () => {
    const key = await service.key({ role: "admin" });
    const { workspaceToken } = await service.tokens(key.apiKey);
    expect((await createOne(workspaceToken)).errors).toBeUndefined();
    await service.control.updateMembership(key.membershipId, { role: "l1" });
    expect((await createOne(workspaceToken)).message).toBe("Unauthorized");
    await service.control.updateMembership(key.membershipId, { role: "admin" });
    expect((await createOne(workspaceToken)).errors).toBeUndefined();
  });

  it("K6 a removed member's valid token and key are rejected", async () => {
    const key = await service.key();
    const { workspaceToken, userToken } = await service.tokens(key.apiKey);
    await service.control.removeMembership(key.membershipId);
    expect(await isValid(workspaceToken)).toBe(false);
    expect((await exchange({ refreshToken: key.apiKey })).message).toBe("Invalid refresh token");
    // The account itself is still there.
    expect((await me(userToken)).data.me).toEqual({ __typename: "User", id: key.userId });
  });

  it("K6 the tokens of a revoked key stay valid until they expire", async () => {
    const key = await service.key();
    const { workspaceToken } = await service.tokens(key.apiKey);
    await service.control.revokeApiKey(key.id);
    expect(await isValid(workspaceToken)).toBe(true);
    await service.advance("3m");
    expect(await isValid(workspaceToken)).toBe(false);
  });
});

describe("K7 read_only", () => {
  // Every mutation that needs a token, with what its arguments must have.
  const contract = graphql.buildSchema(readFileSync("schema.graphql", "utf8"));
  const cases = Object.values(contract.getMutationType()?.getFields() ?? {}).flatMap(
    ({ name, args, type, astNode }) => {
      const marks = (astNode?.directives ?? []).map((mark) => graphql.print(mark));
      if (marks.includes("@public")) return [];
      const router = marks.includes("@router(names: [GATEWAY])") ? ("gateway" as const) : ("base" as const);
      const selection = graphql.isLeafType(graphql.getNamedType(type)) ? "" : "{ __typename }";
      return [{ router, call: `${name}(${args.map(given).join(" ")}) ${selection}` }];
    },
  );
  const readOnly = async () => {
    const { apiKey } = await service.key({ access: "read_only", role: "admin" });
    return (await service.tokens(apiKey)).workspaceToken;
  };

  it.each(cases)("K7 a read_only key is rejected with FORBIDDEN: $call", async ({ router, call }) => {
    const response = await service.graphql(`mutation { ${call} }`, {}, { token: await readOnly(), router });
    expect([response.message, response.code]).toEqual(["Unauthorized", "FORBIDDEN"]);
  });
});

it("K8 only the response to its creation contains a key", async () => {
  const { apiKey, id } = await service.key();
  await service.tokens(apiKey);
  // Also not when it stands in the document itself, or in a document that cannot be parsed.
  await service.graphql(
    `mutation { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "${apiKey}") { userToken } }`,
  );
  await service.graphql(`mutation { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "${apiKey}"`);
  await service.graphql("mutation ($refreshToken: [Int!]) { __typename }", { refreshToken: [apiKey] });
  const [listed, journal, snapshot] = await Promise.all([
    service.control.listApiKeys(),
    service.control.listRequests({ limit: 1_000 }),
    service.control.getSnapshot(),
  ]);
  expect(JSON.stringify(listed)).toContain(id);
  for (const response of [listed, journal, snapshot]) expect(JSON.stringify(response)).not.toContain(apiKey);
});

it("K9 me with an Authorization header of another scheme is rejected", async () => {
  const { data, message, code } = await me(null, { headers: { authorization: "Basic YTpi" } });
  expect([data.me, message, code]).toEqual([null, "Unauthorized", "UNAUTHENTICATED"]);
});

describe("K10 shape of me", () => {
  it.each(["admin", "l1", "l2", "l3"] as const)("K10 me returns the role %s unchanged", async (role) => {
    const { apiKey } = await service.key({ role });
    const { workspaceToken } = await service.tokens(apiKey);
    expect((await me(workspaceToken)).data.me.role).toBe(role);
  });
});
