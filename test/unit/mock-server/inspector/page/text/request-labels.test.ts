import type { RecordedRequest } from "@workspace-tasks/mock-server/control";
import { describe, expect, it } from "vitest";
import { reasonOf } from "../../../../../../mock-server/inspector/page/src/text/request-labels.ts";

const unauthorized = { message: "Unauthorized", code: "UNAUTHORIZED", path: null };

const reasonWith = (changes: Partial<RecordedRequest>) =>
  reasonOf({ errors: [], rejection: null, faults: [], status: 200, ...changes } as RecordedRequest);

describe("reasonOf", () => {
  it("is the mock's own reason, not the generic message that the caller got", () => {
    expect(reasonWith({ errors: [unauthorized], rejection: "token expired" })).toBe("token expired");
    expect(reasonWith({ errors: [unauthorized] })).toBe("Unauthorized");
  });

  it("is the status of the response when a fault caused it, or that the connection was cut", () => {
    expect(reasonWith({ faults: ["status"], status: 429 })).toBe("fault: status 429");
    expect(reasonWith({ faults: ["reset-after-effect"], status: null })).toBe("fault: reset-after-effect");
    expect(reasonWith({ status: 413 })).toBe("413");
  });
});
