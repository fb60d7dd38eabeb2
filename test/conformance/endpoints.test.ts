import { beforeAll, describe, expect } from "vitest";
import { type CallOptions, it, mockTest, onMock, useService } from "./harness.ts";

const service = useService({ settings: { rateLimit: { requests: 100_000 } } });

const fields = "id url description enabled eventTypes createdAt updatedAt";
const url = "https://hooks.example.com/in";

type Input = Record<string, unknown>;

const create = (input: Input = { url }, options?: CallOptions) =>
  service.graphql(
    `mutation ($input: CreateWebhookEndpointInput!) {
      createWebhookEndpoint(input: $input) { endpoint { ${fields} } signingSecret }
    }`,
    { input },
    options,
  );
const update = (input: Input, options?: CallOptions) =>
  service.graphql(
    `mutation ($input: UpdateWebhookEndpointInput!) { updateWebhookEndpoint(input: $input) { ${fields} } }`,
    { input },
    options,
  );
const remove = (endpointId: string, options?: CallOptions) =>
  service.graphql(
    "mutation ($id: ID!) { deleteWebhookEndpoint(endpointId: $id) }",
    { id: endpointId },
    options,
  );
const rotate = (input: Input, options?: CallOptions) =>
  service.graphql(
    `mutation ($input: RotateWebhookEndpointSecretInput!) {
      rotateWebhookEndpointSecret(input: $input) { endpoint { ${fields} } signingSecret }
    }`,
    { input },
    options,
  );
const list = (variables: { limit?: number | null; iterator?: string | null } = {}, options?: CallOptions) =>
  service.graphql(
    `query ($limit: Int, $iterator: String) {
      me { ... on WorkspaceUser { workspace { webhookEndpoints(limit: $limit, iterator: $iterator) {
        data { ${fields} } done iterator
      } } } }
    }`,
    variables,
    options,
  );

async function created(input?: Input, options?: CallOptions) {
  const response = await create(input, options);
  expect(response.errors).toBeUndefined();
  return response.data.createWebhookEndpoint as {
    endpoint: {
      id: string;
      url: string;
      description: string;
      enabled: boolean;
      eventTypes: string[] | null;
      createdAt: string;
      updatedAt: string;
    };
    signingSecret: string;
  };
}

/** Every endpoint of the caller's workspace, page by page. */
async function listAll(limit: number, options?: CallOptions): Promise<string[]> {
  const ids: string[] = [];
  let iterator: string | null = null;
  do {
    const response = await list({ limit, iterator }, options);
    const page = response.data.me.workspace.webhookEndpoints;
    ids.push(...page.data.map(({ id }: { id: string }) => id));
    expect(page.done).toBe(page.iterator === null);
    iterator = page.iterator;
  } while (iterator !== null);
  return ids;
}

/** A workspace of its own, so that the endpoints of other tests are not in the list. */
async function ownWorkspace(): Promise<CallOptions> {
  const { apiKey } = await service.workspace();
  return { token: (await service.tokens(apiKey)).workspaceToken };
}

// A real workspace is left as it was found.
beforeAll(async () => {
  if (onMock) return undefined;
  const before = new Set(await listAll(100));
  return async () => {
    for (const id of await listAll(100)) if (!before.has(id)) await remove(id);
  };
});

