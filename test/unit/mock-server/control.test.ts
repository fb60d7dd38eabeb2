import { describe, expect } from "vitest";
import { createMockServer, type MockServerOptions } from "workspace-tasks/mock-server";
import { mockTest } from "workspace-tasks/mock-server/vitest";
import {
  callControl,
  callGraphql,
  createEndpoint,
  startConnection,
  workspaceToken,
} from "../../support/mock-client.ts";

const receiverUrl = "http://127.0.0.1:1/webhooks";
let answerStatus = 204;
const inProcess: MockServerOptions = {
  listen: false,
  clock: "virtual",
  receivers: new Map([[receiverUrl, () => new Response(null, { status: answerStatus })]]),
};
const test = mockTest.extend({ mockOptions: inProcess });

describe("keys", () => {
  test("are created with what was asked, and listed without the key", async ({ mock }) => {
    const { status, json: key } = await callControl(mock, "POST", "api-keys", {
      role: "l2",
      access: "read_only",
      expiresInDays: 30,
    });
    expect(status).toBe(201);
    expect(key).toMatchObject({ workspaceId: mock.workspaceId, role: "l2", access: "read_only" });
    expect(Date.parse(key.expiresAt) - mock.clock.now()).toBe(30 * 86_400_000);
    const { json: listed } = await callControl(mock, "GET", "api-keys");
    expect(listed.data.map(({ id }: { id: string }) => id)).toContain(key.id);
    expect(JSON.stringify(listed)).not.toContain(key.apiKey);
  });

  test("that were revoked can no longer be exchanged", async ({ mock }) => {
    const { json: key } = await callControl(mock, "POST", "api-keys");
    await workspaceToken(mock, key.apiKey);
    expect((await callControl(mock, "DELETE", `api-keys/${key.id}`)).status).toBe(204);
    await expect(workspaceToken(mock, key.apiKey)).rejects.toThrow("Invalid refresh token");
    expect((await callControl(mock, "DELETE", "api-keys/nobody")).status).toBe(404);
  });

  test("of partners log in at the gateway", async ({ mock }) => {
    const { json: key } = await callControl(mock, "POST", "partner-keys");
    const login = "mutation ($token: String!) { loginViaPersonalApiToken(token: $token) { accessToken } }";
    const data = await callGraphql(mock, login, {
      router: "gateway",
      variables: { token: key.partnerApiKey },
    });
    expect(data.loginViaPersonalApiToken.accessToken).toMatch(/^ey/);
  });

  test("lose their rights with the membership, at once", async ({ mock }) => {
    const { json: key } = await callControl(mock, "POST", "api-keys");
    const token = await workspaceToken(mock, key.apiKey);
    const role = async () =>
      (await callGraphql(mock, "{ me { ... on WorkspaceUser { role } } }", { token })).me.role;
    expect(await role()).toBe("admin");
    await callControl(mock, "PATCH", `memberships/${key.membershipId}`, { role: "l3" });
    expect(await role()).toBe("l3");
    await callControl(mock, "DELETE", `memberships/${key.membershipId}`);
    await expect(role()).rejects.toThrow("Unauthorized");
  });
});

describe("time", () => {
  test("moves by text or milliseconds and fires what is due", async ({ mock }) => {
    const { json: before } = await callControl(mock, "GET", "clock");
    expect(before.mode).toBe("virtual");
    await callControl(mock, "POST", "tasks", { taskType: "TAX_PREP", progression: "timed" });
    const { json: after } = await callControl(mock, "POST", "clock/advance", { by: "3m" });
    expect(Date.parse(after.now) - Date.parse(before.now)).toBe(180_000);
    expect(after.fired).toBeGreaterThan(0);
    await callControl(mock, "POST", "clock/advance", { by: 500 });
    expect(mock.clock.now() - Date.parse(before.now)).toBe(180_500);
  });

  test("that is real cannot be moved", async () => {
    await using mock = await createMockServer({ listen: false });
    const { status, json } = await callControl(mock, "POST", "clock/advance", { by: "1s" });
    expect([status, json.error.code]).toEqual([409, "CLOCK_IS_REAL"]);
  });
});

