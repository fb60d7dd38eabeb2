import type { MockServer, OverrideOptions, OverrideResponse } from "@workspace-tasks/mock-server";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";

import { checkedControlClient, jsonPost, workspaceToken } from "../../../support/mock-client.ts";

const it = mockTest.extend({ mockOptions: { listen: false, clock: "virtual" } });

interface Response_ {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
  readonly data?: any;
  readonly errors?: readonly { message: string; path?: unknown; extensions?: { code: string } }[];
}

async function send(
  mock: MockServer,
  query: string,
  variables: object = {},
  token?: string,
): Promise<Response_> {
  const sent = jsonPost({ query, variables }, token ?? (await workspaceToken(mock)));
  const response = await mock.fetch("/graphql", sent);
  return (await response.json()) as Response_;
}

const me = "{ me { __typename ... on WorkspaceUser { id role user { name } } } }";
const user = {
  __typename: "WorkspaceUser",
  id: "m-1",
  role: "l3",
  user: { id: "u", name: "Ada", email: "a@b.c" },
};

describe("an override with data", () => {
  it("responds with what the request selects, under its aliases and fragments", async ({ mock }) => {
    mock.override("me", { data: { ...user, createdAt: "2026-01-01T00:00:00.000Z" } });
    const query = `query Q($all: Boolean!) { who: me { ...F ... on WorkspaceUser { grade: role } ... on User { email } } }
      fragment F on WorkspaceUser { id user { label: name email @include(if: $all) } }`;
    expect(await send(mock, query, { all: false })).toEqual({
      data: { who: { id: "m-1", user: { label: "Ada" }, grade: "l3" } },
    });
    const [request] = (await mock.control.listRequests({ operation: "me" })).data;
    expect(request).toMatchObject({ overridden: ["me"], status: 200 });
  });

  it("leaves the other fields of a request to the service, and runs no effect of its own", async ({
    mock,
  }) => {
    mock.override("deleteWebhookEndpoint", { data: true });
    const { id } = await mock.control.createEndpoint({ url: "https://a.example" });
    const query = `mutation ($id: ID!, $url: String!) {
      deleteWebhookEndpoint(endpointId: $id)
      createWebhookEndpoint(input: { url: $url }) { endpoint { url } }
    }`;
    const { data } = await send(mock, query, { id, url: "https://b.example" });
    expect(data).toEqual({
      deleteWebhookEndpoint: true,
      createWebhookEndpoint: { endpoint: { url: "https://b.example" } },
    });
    expect((await mock.control.listEndpoints()).data.map(({ url }) => url)).toEqual([
      "https://a.example",
      "https://b.example",
    ]);
  });

  it("keeps the check of the token, of the request and of the rate limit", async ({ mock }) => {
    await mock.control.changeSettings({ rateLimit: { requests: 2 } });
    mock.override("me", { data: null });
    const token = await workspaceToken(mock);
    expect((await send(mock, me, {}, "wrong")).errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
    expect((await send(mock, "{ me { nothing } }", {}, token)).errors?.[0]?.message).toContain(
      "Cannot query",
    );
    expect(await send(mock, me, {}, token)).toEqual({ data: { me: null } });
    expect((await send(mock, me, {}, token)).errors?.[0]?.extensions?.code).toBe("RATE_LIMITED");
  });

  it.for<[OverrideResponse, string]>([
    [{ data: { ...user, role: "owner" } }, 'data.role: expected "admin", "l1", "l2", "l3", got "owner"'],
    [{ data: { ...user, rol: "l1" } }, "data: unknown field rol of WorkspaceUser; did you mean role?"],
  ])("is rejected with %j, unless it is invalid on purpose", async ([response, message], { mock }) => {
    expect(() => mock.override("me", response)).toThrow(message);
    await expect(mock.control.addOverride({ operation: "me", ...response } as never)).rejects.toMatchObject({
      code: "BODY_INVALID",
      message: expect.stringContaining(message),
    });
    mock.override("me", response, { invalid: true });
    expect(await send(mock, me)).toEqual({ data: { me: response.data } });
  });

  it("names a selected field that it lacks", async ({ mock }) => {
    mock.override("me", { data: { __typename: "WorkspaceUser", role: "l1", user: { id: "u" } } });
    const { data, errors } = await send(mock, me);
    expect(data).toEqual({ me: null });
    expect(errors).toMatchObject([
      {
        message: "override 1 of me.id: Cannot return null for non-nullable field WorkspaceUser.id.",
        path: ["me"],
        extensions: { code: "INTERNAL_SERVER_ERROR" },
      },
    ]);
  });
});

describe("an override with a patch, errors or a function", () => {
  it("a patch changes part of the real response", async ({ mock }) => {
    mock.override("me", { patch: { user: { name: "Grace" } } });
    expect((await send(mock, me)).data.me).toMatchObject({ role: "admin", user: { name: "Grace" } });
    mock.override("me", { patch: { role: "owner" } });
    expect((await send(mock, me)).errors?.[0]?.message).toContain('me.role: Enum "WorkspaceRole" cannot');
    mock.override("me", { patch: { rol: "l1" } });
    expect((await send(mock, me)).errors?.[0]?.message).toContain("me: the request selects no field rol");
    mock.override("me", { patch: { role: "owner", extra: 1 } }, { invalid: true });
    expect((await send(mock, me)).data.me).toMatchObject({ role: "owner", extra: 1 });
  });

  it("a patch and the real response need no __typename, and keep aliases", async ({ mock }) => {
    const query = `{ me { ... on WorkspaceUser { grade: role workspace { label: name } } } }`;
    const { data } = await send(mock, query);
    mock.override("me", async ({ original }) => ({ data: await original() }));
    expect(await send(mock, query)).toEqual({ data });
    mock.override("me", { patch: { grade: "l2" } });
    expect(await send(mock, query)).toEqual({ data: { me: { ...data.me, grade: "l2" } } });
    mock.override("me", { patch: { grade: "owner" } }, { invalid: true });
    expect(await send(mock, query)).toEqual({ data: { me: { ...data.me, grade: "owner" } } });
  });

  it("errors have their code and path, and null what is not null", async ({ mock }) => {
    mock.override("me", { errors: [{ message: "busy", code: "CONFLICT" }] });
    expect(await send(mock, me)).toMatchObject({
      data: { me: null },
      errors: [{ message: "busy", path: ["me"], extensions: { code: "CONFLICT" } }],
    });
    mock.override("me", { data: { role: "l1" } });
    expect((await send(mock, me)).errors?.[0]?.message).toContain("override 2 of me: expected __typename");
    mock.override("webhookEventCatalog", { errors: [{ message: "down" }] });
    expect((await send(mock, "{ webhookEventCatalog { name } }")).data).toBeNull();
    mock.override("me", { data: user, errors: [{ message: "partial", path: ["user"] }] });
    expect(await send(mock, me)).toMatchObject({
      data: { me: { id: "m-1" } },
      errors: [{ message: "partial", path: ["me", "user"] }],
    });
  });

  it("a function gets the request, and may run the operation", async ({ mock }) => {
    const calls: unknown[] = [];
    mock.override("updateWebhookEndpoint", async ({ original, ...call }) => {
      calls.push(call);
      return { data: { ...((await original()) as object), description: "changed" } };
    });
    const { id } = await mock.control.createEndpoint({ url: "https://a.example" });
    const query = `mutation Up($input: UpdateWebhookEndpointInput!) {
      updateWebhookEndpoint(input: $input) { id url description }
    }`;
    const input = { endpointId: id, url: "https://c.example" };
    const { data } = await send(mock, query, { input });
    expect(data.updateWebhookEndpoint).toEqual({ id, url: "https://c.example", description: "changed" });
    expect(calls).toMatchObject([
      {
        operation: "updateWebhookEndpoint",
        operationName: "Up",
        args: { input },
        variables: { input },
        count: 1,
      },
    ]);
  });

  const itself: Record<string, unknown> = {};
  itself["itself"] = itself;
  it.for<[object, string]>([
    [
      { data: [{ payloadSchema: { n: 1n } }] },
      "data.0.payloadSchema.n: expected a value that JSON can express, got 1n",
    ],
    [
      { data: [{ payloadSchema: itself }] },
      "payloadSchema.itself: expected a value that JSON can express, got an object",
    ],
    [{ patch: { name: new Map() } }, "patch.name: expected a value that JSON can express, got a Map"],
    [{ errors: "busy" }, "errors: expected an array, got a string"],
    [{ errors: [{ message: 5 }] }, "errors.0.message: expected a string, got 5"],
    [{ data: null, extensions: {} }, "unknown option extensions"],
    [{ data: null, patch: {} }, "expected data or patch, got both"],
  ])(
    "what no response can be is rejected, and named when a function returns it: %#",
    async ([response, message], { mock }) => {
      const operation = "webhookEventCatalog";
      for (const invalid of [false, true])
        expect(() => mock.override(operation, response as OverrideResponse, { invalid })).toThrow(message);
      expect(() => mock.override(operation, { data: null }, { variables: { n: 1n } })).toThrow("got 1n");
      mock.override(operation, () => response as OverrideResponse, { invalid: true });
      const { errors } = await send(mock, "{ webhookEventCatalog { payloadSchema } }");
      expect(errors?.map((error) => error.message)).toEqual([
        expect.stringMatching(/^override 1 of webhookEventCatalog: /),
      ]);
      expect(errors?.[0]?.message).toContain(message);
    },
  );

  it("a function that throws or returns nothing is an error of the request", async ({ mock }) => {
    mock.override("me", () => ({}) as never);
    expect((await send(mock, me)).errors?.[0]?.message).toContain("return { data }, { patch } or { errors }");
    mock.override("me", () => undefined as never);
    expect((await send(mock, me)).errors?.[0]?.message).toContain("expected the function to return { data }");
    mock.override("me", () => {
      throw new Error("bug of the test");
    });
    expect((await send(mock, me)).errors?.[0]?.message).toContain("bug of the test");
  });
});

describe("which override responds", () => {
  it("the newest that matches, as often as times says", async ({ mock }) => {
    const nameOf = async () => (await send(mock, me)).data.me?.user.name;
    const named = (name: string) => ({ patch: { user: { name } } });
    mock.override("me", named("always"));
    const twice = mock.override("me", named("twice"), { times: 2 });
    expect([await nameOf(), await nameOf(), await nameOf()]).toEqual(["twice", "twice", "always"]);
    expect(twice.calls).toBe(2);
    const { id: keyId } = await mock.control.createApiKey();
    const { workspaces } = await mock.control.addSeedData({ workspaces: [{ name: "Other" }] });
    mock.override("me", named("other key"), { keyId });
    mock.override("me", named("other workspace"), { workspaceId: workspaces["Other"]?.id ?? "" });
    mock.override("me", named("gateway"), { router: "gateway" });
    mock.override("me", named("variables"), { variables: { a: 1 } });
    expect(await nameOf()).toBe("always");
    mock.override("me", named("own workspace"), { workspaceId: mock.workspaceId });
    expect(await nameOf()).toBe("own workspace");
  });

  it("none after it was removed, a reset or a restored snapshot, and none of another world", async ({
    mock,
  }) => {
    const isReal = async (of: MockServer = mock) => (await send(of, me)).data.me !== null;
    const world = await mock.worlds.create();
    const override = mock.override("me", { data: null });
    expect([await isReal(), await isReal(world as MockServer)]).toEqual([false, true]);
    override.remove();
    expect(await isReal()).toBe(true);
    mock.override("me", { data: null });
    await mock.control.restoreSnapshot(await mock.control.getSnapshot());
    expect(await isReal()).toBe(true);
    mock.override("me", { data: null });
    await mock.control.reset();
    expect(await isReal()).toBe(true);
  });

  it("none with a key or workspace that does not exist: it is rejected, with the nearest id and without a secret", async ({
    mock,
  }) => {
    const [{ id: keyId = "" } = {}] = (await mock.control.listApiKeys()).data;
    const control = checkedControlClient(mock);
    const add = [
      async (match: OverrideOptions) => mock.override("me", () => ({ data: null }), match),
      async (match: OverrideOptions) => control.addOverride({ operation: "me", data: null, ...match }),
    ];
    for (const addOverride of add) {
      await expect(addOverride({ keyId: `${keyId}x` })).rejects.toThrow(`did you mean ${keyId}?`);
      const error: unknown = await addOverride({ keyId: mock.apiKey }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "BODY_INVALID" });
      expect(String(error)).not.toContain(mock.apiKey);
      await expect(addOverride({ workspaceId: "?" })).rejects.toThrow("; listWorkspaces has the ids");
      await addOverride({ keyId, workspaceId: mock.workspaceId });
    }
  });

  it("those of the control API are listed and removed by id", async ({ mock }) => {
    const control = checkedControlClient(mock);
    const first = await control.addOverride({ operation: "me", data: null, times: 1 });
    mock.override("me", () => ({ data: null }));
    expect((await control.listOverrides()).data).toMatchObject([
      { id: first.id, operation: "me", data: null, times: 1, calls: 0, isFunction: false },
      { operation: "me", isFunction: true },
    ]);
    await control.removeOverride(first.id);
    await expect(control.removeOverride(first.id)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await control.clearOverrides();
    expect((await control.listOverrides()).data).toEqual([]);
    const wrong = [
      [{ operation: "mee", data: null }, "unknown operation mee; did you mean me?"],
      [
        { operation: "me", router: "gateway", data: null, times: 0 },
        "times: expected a number of at least 1",
      ],
      [{ operation: "me" }, "expected data, patch or errors"],
      [
        { operation: "createWorkspace", router: "base", patch: {} },
        "unknown operation createWorkspace of the base router",
      ],
    ] as const;
    for (const [input, message] of wrong) {
      await expect(control.addOverride(input as never)).rejects.toThrow(message);
    }
  });
});

describe("the fault rate-limited", () => {
  it("is the service's 429, and leaves requests alone that are not counted", async ({ mock }) => {
    await mock.control.setFaults({
      api: [{ instructions: [{ kind: "rate-limited", retryAfterSeconds: 7 }] }],
    });
    const exchange =
      "mutation ($key: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken } }";
    expect((await send(mock, exchange, { key: mock.apiKey })).errors).toBeUndefined();
    const token = await workspaceToken(mock);
    const limited = await mock.fetch("/graphql", jsonPost({ query: me }, token));
    expect([limited.status, limited.headers.get("retry-after"), await limited.json()]).toEqual([
      429,
      "7",
      { errors: [{ message: "Too many requests", extensions: { code: "RATE_LIMITED" } }] },
    ]);
    expect((await send(mock, me)).errors).toBeUndefined();
  });
});
