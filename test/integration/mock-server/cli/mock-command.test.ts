import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createControlClient, createMockServer } from "@workspace-tasks/mock-server";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { runMockCommand } from "../../../../mock-server/cli/mock-command.ts";
import { runTriggerCommand } from "../../../../mock-server/cli/trigger-command.ts";
import { startCapturingReceiver } from "../../../support/capturing-receiver.ts";
import { jsonPost } from "../../../support/mock-client.ts";
import { runCommand, startCommand } from "../../../support/run-command.ts";
import { withFolder } from "../../../support/with-folder.ts";

const mock = (...argv: string[]) => runCommand(runMockCommand, argv);

/** Starts a mock that prints one line of JSON, and stops it. */
async function withMock(argv: readonly string[], use: (ready: Record<string, string>) => Promise<void>) {
  const command = startCommand(runMockCommand, ["--port", "0", "--json", ...argv]);
  const text = await command.firstOutput();
  try {
    if (text) await use(JSON.parse(text));
  } finally {
    command.stop();
  }
  return command.result();
}

describe("mock", () => {
  it("mock --json prints its URLs and keys in one line of JSON", async () => {
    const { code } = await withMock(["--seed", "7", "--clock", "virtual"], async (ready) => {
      expect(ready).toMatchObject({ ready: true, gatewayUrl: `${ready["baseUrl"]}/gateway` });
      const health = await fetch(`${ready["baseUrl"]}/_mock/v1/health`);
      expect(await health.json()).toMatchObject({ status: "ok", now: "2026-01-15T12:00:00.000Z" });
      await using twin = await createMockServer({ seed: 7, clock: "virtual", listen: false });
      expect(ready["apiKey"]).toBe(twin.apiKey);
    });
    expect(code).toBe(0);
  });

  it("mock --deliver-to registers a receiver and prints the secret that verifies its deliveries", async () => {
    await using receiver = await startCapturingReceiver();
    await withMock(["--deliver-to", receiver.url], async (ready) => {
      const argv = ["task.completed", "--mock", ready["baseUrl"] ?? ""];
      const { code, out } = await runCommand(runTriggerCommand, argv);
      expect(out).toBe(`task.completed →  ${receiver.url.slice("http://".length)}  204  succeeded\n`);
      expect(code).toBe(0);
      const webhook = new Webhook(ready["signingSecret"] ?? "");
      const verified = receiver.deliveries.map(({ body, headers }) =>
        webhook.verify(body, headers as Record<string, string>),
      );
      expect(verified).toMatchObject([{ event: "task.running" }, { event: "task.completed" }]);
    });
  });

  it("mock --allow-http-host delivers over plain HTTP to that host too", async () => {
    await using receiver = await startCapturingReceiver();
    // Not a loopback name, as that of another container; it leads to this computer.
    const url = receiver.url.replace("127.0.0.1", "0.0.0.0");
    const flags = ["--deliver-to", url, "--allow-http-host", "receiver,0.0.0.0"];
    const { code } = await withMock(flags, async (ready) => {
      const control = createControlClient({ baseUrl: ready["baseUrl"] ?? "" });
      await control.startTask({ taskType: "BINDER", progression: "manual" });
      await receiver.received(1);
      // An endpoint that is registered later, and one of a host that is not allowed.
      await control.createEndpoint({ url: "http://receiver:3000/webhooks" });
      const message = "Webhook endpoint url must be an HTTPS URL";
      await expect(control.createEndpoint({ url: "http://other:3000/" })).rejects.toThrow(message);
      await using other = await createMockServer({ listen: false });
      await other.control.restoreSnapshot(await control.getSnapshot());
      expect((await other.control.listEndpoints()).data.map((endpoint) => endpoint.url)).toContain(url);
    });
    expect(code).toBe(0);
  });

  it("mock --state writes its state to a file and resumes from there", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      const first = await withMock(["--state", path], async (ready) => {
        const task = { taskType: "BINDER", progression: "manual" };
        await fetch(`${ready["baseUrl"]}/_mock/v1/tasks`, jsonPost(task));
      });
      expect(first.code).toBe(0);
      await withMock(["--state", path, "--seed", "9"], async (ready) => {
        const { state } = JSON.parse(await readFile(path, "utf8"));
        const task = await fetch(`${ready["baseUrl"]}/_mock/v1/tasks/${state.tasks[0].id}`);
        expect(await task.json()).toMatchObject({ taskType: "BINDER", status: "RUNNING" });
        const exchange = await fetch(`${ready["baseUrl"]}/graphql`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            query:
              "mutation ($k: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $k) { userToken } }",
            variables: { k: ready["apiKey"] },
          }),
        });
        expect(await exchange.json()).not.toHaveProperty("errors");
      });
    }));

  it("mock --settings and --set change settings, --set the more", () =>
    withFolder(async (folder) => {
      const path = join(folder, "settings.json");
      const seedData = {
        workspaces: [{ name: "Acme", members: [{ email: "a@b.example" }, { email: "c@d.example" }] }],
      };
      await writeFile(
        path,
        JSON.stringify({ $schema: "x", tokenLifetimeSeconds: 5, unauthenticatedStatus: 401, seedData }),
      );
      const flags = [
        "--settings",
        path,
        "--set",
        "tokenLifetimeSeconds=7",
        "--set",
        "delivery.scheduleMs=0,10",
      ];
      await withMock([...flags, "--set", "rateLimit.window=fixed"], async (ready) => {
        const settings = await (await fetch(`${ready["baseUrl"]}/_mock/v1/settings`)).json();
        expect(settings).toMatchObject({
          tokenLifetimeSeconds: 7,
          unauthenticatedStatus: 401,
          delivery: { scheduleMs: [0, 10] },
          rateLimit: { window: "fixed", requests: 120 },
        });
        expect(ready["seedData"]).toMatchObject({
          workspaces: {
            Acme: { id: ready["workspaceId"], members: { "a@b.example": { apiKey: ready["apiKey"] } } },
          },
        });
      });
      const command = startCommand(runMockCommand, ["--port", "0", "--settings", path]);
      expect(await command.firstOutput()).toMatch(/wtk_\S+ {2}c@d\.example of Acme\n/);
      command.stop();
      await command.result();
    }));

  it.each([
    ["{", "is not JSON: line 1: "],
    ['{"ratelimit":{}}', "unknown field ratelimit; did you mean rateLimit?"],
  ])("mock --settings rejects a file with %s", (text, message) =>
    withFolder(async (folder) => {
      const path = join(folder, "settings.json");
      await writeFile(path, text);
      const { code, err } = await mock("--port", "0", "--settings", path);
      expect([code, err]).toEqual([1, expect.stringContaining("workspace-tasks mock: --settings: ")]);
      expect(err).toContain(path);
      expect(err).toContain(message);
    }),
  );

  it.each([
    ["requests", '--set: expected <name>=<value> such as rateLimit.requests=5, got "requests"'],
    [
      "rateLimit.request=5",
      "--set rateLimit.request=5: rateLimit: unknown field request; did you mean requests?",
    ],
    [
      "httpHostsAllowed=receiver",
      '--set httpHostsAllowed=receiver: httpHostsAllowed: expected an array, got "receiver"; write it as JSON, such as ["a"] or [5000]',
    ],
  ])("mock --set %s is rejected", async (assignment, sentence) => {
    const { code, err } = await mock("--port", "0", "--set", assignment);
    expect([code, err]).toEqual([2, `workspace-tasks mock: ${sentence}\nTry workspace-tasks mock --help\n`]);
  });

  it("mock --deliver-to keeps its receiver and its secret over a reset", async () => {
    await withMock(["--deliver-to", "http://127.0.0.1:9/hooks"], async (ready) => {
      const control = createControlClient({ baseUrl: ready["baseUrl"] ?? "" });
      await control.reset();
      const [endpoint] = (await control.listEndpoints()).data;
      expect(endpoint?.url).toBe("http://127.0.0.1:9/hooks");
      expect((await control.getEndpoint(endpoint?.id ?? "")).signingSecret).toBe(ready["signingSecret"]);
    });
  });

  const receiverUrl =
    "--deliver-to: expected an https URL, or an http URL of this computer such as http://127.0.0.1:3000/webhooks";
  it.each([
    [["--port", "x"], '--port: expected a whole number from 0 to 65535, got "x"'],
    [["--clock", "virtua"], '--clock: expected real or virtual, got "virtua"; did you mean virtual?'],
    [
      ["--deliver-to", "http://receiver:3000/webhooks"],
      `${receiverUrl}, got "http://receiver:3000/webhooks"; for plain HTTP to the container or computer receiver add --allow-http-host receiver`,
    ],
    [
      ["--deliver-to", "http://127.0.0.1/", "--set", "allowLoopbackHttp=false"],
      '--deliver-to: expected an https URL, as allowLoopbackHttp is false, got "http://127.0.0.1/"',
    ],
    [
      ["--deliver-only", "loopback", "--deliver-to", "https://hooks.example/"],
      "--deliver-only: loopback sends nothing to hooks.example of --deliver-to; omit one of them",
    ],
    [["--stat", "x"], "unknown flag --stat; did you mean --state?"],
    [["--seed"], "Option '--seed <value>' argument missing"],
    [["exce"], 'expected flags, or exec as the first argument, got "exce"; did you mean exec?'],
  ])("mock rejects %j", async (argv, sentence) => {
    const err = `workspace-tasks mock: ${sentence}\nTry workspace-tasks mock --help\n`;
    expect(await mock(...argv)).toEqual({ code: 2, out: "", err });
  });

  it("mock that cannot start returns 1 and names the flag: a port in use, another computer's address, a state file that cannot be written", async () => {
    await using running = await createMockServer();
    const { port } = new URL(running.baseUrl);
    const causes = [
      [["--port", port], `--port: ${port} is in use`],
      [["--port", "0", "--host", "203.0.113.1"], "--host: this computer has no address 203.0.113.1"],
      [
        ["--port", "0", "--state", "/no-such-folder/s.json"],
        "--state: cannot use /no-such-folder/s.json: ENOENT",
      ],
      [["--port", "0", "--state", "/dev/null/s.json"], "--state: cannot use /dev/null/s.json: ENOTDIR"],
    ] as const;
    for (const [argv, reason] of causes)
      expect(await mock(...argv)).toEqual({
        code: 1,
        out: "",
        err: expect.stringContaining(`workspace-tasks mock: ${reason}`),
      });
  });

  it("mock warns when others can reach it, and prints a URL that a client can call", async () => {
    const { err } = await withMock(["--host", "0.0.0.0"], async (ready) => {
      expect(ready["baseUrl"]).toMatch(/^http:\/\/127\.0\.0\.1:/);
      expect((await fetch(`${ready["baseUrl"]}/_mock/v1/health`)).status).toBe(200);
    });
    expect(err).toBe(
      "workspace-tasks mock: others on the network can reach it at 0.0.0.0; it is meant for this computer only\n",
    );
  });

  it("mock explains that a state file is not usable, and does not change the file", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      for (const text of ["", "{", "{}", '{"format":"workspace-tasks-mock","version":99}']) {
        await writeFile(path, text);
        const { code, err } = await mock("--port", "0", "--state", path);
        expect(code).toBe(1);
        expect(err).toMatch(
          /^workspace-tasks mock: --state: cannot use .+; choose another file, or move this one away\n$/,
        );
        expect(await readFile(path, "utf8")).toBe(text);
      }
    }));

  it("mock does not start with the state file of another mock, and the other continues", () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      const first = await withMock(["--state", path], async (ready) => {
        const { code, err } = await mock("--port", "0", "--state", path);
        expect([code, err]).toEqual([
          1,
          expect.stringMatching(
            /^workspace-tasks mock: --state: cannot use .+: process \d+ on .+ uses it; choose another file\n$/,
          ),
        ]);
        expect((await fetch(`${ready["baseUrl"]}/_mock/v1/health`)).status).toBe(200);
      });
      expect(first.code).toBe(0);
      expect((await withMock(["--state", path], async () => {})).code).toBe(0);
    }));

  it("mock --deliver-only loopback sends nothing to other computers", async () => {
    await withMock(["--deliver-only", "loopback"], async (ready) => {
      const control = createControlClient({ baseUrl: ready["baseUrl"] ?? "" });
      await control.createEndpoint({ url: "https://hooks.example/" });
      await control.startTask({ taskType: "BINDER", progression: "manual" });
      const { data } = await control.waitForDeliveries({ attempted: true, count: 1 });
      const { attempts } = await control.getDelivery(data[0]?.id ?? "");
      expect(attempts[0]?.error).toBe("not sent: this mock delivers to loopback only");
    });
  });
});
