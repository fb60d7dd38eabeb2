import { createControlClient } from "@workspace-tasks/mock-server";
import { mockMatchers, mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";
import { callGraphql } from "../../../support/mock-client.ts";
import { loadedModules } from "../../../support/running-program.ts";

const it = mockTest.extend({ mockOptions: { listen: false } });

const catalog = "{ webhookEventCatalog { name } }";

describe("the matchers for vitest", () => {
  it("toHaveReceivedRequest takes a mock, a world and a control client", async ({ mock }) => {
    await callGraphql(mock, catalog);
    const control = createControlClient({ baseUrl: mock.baseUrl, fetch: mock.fetch });
    const expected = { operation: "webhookEventCatalog" };
    for (const received of [mock, control, mock.control])
      await expect(received).toHaveReceivedRequest(expected);
    await expect(await mock.worlds.create()).not.toHaveReceivedRequest(expected);
    await expect(mock).toHaveReceivedRequest({ ...expected, times: 1 });
  });

  it("fail with the nearest requests, also with not", async ({ mock }) => {
    await callGraphql(mock, catalog);
    await expect(expect(mock).toHaveReceivedRequest({ operation: "me", timeoutMs: 1 })).rejects.toThrow(
      'operation: expected "me", got "webhookEventCatalog"',
    );
    await expect(expect(mock).not.toHaveReceivedRequest()).rejects.toThrow(
      "expected exactly 0 matching requests, got 1",
    );
    await expect(expect(mock).toHaveDelivery({ timeoutMs: 1 })).rejects.toThrow(
      "there is no delivery at all",
    );
    await expect(expect(mock).not.toHaveDelivery({ evnt: "x" } as object)).rejects.toThrow(
      "did you mean event?",
    );
    await expect(expect(7).toHaveDelivery()).rejects.toThrow("expected a mock, a world or a control client");
  });
});

describe("the entry point for Jest", () => {
  it("extends the global expect, and loads neither vitest nor a package of Jest", async () => {
    const modules = await loadedModules(`
      const extended = [];
      globalThis.expect = { extend: (matchers) => extended.push(...Object.keys(matchers)) };
      const { mockMatchers } = await import("@workspace-tasks/mock-server/jest");
      if (extended.join() !== ${JSON.stringify(Object.keys(mockMatchers).join())}) throw new Error(extended.join());
      if (extended.join() !== Object.keys(mockMatchers).join()) throw new Error("other matchers");
    `);
    expect(modules.some((url) => url.endsWith("/mock-server/adapters/jest.ts"))).toBe(true);
    expect(modules.filter((url) => /node_modules\/(vitest|@vitest|jest|@jest|expect)\//.test(url))).toEqual(
      [],
    );
  });
});
