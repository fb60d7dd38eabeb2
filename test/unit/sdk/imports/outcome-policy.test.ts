import { describe, expect, it } from "vitest";
import { type ErrorCode, errorCodes, type Outcome } from "../../../../sdk/errors.ts";
import type { WorkMode } from "../../../../sdk/imports/import-state.ts";
import {
  decideOnEvidence,
  decideOnWorks,
  isStarted,
  kindOfFailure,
} from "../../../../sdk/imports/outcome-policy.ts";

const failed = (code: ErrorCode, outcome: Outcome = "rejected", message = "", httpStatus?: number) => ({
  code,
  outcome,
  message,
  httpStatus,
});

describe("a failed call of an import", () => {
  it.each<[ErrorCode, Outcome, string]>([
    ["API_KEY_REJECTED", "not_sent", "import"],
    ["API_KEY_UNAVAILABLE", "not_sent", "import"],
    ["PERMISSION_DENIED", "rejected", "import"],
    ["CLIENT_CLOSED", "unknown", "import"],
    ["ABORTED", "unknown", "import"],
    ["CONFIGURATION_INVALID", "not_sent", "import"],
    ["JOURNAL_FAILED", "not_sent", "import"],
    ["ON_PROGRESS_FAILED", "rejected", "import"],
    ["SERVICE_UNAVAILABLE", "unknown", "doubt"],
    ["NETWORK_FAILED", "unknown", "doubt"],
    ["NETWORK_FAILED", "not_sent", "repeat"],
    ["REQUEST_TIMEOUT", "unknown", "doubt"],
    ["DEADLINE_EXCEEDED", "not_sent", "repeat"],
    ["RATE_LIMITED", "rejected", "repeat"],
    ["RATE_LIMIT_QUEUE_FULL", "not_sent", "repeat"],
    ["RATE_LIMIT_WAIT_EXCEEDED", "not_sent", "repeat"],
    ["RATE_LIMIT_STORE_FAILED", "not_sent", "repeat"],
    ["TOKEN_REJECTED", "rejected", "repeat"],
    ["SERVICE_FAILED", "not_sent", "repeat"],
    ["GRAPHQL_ERROR", "not_sent", "repeat"],
    ["GRAPHQL_ERROR", "unknown", "doubt"],
    ["RESPONSE_INVALID", "unknown", "doubt"],
    ["CONFLICT", "rejected", "call"],
    ["CONFLICT", "unknown", "doubt"],
    ["NOT_FOUND", "rejected", "call"],
    ["INPUT_INVALID", "rejected", "call"],
    ["ARGUMENT_INVALID", "not_sent", "call"],
    ["UPLOAD_BODY_INVALID", "unknown", "call"],
    ["UPLOAD_REJECTED", "rejected", "call"],
    ["UPLOAD_FAILED", "unknown", "doubt"],
  ])("%s with the outcome %s is of kind %s", (code, outcome, kind) => {
    expect(kindOfFailure(failed(code, outcome))).toBe(kind);
  });

  it("is never taken for one without effect when its outcome is unknown", () => {
    for (const code of errorCodes) expect(kindOfFailure(failed(code, "unknown"))).not.toBe("repeat");
  });
});

describe("works that the service rejected", () => {
  const conflict = failed("CONFLICT", "rejected", 'externalId "b" is already used in this connection');
  const two = ["a", "b", "c"];
  it.each<[ReturnType<typeof failed>, WorkMode, readonly string[], unknown]>([
    [conflict, "new", two, [["b"], ["a", "c"]]],
    [failed("CONFLICT"), "new", two, [["a", "b"], ["c"]]],
    // Only the whole external id counts.
    [failed("CONFLICT", "rejected", 'externalId "bc"'), "new", two, [["a", "b"], ["c"]]],
    [conflict, "new", ["b"], "exists"],
    [conflict, "doubt", two, "look_up"],
    [conflict, "doubt", ["b"], "look_up"],
    [conflict, "derived", two, "derive"],
    [failed("INPUT_INVALID"), "new", two, [["a", "b"], ["c"]]],
    [failed("INPUT_INVALID"), "derived", ["a"], "fail"],
    [failed("DOCUMENT_INVALID"), "doubt", ["a"], "fail"],
    [failed("ARGUMENT_INVALID", "not_sent"), "new", ["a"], "fail"],
    [failed("HTTP_REQUEST_REJECTED", "rejected", "", 413), "new", ["a", "b"], [["a"], ["b"]]],
    [failed("HTTP_REQUEST_REJECTED", "rejected", "", 404), "new", two, "end"],
    [failed("NOT_FOUND"), "new", two, "end"],
  ])("%j of %s works %j: %j", (error, mode, clients, decision) => {
    expect(decideOnWorks(error, mode, clients)).toEqual(decision);
  });
});

describe("works in doubt that conflict", () => {
  it.each<[readonly string[], readonly string[] | undefined, object]>([
    [["a", "b"], [], { derive: ["a", "b"], again: [], undecided: [] }],
    [["a", "b", "c"], ["b"], { derive: ["a", "c"], again: [["b"]], undecided: [] }],
    [["a", "b", "c"], ["a", "b"], { derive: ["c"], again: [["a", "b"]], undecided: [] }],
    [["a", "b"], ["a", "b"], { derive: [], again: [["a"], ["b"]], undecided: [] }],
    [["a"], ["a"], { derive: [], again: [], undecided: ["a"] }],
    [["a", "b", "c"], undefined, { derive: [], again: [["a", "b"], ["c"]], undecided: [] }],
    [["a"], undefined, { derive: [], again: [], undecided: ["a"] }],
  ])("%j, of which the workspace has %j: %j", (clients, existing, decision) => {
    expect(decideOnEvidence(clients, existing && new Set(existing))).toEqual(decision);
  });
});

describe("a start that was rejected", () => {
  it.each<[ErrorCode, Outcome, boolean, boolean]>([
    ["CONFLICT", "rejected", true, true],
    ["CONFLICT", "unknown", false, true],
    ["CONFLICT", "rejected", false, false],
    ["NOT_FOUND", "rejected", true, false],
  ])(
    "with %s, outcome %s, in doubt before: %s; means that it has started: %s",
    (code, outcome, wasInDoubt, started) => {
      expect(isStarted(failed(code, outcome), wasInDoubt)).toBe(started);
    },
  );
});
