import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { build as buildWithEsbuild } from "esbuild";
import { build as buildWithVite } from "vite";
import { afterAll, beforeAll, expect } from "vitest";
import { describeWithChromium as describe, itWithChromium as it } from "../../support/with-chromium.ts";
import { sharedChromium } from "../browser/support/chromium.ts";

// A page that imports the SDK as built, so this needs a build.
const program = `import { createClient, diagnosticsChannels } from "@workspace-tasks/sdk";

export async function run(baseUrl, apiKey) {
  const client = createClient({ baseUrl, apiKey, dangerouslyAllowBrowser: true });
  const me = await client.me();
  const body = new Blob(["%PDF-1.7", " and so on"]).stream();
  const file = { fileName: "w2 \\u03a9.pdf", mimeType: "application/pdf", chunkBytes: 5 };
  const { uploadId, sizeBytes } = await client.uploads.upload(body, file);
  const input = { name: "Ann", externalId: uploadId, returnType: "F1040", taxYear: 2025, uploadIds: [uploadId] };
  const { taskId } = await client.taxClients.create(input);
  const listed = await client.tasks.list({ ids: [taskId] }).toArray();
  await client.close();
  return JSON.stringify({
    as: me.__typename,
    sizeBytes,
    isListed: listed.some(({ id }) => id === taskId),
    channels: diagnosticsChannels.length,
  });
}`;
const expected = { as: "WorkspaceUser", sizeBytes: 18, isListed: true, channels: 8 };

let folder: string;
let entry: string;
let mock: MockServer;
beforeAll(async () => {
  // Inside the repository, so that the program finds the package.
  const parent = resolve(import.meta.dirname, "../../../.tmp");
  mkdirSync(parent, { recursive: true });
  folder = mkdtempSync(join(parent, "page-"));
  entry = join(folder, "program.mjs");
  writeFileSync(entry, program);
  mock = await createMockServer();
});
afterAll(async () => {
  await mock.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One script that defines the global `program`. */
const bundlers: Record<string, () => Promise<string>> = {
  async esbuild() {
    const { outputFiles } = await buildWithEsbuild({
      entryPoints: [entry],
      bundle: true,
      platform: "browser",
      format: "iife",
      globalName: "program",
      write: false,
      logLevel: "silent",
    });
    return outputFiles[0]?.text ?? "";
  },
  async Vite() {
    const built = await buildWithVite({
      root: folder,
      configFile: false,
      logLevel: "silent",
      build: { write: false, minify: false, lib: { entry, formats: ["iife"], name: "program" } },
    });
    const [{ output }] = built as unknown as [{ output: [{ code: string }] }];
    return output[0].code;
  },
};

/** Runs the program in a page of the mock's own origin, with a script that a bundler has built. */
async function runInPage(bundle: () => Promise<string>): Promise<unknown> {
  const context = await (await sharedChromium()).newContext();
  try {
    const page = await context.newPage();
    const html = `<!doctype html><meta charset="utf-8"><script>${await bundle()}</script>`;
    await page.route(`${mock.baseUrl}/page`, (route) =>
      route.fulfill({ contentType: "text/html", body: html }),
    );
    await page.goto(`${mock.baseUrl}/page`);
    const call = `program.run(${JSON.stringify(mock.baseUrl)}, ${JSON.stringify(mock.apiKey)})`;
    return JSON.parse(await page.evaluate(call));
  } finally {
    await context.close();
  }
}

describe.each(Object.entries(bundlers))("a page that %s has built", (_, bundle) => {
  it("the SDK calls the service, uploads and lists in a page of Chromium", async () => {
    expect(await runInPage(bundle)).toEqual(expected);
  });
});
