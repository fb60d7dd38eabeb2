import { describe, expect, it } from "vitest";
import { FailureError, toError } from "../../../sdk/call/failure.ts";
import * as errors from "../../../sdk/errors.ts";

describe("an error", () => {
  it("an error of every code is a WorkspaceTasksError", () => {
    for (const code of errors.errorCodes) {
      const error = toError({ code, message: "x", outcome: "rejected", remedy: "none" }, { attempts: 1 });
      expect(error).toBeInstanceOf(errors.WorkspaceTasksError);
      expect(error).toMatchObject({ name: "WorkspaceTasksError", code });
    }
  });

  it("an error is recognised across two copies of the package", async () => {
    const copyPath = "../../../sdk/errors.ts?copy";
    const copy = (await import(/* @vite-ignore */ copyPath)) as typeof import("../../../sdk/errors.ts");
    const foreign = new copy.WorkspaceTasksError("CONFIGURATION_INVALID", "elsewhere");
    expect(foreign).not.toBeInstanceOf(errors.WorkspaceTasksError);
    expect(errors.isWorkspaceTasksError(foreign)).toBe(true);
    expect(errors.isWorkspaceTasksError(foreign, "CONFIGURATION_INVALID")).toBe(true);
    expect(errors.isWorkspaceTasksError(foreign, "NOT_FOUND")).toBe(false);
  });

  it("a failure of a limiter or token that another copy of the package created is recognised", async () => {
    const copyPath = "../../../sdk/call/failure.ts?copy";
    const copy = (await import(/* @vite-ignore */ copyPath)) as typeof import("../../../sdk/call/failure.ts");
    const foreign = new copy.FailureError(copy.failure("ABORTED", "elsewhere"));
    expect(copy.FailureError).not.toBe(FailureError);
    expect(foreign instanceof FailureError).toBe(true);
    expect(new Error("x") instanceof FailureError).toBe(false);
  });

  it.each([[null], [undefined], ["text"], [new Error("x")], [{ code: "NOT_FOUND" }]])(
    "%j is not an SDK error",
    (value) => {
      expect(errors.isWorkspaceTasksError(value)).toBe(false);
    },
  );

  it("an error as JSON has its fields but no data", () => {
    const error = new errors.WorkspaceTasksError("CONFLICT", "taken", {
      outcome: "rejected",
      attempts: 2,
      data: { x: 1 },
    });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "WorkspaceTasksError",
      code: "CONFLICT",
      message: "taken",
      outcome: "rejected",
      attempts: 2,
    });
    expect(error.data).toEqual({ x: 1 });
  });
});
