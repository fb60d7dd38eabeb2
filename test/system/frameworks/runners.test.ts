import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { freePort, listen } from "../../support/listen.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { chromiumMissing, launchOptions } from "../browser/support/chromium.ts";

const noBrowser = await chromiumMissing();

const recipes = join(import.meta.dirname, "../../../examples/frameworks");
const modules = join(recipes, "node_modules");
const mock = [join(modules, "workspace-tasks/bin/workspace-tasks.js"), "mock", "exec", "--"];

describe("the test of an application", () => {
  it("the test of an application passes in Jest, with webhooks and virtual time", async () => {
    const args = [join(modules, "jest/bin/jest.js"), "--config", "runners/jest.config.json"];
    using program = new RunningProgram(args, { cwd: recipes });
    const { code, output } = await program.ended();
    expect(output).toMatch(/1 passed/);
    expect(code).toBe(0);
  });

  it.skipIf(noBrowser)("the test of a page passes in Playwright, as the recipe shows it", async () => {
    const folder = join(recipes, "dist/playwright");
    await mkdir(folder, { recursive: true });
    const ports = { "3000": String(await freePort()), "4010": String(await freePort()) };
    // Word by word, but for the ports, which may be in use here, and the browser, which is not Playwright's own.
    for (const file of ["playwright.config.ts", "playwright-tasks.ts"]) {
      const text = await readFile(join(recipes, "runners", file), "utf8");
      const own = text
        .replaceAll(/\b(3000|4010)\b/g, (port) => ports[port as keyof typeof ports])
        .replace("use: {", `use: { launchOptions: ${JSON.stringify(launchOptions())},`);
      await writeFile(join(folder, file), own);
    }
    const cli = join(modules, "@playwright/test/cli.js");
    const output = ["--output", join(folder, "results")];
    const config = ["--config", join(folder, "playwright.config.ts")];
    using program = new RunningProgram([cli, "test", ...config, ...output], {
      cwd: recipes,
      env: { PORT: ports["3000"] },
    });
    const { code, output: printed } = await program.ended();
    expect(printed).toMatch(/2 passed/);
    expect(code).toBe(0);
  });
});

it("a client with a proxy sends every request through it", async () => {
  const tunnels: string[] = [];
  const proxy = createServer((incoming, response) => {
    tunnels.push(incoming.url ?? "");
    const { method, headers, url = "" } = incoming;
    incoming.pipe(
      httpRequest(url, { method, headers }, (served) => {
        response.writeHead(served.statusCode ?? 502, served.headers);
        served.pipe(response);
      }),
    );
  });
  proxy.on("connect", ({ url = "" }, socket) => {
    tunnels.push(url);
    const [host, port] = url.split(":");
    const target = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      target.pipe(socket).pipe(target);
    });
  });
  await using listening = await listen(proxy);
  using program = new RunningProgram([...mock, process.execPath, join(recipes, "dist/http-proxy.js")], {
    env: { HTTPS_PROXY: listening.origin },
  });
  const { code, output } = await program.ended();
  expect(output).toContain("WorkspaceUser");
  expect(code).toBe(0);
  expect(tunnels.length).toBeGreaterThan(0);
});

it("a server component of Next.js calls the service", async () => {
  const port = await freePort();
  const next = [join(modules, "next/dist/bin/next"), "start", join(recipes, "next"), "--port", String(port)];
  const secret = `WORKSPACE_TASKS_SIGNING_SECRET=whsec_${Buffer.alloc(32).toString("base64")}`;
  using program = new RunningProgram([...mock, "env", secret, process.execPath, ...next], {
    env: { INBOX_FILE: ":memory:" },
  });
  await program.said(/Ready/);
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  expect(page).toMatch(/<h1>[^<]+<\/h1>/);
  expect(page).not.toContain("not a workspace");
});
