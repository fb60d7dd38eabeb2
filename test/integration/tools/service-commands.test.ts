import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runEndpointsCommand } from "../../../mock-server/tools/commands/service/endpoints-command.ts";
import { runListenCommand } from "../../../mock-server/tools/commands/service/listen-command.ts";
import { runTasksCommand } from "../../../mock-server/tools/commands/service/tasks-command.ts";
import { widthOf } from "../../../sdk/kernel/layout.ts";
import { freePort, listen } from "../../support/listen.ts";
import { type CapturedCommand, runCommand, startCommand } from "../../support/run-command.ts";
import { withFolder } from "../../support/with-folder.ts";

let mock: MockServer;
beforeEach(async () => {
  mock = await createMockServer();
});
afterEach(() => mock.close());

const env = () => ({ WORKSPACE_TASKS_BASE_URL: mock.baseUrl, WORKSPACE_TASKS_API_KEY: mock.apiKey });
const endpoints = (argv: readonly string[], io: Parameters<typeof runCommand>[2] = {}) =>
  runCommand(runEndpointsCommand, argv, { env: env(), ...io });
const tasks = (argv: readonly string[], io: Parameters<typeof runCommand>[2] = {}) =>
  runCommand(runTasksCommand, argv, { env: env(), ...io });
const listEndpoints = async () => JSON.parse((await endpoints(["list", "--json"])).out);

const url = "https://app.example.com/webhooks";
const secretPattern = /whsec_[A-Za-z0-9+/=]{20,}/;

const create = (store: string, more: readonly string[] = []) =>
  endpoints(["ensure", url, "--store", store, ...more]);

describe("workspace-tasks endpoints", () => {
  it("ensures, lists, disables, enables and deletes an endpoint, and prints no secret", () =>
    withFolder(async (folder) => {
      const store = join(folder, "secrets.json");
      const results = [await create(store, ["--events", "task.completed", "--description", "billing"])];
      expect(results[0]).toMatchObject({ code: 0, err: "" });
      expect((await stat(store)).mode & 0o777).toBe(0o600);
      expect(await readFile(store, "utf8")).toMatch(secretPattern);
      results.push(await create(store, ["--events", "task.completed", "--json"]));
      for (const argv of [
        ["list"],
        ["disable", url, "--yes"],
        ["enable", url],
        ["rotate", "--store", store, "--yes"],
        ["list", "--json"],
        ["delete", url, "--yes", "--json"],
        ["list"],
      ])
        results.push(await endpoints(argv));
      expect(results.map(({ code }) => code)).toEqual(results.map(() => 0));
      expect(results[2]?.out).toMatch(/enabled, task\.completed, "billing"/);
      expect(results[3]?.out).toMatch(/^disabled:[\s\S]*\n {2}disabled/);
      expect(results.at(-1)?.out).toBe("no endpoint\n");
      for (const { out, err } of results) expect(out + err).not.toMatch(secretPattern);
    }));

  it("prints a secret that was asked for, and writes it for the owner of the file alone", () =>
    withFolder(async (folder) => {
      const store = join(folder, "secrets.json");
      expect((await create(store, ["--show-secret"])).out).toMatch(secretPattern);
      const shown = await endpoints(["rotate", url, "--show-secret", "--yes"]);
      expect(shown.out.trimEnd().split("\n").at(-1)).toMatch(secretPattern);
      const secretFile = join(folder, "secret");
      await writeFile(secretFile, "whsec_old\n", { mode: 0o644 });
      const written = await endpoints(["rotate", url, "--secret-file", secretFile, "--yes"]);
      expect(written.out + written.err).not.toMatch(secretPattern);
      expect(await readFile(secretFile, "utf8")).toMatch(/^whsec_\S{20,}\n$/);
      expect((await stat(secretFile)).mode & 0o777).toBe(0o600);
      const last = await endpoints(["rotate", url, "--show-secret", "--json", "--yes"]);
      expect(JSON.parse(last.out).signingSecret).toMatch(secretPattern);
    }));

  it("rotates nothing when the secret would have no place", () =>
    withFolder(async (folder) => {
      await create(join(folder, "secrets.json"));
      const before = await listEndpoints();
      const foreign = join(folder, "notes.txt");
      await writeFile(foreign, "my notes");
      for (const flags of [[], ["--secret-file", foreign], ["--secret-file", join(folder, "no/folder")]]) {
        const { code, err } = await endpoints(["rotate", url, "--yes", ...flags]);
        expect([code, err]).toEqual([flags.length > 0 ? 1 : 2, expect.stringMatching(/--secret-file/)]);
      }
      expect(await listEndpoints()).toEqual(before);
      expect(await readFile(foreign, "utf8")).toBe("my notes");
    }));

  it("asks before it ends deliveries or a secret, and without a terminal expects --yes", () =>
    withFolder(async (folder) => {
      await create(join(folder, "secrets.json"));
      const before = await listEndpoints();
      const changes = [
        ["disable", url],
        ["delete", url],
        ["rotate", url, "--show-secret"],
        // Its secret is not in this file, so another one would be issued.
        ["ensure", url, "--store", join(folder, "other.json")],
      ];
      for (const argv of changes) {
        const asked: string[] = [];
        const ask = async (question: string) => {
          asked.push(question);
          return "n";
        };
        const refused = await endpoints(argv, { ask });
        expect(refused).toMatchObject({
          code: 1,
          out: "",
          err: expect.stringContaining("nothing was changed"),
        });
        expect(asked.join()).toContain(url);
        expect((await endpoints(argv)).code).toBe(2);
      }
      expect(await listEndpoints()).toEqual(before);
      expect((await endpoints(["delete", url], { ask: async () => "yes" })).code).toBe(0);
    }));

  it("names what an argument could be when it is no endpoint, or several", async () => {
    const { baseUrl, apiKey } = mock;
    const { webhooks } = createClient({ baseUrl, apiKey });
    const first = await webhooks.endpoints.create({ url });
    await webhooks.endpoints.create({ url });
    expect((await endpoints(["delete", url, "--yes"])).err).toContain(first.endpoint.id);
    expect((await endpoints(["delete", "https://other.example", "--yes"])).err).toMatch(/endpoints list/);
    expect((await endpoints(["delete", first.endpoint.id, "--yes"])).code).toBe(0);
  });
});