describe("tasks", () => {
  test("follow the plan they are given", async ({ mock }) => {
    const { json: task } = await callControl(mock, "POST", "tasks", {
      taskType: "TAX_PREP",
      progression: "immediate",
      stages: [{ type: "reading" }, { type: "thinking" }],
      outcome: { status: "FAILED", errorMessage: "no", customerError: { code: "X", action: { type: "Y" } } },
    });
    const { json: after } = await callControl(mock, "GET", `tasks/${task.taskId}`);
    expect(after).toMatchObject({ status: "FAILED", errorMessage: "no" });
    expect(after.subTasks.map(({ subTaskType }: { subTaskType: string }) => subTaskType)).toEqual([
      "reading",
      "thinking",
    ]);
  });

  test("that are manual wait to be told", async ({ mock }) => {
    const { json: task } = await callControl(mock, "POST", "tasks", {
      taskType: "BINDER",
      progression: "manual",
    });
    await callControl(mock, "POST", "clock/advance", { by: "7d" });
    const { json: stage } = await callControl(mock, "POST", `tasks/${task.taskId}/subtasks`, {
      subTaskType: "assembly",
      status: "COMPLETED",
    });
    expect(stage).toMatchObject({ subTaskType: "assembly", status: "COMPLETED" });
    const { json: moved } = await callControl(mock, "POST", `tasks/${task.taskId}/status`, {
      status: "COMPLETED",
    });
    expect(moved.status).toBe("COMPLETED");
    const again = await callControl(mock, "POST", `tasks/${task.taskId}/status`, { status: "RUNNING" });
    expect([again.status, again.json.error.code]).toEqual([409, "CONFLICT"]);
  });

  test("of a client belong to the client's workspace", async ({ mock }) => {
    const { json: first } = await callControl(mock, "POST", "tasks", { taskType: "BINDER" });
    const { json: second } = await callControl(mock, "POST", "tasks", {
      taskType: "TAX_PREP",
      clientId: first.clientId,
    });
    expect(second).toMatchObject({ clientId: first.clientId, workspaceId: mock.workspaceId });
    expect(
      (await callControl(mock, "POST", "tasks", { taskType: "BINDER", clientId: "anonymous" })).status,
    ).toBe(404);
  });
});

describe("events", () => {
  test("of a pull name the documents that were not held yet", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl, ["documents.synced"]);
    const connectionId = await startConnection(mock);
    await callControl(mock, "POST", "tasks", { taskType: "BINDER" });
    const pull = { connectionId, documents: [{ fileName: "w2.pdf" }, { fileName: "1099.pdf" }] };
    const { json: first } = await callControl(mock, "POST", "documents-synced", pull);
    expect(first.inputDocumentIds).toHaveLength(2);
    const { json: second } = await callControl(mock, "POST", "documents-synced", pull);
    expect(second.inputDocumentIds).toEqual([]);
    const { json } = await callControl(mock, "POST", "wait", {
      deliveries: { event: "documents.synced", status: "succeeded", count: 2 },
    });
    expect(json.deliveries).toHaveLength(2);
  });

  test("of the future join the catalog and can then be sent", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl);
    const event = { name: "client.archived", payload: { clientId: "c" } };
    expect((await callControl(mock, "POST", "events", event)).status).toBe(404);
    await callControl(mock, "POST", "catalog", {
      name: "client.archived",
      description: "A client was archived.",
    });
    await callControl(mock, "POST", "events", event);
    await mock.clock.settle();
    const { json } = await callControl(mock, "GET", "deliveries?event=client.archived");
    const { json: delivery } = await callControl(mock, "GET", `deliveries/${json.data[0].id}`);
    expect(JSON.parse(delivery.attempts[0].requestBody)).toMatchObject({
      event: "client.archived",
      clientId: "c",
      workspaceId: mock.workspaceId,
    });
    expect((await callControl(mock, "POST", "catalog", { name: "client.archived" })).status).toBe(409);
  });
});

