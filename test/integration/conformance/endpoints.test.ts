import { describe, expect, it } from "vitest";
import { type CallOptions, useService } from "./harness.ts";
import { done, endpointMutations, type Variables } from "./operations.ts";

const service = useService({ settings: { rateLimit: { requests: 100_000 } } });
const { create, update, remove, rotate, list } = endpointMutations(service);
const url = "https://hooks.example.com/in";

const created = (input: Variables = { url }, options?: CallOptions) => done(create(input, options));

async function createMany(count: number, options: CallOptions): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) ids.push((await created({ url }, options)).endpoint.id);
  return ids;
}

async function pageOf(variables?: Variables, options?: CallOptions) {
  const response = await list(variables, options);
  return response.data.me.workspace.webhookEndpoints;
}

/** The ids of every page of the caller's workspace. */
async function* pages(limit: number, options?: CallOptions): AsyncGenerator<string[]> {
  let iterator: string | null = null;
  do {
    const page = await pageOf({ limit, iterator }, options);
    expect(page.done).toBe(page.iterator === null);
    iterator = page.iterator;
    yield page.data.map(({ id }: { id: string }) => id);
  } while (iterator !== null);
}

async function listAll(limit: number, options?: CallOptions): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of pages(limit, options)) ids.push(...page);
  return ids;
}

describe("W1 creation", () => {
  it("W1 no other operation returns a secret", async () => {
    const { endpoint, signingSecret } = await created();
    expect(Buffer.from(signingSecret.slice(6), "base64").length).toBeGreaterThanOrEqual(24);
    const updated = await update({ endpointId: endpoint.id, description: "x" });
    const listed = await list({ limit: 100 });
    for (const { text } of [updated, listed]) expect(text).not.toContain("whsec_");
    for (const field of ["signingSecret", "secret", "secrets"]) {
      const response = await service.graphql(
        `{ me { ... on WorkspaceUser { workspace { webhookEndpoints { data { ${field} } } } } } }`,
      );
      expect(response.message).toMatch(/^Cannot query field/);
    }
  });
});

describe("W2 what is omitted", () => {
  it.each([
    ["omitted", {}, ""],
    ["null", { description: null }, ""],
    ["empty", { description: "" }, ""],
    ["given", { description: " Büro № 1\n" }, " Büro № 1\n"],
  ])("W2 a description that is %s reads back as it should", async (_name, input, expected) => {
    expect((await created({ url, ...input })).endpoint.description).toBe(expected);
  });
});

it("W8 what the interface says of an input comes before what is said of an endpoint that does not exist", async () => {
  const endpointId = "no-such-endpoint";
  const rejected = [
    await update({ endpointId }),
    await update({ endpointId, eventTypes: [] }),
    await update({ endpointId, eventTypes: ["task.x"] }),
    await rotate({ endpointId, gracePeriodSeconds: -1 }),
    await list({ limit: 0, iterator: "x" }),
    await update({ endpointId, enabled: true }),
  ];
  expect(rejected.map(({ message }) => message)).toEqual([
    "At least one endpoint field must be updated",
    "At least one webhook event type is required",
    "Unsupported webhook event type",
    "Secret grace period must be between 0 and 604800 seconds",
    "Webhook endpoint limit must be between 1 and 100",
    "Webhook endpoint not found",
  ]);
});

