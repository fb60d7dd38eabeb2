import { afterEach, describe, expect, it, vi } from "vitest";
import type { Fetch, FetchInit } from "../../../../sdk/request/fetch.ts";
import { createUploads } from "../../../../sdk/uploads/uploads.ts";
import {
  clientOptionsOf,
  createFakeEngine,
  createTestEngine,
  probe,
} from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { advanceUntilSettled } from "../../../support/sdk-fixture.ts";
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
    await advanceUntilSettled(engine.clock, upload);
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
