import {
  isReceiverError,
  NonRetryableError,
  ReceiverError,
  WebhookRejectedError,
} from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";

describe("isReceiverError", () => {
  it("recognises every error class of the receiver kit, and a given code", () => {
    const rejected = new WebhookRejectedError("BODY_TIMEOUT", "slow");
    expect(
      [new ReceiverError("LEASE_LOST", "lost"), rejected, new NonRetryableError("no")].every((error) =>
        isReceiverError(error),
      ),
    ).toBe(true);
    expect(isReceiverError(rejected, "BODY_TIMEOUT")).toBe(true);
    expect(isReceiverError(rejected, "LEASE_LOST")).toBe(false);
  });

  it("recognises an error of another copy of the package", () => {
    const brand = Symbol.for("workspace-tasks/receiver-error/v1");
    const foreign = Object.assign(new Error("lost"), { code: "LEASE_LOST", [brand]: true });
    expect(isReceiverError(foreign, "LEASE_LOST")).toBe(true);
  });

  it("rejects other errors and other values, also with a code of the receiver kit", () => {
    const lookalike = Object.assign(new Error("lost"), { code: "LEASE_LOST" });
    for (const value of [lookalike, null, undefined, "LEASE_LOST"])
      expect(isReceiverError(value)).toBe(false);
  });
});

describe("ReceiverError", () => {
  it("asks the sender to wait 5 s for an unavailable inbox and 30 s for a full backlog, unless told otherwise", () => {
    expect(new ReceiverError("INBOX_UNAVAILABLE", "").retryAfterSeconds).toBe(5);
    expect(new ReceiverError("BACKLOG_FULL", "").retryAfterSeconds).toBe(30);
    expect(new ReceiverError("BACKLOG_FULL", "", { retryAfterSeconds: 7 }).retryAfterSeconds).toBe(7);
    expect(new ReceiverError("LEASE_LOST", "").retryAfterSeconds).toBeUndefined();
  });
});
