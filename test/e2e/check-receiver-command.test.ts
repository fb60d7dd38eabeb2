import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import express from "express";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AuditReport, auditChecks, auditReceiver } from "workspace-tasks/receiver-kit/audit";
import type { CommandIo } from "../../cli/command-line.ts";
import { runCheckReceiverCommand } from "../../receiver-kit/cli/check-receiver-command.ts";
import { startReferenceReceiver } from "../support/receivers/reference-receiver.ts";
import { type RunningReceiver, serveReceiver } from "../support/receivers/running-receiver.ts";
import { runCommand } from "../support/run-command.ts";
import { createSelfSignedCertificate } from "../support/self-signed-certificate.ts";

const run = promisify(execFile);
const bin = fileURLToPath(new URL("../../bin/workspace-tasks.js", import.meta.url));

const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
const otherSecret = `whsec_${Buffer.alloc(32, 0x7c).toString("base64")}`;
const fast = ["--timeout-ms", "5000", "--stall-timeout-ms", "4000"];

const command = (argv: readonly string[], io?: Partial<CommandIo>) =>
  runCommand(runCheckReceiverCommand, argv, io);

function answering(listener: RequestListener): Promise<RunningReceiver> {
  return serveReceiver(createServer(listener));
}

describe.concurrent("the exit code of check-receiver", () => {
  it("is 0 when every MUST passed, even if a SHOULD failed", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], flaw: "splits-at-commas" });
    const { code, out } = await command([receiver.url, "--secret", secret, "--only", "signature", ...fast]);
    expect(out).toContain("FAIL  SHOULD  signature.trailing-junk");
    expect(out).toContain("Every MUST holds.");
    expect(code).toBe(0);
  });

  it("is 1 when a MUST failed", async () => {
    await using receiver = await startReferenceReceiver({
      secrets: [secret],
      flaw: "forgets-the-past-limit",
    });
    const { code, out } = await command([receiver.url, "--secret", secret, "--only", "timestamp", ...fast]);
    expect(out).toContain("1 MUST failed.");
    expect(code).toBe(1);
  });

  it("is 2 when nothing could be judged", async () => {
    const { code, out } = await command(["http://127.0.0.1:1/webhooks", "--secret", secret]);
    expect(out).toContain("The audit could not be made: could not connect to the receiver (ECONNREFUSED).");
    expect(code).toBe(2);
  });

  it("is 2 when the time limit of the whole run left a MUST open", async () => {
    await using receiver = await startReferenceReceiver({
      secrets: [secret],
      flaw: "stays-silent-on-bad-input",
    });
    const argv = [receiver.url, "--secret", secret, "--only", "headers.id-missing,timestamp.stale"];
    const limits = ["--run-timeout-ms", "100", "--timeout-ms", "5000"];
    const { code, out } = await command([...argv, ...limits]);
    expect(out).toContain("2 unfinished");
    expect(code).toBe(2);
  });

  it("is 2 when the command is stopped in the middle of a check", async () => {
    const stopping = new AbortController();
    let requests = 0;
    // Acknowledges the first delivery, which is the true one, and falls silent at the second.
    await using receiver = await answering((_, response) => {
      requests += 1;
      if (requests === 1) response.writeHead(200).end();
      else stopping.abort();
    });
    const argv = [receiver.url, "--secret", secret, "--only", "signature.forged"];
    const { code, out } = await command(argv, { stop: stopping.signal });
    expect(out).toContain("the audit was stopped");
    expect(code).toBe(2);
  });

  it("is 2 when the command is stopped before it judged every MUST", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const stop = AbortSignal.abort();
    const { code, out } = await command([receiver.url, "--secret", secret, "--only", "signature"], { stop });
    expect(out).toContain("the audit was stopped");
    expect(code).toBe(2);
  });

  it.each([
    ["no URL", ["--secret", secret], "expected one URL, got 0"],
    ["two URLs", ["http://a/", "http://b/", "--secret", secret], "expected one URL, got 2"],
    ["no secret", ["http://a/"], "expected --secret or WORKSPACE_TASKS_SIGNING_SECRET"],
    ["an unknown check", ["http://a/", "--secret", secret, "--only", "nonsense"], '"nonsense"'],
    ["an unknown option", ["http://a/", "--secret", secret, "--nonsense"], "--nonsense"],
    ["an unknown scheme", ["http://a/", "--secret", secret, "--scheme", "x"], "expected --scheme"],
    [
      "a limit that is no number",
      ["http://a/", "--secret", secret, "--timeout-ms", "1s"],
      '--timeout-ms, got "1s"',
    ],
  ])("is 2 with a hint for %s", async (_, argv, hint) => {
    const { code, out, err } = await command(argv);
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toContain(hint);
    expect(err).not.toContain(secret);
  });
});

