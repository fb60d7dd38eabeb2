import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { createMockServer } from "@workspace-tasks/mock-server";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { visitMock } from "../../support/mock-visit.ts";

const root = join(import.meta.dirname, "../../..");

/** Bundles a module for browsers, without anything in the place of a module of Node. */
async function bundleForBrowsers(contents: string) {
  const built = await build({
    stdin: { contents, resolveDir: root, loader: "ts" },
    bundle: true,
    write: false,
    metafile: true,
    platform: "browser",
    conditions: ["workspace-tasks-source"],
    logLevel: "silent",
  });
  return {
    code: built.outputFiles.map(({ text }) => text).join(""),
    imports: Object.values(built.metafile.outputs).flatMap(({ imports }) => imports),
  };
}

const names = [
  ...["AbortController", "AbortSignal", "Blob", "Headers", "MessageChannel", "ReadableStream", "Request"],
  ...["Response", "TextDecoder", "TextEncoder", "URL", "URLSearchParams", "atob", "btoa", "clearTimeout"],
  ...["console", "performance", "queueMicrotask", "setTimeout", "structuredClone"],
] as const;

/** The globals of a worker in a browser; a timer is a number there. */
function webGlobals(): Record<string, unknown> {
  const timers = new Map<number, NodeJS.Timeout>();
  return {
    ...Object.fromEntries(names.map((name) => [name, globalThis[name]])),
    setTimeout: (run: () => void, delayMs: number) => {
      timers.set(timers.size + 1, setTimeout(run, delayMs));
      return timers.size;
    },
    clearTimeout: (id: number) => clearTimeout(timers.get(id)),
  };
}

describe("the mock in a browser", () => {
  it("is bundled without a module of Node, unlike the mock of Node", async () => {
    const { imports } = await bundleForBrowsers('export { createMock } from "./mock-server/create-mock.ts";');
    expect(imports).toEqual([]);
    const ofNode = bundleForBrowsers('export { createMockServer } from "./mock-server/server.ts";');
    await expect(ofNode).rejects.toThrow('Could not resolve "node:http"');
  });

  it("has the same keys, tokens, signatures, faults and state as in Node", async () => {
    const { code } = await bundleForBrowsers(`
      import { webPlatform } from "./docs/playground/worker/web-platform.ts";
      import { createMock } from "./mock-server/create-mock.ts";
      import { visitMock } from "./test/support/mock-visit.ts";
      globalThis.visit = () => visitMock((options) => createMock(options, webPlatform));
    `);
    const context = createContext(webGlobals());
    runInContext(code, context);
    const inBrowser = await (context["visit"] as () => Promise<string>)();
    const inNode = await visitMock(createMockServer);
    expect(JSON.parse(inBrowser)).toEqual(JSON.parse(inNode));
    expect(JSON.parse(inNode).signatures.length).toBeGreaterThan(0);
  });
});
