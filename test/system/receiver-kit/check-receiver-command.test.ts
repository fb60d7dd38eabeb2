import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { type AuditReport, auditChecks } from "workspace-tasks/check-receiver";
import { runCheckReceiverCommand } from "../../../mock-server/tools/commands/check-receiver-command.ts";
import type { CommandIo } from "../../../sdk/kernel/cli/command-line.ts";
import { packageFlags } from "../../support/package-flags.ts";
import { failedIds, respondingWith, secret } from "../../support/receivers/audit-fixture.ts";
import { startReferenceReceiver } from "../../support/receivers/reference-receiver.ts";
import { runCommand } from "../../support/run-command.ts";
import { createSelfSignedCertificate } from "../../support/self-signed-certificate.ts";
import { withFolder } from "../../support/with-folder.ts";

const run = promisify(execFile);
const bin = fileURLToPath(new URL("../../../mock-server/tools/bin/workspace-tasks.js", import.meta.url));

const fast = ["--timeout-ms", "5000", "--stall-timeout-ms", "4000"];

const command = (argv: readonly string[], io?: Partial<CommandIo>) =>
  runCommand(runCheckReceiverCommand, argv, io);

describe.concurrent("check-receiver", () => {
  it("check-receiver returns 0 when every MUST passed, even if a SHOULD failed", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], flaw: "splits-at-commas" });
    const { code, out } = await command([receiver.url, "--secret", secret, "--only", "signature", ...fast]);
    expect(out).toContain("FAIL  signature.other-spelling (SHOULD)");
    expect(out).toContain("Every MUST passed.");
    expect(code).toBe(0);
  });

  it("check-receiver returns 2 and writes to stderr when it could not run", async () => {
    const { code, out, err } = await command(["http://127.0.0.1:1/webhooks", "--secret", secret]);
    expect(err).toContain("Could not run: could not connect to the receiver (ECONNREFUSED).");
    expect([code, out]).toEqual([2, ""]);
  });

  it("check-receiver returns 2 for an unexpected error: 1 says that a MUST failed", async () => {
    const write = () => {
      throw new Error("a bug");
    };
    const { code, err } = await command(["--list"], { stdout: { write } });
    expect([code, err]).toEqual([2, "workspace-tasks check-receiver: a bug\n"]);
  });

  it("check-receiver returns 2 when the time limit of the whole run left a MUST unfinished", async () => {
    await using receiver = await startReferenceReceiver({
      secrets: [secret],
      flaw: "never-responds-to-bad-input",
    });
    const argv = [receiver.url, "--secret", secret, "--only", "headers.id-missing,timestamp.stale"];
    const limits = ["--run-timeout-ms", "1500", "--timeout-ms", "5000"];
    const { code, out } = await command([...argv, ...limits]);
    expect(out).toContain("2 unfinished");
    expect(code).toBe(2);
  });

  it("check-receiver returns 2 when it is stopped in the middle of a check", async () => {
    const stopping = new AbortController();
    let requests = 0;
    // Acknowledges the first delivery, which is valid, and never responds to the second.
    await using receiver = await respondingWith((_, response) => {
      requests += 1;
      if (requests === 1) response.writeHead(200).end();
      else stopping.abort();
    });
    const argv = [receiver.url, "--secret", secret, "--only", "signature.forged"];
    const { code, out } = await command(argv, { stop: stopping.signal });
    expect(out).toContain("check-receiver was stopped");
    expect(code).toBe(2);
  });

  it("check-receiver returns 1 and writes its report to stdout when a valid delivery is rejected", async () => {
    await using receiver = await respondingWith((_, response) => void response.writeHead(403).end());
    const { code, out } = await command([receiver.url, "--secret", secret, ...fast]);
    expect(out).toContain("FAIL  baseline.valid-delivery (MUST)");
    expect(out).toContain("1 MUST failed.");
    expect(code).toBe(1);
    const json = await command([receiver.url, "--secret", secret, "--json", ...fast]);
    expect(JSON.parse(json.out)).toMatchObject({
      verdict: "failed",
      problem: { code: "REJECTED" },
      results: [{ id: "baseline.valid-delivery", outcome: "failed", received: "403" }],
    });
  });

  it.each([
    ["two URLs", ["http://a/", "http://b/", "--secret", secret], "expected one URL"],
    ["no secret", ["http://a/"], "WORKSPACE_TASKS_SIGNING_SECRET"],
    ["an unknown check", ["http://a/", "--secret", secret, "--only", "signatur"], "did you mean signature?"],
    ["a URL that is none", ["notaurl", "--secret", secret], "<url>: expected"],
    ["a malformed secret", ["http://a/", "--secret", `${secret}\n`], "--secret: "],
  ])("check-receiver rejects %s with a hint", async (_, argv, hint) => {
    const { code, out, err } = await command(argv);
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toContain(hint);
    expect(err).not.toContain(secret);
  });
});

