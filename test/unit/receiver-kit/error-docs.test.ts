import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import * as receiverKit from "workspace-tasks/receiver-kit";
import { rejectionStatuses, type SecretErrorCode } from "workspace-tasks/receiver-kit";

const secretMistakes: Record<SecretErrorCode, true> = {
  SECRET_MISSING: true,
  SECRET_EMPTY: true,
  SECRET_WHITESPACE: true,
  SECRET_VERSION_PREFIX: true,
  SECRET_ASYMMETRIC_KEY: true,
  SECRET_PREFIX_MISSING: true,
  SECRET_HEX: true,
  SECRET_BASE64URL: true,
  SECRET_NOT_BASE64: true,
  SECRET_CUT_SHORT: true,
  SECRET_LENGTH: true,
};

/** Codes of the exported error classes that always carry the same one. */
function fixedCodes(): string[] {
  return Object.values(receiverKit).flatMap((exported) => {
    if (typeof exported !== "function" || !(exported.prototype instanceof Error)) return [];
    const error: unknown = Reflect.construct(exported, ["", ""]);
    const { code } = error as { code?: unknown };
    return typeof code === "string" && code !== "" ? [code] : [];
  });
}

describe("docs/errors.md", () => {
  it("has a heading for each code of the receiver kit, and none that does not exist", async () => {
    const text = await readFile(new URL("../../../docs/errors.md", import.meta.url), "utf8");
    const receiver = text.slice(text.indexOf("\n## Receiver\n"));
    const headings = [...receiver.matchAll(/^### ([A-Z0-9_]+)$/gm)].map(([, code]) => code);
    const codes = [...Object.keys(rejectionStatuses), ...Object.keys(secretMistakes), ...fixedCodes()];
    expect(fixedCodes()).toContain("INBOX_UNAVAILABLE");
    expect(headings.sort()).toEqual([...new Set(codes)].sort());
  });

  it("gives each status the codes that have it", async () => {
    const text = await readFile(new URL("../../../docs/errors.md", import.meta.url), "utf8");
    for (const [code, status] of Object.entries(rejectionStatuses)) {
      const row = text.split("\n").find((line) => line.startsWith("|") && line.includes(`\`${code}\``));
      expect(row, code).toContain(String(status));
    }
  });
});
