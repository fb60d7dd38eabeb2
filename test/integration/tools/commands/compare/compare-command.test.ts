import { execFileSync } from "node:child_process";
import { rmSync, symlinkSync, unlinkSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { runMockCommand } from "../../../../../mock-server/cli/mock-command.ts";
import { runTriggerCommand } from "../../../../../mock-server/cli/trigger-command.ts";
import { runCompareCommand } from "../../../../../mock-server/tools/commands/compare/compare-command.ts";
import { recordHeader } from "../../../../../mock-server/tools/compare/findings.ts";
import type { CommandIo } from "../../../../../sdk/kernel/cli/command-line.ts";
import { captureDeliveries } from "../../../../support/capture-deliveries.ts";
import { shownArguments } from "../../../../support/documents.ts";
import { freePort, listen } from "../../../../support/listen.ts";
import { runCommand, startCommand } from "../../../../support/run-command.ts";
import { withFolder } from "../../../../support/with-folder.ts";

const command = (argv: readonly string[], env: CommandIo["env"] = {}) =>
  runCommand(runCompareCommand, argv, { env });

/** The arguments of the command in docs/compare.md that has this part. */
const shown = (part: string, values: Readonly<Record<string, string>>, program = "compare") =>
  shownArguments("docs/compare.md", { program: `workspace-tasks ${program}`, part, values });

const key = { WORKSPACE_TASKS_API_KEY: "wtk_some-key" };
const json = { "content-type": "application/json" };
/** Nothing listens there. */
const service = ["--base-url", "https://service.example"];

/** A run takes a third of the limit that the mock is set to, so with this one it does not wait. */
const unlimited = { rateLimit: { requests: 100_000 } };

async function withUnlimited(use: (folder: string, settings: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const path = join(folder, "unlimited.json");
    await writeFile(path, JSON.stringify(unlimited));
    await use(folder, path);
  });
}

/** What was written, whatever the width of the terminal. */
const wordsOf = (written: readonly string[]) => written.join("").replace(/\s+/g, " ");

const serving = (listener: RequestListener) => listen(createServer(listener));