describe.concurrent("the output of check-receiver", () => {
  it("is one JSON document with --json", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], flaw: "splits-at-commas" });
    const argv = [receiver.url, "--secret", secret, "--only", "signature", "--json", ...fast];
    const { out, err } = await command(argv);
    expect(err).toBe("");
    expect(JSON.parse(out)).toMatchObject({
      tool: "check-receiver",
      formatVersion: 1,
      verdict: "passed",
      url: receiver.url,
      summary: { MUST: { failed: 0 }, SHOULD: { passed: 1, failed: 1 } },
    });
  });

  it("takes the secret from the environment, so that it need not stand in the process list", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const env = { WORKSPACE_TASKS_SIGNING_SECRET: secret };
    const { code } = await command([receiver.url, "--only", "signature.forged", ...fast], { env });
    expect(code).toBe(0);
  });

  it("shows its progress on a terminal only, and erases it at the end", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const argv = [receiver.url, "--secret", secret, "--only", "methods", ...fast];
    const shown = await command(argv, { isTTY: true });
    expect(shown.err).toContain("[1/2] methods.get");
    expect(shown.err.endsWith("\r\u001b[K")).toBe(true);
    expect((await command(argv)).err).toBe("");
  });

  it("uses colours on a terminal, unless NO_COLOR is set", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const argv = [receiver.url, "--secret", secret, "--only", "methods", ...fast];
    expect((await command(argv, { isTTY: true })).out).toContain("\u001b[32mpass\u001b[0m");
    expect((await command(argv, { isTTY: true, env: { NO_COLOR: "1" } })).out).not.toContain("\u001b[");
  });

  it("lists all checks without any URL", async () => {
    const { code, out } = await command(["--list"]);
    expect(code).toBe(0);
    expect(out.trimEnd().split("\n")).toHaveLength(auditChecks.length);
    const listed = JSON.parse((await command(["--list", "--json"])).out) as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual(auditChecks.map(({ id }) => id));
  });

  it("explains itself with --help", async () => {
    const { code, out } = await command(["--help"]);
    expect(code).toBe(0);
    expect(out).toContain("--observe-url");
  });

  it("never holds the secret, whatever the receiver answers", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], flaw: "tells-its-secret" });
    const url = `${receiver.url}?token=${secret}`;
    const only = ["--only", "signature.forged,answers", ...fast];
    for (const format of [[], ["--json"]]) {
      const { out, err } = await command([url, "--secret", secret, ...only, ...format]);
      expect(out).toContain("answers.no-secret");
      expect(out + err).not.toContain(secret.slice("whsec_".length));
    }
  });
});

