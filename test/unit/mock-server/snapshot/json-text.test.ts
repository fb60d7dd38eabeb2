import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "../../../../mock-server/snapshot/read-json.ts";
import { jsonChunks } from "../../../../mock-server/snapshot/write-json.ts";

async function* chunked(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const walkAll = (levels: number) => ({
  isWalked: (path: readonly string[]) => path.length < levels,
  item: (_path: readonly string[], _index: number, value: unknown) => value,
});

describe("JSON that is written and read in pieces", () => {
  it("is the same as in one piece, however it is cut, indented and walked", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 4 }),
        fc.nat({ max: 4 }),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(0, 1, "\t"),
        async (value, levels, size, indent) => {
          const pieces = [...jsonChunks({ value } as object, levels)].join("");
          expect(pieces).toBe(JSON.stringify({ value }));
          const text = JSON.stringify({ value }, null, indent);
          const read = await readJson(chunked(Buffer.from(text), size), walkAll(levels));
          expect(read).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: 300, seed: 4 },
    );
  });

  it("is rejected where JSON.parse rejects it", async () => {
    const texts = [
      "",
      "{",
      "[1",
      "[1 2]",
      '{"a" 1}',
      '{"a":1,}',
      "[,]",
      "{} {}",
      '"a',
      "tru",
      "[}",
      '{"a":[}]',
    ];
    for (const text of texts) {
      for (const levels of [0, 3]) {
        const reading = readJson(chunked(Buffer.from(text), 1), walkAll(levels));
        await expect(reading, text).rejects.toBeInstanceOf(SyntaxError);
      }
    }
  });

  it("is read when one value arrives in thousands of parts", async () => {
    // Joined at each part, this takes longer than a test may.
    const content = "A".repeat(40_000_000);
    const bytes = Buffer.from(JSON.stringify({ content }));
    const read = (await readJson(chunked(bytes, 8_192), walkAll(1))) as { content: string };
    expect(read.content === content).toBe(true);
  });

  it("is rejected when it is not UTF-8", async () => {
    const bytes = Uint8Array.from([0x22, 0xff, 0x22]);
    await expect(readJson(chunked(bytes, 2), walkAll(1))).rejects.toThrow();
  });
});