describe("W1 creation", () => {
  it("W1 a new endpoint is enabled and has a whsec_ secret of at least 24 bytes", async () => {
    const { endpoint, signingSecret } = await created();
    expect(endpoint).toMatchObject({ url, enabled: true, id: expect.any(String) });
    expect(signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/);
    expect(Buffer.from(signingSecret.slice(6), "base64").length).toBeGreaterThanOrEqual(24);
    expect(endpoint.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it("W1 two endpoints never have the same secret, and a rotation returns another one", async () => {
    const [first, second] = [await created(), await created()];
    const rotated = await rotate({ endpointId: first.endpoint.id });
    const secret = rotated.data.rotateWebhookEndpointSecret.signingSecret;
    expect(new Set([first.signingSecret, second.signingSecret, secret]).size).toBe(3);
    expect(secret).toMatch(/^whsec_/);
  });

  it("W1 no other operation returns a secret", async () => {
    const { endpoint, signingSecret } = await created();
    const updated = await update({ endpointId: endpoint.id, description: "x" });
    const listed = await list({ limit: 100 });
    for (const { text } of [updated, listed]) {
      expect(text).not.toContain(signingSecret);
      expect(text).not.toContain("whsec_");
    }
    for (const field of ["signingSecret", "secret", "secrets"]) {
      const response = await service.graphql(
        `{ me { ... on WorkspaceUser { workspace { webhookEndpoints { data { ${field} } } } } } }`,
      );
      expect(response.errors?.[0]?.message).toMatch(/^Cannot query field/);
    }
  });
});

describe("W2 description", () => {
  it.each([
    ["omitted", {}],
    ["null", { description: null }],
    ["empty", { description: "" }],
  ])("W2 a description that is %s becomes an empty string", async (_name, input) => {
    expect((await created({ url, ...input })).endpoint.description).toBe("");
  });

  it("W2 a description is stored unchanged", async () => {
    expect((await created({ url, description: "Büro № 1" })).endpoint.description).toBe("Büro № 1");
  });
});

describe("W3 all events", () => {
  it.each([
    ["omitted", {}],
    ["null", { eventTypes: null }],
  ])("W3 eventTypes that are %s read back as null", async (_name, input) => {
    expect((await created({ url, ...input })).endpoint.eventTypes).toBeNull();
  });
});

describe("W4 no events", () => {
  it("W4 an empty list of event types is rejected on creation", async () => {
    const response = await create({ url, eventTypes: [] });
    expect(response.data ?? null).toBeNull();
    expect(response.errors?.[0]?.message).toBe("At least one webhook event type is required");
  });

  it("W4 an empty list of event types is rejected on update and changes nothing", async () => {
    const { endpoint } = await created({ url, eventTypes: ["task.failed"] });
    const response = await update({ endpointId: endpoint.id, eventTypes: [], url: "https://other.example" });
    expect(response.errors?.[0]?.message).toBe("At least one webhook event type is required");
    const after = await update({ endpointId: endpoint.id, description: "still" });
    expect(after.data.updateWebhookEndpoint).toMatchObject({ url, eventTypes: ["task.failed"] });
  });
});

describe("W5 event names", () => {
  it.each([[["task.exploded"]], [["task.completed", "nope"]], [[""]], [["TASK.COMPLETED"]], [["__proto__"]]])(
    "W5 the event names %j are rejected on creation and on update",
    async (eventTypes) => {
      const response = await create({ url, eventTypes });
      expect(response.errors?.[0]?.message).toBe("Unsupported webhook event type");
      const { endpoint } = await created();
      const updated = await update({ endpointId: endpoint.id, eventTypes });
      expect(updated.errors?.[0]?.message).toBe("Unsupported webhook event type");
    },
  );

  it("W5 duplicate event names are removed, in the order of first appearance", async () => {
    const eventTypes = ["task.failed", "subtask.completed", "task.failed", "documents.synced", "task.failed"];
    const expected = ["task.failed", "subtask.completed", "documents.synced"];
    const { endpoint } = await created({ url, eventTypes });
    expect(endpoint.eventTypes).toEqual(expected);
    const updated = await update({ endpointId: endpoint.id, eventTypes: [...eventTypes].reverse() });
    expect(updated.data.updateWebhookEndpoint.eventTypes).toEqual([
      "task.failed",
      "documents.synced",
      "subtask.completed",
    ]);
  });

  it("W5 every event of the catalog can be subscribed to", async () => {
    const catalog = await service.graphql("{ webhookEventCatalog { name } }");
    const names = catalog.data.webhookEventCatalog.map(({ name }: { name: string }) => name);
    expect((await created({ url, eventTypes: names })).endpoint.eventTypes).toEqual(names);
  });
});

describe("W6 url", () => {
  const wrong = [
    "http://hooks.example.com/in",
    "ftp://hooks.example.com",
    "hooks.example.com",
    "",
    "https://",
    "javascript:alert(1)",
    "http://127.0.0.1.example.com/",
    "http://[::2]/",
    " https://hooks.example.com/",
    "https://hooks.example.com/ ",
    "https:hooks.example.com",
    "https:///hooks.example.com",
    "https://hooks.example.com/a\nb",
    "https://hooks.example.com\\a",
    "https://hooks.exa mple.com/",
    "https://user:password@hooks.example.com/",
    "https://user@hooks.example.com/",
  ];
  it.each([
    "https://hooks.example.com",
    "HTTPS://Hooks.example.com:8443/a%20b?c=d@e&f=http://g#h",
    "https://[2001:db8::1]/in",
  ])("W6 the url %j is accepted and returned as it is", async (right) => {
    expect((await created({ url: right })).endpoint.url).toBe(right);
  });

  it.each(wrong)("W6 the url %j is rejected on creation", async (wrongUrl) => {
    const response = await create({ url: wrongUrl });
    expect(response.errors?.[0]?.message).toBe("Webhook endpoint url must be an HTTPS URL");
  });

  it("W6 an update to a url that is not HTTPS is rejected and changes nothing", async () => {
    const { endpoint } = await created();
    const response = await update({
      endpointId: endpoint.id,
      url: "http://hooks.example.com",
      enabled: false,
    });
    expect(response.errors?.[0]?.message).toBe("Webhook endpoint url must be an HTTPS URL");
    const after = await update({ endpointId: endpoint.id, description: "x" });
    expect(after.data.updateWebhookEndpoint).toMatchObject({ url, enabled: true });
  });

  mockTest.each(["http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:9/", "http://127.8.9.1/"])(
    "W6 plain HTTP to the loopback host %j is accepted",
    async (loopback) => {
      expect((await created({ url: loopback })).endpoint.url).toBe(loopback);
    },
  );
});

describe("W6 without loopback", () => {
  const strict = useService({ settings: { allowLoopbackHttp: false } });
  mockTest("W6 the setting that disables loopback rejects plain HTTP to loopback", async () => {
    const response = await strict.graphql(
      'mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/x" }) { endpoint { id } } }',
    );
    expect(response.errors?.[0]?.message).toBe("Webhook endpoint url must be an HTTPS URL");
  });
});

describe("W7 patch", () => {
  const full = { url, description: "before", eventTypes: ["task.failed"] };

  it.each([
    ["url", { url: "https://after.example/" }, { url: "https://after.example/" }],
    ["url null", { url: null, description: "x" }, { url, description: "x" }],
    ["description", { description: "after" }, { description: "after" }],
    ["description null", { description: null }, { description: "" }],
    ["description empty", { description: "" }, { description: "" }],
    ["enabled false", { enabled: false }, { enabled: false }],
    ["enabled null", { enabled: null, description: "x" }, { enabled: true, description: "x" }],
    ["eventTypes", { eventTypes: ["task.running"] }, { eventTypes: ["task.running"] }],
    ["eventTypes null", { eventTypes: null }, { eventTypes: null }],
  ])("W7 an update of %s changes only that field", async (_name, patch, expected) => {
    const { endpoint } = await created(full);
    const response = await update({ endpointId: endpoint.id, ...patch });
    expect(response.errors).toBeUndefined();
    const { updatedAt: _before, ...rest } = endpoint;
    const { updatedAt: _after, ...updated } = response.data.updateWebhookEndpoint;
    expect(updated).toEqual({ ...rest, ...expected });
  });

  it("W7 an update enables a paused endpoint", async () => {
    const { endpoint } = await created();
    await update({ endpointId: endpoint.id, enabled: false });
    const response = await update({ endpointId: endpoint.id, enabled: true });
    expect(response.data.updateWebhookEndpoint.enabled).toBe(true);
  });
});

describe("W8 empty patch", () => {
  it("W8 an update with only endpointId is rejected", async () => {
    const { endpoint } = await created();
    const response = await update({ endpointId: endpoint.id });
    expect(response.errors?.[0]?.message).toBe("At least one endpoint field must be updated");
  });
});

describe("W9 times", () => {
  it("W9 every update changes updatedAt and none changes createdAt", async () => {
    const { endpoint } = await created();
    let before = endpoint.updatedAt;
    for (const enabled of [false, true, true]) {
      const response = await update({ endpointId: endpoint.id, enabled });
      const { createdAt, updatedAt } = response.data.updateWebhookEndpoint;
      expect(createdAt).toBe(endpoint.createdAt);
      expect(Date.parse(updatedAt)).toBeGreaterThan(Date.parse(before));
      before = updatedAt;
    }
  });
});

describe("W11 listing", () => {
  it.each([0, -1, 101, 1_000])("W11 a limit of %i is rejected", async (limit) => {
    const response = await list({ limit });
    expect(response.errors?.[0]?.message).toBe("Webhook endpoint limit must be between 1 and 100");
  });

  mockTest("W11 the limit is 20 when it is omitted or null", async () => {
    const options = await ownWorkspace();
    for (let made = 0; made < 23; made++) await created({ url }, options);
    for (const variables of [{}, { limit: null, iterator: null }]) {
      const page = (await list(variables, options)).data.me.workspace.webhookEndpoints;
      expect(page.data).toHaveLength(20);
      expect(page.done).toBe(false);
      expect(page.iterator).toEqual(expect.any(String));
    }
  });

  mockTest("W11 an empty workspace has one page and no next cursor", async () => {
    const page = (await list({}, await ownWorkspace())).data.me.workspace.webhookEndpoints;
    expect(page).toEqual({ data: [], done: true, iterator: null });
  });

  mockTest.each([1, 2, 7, 21, 22, 100])(
    "W11 pages of %i together contain every endpoint once",
    async (limit) => {
      const options = await ownWorkspace();
      const made: string[] = [];
      for (let count = 0; count < 21; count++) made.push((await created({ url }, options)).endpoint.id);
      expect(await listAll(limit, options)).toEqual(made);
    },
  );

  mockTest("W11 endpoints created and deleted between two pages leave the others listed once", async () => {
    const options = await ownWorkspace();
    const made: string[] = [];
    for (let count = 0; count < 12; count++) made.push((await created({ url }, options)).endpoint.id);
    const seen: string[] = [];
    let iterator: string | null = null;
    do {
      const response = await list({ limit: 3, iterator }, options);
      const page = response.data.me.workspace.webhookEndpoints;
      const ids = page.data.map(({ id }: { id: string }) => id);
      seen.push(...ids);
      iterator = page.iterator;
      if (seen.length === 3) {
        // The very endpoint that the cursor names, one already seen, and new ones.
        await remove(ids[2], options);
        await remove(ids[0], options);
        await created({ url }, options);
      }
    } while (iterator !== null);
    expect(seen.slice(0, 12)).toEqual(made);
    expect(new Set(seen).size).toBe(seen.length);
  });
});

describe("W12 cursor", () => {
  it.each(["", "x", "not a cursor", "AAAA", "💥", "x".repeat(5_000)])(
    "W12 the cursor %j is rejected",
    async (iterator) => {
      const response = await list({ iterator });
      expect(response.errors?.[0]).toMatchObject({
        message: "Invalid iterator",
        extensions: { code: "BAD_USER_INPUT" },
      });
    },
  );

  mockTest("W12 a cursor of another workspace and a changed cursor are rejected", async () => {
    const options = await ownWorkspace();
    for (let made = 0; made < 2; made++) await created({ url }, options);
    const { iterator } = (await list({ limit: 1 }, options)).data.me.workspace.webhookEndpoints;
    expect((await list({ iterator }, options)).errors).toBeUndefined();
    expect((await list({ iterator })).errors?.[0]?.message).toBe("Invalid iterator");
    for (const changed of [`${iterator}=`, `${iterator} `, `-${iterator}`, iterator.slice(0, -1)]) {
      expect((await list({ iterator: changed }, options)).errors?.[0]?.message).toBe("Invalid iterator");
    }
  });
});

describe("W14 permission", () => {
  const operations: Record<string, (options: CallOptions) => ReturnType<typeof list>> = {
    create: (options) => create({ url }, options),
    update: (options) => update({ endpointId: "x", url }, options),
    delete: (options) => remove("x", options),
    rotate: (options) => rotate({ endpointId: "x" }, options),
    list: (options) => list({}, options),
  };
  const names = Object.keys(operations);
  const call = (name: string, token: string | null) => operations[name]?.({ token });

  it.each(names)("W14 %s without a token fails with Unauthorized", async (name) => {
    const response = await call(name, null);
    expect(response?.errors?.[0]).toMatchObject({
      message: "Unauthorized",
      extensions: { code: "UNAUTHENTICATED" },
    });
  });

  mockTest.each(names)(
    "W14 %s with a read_only token fails with Unauthorized and FORBIDDEN",
    async (name) => {
      const { apiKey } = await service.key({ access: "read_only", role: "admin" });
      const response = await call(name, (await service.tokens(apiKey)).workspaceToken);
      expect(response?.errors?.[0]).toMatchObject({
        message: "Unauthorized",
        extensions: { code: "FORBIDDEN" },
      });
    },
  );

  for (const role of ["l1", "l2", "l3"] as const) {
    mockTest.each(names)(
      `W14 %s with an ${role} token fails with Unauthorized and FORBIDDEN`,
      async (name) => {
        const { apiKey } = await service.key({ role });
        const response = await call(name, (await service.tokens(apiKey)).workspaceToken);
        expect(response?.errors?.[0]).toMatchObject({
          message: "Unauthorized",
          extensions: { code: "FORBIDDEN" },
        });
      },
    );
  }

  it.each(names.filter((name) => name !== "list"))(
    "W14 %s with a userToken fails with Unauthorized",
    async (name) => {
      const response = await call(name, (await service.tokens()).userToken);
      expect(response?.errors?.[0]?.message).toBe("Unauthorized");
    },
  );

  it("W14 the catalog needs no token", async () => {
    const response = await service.graphql("{ webhookEventCatalog { name } }", {}, { token: null });
    expect(response.errors).toBeUndefined();
  });
});

describe("W14 with HTTP 401", () => {
  const strict = useService({ settings: { unauthenticatedStatus: 401 } });
  mockTest("W14 a missing token is a 401 with the setting unauthenticatedStatus", async () => {
    const response = await strict.graphql("{ me { __typename } }", {}, { token: null });
    expect(response.status).toBe(401);
    expect(response.errors?.[0]?.message).toBe("Unauthorized");
    expect((await strict.graphql("{ me { __typename } }")).status).toBe(200);
  });
});

describe("W15 other workspaces", () => {
  mockTest("W15 every operation on an endpoint of another workspace fails as for an unknown id", async () => {
    const { endpoint } = await created();
    const options = await ownWorkspace();
    const stranger = "00000000-0000-7000-8000-000000000000";
    const uses = (id: string) => [
      update({ endpointId: id, description: "mine" }, options),
      update({ endpointId: id }, options),
      remove(id, options),
      rotate({ endpointId: id }, options),
      rotate({ endpointId: id, gracePeriodSeconds: -1 }, options),
    ];
    const [foreign, unknown] = await Promise.all([
      Promise.all(uses(endpoint.id)),
      Promise.all(uses(stranger)),
    ]);
    expect(foreign.map(({ text }) => text)).toEqual(unknown.map(({ text }) => text));
    expect(foreign[0]?.errors?.[0]).toMatchObject({
      message: "Webhook endpoint not found",
      extensions: { code: "NOT_FOUND" },
    });
    expect(await listAll(100, options)).not.toContain(endpoint.id);
    expect(await listAll(100)).toContain(endpoint.id);
  });
});
