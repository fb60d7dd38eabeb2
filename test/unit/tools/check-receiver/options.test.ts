import { describe, expect, it } from "vitest";
import { type AuditOptions, auditReceiver } from "workspace-tasks/check-receiver";

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