describe.concurrent("check-receiver says why a receiver cannot be audited", () => {
  const diagnose = async (url: string, own: string = secret) =>
    (await auditReceiver({ url, secret: own, timeoutMs: 2_000 })).problem;

  it("when the URL is not one", async () => {
    expect(await diagnose("ftp://host/")).toMatchObject({ code: "URL_INVALID" });
    expect(await diagnose("webhooks")).toMatchObject({ code: "URL_INVALID" });
  });

  it("when the secret cannot be right", async () => {
    const problem = await diagnose("http://127.0.0.1:1/", `${secret}\n`);
    expect(problem).toMatchObject({ code: "SECRET_INVALID" });
    expect(problem?.message).toMatch(/line break|newline|white ?space/i);
  });

  it("when the path is another one", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    await using express404 = await serveReceiver(createServer(express()), "/nowhere");
    expect(receiver.url).not.toBe(express404.url);
    expect(await diagnose(express404.url)).toMatchObject({ code: "NOT_FOUND" });
  });

  it("when it redirects, or takes another method", async () => {
    await using redirecting = await answering(
      (_, response) => void response.writeHead(308, { location: "/" }).end(),
    );
    await using getting = await answering((_, response) => void response.writeHead(405).end());
    expect(await diagnose(redirecting.url)).toMatchObject({ code: "REDIRECTED" });
    expect(await diagnose(getting.url)).toMatchObject({ code: "WRONG_ROUTE" });
  });

  it("when it never answers, or hangs up, or speaks something else", async () => {
    await using silent = await answering(() => {});
    await using closing = await answering((request) => void request.socket.destroy());
    expect(await diagnose(silent.url)).toMatchObject({ code: "NO_ANSWER" });
    expect(await diagnose(closing.url)).toMatchObject({ code: "CLOSED" });
    const ssh = createTcpServer(
      (socket) =>
        void socket
          .on("error", () => {})
          .resume()
          .end("SSH-2.0-example\r\n"),
    );
    await using talking = await serveReceiver(ssh);
    expect(await diagnose(talking.url)).toMatchObject({ code: "NOT_HTTP" });
  });

  it("when it has another secret", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [otherSecret] });
    const problem = await diagnose(receiver.url);
    expect(problem).toMatchObject({
      code: "REFUSED",
      message: "the receiver answered 401 to a valid delivery",
    });
    expect(problem?.hints.join()).toContain("Its secret is another one");
  });

  it("when it has the old secret only", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [otherSecret] });
    const report = await auditReceiver({
      url: receiver.url,
      secret,
      oldSecret: otherSecret,
      timeoutMs: 2_000,
    });
    expect(report.problem?.hints.join()).toContain("It knows the secret given as --old-secret");
  });

  it("when a JSON body parser comes first", async () => {
    const app = express();
    app.use(express.json());
    app.post("/webhooks", express.raw({ type: () => true }), (request, response) => {
      response.status(Buffer.isBuffer(request.body) ? 200 : 400).end();
    });
    await using receiver = await serveReceiver(createServer(app));
    const problem = await diagnose(receiver.url);
    expect(problem?.hints.join()).toContain("a JSON body parser consumes the body");
  });

  it.each([
    ["the whole text of the secret as its key", Buffer.from(secret), "with its whsec_ prefix"],
    [
      "the undecoded rest of the secret as its key",
      Buffer.from(secret.slice(6)),
      "uses the text of the secret",
    ],
  ])("when it takes %s", async (_, key, hint) => {
    await using receiver = await verifyingWith(key, "webhook");
    expect((await diagnose(receiver.url))?.hints.join().toLowerCase()).toContain(hint.toLowerCase());
  });

  it("when it reads another family of headers", async () => {
    await using receiver = await verifyingWith(Buffer.from(secret.slice(6), "base64"), "svix");
    expect((await diagnose(receiver.url))?.hints.join()).toContain("svix-id");
  });

  it("when its clock is wrong", async () => {
    const aheadMs = 3_600_000;
    await using receiver = await verifyingWith(Buffer.from(secret.slice(6), "base64"), "webhook", aheadMs);
    expect((await diagnose(receiver.url))?.hints.join()).toContain(
      "Its clock differs from this machine's by 3",
    );
  });

  it("when the observe URL shows nothing", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const observeUrl = new URL("/elsewhere", receiver.url).href;
    const { problem } = await auditReceiver({ url: receiver.url, secret, observeUrl, timeoutMs: 2_000 });
    expect(problem).toMatchObject({ code: "OBSERVE_URL" });
  });
});

describe("check-receiver over https", () => {
  const { key, cert } = createSelfSignedCertificate(Date.now());

  it("audits a receiver whose certificate it is told to trust", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], tls: { key, cert } });
    const folder = await mkdtemp(join(tmpdir(), "check-receiver-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const certificate = join(folder, "cert.pem");
    await writeFile(certificate, cert);
    const argv = [receiver.url, "--secret", secret, "--only", "signature,transfer", "--json", ...fast];
    // Trusted certificates are read when a process starts, so this one needs a process of its own.
    const args = ["--conditions=workspace-tasks-source", "--import", "tsx", bin, "check-receiver", ...argv];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificate };
    const { stdout } = await run(process.execPath, args, { env });
    const report = JSON.parse(stdout) as AuditReport & { verdict: string };
    expect(report.results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(report).toMatchObject({ verdict: "passed", url: expect.stringMatching(/^https:/) });
  });

  it("says so when the certificate is not trusted, or there is none", async () => {
    await using secure = await startReferenceReceiver({ secrets: [secret], tls: { key, cert } });
    await using plain = await startReferenceReceiver({ secrets: [secret] });
    const untrusted = await auditReceiver({ url: secure.url, secret });
    expect(untrusted.problem).toMatchObject({ code: "UNREACHABLE" });
    expect(untrusted.problem?.hints.join()).toContain("NODE_EXTRA_CA_CERTS");
    const unencrypted = await auditReceiver({ url: plain.url.replace("http:", "https:"), secret });
    expect(unencrypted.problem?.hints.join()).toContain("does not speak TLS");
  });
});

/** A receiver that verifies soundly, but with this key, this header family, or this clock. */
function verifyingWith(key: Buffer, family: "webhook" | "svix", aheadMs = 0): Promise<RunningReceiver> {
  return answering((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => void pieces.push(piece));
    request.on("end", () => {
      const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) =>
        String(request.headers[`${family}-${name}`]),
      );
      const now = Date.now() + aheadMs;
      const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(Buffer.concat(pieces));
      const isRight =
        signature === `v1,${hmac.digest("base64")}` && Math.abs(now / 1000 - Number(timestamp)) < 300;
      response.writeHead(isRight ? 200 : 401, { date: new Date(now).toUTCString() }).end();
    });
  });
}