describe("deliveries", () => {
  test("are listed in pages that are complete and free of repeats, also while more come", async ({
    mock,
  }) => {
    await createEndpoint(mock, receiverUrl);
    for (let count = 0; count < 7; count++) {
      await callControl(mock, "POST", "tasks", { taskType: "BINDER", progression: "manual" });
    }
    const seen: string[] = [];
    let iterator: string | null = "";
    while (iterator !== null) {
      const query = iterator === "" ? "limit=3" : `limit=3&iterator=${iterator}`;
      const { json } = await callControl(mock, "GET", `deliveries?${query}`);
      seen.push(...json.data.map(({ id }: { id: string }) => id));
      iterator = json.iterator;
      if (seen.length === 3)
        await callControl(mock, "POST", "tasks", { taskType: "BINDER", progression: "manual" });
    }
    expect(seen).toHaveLength(8);
    expect(new Set(seen).size).toBe(8);
  });

  test("are filtered by endpoint, event, status and subject", async ({ mock }) => {
    const { endpointId } = await createEndpoint(mock, receiverUrl);
    const { json: task } = await callControl(mock, "POST", "tasks", {
      taskType: "BINDER",
      progression: "immediate",
    });
    await callControl(mock, "POST", "tasks", { taskType: "BINDER", progression: "immediate" });
    await mock.clock.settle();
    const count = async (query: string) =>
      (await callControl(mock, "GET", `deliveries?${query}`)).json.data.length;
    const all = await count("");
    expect(await count(`endpointId=${endpointId}&status=succeeded`)).toBe(all);
    expect(await count("endpointId=other")).toBe(0);
    expect(await count("event=task.completed")).toBe(2);
    expect(await count(`subject=${task.taskId}`)).toBe(all / 2);
    expect((await callControl(mock, "GET", "deliveries?status=lost")).status).toBe(400);
    expect((await callControl(mock, "GET", "deliveries?limit=0")).status).toBe(400);
    expect((await callControl(mock, "GET", "deliveries?colour=red")).json.error.code).toBe("INVALID_QUERY");
  });

  test("keep their id in a replay and get a fresh timestamp and signature", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl, ["task.running"]);
    await callControl(mock, "POST", "tasks", { taskType: "BINDER", progression: "manual" });
    await mock.clock.advance("1h");
    const { json: page } = await callControl(mock, "GET", "deliveries");
    const { json: delivery } = await callControl(mock, "POST", `deliveries/${page.data[0].id}/replay`);
    const [first, replay] = delivery.attempts;
    expect(replay.kind).toBe("replay");
    expect(replay.requestHeaders["webhook-id"]).toBe(first.requestHeaders["webhook-id"]);
    expect(replay.requestHeaders["webhook-signature"]).not.toBe(first.requestHeaders["webhook-signature"]);
    expect(replay.requestBody).toBe(first.requestBody);
    expect((await callControl(mock, "POST", "deliveries/none/replay")).status).toBe(404);
  });

  test("can be waited for, and the wait ends when the time is up", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl, ["task.completed"]);
    const waiting = callControl(mock, "POST", "wait", {
      deliveries: { event: "task.completed", status: "succeeded", count: 1 },
    });
    await callControl(mock, "POST", "tasks", { taskType: "BINDER", progression: "immediate" });
    const { json } = await waiting;
    expect(json.deliveries).toHaveLength(1);
    const inVain = await callControl(mock, "POST", "wait", { deliveries: { count: 9 }, timeoutMs: 5 });
    expect([inVain.status, inVain.json.error.code]).toEqual([408, "WAIT_TIMED_OUT"]);
    expect(inVain.json.error.message).toContain("1 of 9");
  });

  test("that failed say why and when they are tried again", async ({ mock }) => {
    answerStatus = 500;
    try {
      await createEndpoint(mock, receiverUrl, ["task.running"]);
      await callControl(mock, "POST", "tasks", { taskType: "BINDER", progression: "manual" });
      await mock.clock.settle();
      const { json } = await callControl(mock, "GET", "deliveries");
      expect(json.data[0].status).toBe("pending");
      expect(Date.parse(json.data[0].nextAttemptAt) - mock.clock.now()).toBe(5_000);
      const { json: delivery } = await callControl(mock, "GET", `deliveries/${json.data[0].id}`);
      expect(delivery.attempts[0]).toMatchObject({ status: 500, error: expect.stringContaining("500") });
    } finally {
      answerStatus = 204;
    }
  });
});

