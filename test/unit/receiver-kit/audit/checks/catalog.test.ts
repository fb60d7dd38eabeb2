import { expect, it } from "vitest";
import { auditChecks } from "../../../../../receiver-kit/audit/checks/catalog.ts";

it("the check of a replaced character is a SHOULD: receivers that hash decoded text fail it, and no attacker can use that", () => {
  const found = auditChecks.find(({ id }) => id === "signature.replacement-character");
  expect(found?.requirement).toBe("SHOULD");
});
