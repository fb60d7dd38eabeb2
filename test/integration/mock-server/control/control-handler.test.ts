import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { contract } from "../../../../mock-server/control/contract.ts";
import { handleControl } from "../../../../mock-server/control/control-handler.ts";
import { methodOf, pathOf, type Route } from "../../../../mock-server/control/route.ts";
import { atDepth } from "../../../support/depth.ts";

const receiverUrl = "http://127.0.0.1:1/webhooks";
const mockIt = mockTest.extend({ mockOptions: { listen: false, clock: "virtual" } });

const rejection = {
  error: { code: expect.any(String), message: expect.any(String), issues: expect.any(Array) },
};

const post = (
  body: string | Uint8Array,
  headers: Record<string, string> = { "content-type": "application/json" },
) => ({ method: "POST", headers, body });

describe("the control API rejects a request", () => {
  mockIt.for([
    ["with a body that is not JSON", 400, post("{")],
    ["with a body that is not UTF-8", 400, post(new Uint8Array([0x7b, 0xff, 0x7d]))],
    ["with a form's content type", 400, post("{}", { "content-type": "text/plain" })],
    ["nested too deeply", 400, post(`{"role":${"[".repeat(5_000)}${"]".repeat(5_000)}}`)],
    ["with the wrong type of a field", 400, post('{"role":"boss"}')],
    ["with an unknown field", 400, post('{"colour":"red"}')],
    ["with an unknown method", 405, { method: "PATCH" }],
  ] as const)("%s", async ([, status, init], { mock }) => {
    const response = await mock.fetch("/_mock/v1/api-keys", init as RequestInit);
    expect(response.status).toBe(status);
    const json = (await response.json()) as { error: { message: string } };
    expect(json).toEqual(rejection);
    expect(json.error.message).not.toMatch(/\.ts|at /);
    expect((await mock.control.listApiKeys()).data).toHaveLength(1);
  });

  mockIt.for(["nothing", "api-keys/1/2", "deliveries/%E0%A4%A"])(
    "at the unknown path %s",
    async (path, { mock }) => {
      expect((await mock.fetch(`/_mock/v1/${path}`)).status).toBeGreaterThanOrEqual(404);
    },
  );
});

it("a body of the control API is read up to its limit", async () => {
  const path = "/_mock/v1/reset";
  const reset = vi.fn();
  const send = (bodyBytesMax: number) => {
    const context = { worlds: { reset } } as never;
    const request = new Request(`http://localhost${path}`, post("{}"));
    return handleControl(request, { path, context, stream: {} as never, bodyBytesMax });
  };
  expect((await send(1)).status).toBe(413);
  expect(reset).not.toHaveBeenCalled();
  expect((await send(2)).status).toBe(204);
  expect(reset).toHaveBeenCalledOnce();
});

describe("GET /openapi.json", () => {
  mockIt("describes every call with its parameters, body and response", async ({ mock }) => {
    const { openapi, paths } = JSON.parse(await (await mock.fetch("/_mock/v1/openapi.json")).text());
    expect(openapi).toBe("3.1.0");
    const operations = Object.entries<Record<string, { operationId: string }>>(paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => [
          operationId,
          `${method.toUpperCase()} ${path}`,
        ]),
    );
    const expected = Object.entries<Route>(contract).map(([name, { call }]) => [name, call]);
    expect(Object.fromEntries(operations)).toEqual({
      getStream: "GET /stream",
      ...Object.fromEntries(expected),
    });
    expect(paths["/clock/advance"].post.requestBody.content["application/json"].schema.required).toEqual([
      "by",
    ]);
    const parameters = paths["/deliveries"].get.parameters.map(({ name }: { name: string }) => name);
    expect(parameters).toEqual(expect.arrayContaining(["order", "limit", "iterator", "status"]));
  });

  mockIt(
    "has no reference but to the error, since those of a recursive schema would lead to nothing",
    async ({ mock }) => {
      const text = await (await mock.fetch("/_mock/v1/openapi.json")).text();
      const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, pointer]) => pointer);
      expect([...new Set(references)]).toEqual(["#/components/schemas/Error"]);
    },
  );
});