describe("workspace-tasks tasks", () => {
  it("lists and shows tasks with their stages and errors", async () => {
    const { taskId } = await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    await mock.control.setStageStatus(taskId, { subTaskType: "tax-extraction", status: "FAILED" });
    await mock.control.setTaskStatus(taskId, { status: "FAILED", errorMessage: "no document could be read" });
    await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    expect(JSON.parse((await tasks(["list", "--json"])).out)).toHaveLength(2);
    expect(JSON.parse((await tasks(["list", "--json", "--limit", "1"])).out)).toHaveLength(1);
    expect((await tasks(["list", "--status", "FAILED"])).out).toMatch(
      new RegExp(`^TASK.*\n${taskId}  FAILED.*\n$`),
    );
    const shown = await tasks(["show", taskId]);
    expect(shown.out).toMatch(/error +no document could be read/);
    expect(shown.out).toMatch(/stages +tax-extraction FAILED/);
    expect(await tasks(["show", "unknown-id"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no task/),
    });
  });
});

describe("the key", () => {
  it("comes from a file or the environment, and no output has it", () =>
    withFolder(async (folder) => {
      const file = join(folder, "key");
      await writeFile(file, `${mock.apiKey}\n`);
      const { WORKSPACE_TASKS_BASE_URL } = env();
      const withFile = { env: { WORKSPACE_TASKS_BASE_URL } };
      expect((await endpoints(["list", "--api-key-file", file], withFile)).out).toBe("no endpoint\n");
      expect(await endpoints(["list"], withFile)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/API_KEY/),
      });
      for (const key of ["wtk_wrong", "two words", ""]) {
        const wrong = await endpoints(["list"], { env: { ...env(), WORKSPACE_TASKS_API_KEY: key } });
        expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/WORKSPACE_TASKS_API_KEY/)]);
        if (key) expect(wrong.err).not.toContain(key);
      }
    }));
});

