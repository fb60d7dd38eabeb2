import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { ask } from "../../../../../sdk/kernel/cli/command-line.ts";

const { signal } = new AbortController();

function asking(stop = signal) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  return { input, output, answer: ask("Continue? ", { input, output, signal: stop }) };
}

describe("ask", () => {
  it("ask writes the question and returns the line", async () => {
    const { input, output, answer } = asking();
    input.write("yes\nno\n");
    expect([await answer, String(output.read())]).toEqual(["yes", "Continue? "]);
  });

  it("ask returns an empty line at the end of the input", async () => {
    const { input, answer } = asking();
    input.end();
    expect(await answer).toBe("");
  });

  it("ask returns an empty line when the program is stopped", async () => {
    const stop = new AbortController();
    const { answer } = asking(stop.signal);
    stop.abort();
    expect(await answer).toBe("");
  });
});
