import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  diffLines,
  foldEqual,
} from "../../../../../../mock-server/inspector/page/src/signature/line-diff.ts";

describe("diffLines", () => {
  it("places a changed line beside the one that replaced it, and added lines beside nothing", () => {
    expect(diffLines("a\nb\nc\nd", "a\nB\nc\nx\nd")).toEqual([
      { left: "a", right: "a" },
      { left: "b", right: "B" },
      { left: "c", right: "c" },
      { left: null, right: "x" },
      { left: "d", right: "d" },
    ]);
  });

  it("keeps every line of both texts, in order", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(text, text, (left, right) => {
        const pairs = diffLines(left.join("\n"), right.join("\n"));
        expect(pairs.flatMap((pair) => pair.left ?? [])).toEqual(left);
        expect(pairs.flatMap((pair) => pair.right ?? [])).toEqual(right);
      }),
    );
  });

  it("has its long runs of equal lines folded, but for three lines beside a difference", () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    const changed = lines.with(20, "changed");
    const folded = foldEqual(diffLines(lines.join("\n"), changed.join("\n")));
    const shown = folded.map((line) => ("equalLines" in line ? line.equalLines.length : line.left));
    expect(shown).toEqual([17, ...lines.slice(17, 24), ...lines.slice(24)]);
  });

  it("compares texts that are too long for a table line by line", () => {
    const lines = (mark: string) => Array.from({ length: 2_000 }, (_, index) => `${mark}${index}`).join("\n");
    expect(diffLines(lines("a"), lines("b"))).toHaveLength(2_000);
  });
});
