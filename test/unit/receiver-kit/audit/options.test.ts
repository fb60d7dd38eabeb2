import { describe, expect, it } from "vitest";
import { type AuditOptions, auditReceiver } from "workspace-tasks/receiver-kit/audit";

const valid: AuditOptions = {
  url: "http://127.0.0.1:1/",
  secret: `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
};

describe("auditReceiver options", () => {
  it.each<[object, string]>([
    [{ timeoutms: 5 }, "unknown option timeoutms; did you mean timeoutMs?"],
    [{ timeoutMs: "5" }, 'timeoutMs: expected a whole number of milliseconds from 1 to 2147483647, got "5"'],
    [{ concurrency: 0 }, "concurrency: expected a positive whole number, got 0"],
    [{ url: "webhooks" }, 'url: expected an http or https URL, got "webhooks"'],
    [{ url: "ftp://host/" }, 'url: expected an http or https URL, got "ftp://host/"'],
    [{ observeUrl: "effects" }, 'observeUrl: expected an http or https URL, got "effects"'],
    [{ only: "signature" }, 'only: expected an array of strings, got "signature"'],
    [{ secret: undefined }, "secret: expected a string, got undefined"],
    [
      { only: ["signatur"] },
      'only: expected the id or the subject of a check, got "signatur"; did you mean signature?',
    ],
  ])("auditReceiver rejects %j", async (options, message) => {
    const auditing = auditReceiver({ ...valid, ...options });
    await expect(auditing).rejects.toMatchObject({
      name: "ReceiverError",
      code: "CONFIGURATION_INVALID",
      message: `auditReceiver: ${message}`,
    });
  });

  it.each(["secret", "oldSecret"])(
    "auditReceiver rejects a malformed %s without repeating it",
    async (name) => {
      const auditing = auditReceiver({ ...valid, [name]: `${valid.secret}\n` });
      await expect(auditing).rejects.toMatchObject({
        code: "SECRET_WHITESPACE",
        message: `auditReceiver: ${name}: ends with a newline, as a file or a command's output does; trim it`,
      });
    },
  );
});
