import { inspect } from "node:util";
import { isWorkspaceTasksError, type WorkspaceTasksError } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { createScriptedService } from "../../../support/scripted-service.ts";

const me = { __typename: "User", id: "u" };
const rejected = {
  message: "name is taken",
  locations: [{ line: 1, column: 2 }, { line: "x" }],
  path: ["createWorkspace"],
  extensions: { code: "CONFLICT", field: "name", detail: { token: "Bearer abc.def" } },
};

async function errorOf(promise: Promise<unknown>): Promise<WorkspaceTasksError> {
  const error = await promise.catch((cause: unknown) => cause);
  if (!isWorkspaceTasksError(error)) throw new Error("expected an error of the SDK");
  return error;
}

describe("the metadata of a result", () => {
  it("contains status, request id, headers and extensions of the last response", async () => {
    const { client } = createScriptedService([
      () => new Response("", { status: 502, headers: { "x-request-id": "first" } }),
      () =>
        Response.json(
          { data: { me }, extensions: { cost: 3 } },
          { headers: { "X-Request-Id": "second", "x-region": "eu" } },
        ),
    ]);
    const { data, meta } = await client.me().withMeta();
    expect(data).toEqual(me);
    expect(meta).toEqual({
      attempts: 2,
      queuedMs: 0,
      httpStatus: 200,
      requestId: "second",
      headers: { "content-type": "application/json", "x-request-id": "second", "x-region": "eu" },
      extensions: { cost: 3 },
    });
    await client.close();
  });

  it("finds the request id in the extensions, and is empty without any", async () => {
    const { client } = createScriptedService([
      () => Response.json({ data: { me }, extensions: { requestId: "r-1" } }),
      () => new Response(JSON.stringify({ data: { me } })),
    ]);
    expect((await client.me().withMeta()).meta.requestId).toBe("r-1");
    const { meta } = await client.me().withMeta();
    expect(meta).toMatchObject({ requestId: undefined, extensions: undefined });
    await client.close();
  });

  it("contains no cookie, key, token or signing secret, and a limited number of bytes", async () => {
    const apiKey = "key_8f3a9d2c71";
    const respond = () => {
      const headers = new Headers({ "x-echo": apiKey, "x-request-id": "workspace-token-1" });
      headers.append("set-cookie", "session=1");
      const deep = {
        secret: "whsec_AAAA",
        long: "x".repeat(50_000),
        a: { b: { c: { d: { e: { f: 1 } } } } },
      };
      return Response.json({ data: { me }, extensions: { deep, many: Array(500).fill(1) } }, { headers });
    };
    const { client } = createScriptedService([respond], { apiKey });
    const text = JSON.stringify((await client.me().withMeta()).meta);
    expect(text).not.toMatch(/key_8f3a9d2c71|workspace-token-1|whsec_AAAA|session=1/);
    expect(text).toContain('"x-echo":"[redacted]"');
    expect(text.length).toBeLessThan(3_000);
    await client.close();
  });
});

describe("an error", () => {
  it("contains request id, headers, extensions, and those of each entry of errors", async () => {
    const { client } = createScriptedService([
      () =>
        Response.json(
          { data: null, errors: [rejected], extensions: { trace: "t" } },
          { headers: { "request-id": "r-2" } },
        ),
    ]);
    const error = await errorOf(client.request("mutation M { createWorkspace { id } }"));
    expect(error).toMatchObject({ code: "CONFLICT", requestId: "r-2", extensions: { trace: "t" } });
    expect(error.headers["request-id"]).toBe("r-2");
    expect(error.errors).toEqual([
      {
        message: "name is taken",
        path: ["createWorkspace"],
        code: "CONFLICT",
        extensions: { code: "CONFLICT", field: "name", detail: { token: "[redacted]" } },
      },
    ]);
    expect(error.toJSON()["requestId"]).toBe("r-2");
    expect(inspect(error)).toContain("requestId: 'r-2'");
    expect(inspect(error)).not.toContain("trace");
    await client.close();
  });

  it("finds the request id in the extensions of the first entry of errors", async () => {
    const { client } = createScriptedService([
      () => Response.json({ errors: [{ message: "no", extensions: { requestId: "r-3" } }] }),
    ]);
    expect(await errorOf(client.me())).toMatchObject({ requestId: "r-3" });
    await client.close();
  });

  it.each([
    ["an unexpected page", () => new Response("<html>", { headers: { "x-request-id": "r" } })],
    ["a rejected token", () => new Response("", { status: 401, headers: { "x-request-id": "r" } })],
    [
      "a cut body",
      () => {
        const body = new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) });
        return new Response(body, { headers: { "x-request-id": "r" } });
      },
    ],
  ])("has the request id of %s", async (_what, respond) => {
    const { client } = createScriptedService([respond], { maxRetries: 0 });
    expect(await errorOf(client.me())).toMatchObject({ requestId: "r" });
    await client.close();
  });

  it("without a response has no headers, no extensions and prints no empty fields", async () => {
    const { client } = createScriptedService([], { maxRetries: 0 });
    const error = await errorOf(client.me());
    expect([error.headers, error.extensions, "requestId" in error]).toEqual([{}, undefined, false]);
    await client.close();
  });
});