describe("why a command failed", () => {
  const failing = (
    name: string,
    reason: RegExp,
    run: (io: { readonly columns: number }, folder: string) => Promise<CapturedCommand>,
  ) =>
    it.each([60, 80, 100, 120])(`is shown at %i columns: ${name}`, (columns) =>
      withFolder(async (folder) => {
        const { code, err } = await run({ columns }, folder);
        expect(code).not.toBe(0);
        expect(err.replace(/\s+/g, " ")).toMatch(reason);
        const wide = err.split("\n").filter((line) => widthOf(line) > columns && line.trim().includes(" "));
        expect(wide).toEqual([]);
      }),
    );

  const closed = async () => `http://127.0.0.1:${await freePort()}`;
  failing("no service", /ECONNREFUSED.*Nothing listens/, async (io) =>
    endpoints(["list"], { ...io, env: { ...env(), WORKSPACE_TASKS_BASE_URL: await closed() } }),
  );
  failing("a wrong key", /rejected.*WORKSPACE_TASKS_API_KEY/i, (io) =>
    tasks(["list"], { ...io, env: { ...env(), WORKSPACE_TASKS_API_KEY: "wtk_no-such-key" } }),
  );
  failing("a read_only key", /read_write key of an administrator/, async (io) => {
    const { apiKey } = await mock.control.createApiKey({ access: "read_only" });
    return endpoints(["list"], { ...io, env: { ...env(), WORKSPACE_TASKS_API_KEY: apiKey } });
  });
  failing("an unknown event", /Unsupported webhook event type/, (io, folder) =>
    endpoints(["ensure", url, "--store", join(folder, "s.json"), "--events", "no.such"], io),
  );
  failing("a foreign store", /--store.*expected nothing or the JSON text/, async (io, folder) => {
    await writeFile(join(folder, "s.json"), "notes");
    return endpoints(["ensure", url, "--store", join(folder, "s.json")], io);
  });
  failing("a URL that an endpoint has", /has this URL already.*another path/, async (io, folder) => {
    await createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey }).webhooks.endpoints.create({ url });
    return listenOnce(["--url", url], io, folder);
  });
  failing("a used port", /--port: cannot listen on \d+: EADDRINUSE/, async (io, folder) => {
    await using used = await listen(createServer());
    return await listenOnce(["--url", url, "--port", String(used.port)], io, folder);
  });
  failing(
    "a folder that cannot be written",
    /cannot record the endpoint.*XDG_STATE_HOME/,
    async (io, folder) => {
      await writeFile(join(folder, "state"), "a file");
      return listenOnce(["--url", url], io, folder);
    },
  );
});

const listenEnv = (folder: string) => ({ ...env(), XDG_STATE_HOME: join(folder, "state") });
const listenOnce = (argv: readonly string[], io: object, folder: string) =>
  runCommand(runListenCommand, ["--forward-to", "http://localhost:9/hooks", "--port", "0", ...argv], {
    ...io,
    env: listenEnv(folder),
  });