describe("W4 W5 W6 inputs that are rejected", () => {
  const noEvents = "At least one webhook event type is required";
  const unknown = "Unsupported webhook event type";
  const noHttps = "Webhook endpoint url must be an HTTPS URL";

  async function expectRejected(input: Variables, message: string) {
    const response = await create({ url, ...input });
    expect([response.value ?? null, response.message]).toEqual([null, message]);
    const { endpoint } = await created({ url, eventTypes: ["task.failed"] });
    const updated = await update({ endpointId: endpoint.id, description: "not stored", ...input });
    expect(updated.message).toBe(message);
    const after = await done(update({ endpointId: endpoint.id, enabled: true }));
    expect(after).toEqual({ ...endpoint, updatedAt: after.updatedAt });
  }

  it("W4 an empty list of event types is rejected on creation, and on update changes nothing", () =>
    expectRejected({ eventTypes: [] }, noEvents));

  it.each([[["task.exploded"]], [["task.completed", "nope"]], [[""]], [["TASK.COMPLETED"]], [["__proto__"]]])(
    "W5 the event names %j are rejected on creation, and on update change nothing",
    (eventTypes) => expectRejected({ eventTypes }, unknown),
  );

  it.each([
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
  ])("W6 the url %j is rejected on creation, and on update changes nothing", (wrong) =>
    expectRejected({ url: wrong }, noHttps),
  );

  const strict = useService({ settings: { allowLoopbackHttp: false } });
  it("W6 the setting that disables loopback rejects plain HTTP to loopback", async () => {
    const response = await endpointMutations(strict).create({ url: "http://127.0.0.1:9/x" });
    expect(response.message).toBe(noHttps);
  });
});

describe("W5 W6 inputs that are accepted", () => {
  it("W5 every event of the catalog can be subscribed to", async () => {
    const catalog = await service.graphql("{ webhookEventCatalog { name } }");
    const names = catalog.data.webhookEventCatalog.map(({ name }: { name: string }) => name);
    expect((await created({ url, eventTypes: names })).endpoint.eventTypes).toEqual(names);
  });

  it.each([
    "https://hooks.example.com",
    "HTTPS://Hooks.example.com:8443/a%20b?c=d@e&f=http://g#h",
    "https://[2001:db8::1]/in",
  ])("W6 the url %j is accepted and returned as it is", async (right) => {
    expect((await created({ url: right })).endpoint.url).toBe(right);
  });

  it.each(["http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:9/", "http://127.8.9.1/"])(
    "W6 plain HTTP to the loopback host %j is accepted",
    async (loopback) => {
      expect((await created({ url: loopback })).endpoint.url).toBe(loopback);
    },
  );
});

describe("W7 update", () => {
  const full = { url, description: "before", eventTypes: ["task.failed"] };

  it.each([
    ["url", { url: "https://after.example/" }, { url: "https://after.example/" }],
    ["description", { description: "after" }, { description: "after" }],
    ["description empty", { description: "" }, { description: "" }],
    ["eventTypes", { eventTypes: ["task.running"] }, { eventTypes: ["task.running"] }],
  ])("W7 an update of %s changes only that field", async (_name, patch, expected) => {
    const { endpoint } = await created(full);
    const { updatedAt, ...updated } = await done(update({ endpointId: endpoint.id, ...patch }));
    expect({ ...updated, updatedAt }).toEqual({ ...endpoint, ...expected, updatedAt });
  });
});

describe("W11 listing", () => {
  it("W11 the limit is 20 when it is omitted or null", async () => {
    const options = await service.ownWorkspace();
    await createMany(23, options);
    for (const variables of [{}, { limit: null, iterator: null }]) {
      const page = await pageOf(variables, options);
      expect(page.data).toHaveLength(20);
      expect([page.done, page.iterator]).toEqual([false, expect.any(String)]);
    }
  });

  it("W11 an empty workspace has one page and no next cursor", async () => {
    const page = await pageOf({}, await service.ownWorkspace());
    expect(page).toEqual({ data: [], done: true, iterator: null });
  });

  it.each([1, 2, 7, 21, 22, 100])("W11 pages of %i together contain every endpoint once", async (limit) => {
    const options = await service.ownWorkspace();
    const made = await createMany(21, options);
    const read: string[][] = [];
    for await (const page of pages(limit, options)) read.push(page);
    expect(read.flat()).toEqual(made);
    expect(read, "no empty page behind a last one that is full").toHaveLength(Math.ceil(21 / limit));
  });

  it("W11 endpoints created and deleted between two pages leave the others listed once", async () => {
    const options = await service.ownWorkspace();
    const made = await createMany(12, options);
    const seen: string[] = [];
    for await (const ids of pages(3, options)) {
      seen.push(...ids);
      if (seen.length > 3) continue;
      // The very endpoint that the cursor names, one already seen, and a new one.
      await remove(ids[2]!, options);
      await remove(ids[0]!, options);
      await createMany(1, options);
    }
    expect(seen.slice(0, 12)).toEqual(made);
    expect(new Set(seen).size).toBe(seen.length);
  });
});

