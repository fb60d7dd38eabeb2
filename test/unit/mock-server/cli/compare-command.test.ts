import { readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import type { CommandIo } from "../../../../cli/command-line.ts";
import { runCompareCommand } from "../../../../mock-server/cli/compare-command.ts";
import { freePort, listen } from "../../../support/listen.ts";
import { runCommand } from "../../../support/run-command.ts";
import { withFolder } from "../../../support/with-folder.ts";

const command = (argv: readonly string[], env: CommandIo["env"] = {}) =>
  runCommand(runCompareCommand, argv, { env });

const key = { WORKSPACE_TASKS_API_KEY: "wtk_some-key" };

const serving = (listener: RequestListener) => listen(createServer(listener));

describe.concurrent("compare", () => {
  it("compare with a mock over HTTP records, writes reports and returns 0, and --replay finds the same", async () => {
    await using mock = await createMockServer();
    const env = {
      WORKSPACE_TASKS_API_KEY: mock.apiKey,
      WORKSPACE_TASKS_PARTNER_API_KEY: mock.partnerApiKey,
      WORKSPACE_TASKS_BASE_URL: `${mock.baseUrl}/graphql`,
      WORKSPACE_TASKS_GATEWAY_URL: mock.gatewayUrl,
    };
    await withFolder(async (folder) => {
      const [record, settings] = [join(folder, "record.ndjson"), join(folder, "settings.json")];
      const reports = ["report.json", "report.md", "report.xml"].map((name) => join(folder, name));
      const live = await command(
        [
          "--record",
          record,
          "--write",
          settings,
          "--requests-per-minute",
          "100",
          ...reports.flatMap((path) => ["--report", path]),
        ],
        env,
      );
      expect(live.out).toContain("The service does what the mock does, as far as it was tested.");
      expect(live.code).toBe(0);
      const [json, markdown, junit] = await Promise.all(reports.map((path) => readFile(path, "utf8")));
      expect(JSON.parse(json ?? "")).toMatchObject({ verdict: "agrees", settings: {}, notExpressed: [] });
      expect(markdown).toContain("| A-8 | bad cursor | confirmed |");
      expect(junit).toMatch(/<testsuites tests="\d+" failures="0" skipped="\d+" errors="0">/);
      const replayed = await command(["--replay", record, "--settings", settings]);
      const rulesLine = /Rules: .*/;
      expect(replayed.out.match(rulesLine)?.[0]).toBe(live.out.match(rulesLine)?.[0]);

      // A service that differs, as a record shows it.
      const text = await readFile(record, "utf8");
      await writeFile(record, text.replaceAll("Invalid iterator", "The cursor is invalid"));
      const differing = await command(["--replay", record, "--write", settings]);
      expect(differing.code).toBe(1);
      expect(differing.out).toContain("REFUTED  endpoints.bad-iterator (A-8)");
      expect((await command(["--replay", record, "--settings", settings])).code).toBe(0);
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
    expect(err).toContain("an endpoint with a url alone");
    expect(err).toContain("nothing was sent");
  });

  it("an address where nothing listens is named with what to do", async () => {
    const { code, out, err } = await command(["--base-url", `http://127.0.0.1:${await freePort()}`], key);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(
      /Could not compare: --base-url: could not reach[\s\S]*ECONNREFUSED[\s\S]*Nothing listens on that port/,
    );
  });

  it.each<[string, RequestListener, RegExp]>([
    [
      "a web page",
      (_, response) => void response.setHeader("content-type", "text/html").end("<!doctype html>"),
      /is not the service[\s\S]*an HTML page[\s\S]*web page/,
    ],
    [
      "a login of a proxy",
      (_, response) => void response.writeHead(403).end(),
      /is not the service[\s\S]*HTTP 403[\s\S]*login/,
    ],
    [
      "a redirect",
      (_, response) => void response.writeHead(302, { location: "https://sso.example" }).end(),
      /is not the service[\s\S]*redirects elsewhere/,
    ],
    [
      "another JSON service",
      (_, response) => void response.setHeader("content-type", "application/json").end('{"ok":true}'),
      /is not the service[\s\S]*application\/json[\s\S]*Another service/,
    ],
    [
      "another GraphQL service",
      (_, response) =>
        void response
          .setHeader("content-type", "application/json")
          .end(
            '{"errors":[{"message":"Cannot query field \\"exchangeSurfaceRefreshTokenForAccessTokens\\" on type \\"Mutation\\"."}]}',
          ),
      /is another GraphQL service, or the gateway/,
    ],
    [
      "a service that rejects the key",
      (_, response) =>
        void response
          .setHeader("content-type", "application/json")
          .end('{"data":null,"errors":[{"message":"Invalid refresh token"}]}'),
      /WORKSPACE_TASKS_API_KEY: the service rejects the key[\s\S]*Invalid refresh token[\s\S]*revoked, expired/,
    ],
  ])("%s is named as the cause", async (_, listener, message) => {
    await using server = await serving(listener);
    const { code, out, err } = await command(["--base-url", server.origin], key);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
    expect(err).not.toContain("wtk_some-key");
  });

  it.each([
    [[], {}, "expected --base-url <url> or WORKSPACE_TASKS_BASE_URL"],
    [["--base-url", "http://service.example"], key, "--base-url: expected an https URL"],
    [["--base-url", "https://service.example"], {}, "expected a key in WORKSPACE_TASKS_API_KEY"],
    [
      ["--base-url", "https://service.example"],
      { WORKSPACE_TASKS_API_KEY: "two words" },
      "expected a key, got text with spaces",
    ],
    [
      ["--base-url", "https://service.example", "--report", "report.txt"],
      key,
      "--report: expected a file that ends with .json, .md or .xml",
    ],
    [
      ["--base-url", "https://service.example", "--writes"],
      key,
      "--writes: expected a terminal to ask at; write --writes --yes to agree",
    ],
    [
      ["--base-url", "https://service.example", "--deliveries", "https://tunnel.example"],
      key,
      "--deliveries: expected --writes with a URL",
    ],
    [
      ["--base-url", "https://service.example", "--deliveries", "captured.ndjson"],
      key,
      "--deliveries: expected the endpoint's secrets in WORKSPACE_TASKS_SIGNING_SECRET",
    ],
    [["--base-url", "https://service.example", "--writes", "--read-only"], key, "got both"],
    [
      ["--base-url", "https://service.example", "--resume", "a", "--record", "b"],
      key,
      "--record: expected --resume alone",
    ],
    [["--replay", "package.json"], {}, "--replay: package.json: line 1 is not the header of a record"],
    [["--replay", "no-such-file"], {}, "--replay: cannot read no-such-file: ENOENT"],
  ])("compare %j returns 2 and says what was expected", async (argv, env, message) => {
    const { code, out, err } = await command(argv, env);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });
});