describe.concurrent("check-receiver output", () => {
  it("check-receiver says first that a receiver verifies nothing, in 60 lines of 80 columns and in both reports", async ({
    onTestFinished,
  }) => {
    await using receiver = await respondingWith((_, response) => void response.end());
    const folder = await mkdtemp(join(tmpdir(), "check-receiver-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const files = ["report.json", "report.xml"].map((name) => join(folder, name));
    const reports = files.flatMap((file) => ["--report", file]);
    const { code, out } = await command([receiver.url, "--secret", secret, ...reports, ...fast]);
    const lines = out.trimEnd().split("\n");
    expect(lines.slice(0, 10).join(" ")).toMatch(
      /No signature is checked, or other code responds .* a forged delivery was accepted \(200\); \d\d findings follow/,
    );
    expect(lines.length).toBeLessThanOrEqual(60);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(code).toBe(1);
    const [json = "", xml = ""] = await Promise.all(files.map((file) => readFile(file, "utf8")));
    expect(JSON.parse(json)).toMatchObject({ verdict: "failed", cause: { check: "signature.forged" } });
    expect(xml).toMatch(
      /<testsuite [^>]*>\s<testcase classname="signature.forged"[^>]*><failure message="no signature/,
    );
  });

  it("check-receiver names the root cause also when only checks that follow from it are selected", async () => {
    await using receiver = await respondingWith((_, response) => void response.end());
    const only = ["--only", "timestamp.stale,rotation.one-of-list", "--json"];
    const report = JSON.parse((await command([receiver.url, "--secret", secret, ...only, ...fast])).out);
    expect(report.results).toMatchObject([
      { id: "signature.forged", outcome: "failed" },
      { id: "timestamp.stale", outcome: "skipped", follows: true },
      { id: "rotation.one-of-list", outcome: "inconclusive" },
    ]);
  });

  it("check-receiver rejects a report file of another kind before it sends anything", async () => {
    const argv = ["http://127.0.0.1:1/", "--secret", secret, "--report", "report.txt"];
    const { code, err } = await command(argv);
    expect(err).toContain("--report: expected a file that ends with .json or .xml");
    expect(code).toBe(2);
  });

  it("check-receiver prints its report and writes every report file that it can, and returns 2 for another", async () => {
    await withFolder(async (folder) => {
      const removed = join(folder, "removed");
      await mkdir(removed);
      // The folder of the first file is removed while the run is in progress.
      await using receiver = await respondingWith((_, response) => {
        rmSync(removed, { recursive: true, force: true });
        response.end();
      });
      const paths = [join(removed, "report.json"), join(folder, "report.json")];
      const files = paths.flatMap((path) => ["--report", path]);
      const only = ["--only", "events.error-in-grace", ...files, ...fast];
      const { code, out, err } = await command([receiver.url, "--secret", secret, ...only]);
      expect([code, out]).toEqual([2, expect.stringContaining("1 MUST failed.")]);
      expect(err).toContain(`check-receiver: --report: cannot write ${paths[0]}: ENOENT`);
      expect(JSON.parse(await readFile(paths[1] ?? "", "utf8"))).toMatchObject({ verdict: "failed" });
    });
  });

  it("check-receiver reads the secret from the environment", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const env = { WORKSPACE_TASKS_SIGNING_SECRET: secret };
    const { code } = await command([receiver.url, "--only", "signature.forged", ...fast], { env });
    expect(code).toBe(0);
  });

  it("check-receiver shows progress on a terminal only, and erases it at the end", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const argv = [receiver.url, "--secret", secret, "--only", "content-type", ...fast];
    const shown = await command(argv, { isTTY: true });
    expect(shown.err).toMatch(/\[2\/3\] content-type\./);
    expect(shown.err.endsWith("\r\u001b[K")).toBe(true);
    expect((await command(argv)).err).toBe("");
  });

  it("check-receiver prints colors on a terminal, unless NO_COLOR is set", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const argv = [receiver.url, "--secret", secret, "--only", "methods", "--verbose", ...fast];
    expect((await command(argv, { isTTY: true })).out).toContain("\u001b[32mpass\u001b[0m");
    expect((await command(argv, { isTTY: true, env: { NO_COLOR: "1" } })).out).not.toContain("\u001b[");
  });

  it("check-receiver --list prints all checks without a URL", async () => {
    const { code, out } = await command(["--list"]);
    expect(code).toBe(0);
    expect(out.trimEnd().split("\n")).toHaveLength(auditChecks.length);
    const listed = JSON.parse((await command(["--list", "--json"])).out) as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual(auditChecks.map(({ id }) => id));
  });

  it("check-receiver never prints the secret, even when the receiver reveals it", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], flaw: "reveals-its-secret" });
    const url = `${receiver.url}?token=${secret}`;
    const only = ["--only", "signature.forged,responses", ...fast];
    for (const format of [[], ["--json"]]) {
      const { out, err } = await command([url, "--secret", secret, ...only, ...format]);
      expect(out).toContain("responses.no-secret");
      expect(out + err).not.toContain(secret.slice("whsec_".length));
    }
  });
});

