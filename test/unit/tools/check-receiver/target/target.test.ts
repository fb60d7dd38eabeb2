import { createServer, type RequestListener } from "node:http";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, vi } from "vitest";
import { type AuditOptions, auditReceiver } from "workspace-tasks/check-receiver";
import {
  createObserver,
  keyOf,
  resolveAuditOptions,
  sign,
  signWithKey,
} from "../../../../../mock-server/tools/check-receiver/target/target.ts";
import { secret } from "../../../../support/receivers/audit-fixture.ts";
import { serveReceiver } from "../../../../support/receivers/served-receiver.ts";

const content = { id: "msg_1", timestamp: "1700000000", body: Buffer.from('{"a":"é"}') };

describe("the signatures of check-receiver", () => {
  it("sign and signWithKey return the signature of the public library", () => {
    const library = new Webhook(secret).sign("msg_1", new Date(1_700_000_000_000), '{"a":"é"}');
    expect(sign(content, secret)).toBe(library);
    expect(signWithKey(content, keyOf(secret))).toBe(library);
  });

  it("sign signs bytes that are not UTF-8 unchanged, which the public library cannot", () => {
    const bytes = { ...content, body: Buffer.from([0xff]) };
    const replaced = { ...content, body: Buffer.from("\uFFFD") };
    expect(sign(bytes, secret)).not.toBe(sign(replaced, secret));
  });
});

it("the observe URL may respond later than a delivery, and what it returns instead of JSON is no late response", async () => {
  const server = createServer((request, response) => {
    const count = request.url?.includes("unsent") ? 0 : 1;
    // Passing time is the subject: more than `timeoutMs`.
    setTimeout(
      () => response.end(request.url?.startsWith("/effects") ? JSON.stringify({ count }) : "no"),
      50,
    );
  });
  await using receiver = await serveReceiver(server);
  const { url, observeUrl } = receiver;
  const options = resolveAuditOptions({
    url,
    secret,
    observeUrl,
    timeoutMs: 10,
    observeSettleMs: 1,
    observeTimeoutMs: 100,
  });
  const observer = await createObserver(observeUrl, options, "sent", "unsent");
  expect(await observer.effectsOf(["sent", "unsent"])).toEqual([1, 0]);
  const wrong = createObserver(url, options, "sent", "unsent");
  await expect(wrong).rejects.toThrow("the observe URL did not return a JSON object");
});

async function observe(listener: RequestListener): Promise<string> {
  await using receiver = await serveReceiver(createServer(listener));
  const { url, observeUrl } = receiver;
  const options = resolveAuditOptions({ url, secret, observeUrl, observeSettleMs: 1, observeTimeoutMs: 100 });
  return await createObserver(observeUrl, options, "sent", "unsent").then(
    () => "observed",
    (error: unknown) => String(error),
  );
}

it("a connection that the receiver closes as it is used is no failure of the observe URL", async () => {
  let requests = 0;
  const outcome = await observe((request, response) => {
    if (++requests === 2) return request.socket.destroy();
    return response.end(JSON.stringify({ count: request.url?.includes("unsent") ? 0 : 1 }));
  });
  expect([outcome, requests]).toEqual(["observed", 4]);
});

it("an observe URL that cannot be read is named with the code of the connection or the status", async () => {
  const closes = await observe(({ socket }) => socket.destroy());
  expect(closes).toBe("ObserverError: the observe URL could not be read (UND_ERR_SOCKET)");
  const fails = await observe((_, response) => response.writeHead(503).end("{}"));
  expect(fails).toBe("ObserverError: the observe URL returned status 503");
});

it("an observe URL whose body has no end did not respond in time", async () => {
  const { timeout } = AbortSignal;
  const limit = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => timeout.call(AbortSignal, 50));
  const outcome = await observe((_, response) => void response.write('{"count":'));
  limit.mockRestore();
  expect(outcome).toBe("ObserverError: the observe URL did not respond within 10000 ms");
});

const valid: AuditOptions = {
  url: "http://127.0.0.1:1/",
  secret: `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
};

describe("auditReceiver options", () => {
  it.each<[object, string]>([
    [{ timeoutms: 5 }, "did you mean timeoutMs?"],
    [{ timeoutMs: "5" }, "timeoutMs: expected a whole number of milliseconds"],
    [{ concurrency: 0 }, "concurrency: "],
    [{ url: "webhooks" }, "url: expected an http or https URL"],
    [{ url: "ftp://host/" }, "url: expected an http or https URL"],
    [{ observeUrl: "effects" }, "observeUrl: expected an http or https URL"],
    [{ only: "signature" }, "only: expected an array"],
    [{ secret: undefined }, "secret: "],
    [{ only: ["signatur"] }, "did you mean signature?"],
  ])("auditReceiver rejects %j", async (options, message) => {
    await expect(auditReceiver({ ...valid, ...options })).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: expect.stringContaining(message),
    });
  });

  it.each(["secret", "oldSecret"])(
    "auditReceiver rejects a malformed %s without repeating it",
    async (name) => {
      const auditing = auditReceiver({ ...valid, [name]: `${valid.secret}\n` });
      await expect(auditing).rejects.toMatchObject({
        code: "SECRET_INVALID",
        message: expect.not.stringContaining(valid.secret),
      });
    },
  );
});
