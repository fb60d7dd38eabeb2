import { afterEach, describe, expect, it, vi } from "vitest";
import { createClient } from "../../../../sdk/client.ts";
import type { Fetch, FetchInit } from "../../../../sdk/request/fetch.ts";
import { createUploads } from "../../../../sdk/uploads/uploads.ts";
import {
  clientOptionsOf,
  createFakeEngine,
  createTestEngine,
  probe,
} from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { createFakeTusService } from "../uploads/fake-tus-service.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** What each request says about redirects and stores. */
function recording(fetch: Fetch) {
  const seen: Pick<FetchInit, "method" | "redirect" | "cache">[] = [];
  const record: Fetch = (url, init) => {
    const { method, redirect, cache } = init;
    seen.push({ method, redirect, ...(cache && { cache }) });
    return fetch(url, init);
  };
  return { seen, record };
}

describe("a request", () => {
  it("may not be answered from a store, nor be sent elsewhere: exchange, query, mutation", async () => {
    const { apiKey, baseUrl, fetch } = createFakeService();
    const { seen, record } = recording(fetch);
    const engine = createTestEngine({ apiKey, baseUrl, fetch: record });
    await engine.execute(probe.query, {});
    await engine.execute(probe.mutation, {});
    expect(seen).toEqual(Array(3).fill({ method: "POST", redirect: "manual", cache: "no-store" }));
  });

  it("of an upload neither", async () => {
    const engine = createFakeEngine();
    const { fetch } = createFakeTusService({
      fault: (request) => (request === 1 ? { response: "cut" } : undefined),
    });
    const { seen, record } = recording(fetch as Fetch);
    const uploads = createUploads(engine, { ...clientOptionsOf(engine), fetch: record });
    const upload = uploads.upload(new Uint8Array(15), { fileName: "a", mimeType: "b", chunkBytes: 10 });
    await engine.clock.runUntil(upload);
    expect(seen.map(({ method }) => method)).toEqual(["POST", "PATCH", "HEAD", "PATCH"]);
    for (const each of seen) expect(each).toMatchObject({ redirect: "manual", cache: "no-store" });
  });

  it("says nothing of stores in a runtime that throws for it, as workerd before 2024-11-11", async () => {
    class OldRequest {
      constructor(_: string, init: object) {
        if ("cache" in init)
          throw new Error("The 'cache' field on 'RequestInitializerDict' is not implemented.");
      }
    }
    vi.stubGlobal("Request", OldRequest);
    const { requestDefaults } = await import("../../../../sdk/request/fetch.ts");
    expect(requestDefaults()).toEqual({ redirect: "manual" });
  });
});

it("an error by which Next.js recognises a page to render per request keeps its digest, and is not tried again", async () => {
  let requests = 0;
  const fetch = async () => {
    requests += 1;
    throw Object.assign(new Error("Dynamic server usage"), { digest: "DYNAMIC_SERVER_USAGE" });
  };
  const options = { apiKey: "key_1234567890", baseUrl: "https://api.example.com", fetch };
  const failed = createClient(options).me();
  await expect(failed).rejects.toMatchObject({ code: "NETWORK_FAILED", digest: "DYNAMIC_SERVER_USAGE" });
  expect(requests).toBe(1);
});
