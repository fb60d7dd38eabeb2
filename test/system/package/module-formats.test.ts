// The packed tarball as programs with other settings than this repository's see it. Nothing is downloaded; what needs
// other tools (Jest, NestJS, TypeScript) is in test/projects.
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { createMockServer } from "@workspace-tasks/mock-server";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { packages } from "../../../scripts/packages.ts";
import { deadLinks } from "../../support/documents.ts";
import { loadedModules } from "../../support/running-program.ts";
import { PackedProject } from "./packed-project.ts";

const project = new PackedProject("express");

/** What a CommonJS program prints. */
async function run(text: string, ...flags: readonly string[]): Promise<string> {
  const { output } = await project.run(
    ...flags,
    "--input-type=commonjs",
    "-e",
    `(async () => {${text}\n})()`,
  );
  return output.trim();
}
// Node then resolves `require` as Jest and bundlers do: to the CommonJS build.
const commonJs = "--no-experimental-require-module";

const isDocument = (path: string) => path.endsWith(".md");

describe("the packed tarballs", () => {
  it.each(packages)(
    "$name contains the target of every link in its documents that leads into it",
    ({ name }) => {
      const folder = project.folderOf(name);
      const documents = readdirSync(folder, { recursive: true }).map(String).filter(isDocument);
      expect(documents).toContain("README.md");
      expect(deadLinks(folder, documents)).toEqual([]);
    },
  );

  it.each(packages)(
    "$name has every entry point as CommonJS but those that are ES modules only",
    async ({ name, entries }) => {
      const others = entries.filter(({ esmOnly, path }) => !esmOnly && path !== "./msw");
      const text = others.map(
        ({ path }) => `console.log(Object.keys(require("${path.replace(".", name)}")).length > 0);`,
      );
      const loaded =
        "console.log(Object.keys(require.cache).filter((path) => /workspace-tasks.*dist/.test(path)).every((path) => path.endsWith('.cjs')))";
      const output = await run(`${text.join("")}${loaded}`, commonJs);
      expect(output.split("\n")).toEqual([...others, "loaded"].map(() => "true"));
    },
  );
});

it("the packed SDK loads at most five files for calls, nothing of an import, and no other package", async () => {
  await using mock = await createMockServer();
  const env = {
    WORKSPACE_TASKS_BASE_URL: mock.baseUrl,
    WORKSPACE_TASKS_GATEWAY_URL: mock.gatewayUrl,
    WORKSPACE_TASKS_API_KEY: mock.apiKey,
    WORKSPACE_TASKS_PARTNER_API_KEY: mock.partnerApiKey,
  };
  const walk = JSON.stringify(pathToFileURL("test/projects/programs/walk.mjs"));
  const loaded = await loadedModules(
    `const sdk = await import("@workspace-tasks/sdk");
    console.log(await (await import(${walk})).walk(sdk, ${JSON.stringify(env)}));`,
    project.folder,
  );
  expect(loaded).toContain("all steps passed");
  const packaged = loaded.filter((url) => url.includes("/node_modules/"));
  const own = packaged.map((url) => /\/@workspace-tasks\/sdk\/(dist\/.*)/.exec(url)?.[1] ?? url);
  expect(own[0]).toBe("dist/index.js");
  expect(own.length).toBeLessThanOrEqual(5);
  expect(own.filter((file) => !file.startsWith("dist/") || /import-run|wait-for-tasks/.test(file))).toEqual(
    [],
  );
  // Node's crypto costs as much as all of the SDK; fetch loads it when the first call is sent.
  expect(loaded).not.toContain("node:crypto");
});

it("the packed SDK can be imported where globals of the web are missing, as jsdom in Jest", async () => {
  const missing = ["TextEncoder", "TextDecoder", "fetch", "Headers", "Request", "Response", "ReadableStream"];
  const output = await run(
    `for (const name of ${JSON.stringify([...missing, "structuredClone", "performance"])}) delete globalThis[name];
    console.log(typeof require("@workspace-tasks/sdk").createClient);`,
    commonJs,
  );
  expect(output).toBe("function");
});