describe("workspace-tasks listen", () => {
  it("forwards what the mock sends: the same bytes, headers and verdict, and removes the endpoint", () =>
    withFolder(async (folder) => {
      const received: { readonly headers: readonly string[]; readonly body: string }[] = [];
      const statuses = [204, 500];
      const app = createServer(async (request, response) => {
        const body = (await request.toArray()).join("");
        received.push({ headers: request.rawHeaders, body });
        response.writeHead(statuses.shift() ?? 204).end();
      });
      await using receiver = await listen(app);
      const port = await freePort();
      const running = startCommand(
        runListenCommand,
        [
          ...["--url", `http://127.0.0.1:${port}/hooks`, "--port", String(port)],
          ...[
            "--forward-to",
            `${receiver.origin}/webhooks?tenant=1`,
            "--secret-file",
            join(folder, "secret"),
          ],
        ],
        { env: listenEnv(folder) },
      );
      expect(await running.firstOutput()).toContain(`http://127.0.0.1:${port}/hooks`);
      expect(await listEndpoints()).toHaveLength(1);
      await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
      await expect
        .poll(() => running.written())
        .toMatch(/delivery 204 task\.running → 127\.0\.0\.1:\d+\/webhooks\?… in/);
      expect(running.written()).toMatch(/task \S+, signature valid, \d+ s old/);
      const {
        data: [delivery],
      } = await mock.control.waitForDeliveries({ attempted: true });
      const sent = await mock.control.getDelivery(delivery!.id);
      expect(received[0]?.body).toBe(sent.attempts[0]?.requestBody);
      expect(received[0]?.headers).toContain(delivery!.id);
      // What the receiver says is what the service hears.
      const { taskId } = await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
      await expect.poll(() => running.written()).toContain(`delivery 500 task.running`);
      await expect
        .poll(async () => (await mock.control.listDeliveries({ subject: taskId })).data[0]?.lastStatus)
        .toBe(500);
      // A stranger who found the address.
      const forged = await fetch(`http://127.0.0.1:${port}/hooks`, { method: "POST", body: "{}" });
      expect(forged.status).toBe(400);
      expect((await fetch(`http://127.0.0.1:${port}/admin`)).status).toBe(404);
      expect(running.written()).toMatch(/delivery 400 not forwarded: HEADER_MISSING/);
      expect(received).toHaveLength(2);
      running.stop();
      const { code, out, err } = await running.result();
      expect([code, err]).toEqual([0, ""]);
      expect(out).not.toMatch(secretPattern);
      expect(await readFile(join(folder, "secret"), "utf8")).toMatch(secretPattern);
      expect(await listEndpoints()).toEqual([]);
    }));

  it("says why a receiver does not respond, and that the address does not lead here", () =>
    withFolder(async (folder) => {
      const port = await freePort();
      const running = startCommand(
        runListenCommand,
        [
          ...["--url", `http://127.0.0.1:${port}/hooks`, "--port", String(port), "--json", "--show-secret"],
          ...["--forward-to", `http://127.0.0.1:${await freePort()}/webhooks`],
        ],
        { env: listenEnv(folder) },
      );
      expect(JSON.parse(await running.firstOutput())).toMatchObject({
        ready: true,
        port,
        signingSecret: expect.any(String),
      });
      await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
      await expect.poll(() => running.written()).toMatch(/ECONNREFUSED: Nothing listens/);
      running.stop();
      expect((await running.result()).code).toBe(0);
    }));

  it("ends within seconds while a receiver does not respond, and reaches one on ::1 by localhost", () =>
    withFolder(async (folder) => {
      const app = createServer();
      const arrived = once(app, "request");
      app.listen(0, "::1");
      await once(app, "listening");
      const port = await freePort();
      const { port: appPort } = app.address() as AddressInfo;
      const running = startCommand(
        runListenCommand,
        [
          ...["--url", `http://127.0.0.1:${port}/hooks`, "--port", String(port)],
          ...["--forward-to", `app.localhost:${appPort}/webhooks`],
        ],
        { env: listenEnv(folder) },
      );
      await running.firstOutput();
      await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
      const [request] = await arrived;
      expect(request.headers.host).toBe(`app.localhost:${appPort}`);
      running.stop();
      const { code, out } = await running.result();
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(/delivery --- task\.running .* closed the connection/),
      ]);
      app.closeAllConnections();
      app.close();
    }));

  it("expects both addresses, and no loop", async () => {
    const usage = async (argv: readonly string[]) => {
      const { code, err } = await runCommand(runListenCommand, argv, { env: env() });
      return `${code} ${err}`;
    };
    expect(await usage([])).toMatch(/^2 .*--url/);
    expect(await usage(["--url", url])).toMatch(/^2 .*--forward-to/);
    expect(await usage(["--url", "ftp://user:word@x", "--forward-to", url])).toMatch(
      /^2 .*--url: expected an http/,
    );
    expect(await usage(["--url", "ftp://user:word@x", "--forward-to", url])).not.toContain("word@");
    expect(await usage(["--url", url, "--forward-to", "http://localhost:4020/x"])).toMatch(
      /^2 .*that of this command/,
    );
  });
});