describe("faults", () => {
  test("are set, told with what is left of them, and ended", async ({ mock }) => {
    const plan = {
      api: [{ operation: "me", instructions: [{ kind: "html" }, { kind: "status", status: 503 }] }],
    };
    await callControl(mock, "PUT", "faults", plan);
    const token = await workspaceToken(mock);
    await expect(callGraphql(mock, "{ me { __typename } }", { token })).rejects.toThrow();
    const { json } = await callControl(mock, "GET", "faults");
    expect(json.plan.api[0].instructions).toEqual([{ kind: "status", status: 503 }]);
    expect(json.fired).toMatchObject([{ side: "api", fault: { kind: "html" }, subject: "me" }]);
    expect((await callControl(mock, "DELETE", "faults")).status).toBe(204);
    await callGraphql(mock, "{ me { __typename } }", { token });
  });

  test("of the contract profile make deliveries repeat, and each still succeeds", async ({ mock }) => {
    await callControl(mock, "PUT", "faults", { profile: "contract" });
    await createEndpoint(mock, receiverUrl);
    for (let count = 0; count < 40; count++) {
      await callControl(mock, "POST", "tasks", { taskType: "TAX_PREP", progression: "immediate" });
    }
    await mock.clock.advance("1d");
    const { json } = await callControl(mock, "GET", "deliveries?limit=1000");
    const statuses = new Set(json.data.map(({ status }: { status: string }) => status));
    expect([...statuses]).toEqual(["succeeded"]);
    expect(json.data.some(({ attemptCount }: { attemptCount: number }) => attemptCount > 1)).toBe(true);
  });

  test("that do not exist are refused with the place of the mistake", async ({ mock }) => {
    const { status, json } = await callControl(mock, "PUT", "faults", {
      api: [{ instructions: [{ kind: "gremlin" }] }],
    });
    expect([status, json.error.code]).toEqual([400, "INVALID_BODY"]);
    expect(JSON.stringify(json.error.issues)).toContain("api");
  });
});

describe("journal and limits", () => {
  test("tell what was asked, why it was refused, and how much is used", async ({ mock }) => {
    const token = await workspaceToken(mock);
    await callGraphql(mock, "query Who { me { __typename } }", { token });
    await expect(callGraphql(mock, "{ me { __typename } }", { token: "nonsense" })).rejects.toThrow();
    const { json: journal } = await callControl(mock, "GET", "requests");
    expect(journal.data.map(({ operations }: { operations: string[] }) => operations[0])).toEqual([
      "exchangeSurfaceRefreshTokenForAccessTokens",
      "me",
      "me",
    ]);
    expect(journal.data[1]).toMatchObject({ operationName: "Who", caller: "member", rejection: null });
    expect(journal.data[2].rejection).toContain("not issued");
    expect(JSON.stringify(journal)).not.toContain(mock.apiKey);
    const { json: limits } = await callControl(mock, "GET", "limits");
    expect(limits.data).toMatchObject([{ used: 1, remaining: 119 }]);
  });
});

describe("uploads", () => {
  test("are listed with what has come of them", async ({ mock }) => {
    const headers = {
      "tus-resumable": "1.0.0",
      authorization: `Bearer ${await workspaceToken(mock)}`,
      "upload-length": "9",
      "upload-metadata": `filename ${btoa("w2.pdf")}`,
      "content-type": "application/offset+octet-stream",
    };
    await mock.fetch("/api/uploads", { method: "POST", headers, body: "abc" });
    const { json } = await callControl(mock, "GET", "uploads");
    expect(json.data).toMatchObject([
      {
        fileName: "w2.pdf",
        lengthBytes: 9,
        offsetBytes: 3,
        completedAt: null,
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      },
    ]);
    expect(() => mock.admin.uploadContent("none")).toThrow("Upload not found");
  });
});

describe("the mock", () => {
  test("is healthy and tells its version, time and workspaces", async ({ mock }) => {
    const { json: health } = await callControl(mock, "GET", "health");
    expect(health).toMatchObject({ status: "ok", now: new Date(mock.clock.now()).toISOString() });
    const { json: workspaces } = await callControl(mock, "GET", "workspaces");
    expect(workspaces.data).toMatchObject([{ id: mock.workspaceId, status: "active" }]);
  });

  test("does in this process what it does over HTTP", async ({ mock }) => {
    const { apiKey: _, ...overHttp } = (await callControl(mock, "POST", "api-keys", { role: "l1" })).json;
    const { apiKey: __, ...inProcess } = mock.admin.createApiKey({ role: "l1" });
    expect(Object.keys(inProcess).sort()).toEqual(Object.keys(overHttp).sort());
    expect(mock.admin.apiKeys()).toEqual((await callControl(mock, "GET", "api-keys")).json.data);
    expect(mock.admin.limits()).toEqual((await callControl(mock, "GET", "limits")).json.data);
    expect(mock.admin.requests()).toEqual((await callControl(mock, "GET", "requests")).json);
  });
});