describe("import and require in one process", () => {
  it("import and require get the same module on Node, which can require an ES module", async () => {
    const same =
      'console.log((await import("@workspace-tasks/sdk")).createClient === require("@workspace-tasks/sdk").createClient)';
    expect(await run(same)).toBe("true");
    expect(await run(same, commonJs)).toBe("false");
  });

  const bothCopies = `
    const load = async (name) => [await import("@workspace-tasks/" + name), require("@workspace-tasks/" + name)];
    const [esm, cjs] = await load("sdk");
    const [esmMock, cjsMock] = await load("mock-server");
    const [esmKit, cjsKit] = await load("receiver-kit");`;
  const runBoth = (text: string) => run(bothCopies + text, commonJs);

  it("two copies of the package recognise each other's errors", async () => {
    const output = await runBoth(`
      const errorOf = (call) => { try { call(); } catch (error) { return error; } };
      console.log(
        esm.isWorkspaceTasksError(errorOf(() => cjs.createClient({})), "CONFIGURATION_INVALID"),
        cjs.isWorkspaceTasksError(errorOf(() => esm.createClient({})), "CONFIGURATION_INVALID"),
        esmKit.isReceiverError(new cjsKit.NonRetryableError(""), "NON_RETRYABLE"),
        esmMock.isMockServerError(await cjsMock.createMockServer({ port: "x" }).catch((error) => error)),
      );`);
    expect(output).toBe("true true true true");
  });

  it("two copies of the package share the rate limit of a key, and give their mocks different URLs", async () => {
    const output = await runBoth(`
      const mocks = await Promise.all([esmMock, cjsMock].map(({ createMockServer }) => createMockServer({ listen: false, seed: 1 })));
      const [{ baseUrl, apiKey, fetch }, other] = mocks;
      const clients = [esm, cjs].map(({ createClient }) => createClient({ baseUrl, apiKey, fetch }));
      for (const client of clients) await client.me();
      console.log(clients.map((client) => client.rateLimit().used).join(), baseUrl === other.baseUrl);
      await Promise.all([...clients, ...mocks].map((each) => each.close()));`);
    expect(output).toBe("2,2 false");
  });

  it("a middleware of one copy rejects for a receiver of the other as for its own", async () => {
    const output = await runBoth(`
      const { webhookMiddleware } = require("@workspace-tasks/receiver-kit/express");
      const rejected = [];
      const receiver = esmKit.createReceiver({
        secrets: ["whsec_" + Buffer.alloc(32).toString("base64")],
        inbox: esmKit.memoryInbox(),
        onRejected: ({ code }) => rejected.push(code),
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      });
      const server = require("node:http").createServer(webhookMiddleware(receiver)).listen(0, "127.0.0.1", async () => {
        const { status } = await fetch("http://127.0.0.1:" + server.address().port, { method: "POST", body: "{}" });
        console.log(status, rejected.join());
        server.close();
        await receiver.close();
      });`);
    expect(output).toBe("400 HEADER_MISSING");
  });
});

it("a minified handler with a client has the documented weight, at most 75 KB, and nothing of graphql-js", async () => {
  const handler = join(project.folder, "handler.mjs");
  await writeFile(
    handler,
    `import { createClient } from "@workspace-tasks/sdk";
const client = createClient({ baseUrl: "https://service.example", apiKey: process.env.KEY });
export default () => client.me();`,
  );
  const bundle = await rolldown({ input: handler, platform: "node" });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  await bundle.close();
  const [{ code, moduleIds }] = output;
  expect(moduleIds.filter((id) => /node_modules.graphql\b(?!-)/.test(id))).toEqual([]);
  expect(Buffer.byteLength(code)).toBeLessThan(75_000);
  const [, minifiedKb, gzippedKb] =
    /about (\d+) KB minified, (\d+) KB gzipped/.exec(await readFile("docs/compatibility.md", "utf8")) ?? [];
  expect(Math.abs(Buffer.byteLength(code) / 1000 - Number(minifiedKb)), `${code.length} bytes`).toBeLessThan(
    3,
  );
  expect(Math.abs(gzipSync(code).byteLength / 1000 - Number(gzippedKb)), "gzipped").toBeLessThan(1.5);
  expect(code).toContain("service.example");
});
