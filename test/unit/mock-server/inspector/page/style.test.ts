import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const folder = "mock-server/inspector/page/src";
const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
const textOf = (ending: RegExp) =>
  files
    .filter((file) => ending.test(file))
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");

/** Classes in the selectors of a style sheet. */
function classesIn(css: string): Set<string> {
  const selectors = css.replace(/\/\*[\s\S]*?\*\//g, "").matchAll(/([^{};]+)\{/g);
  return new Set([...selectors].flatMap(([, text = ""]) => text.match(/\.[a-z][\w-]*/g) ?? []));
}

/** Classes that no component names; the tones are put together from `tone-` and a word. */
const unusedIn = (css: string, components: string) =>
  [...classesIn(css)].filter((name) => {
    const words = name.startsWith(".tone-")
      ? `"${name.slice(".tone-".length)}"`
      : `\\b${name.slice(1)}(?![\\w-])`;
    return !new RegExp(words).test(components);
  });

describe("the style sheets of the inspector", () => {
  it("have no class that no component uses", () => {
    expect(unusedIn(textOf(/\.css$/), textOf(/\.tsx?$/))).toEqual([]);
  });
});
