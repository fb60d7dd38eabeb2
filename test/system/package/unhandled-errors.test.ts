// What ends a process and what does not, while an error of a query may become an unhandled rejection.

import { describe, expect, it } from "vitest";
import { bundledModule } from "../../support/bundled-program.ts";
import { RunningProgram } from "../../support/running-program.ts";

async function run(source: string, ...flags: string[]) {
  const text = `
    import { catchUnhandled } from ${await bundledModule("receiver-kit/attempt/unhandled-errors.ts")};
    import { setTimeout as pause } from "node:timers/promises";
    const query = new Error("of a query");
    const watch = () => catchUnhandled(query, () => console.log("reported"));
    ${source}
    await pause(20);
    console.log(process.listenerCount("unhandledRejection"));`;
  using program = new RunningProgram([...flags, "--input-type=module", "--eval", text]);
  return await program.ended();
}

describe("unhandled rejections", () => {
  it("an unhandled rejection with the error of a query, or because of it, is reported and does not end the process", async () => {
    const ended = await run(`
      watch();
      Promise.reject(query);
      Promise.reject(new Error("not saved", { cause: query }));`);
    expect(ended).toEqual({ code: 0, output: "reported\nreported\n0\n" });
  });

  it("an unhandled rejection with another error ends the process as ever, also in the same turn", async () => {
    const { code, output } = await run(`
      watch();
      Promise.reject(query);
      Promise.reject(new Error("of the application"));`);
    expect(code).toBe(1);
    expect(output).toMatch(/^reported\n[\s\S]*Error: of the application/);
  });

  it("an unhandled rejection with another error does what the flags of Node say", async () => {
    const { code, output } = await run(
      'watch(); Promise.reject(new Error("of the application"));',
      "--unhandled-rejections=warn",
    );
    expect(code).toBe(0);
    expect(output).toMatch(/UnhandledPromiseRejectionWarning: Error: of the application[\s\S]*\n0\n/);
  });

  it("an unhandled rejection with another error is left to the listener of the application", async () => {
    const ended = await run(`
      process.on("unhandledRejection", ({ message }) => console.log(message));
      watch();
      Promise.reject(new Error("of the application"));`);
    expect(ended).toEqual({ code: 0, output: "of the application\n1\n" });
  });
});