describe("a call of the control API is refused", () => {
  const post = (
    body: string | Uint8Array,
    headers: Record<string, string> = { "content-type": "application/json" },
  ) => ({
    method: "POST",
    headers,
    body,
  });
  test.for([
    ["from a foreign Host", 403, { headers: { host: "evil.example" } }],
    ["from a Host that only begins like ours", 403, { headers: { host: "localhost.evil.example" } }],
    ["from a page of another origin", 403, { headers: { origin: "https://evil.example" } }],
    ["from a page without an origin of its own", 403, { headers: { origin: "null" } }],
    ["from a page that says so itself", 403, { headers: { "sec-fetch-site": "cross-site" } }],
    ["with a body that is not JSON", 400, post("{")],
    ["with a body that is not UTF-8", 400, post(new Uint8Array([0x7b, 0xff, 0x7d]))],
    ["with a form's content type", 400, post("{}", { "content-type": "text/plain" })],
    ["with the wrong type of a field", 400, post('{"role":"boss"}')],
    ["with a field that there is not", 400, post('{"colour":"red"}')],
    ["with a method that there is not", 405, { method: "PATCH" }],
  ] as const)("%s", async ([, status, init], { mock }) => {
    const response = await mock.fetch("/_mock/v1/api-keys", init as RequestInit);
    expect(response.status).toBe(status);
    const { error } = (await response.json()) as {
      error: { code: string; message: string; issues: unknown[] };
    };
    expect(error).toEqual({
      code: expect.any(String),
      message: expect.any(String),
      issues: expect.any(Array),
    });
    expect(error.message).not.toMatch(/\.ts|at /);
    expect(mock.admin.apiKeys()).toHaveLength(1);
  });

  test("at a path that there is not", async ({ mock }) => {
    for (const path of ["nothing", "api-keys/1/2", "deliveries/%E0%A4%A"]) {
      expect((await callControl(mock, "GET", path)).status).toBeGreaterThanOrEqual(404);
    }
  });

  test("when its body is larger than the bound", async ({ mock }) => {
    const { handleControl } = await import("../../../mock-server/control/control-handler.ts");
    const request = new Request("http://localhost/_mock/v1/api-keys", post(" ".repeat(100)));
    const response = await handleControl(request, {
      admin: mock.admin,
      bodyBytesMax: 99,
      stream: () => new Response(),
    });
    expect(response.status).toBe(413);
  });
});

test("a call from the mock's own page, by any loopback name, is served", async ({ mock }) => {
  for (const host of ["localhost:4010", "127.0.0.1:4010", "[::1]:4010", "mock.localhost"]) {
    const headers = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
    expect((await mock.fetch("/_mock/v1/health", { headers })).status).toBe(200);
  }
});

test("a host name that was allowed is served, any other is not", async () => {
  await using mock = await createMockServer({ ...inProcess, hostsAllowed: ["mock.internal"] });
  const status = async (host: string) => (await mock.fetch("/_mock/v1/health", { headers: { host } })).status;
  expect(await status("mock.internal:4010")).toBe(200);
  expect(await status("other.internal:4010")).toBe(403);
});

test("the OpenAPI document describes every call with its parameters, body and answer", async ({ mock }) => {
  const { json } = await callControl(mock, "GET", "openapi.json");
  expect(json.openapi).toBe("3.1.0");
  const calls = Object.entries(json.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  for (const call of [
    "GET /health",
    "POST /api-keys",
    "DELETE /api-keys/{id}",
    "POST /partner-keys",
    "PATCH /memberships/{id}",
    "POST /clock/advance",
    "POST /tasks/{id}/subtasks",
    "POST /documents-synced",
    "POST /catalog",
    "POST /events",
    "POST /deliveries/{id}/replay",
    "POST /wait",
    "PUT /faults",
    "GET /requests",
    "GET /limits",
    "POST /reset",
    "PUT /snapshot",
    "GET /stream",
  ]) {
    expect(calls).toContain(call);
  }
  const operations = Object.values(
    json.paths as Record<string, Record<string, { operationId: string }>>,
  ).flatMap((methods) => Object.values(methods));
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const advance = json.paths["/clock/advance"].post;
  expect(advance.requestBody.content["application/json"].schema.required).toEqual(["by"]);
  expect(json.paths["/deliveries"].get.parameters.map(({ name }: { name: string }) => name)).toContain(
    "limit",
  );
});