// Whatever is sent, the response is one of the API's own: no 500, no stack, and the mock continues.
describe("the control API responds in its own format", () => {
  const json = fc.jsonValue({ maxDepth: 4 });
  const fields = [
    ...[
      "workspaceId",
      "taskType",
      "status",
      "stages",
      "outcome",
      "by",
      "name",
      "payload",
      "documents",
      "connectionId",
    ],
    ...[
      "url",
      "apiKey",
      "count",
      "timeoutMs",
      "api",
      "instructions",
      "chances",
      "kind",
      "steps",
      "do",
      "role",
    ],
    ...["order", "limit", "iterator", "variables"],
  ];
  const body = fc.oneof(json, fc.dictionary(fc.constantFrom(...fields), json));
  const routes = Object.values<Route>(contract);
  // A wait would take its time limit, and a reset would make the ids unknown.
  const fuzzed = routes.filter(({ call }) => !call.endsWith("/wait") && call !== "POST /reset");

  async function setUp(): Promise<{ mock: MockServer; ids: string[] }> {
    const receivers = new Map([[receiverUrl, () => new Response(null, { status: 204 })]]);
    const mock = await createMockServer({ listen: false, clock: "virtual", receivers });
    const { id: endpointId } = await mock.control.createEndpoint({ url: receiverUrl });
    const { taskId, clientId } = await mock.control.startTask({
      taskType: "TAX_PREP",
      progression: "manual",
    });
    const [delivery] = (await mock.control.listDeliveries()).data;
    return { mock, ids: [endpointId, taskId, clientId, delivery?.id ?? "", mock.workspaceId] };
  }

  async function send(mock: MockServer, method: string, path: string, sent?: unknown): Promise<Response> {
    const hasBody = method !== "GET" && method !== "DELETE";
    const init = hasBody ? post(JSON.stringify(sent)) : {};
    const response = await mock.fetch(`/_mock/v1${path}`, { ...init, method });
    const text = await response.clone().text();
    expect(text).not.toMatch(/\n\s+at |\.ts:/);
    expect(response.status, `${method} ${path} ${JSON.stringify(sent)} → ${text}`).toBeLessThan(500);
    if (!response.ok) expect(JSON.parse(text)).toEqual(rejection);
    return response;
  }

  it("to any body sent to any route", async () => {
    const { mock, ids } = await setUp();
    const call = fc.tuple(fc.constantFrom(...fuzzed), fc.constantFrom(...ids, "none"), body);
    await fc.assert(
      fc.asyncProperty(call, async ([route, id, sent]) => {
        await send(mock, methodOf(route), pathOf(route).replace(/\{\w+\}/g, id), sent);
      }),
      { numRuns: atDepth(150, 600), seed: 20_260_115 },
    );
    expect((await mock.control.getHealth()).status).toBe("ok");
    await mock.close();
  });

  it("to any query sent to any list", async () => {
    const { mock } = await setUp();
    const query = fc.dictionary(fc.constantFrom(...fields, "event", "endpointId", "subject"), fc.string());
    const lists = routes.filter((route) => methodOf(route) === "GET" && route.input);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...lists), query, async (route, sent) => {
        await send(mock, "GET", `${pathOf(route)}?${new URLSearchParams(sent)}`);
      }),
      { numRuns: atDepth(50, 200), seed: 20_260_115 },
    );
    await mock.close();
  });

  it("and does what a valid body asks for, so the responses above are not all rejections", async () => {
    const { mock, ids } = await setUp();
    expect((await send(mock, "POST", `/tasks/${ids[1]}/status`, { status: "COMPLETED" })).status).toBe(200);
    await mock.close();
  });
});