describe.concurrent("compare", () => {
  it("compare with a mock over HTTP records, writes reports and returns 0, and --replay finds the same", async () => {
    await using mock = await createMockServer({ settings: unlimited });
    const env = {
      WORKSPACE_TASKS_API_KEY: mock.apiKey,
      WORKSPACE_TASKS_PARTNER_API_KEY: mock.partnerApiKey,
      WORKSPACE_TASKS_BASE_URL: `${mock.baseUrl}/graphql`,
      WORKSPACE_TASKS_GATEWAY_URL: mock.gatewayUrl,
    };
    // A task that was completed by a command has no stages.
    await runCommand(runTriggerCommand, ["task.completed", "--mock", mock.baseUrl]);
    expect((await mock.control.getSnapshot()).state.tasks.map(({ status }) => status)).toEqual(["COMPLETED"]);
    await withUnlimited(async (folder, unlimitedPath) => {
      const [record, settings] = [join(folder, "record.ndjson"), join(folder, "settings.json")];
      const reports = ["report.json", "report.xml"].map((name) => join(folder, name));
      const outputs = [
        "--record",
        record,
        "--write",
        settings,
        ...reports.flatMap((path) => ["--report", path]),
      ];
      const live = await command(["--settings", unlimitedPath, ...outputs], env);
      expect(live.out).toMatch(/The service does what the mock does[\s\S]*$/);
      expect(live.code).toBe(0);
      const [json, junit] = await Promise.all(reports.map((path) => readFile(path, "utf8")));
      expect(JSON.parse(json ?? "")).toMatchObject({
        verdict: "agrees",
        settings: unlimited,
        notExpressed: [],
      });
      expect(junit).toMatch(/<testsuites tests="\d+" failures="0" skipped="\d+" errors="0">/);
      const files = { "first-run.ndjson": record, "settings.json": settings };
      const replay = shown("--replay first-run.ndjson --settings", files);
      const replayed = await command(replay);
      const rulesLine = /Rules: .*/;
      expect(replayed.out.match(rulesLine)?.[0]).toBe(live.out.match(rulesLine)?.[0]);

      // A service that differs, as a record shows it.
      const text = await readFile(record, "utf8");
      const differing = text.replaceAll("Invalid iterator", "The cursor is invalid");
      // Its last line was cut off by the end of its process.
      await writeFile(record, `${differing}{"rule":"cut of`);
      const compared = await command(shown("--write settings.json", files));
      expect(compared.code).toBe(0);
      expect(compared.out).toContain("differs from A-8  endpoints.bad-iterator");
      expect(compared.out).toContain("differs from assumptions of the mock in 1 rule.");
      expect((await command(replay)).code).toBe(0);
      const configured = startCommand(runMockCommand, [
        ...shown("--settings", files, "mock"),
        ...["--port", "0", "--json"],
      ]);
      expect(JSON.parse(await configured.firstOutput())).toHaveProperty("baseUrl");
      configured.stop();
      expect((await configured.result()).code).toBe(0);
    });
  });

  it("--writes lists what it would send, and sends nothing unless the user agrees", async () => {
    let requests = 0;
    await using server = await serving((_, response) => {
      requests += 1;
      response.end();
    });
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return "n";
    };
    const argv = ["--base-url", server.origin, "--writes"];
    const { code, out, err } = await runCommand(runCompareCommand, argv, { env: key, ask });
    expect([code, out, requests, asked]).toEqual([2, "", 0, ["Continue? [y/N] "]]);
    expect(err).toContain("endpoints.pause: enabled false pauses an endpoint, and leaves the rest");
    expect(err).toContain("nothing was changed");
  });

  it("an address where nothing listens is named with what to do", async () => {
    const { code, out, err } = await command(["--base-url", `http://127.0.0.1:${await freePort()}`], key);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(
      /Could not compare: --base-url: could not reach[\s\S]*ECONNREFUSED[\s\S]*Nothing listens on that port/,
    );
  });

  const failure = (message: string) => JSON.stringify({ data: null, errors: [{ message }] });
  const unknownField = failure('Cannot query field "exchangeSurfaceRefreshTokenForAccessTokens"');

  it.each<[string, number, Readonly<Record<string, string>>, string, RegExp]>([
    ["a web page", 200, { "content-type": "text/html" }, "<!doctype html>", /an HTML page[\s\S]*web page/],
    ["a login of a proxy", 403, {}, "", /HTTP 403[\s\S]*login/],
    ["a redirect", 302, { location: "https://sso.example" }, "", /redirects elsewhere/],
    ["another JSON service", 200, json, '{"ok":true}', /application\/json[\s\S]*Another service/],
    ["another GraphQL service", 200, json, unknownField, /is another GraphQL service, or the gateway/],
    [
      "a service that rejects the key",
      200,
      json,
      failure("Invalid refresh token"),
      /WORKSPACE_TASKS_API_KEY: the service rejects the key[\s\S]*Invalid refresh token/,
    ],
  ])("%s is named as the cause", async (_, status, headers, body, message) => {
    await using server = await serving((_, response) => void response.writeHead(status, headers).end(body));
    const { code, out, err } = await command(["--base-url", server.origin], key);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
    expect(err).not.toContain("wtk_some-key");
  });

  it.each([
    [[], {}, "expected --base-url <url> or WORKSPACE_TASKS_BASE_URL"],
    [service, {}, "expected a key in WORKSPACE_TASKS_API_KEY"],
    [[...service, "--report", "report.txt"], key, "--report: expected a file that ends with .json or .xml"],
    [[...service, "--writes"], key, "--writes: expected a terminal to ask at; write --writes --yes to agree"],
    [
      [...service, "--deliveries", "captured.ndjson"],
      key,
      "--deliveries: expected the endpoint's secrets in WORKSPACE_TASKS_SIGNING_SECRET",
    ],
    [
      ["--base-url", "https://user:s3cret@service.example"],
      key,
      'without a user name, a query and a fragment, got "https://…@service.example"',
    ],
    [["--base-url", "https://service.example/wtk_some-key/"], key, "expected a URL without a key"],
    [
      service,
      { ...key, WORKSPACE_TASKS_READ_ONLY_API_KEY: "wtk_some-key" },
      "WORKSPACE_TASKS_READ_ONLY_API_KEY: expected another key than WORKSPACE_TASKS_API_KEY",
    ],
    [["--replay", "a", "--writes"], {}, "expected --replay or --writes, got both"],
    [
      [...service, "--report", "no-such-folder/report.json"],
      key,
      "--report: cannot write no-such-folder/report.json: ENOENT",
    ],
    [["--replay", "/dev/zero"], {}, "--replay: cannot read /dev/zero: ENXIO"],
  ])("compare %j returns 2 and says what was expected", async (argv, env, message) => {
    const { code, out, err } = await command(argv, env);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });

  it("a file of deliveries is evaluated without a service and without a key", async () => {
    const { deliveries, secrets } = await captureDeliveries({}, 11);
    const toLine = ({ receivedAtMs, headers, body, responded }: (typeof deliveries)[number]) => ({
      receivedAt: new Date(receivedAtMs).toISOString(),
      headers,
      body: body.toString("base64"),
      status: responded,
    });
    const lines = deliveries.map((delivery) => JSON.stringify(toLine(delivery)));
    await withFolder(async (folder) => {
      const [path, record] = [join(folder, "captured.ndjson"), join(folder, "record.ndjson")];
      const env = { WORKSPACE_TASKS_SIGNING_SECRET: secrets.join(",") };
      const compared = async (text: string, ...argv: string[]) => {
        await writeFile(path, text);
        return command([...shown("--deliveries captured", { "captured.ndjson": path }), ...argv], env);
      };
      const { code, out } = await compared(`\ufeff${lines.toReversed().join("\r\n")}`, "--record", record);
      expect([code, out.match(/Rules: .*/)?.[0]]).toEqual([
        0,
        expect.stringMatching(/ 1\d confirmed, 0 refuted/),
      ]);
      expect(await compared("\n")).toMatchObject({
        code: 2,
        err: expect.stringContaining("it has no delivery"),
      });
      const foreign = { WORKSPACE_TASKS_SIGNING_SECRET: `whsec_${Buffer.alloc(24).toString("base64")}` };
      await writeFile(path, lines.join("\n"));
      const wrong = await command(["--deliveries", path], foreign);
      expect([wrong.code, wrong.out]).toEqual([
        1,
        expect.stringContaining("of another endpoint than the secret"),
      ]);
      expect((await command(["--replay", record])).out).toBe(out);
    });
  });

  it("a report is printed when its file and the record cannot be written, and the code is 2", async () => {
    await using mock = await createMockServer({ settings: unlimited });
    const env = { WORKSPACE_TASKS_API_KEY: mock.apiKey };
    await withUnlimited(async (folder, settings) => {
      const [reports, record] = [join(folder, "reports"), join(folder, "record.ndjson")];
      await mkdir(reports);
      const report = join(reports, "report.json");
      const written: string[] = [];
      // While the run is in progress, the folder is removed and the record is replaced by a full disk.
      const write = (text: string) => {
        written.push(text);
        if (written.length === 3) {
          rmSync(reports, { recursive: true });
          unlinkSync(record);
          symlinkSync("/dev/full", record);
        }
        if (written.length === 6) running.stop();
      };
      const outputs = ["--report", report, "--record", record];
      const running = startCommand(
        runCompareCommand,
        ["--base-url", mock.baseUrl, "--settings", settings, ...outputs],
        { env, stderr: { isTTY: true, columns: 20, write } },
      );
      const { code, out } = await running.result();
      expect([code, out]).toEqual([2, expect.stringContaining("Not finished: stopped.")]);
      expect(wordsOf(written)).toContain(`--report: cannot write ${report}: ENOENT`);
      expect(wordsOf(written)).toContain(`--record: cannot write ${record}: ENOSPC`);
      const progress = written.filter((line) => line.startsWith("\r\u001b[K"));
      expect(progress.length).toBeGreaterThan(3);
      expect(progress.filter((line) => line.length > 4 + 19)).toEqual([]);
    });
  });

  it.each(["--report", "--write", "--record"])("%s replaces only what compare has written", (flag) =>
    withFolder(async (folder) => {
      const other = join(folder, "package.json");
      await writeFile(other, '{"name":"other"}');
      const pipe = join(folder, "pipe.json");
      execFileSync("mkfifo", [pipe]);
      const run = (path: string) => command([...service, flag, path], key);
      for (const [path, reason] of [
        [other, "the file there is not one that this command has written"],
        [pipe, "expected a regular file, got a pipe"],
      ] as const)
        expect(await run(path)).toMatchObject({
          code: 2,
          out: "",
          err: `workspace-tasks compare: ${flag}: cannot write ${path}: ${reason}; choose another file\n`,
        });
      expect(await readFile(other, "utf8")).toBe('{"name":"other"}');
    }),
  );

  it("a record of elsewhere cannot control the terminal", async () => {
    await withFolder(async (folder) => {
      const path = join(folder, "record.ndjson");
      const finding = { rule: "endpoints.list", sent: [], fact: "\u001b[2J" };
      await writeFile(path, `${recordHeader}${JSON.stringify(finding)}\n`);
      const { code, err } = await command(["--replay", path]);
      expect([code, err]).toEqual([2, expect.stringContaining("line 2 is not a finding")]);
      await writeFile(path, recordHeader.replace('"formatVersion":2', '"formatVersion":1'));
      expect((await command(["--replay", path])).err).toContain(
        "not the header of a record of workspace-tasks compare with formatVersion 2",
      );
    });
  });
});