describe("W12 cursor", () => {
  it.each(["", "x", "not a cursor", "AAAA", "💥", "x".repeat(5_000)])(
    "W12 the cursor %j is rejected",
    async (iterator) => {
      const response = await list({ iterator });
      expect([response.message, response.code]).toEqual(["Invalid iterator", "BAD_USER_INPUT"]);
    },
  );

  it("W12 a cursor of another workspace and a changed cursor are rejected", async () => {
    const options = await service.ownWorkspace();
    await createMany(2, options);
    const { iterator } = await pageOf({ limit: 1 }, options);
    expect((await list({ iterator }, options)).errors).toBeUndefined();
    expect((await list({ iterator })).message).toBe("Invalid iterator");
    for (const changed of [`${iterator}=`, `${iterator} `, `-${iterator}`, iterator.slice(0, -1)])
      expect((await list({ iterator: changed }, options)).message).toBe("Invalid iterator");
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
  const call = (name: string, token: string | null) => operations[name]!({ token });

  it.each(names)("W14 %s without a token fails with Unauthorized", async (name) => {
    const response = await call(name, null);
    expect([response.message, response.code]).toEqual(["Unauthorized", "UNAUTHENTICATED"]);
  });

  const others = [
    { role: "admin", access: "read_only" },
    { role: "l1" },
    { role: "l2" },
    { role: "l3" },
  ] as const;
  it.each(others.flatMap((key) => names.map((name) => [name, key] as const)))(
    "W14 %s with a token of %j fails with Unauthorized and FORBIDDEN",
    async (name, key) => {
      const { apiKey } = await service.key(key);
      const response = await call(name, (await service.tokens(apiKey)).workspaceToken);
      expect([response.message, response.code]).toEqual(["Unauthorized", "FORBIDDEN"]);
    },
  );

  it.each(names.filter((name) => name !== "list"))(
    "W14 %s with a userToken fails with Unauthorized",
    async (name) => {
      const response = await call(name, (await service.tokens()).userToken);
      expect(response.message).toBe("Unauthorized");
    },
  );

  const strict = useService({ settings: { unauthenticatedStatus: 401 } });
  it("W14 a missing token is a 401 with the setting unauthenticatedStatus", async () => {
    const response = await strict.graphql("{ me { __typename } }", {}, { token: null });
    expect([response.status, response.message]).toEqual([401, "Unauthorized"]);
    expect((await strict.graphql("{ me { __typename } }")).status).toBe(200);
  });
});

it("W15 every operation on an endpoint of another workspace fails as for an unknown id", async () => {
  const { endpoint } = await created();
  const options = await service.ownWorkspace();
  const stranger = "00000000-0000-7000-8000-000000000000";
  const uses = (id: string) =>
    Promise.all([
      update({ endpointId: id, description: "mine" }, options),
      update({ endpointId: id }, options),
      remove(id, options),
      rotate({ endpointId: id }, options),
      rotate({ endpointId: id, gracePeriodSeconds: -1 }, options),
    ]);
  const [foreign, unknown] = [await uses(endpoint.id), await uses(stranger)];
  expect(foreign.map(({ text }) => text)).toEqual(unknown.map(({ text }) => text));
  expect([foreign[0].message, foreign[0].code]).toEqual(["Webhook endpoint not found", "NOT_FOUND"]);
  expect(await listAll(100, options)).not.toContain(endpoint.id);
  expect(await listAll(100)).toContain(endpoint.id);
});