describe("check-receiver without a terminal", () => {
  it("check-receiver prints a line of progress every five seconds", async ({ onTestFinished }) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    let requests = 0;
    // The first request is not part of a check.
    await using receiver = await respondingWith((_, response) => {
      requests += 1;
      if (requests !== 2) vi.advanceTimersByTime(5_000);
      response.end();
    });
    const only = ["--only", "signature.forged,events.error-in-grace", "--concurrency", "1"];
    const { err } = await command([receiver.url, "--secret", secret, ...only, ...fast]);
    const lines = ["waiting for the response to a valid delivery", "[1/2] signature.forged"];
    expect(err).toBe(lines.map((line) => `workspace-tasks check-receiver: ${line}\n`).join(""));
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("check-receiver over https", () => {
  const { key, cert } = createSelfSignedCertificate(Date.now());

  it("check-receiver accepts a certificate from NODE_EXTRA_CA_CERTS", async ({ onTestFinished }) => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], tls: { key, cert } });
    const folder = await mkdtemp(join(tmpdir(), "check-receiver-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const certificate = join(folder, "cert.pem");
    await writeFile(certificate, cert);
    const argv = [receiver.url, "--secret", secret, "--only", "signature,transfer", "--json", ...fast];
    // Node reads trusted certificates when a process starts.
    const args = [...packageFlags, bin, "check-receiver", ...argv];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificate };
    const { stdout } = await run(process.execPath, args, { env });
    const report = JSON.parse(stdout) as AuditReport & { verdict: string };
    expect(failedIds(report)).toEqual([]);
    expect(report).toMatchObject({ verdict: "passed", url: expect.stringMatching(/^https:/) });
  });
});
