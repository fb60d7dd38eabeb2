import { describe, expect, it } from "vitest";
import {
  choice,
  list,
  parseFlags,
  text,
  toggle,
  wholeNumber,
} from "../../../../../sdk/kernel/cli/command-line.ts";

const table = {
  store: text("<file>", "a file"),
  schema: text("<name>", "a schema", "main"),
  timeoutMs: wholeNumber("a limit", { min: 1, max: 1000, fallback: 50 }),
  kind: choice(["sliding", "fixed"], "a kind"),
  only: list("<ids>", "ids"),
  names: list("<names>", "names", { accepts: (name) => /^[a-z]+$/.test(name), expected: "letters" }),
  json: toggle("as JSON"),
};

describe("parseFlags", () => {
  it("parseFlags returns fallbacks for flags that are absent", () => {
    expect(parseFlags([], table)).toEqual({
      flags: {
        store: undefined,
        schema: "main",
        timeoutMs: 50,
        kind: undefined,
        only: [],
        names: [],
        json: false,
      },
      positionals: [],
      rest: [],
    });
  });

  it("parseFlags separates values, positionals and what follows --", () => {
    const argv = [
      "list",
      "--timeout-ms=7",
      "--store",
      "-",
      "--only",
      "a,b",
      "--only=c",
      "--json",
      "--",
      "-x",
    ];
    expect(parseFlags(argv, table)).toMatchObject({
      flags: { store: "-", timeoutMs: 7, only: ["a", "b", "c"], json: true },
      positionals: ["list"],
      rest: ["-x"],
    });
  });

  it.each([
    [["--stoer", "x"], "unknown flag --stoer; did you mean --store?"],
    [["--unrelated-flag"], "unknown flag --unrelated-flag"],
    [["--store"], "Option '--store <value>' argument missing"],
    [["--store", "--json"], expect.stringContaining("argument is ambiguous")],
    [["--json=yes"], "Option '--json' does not take an argument"],
    [["--names", "a,b1"], '--names: expected letters, got "b1"'],
    [["--timeout-ms", "1.5"], '--timeout-ms: expected a whole number from 1 to 1000, got "1.5"'],
    [["--kind", "slidign"], '--kind: expected sliding or fixed, got "slidign"; did you mean sliding?'],
  ])("parseFlags rejects %j", (argv, message) => {
    expect(() => parseFlags(argv, table)).toThrow(
      expect.objectContaining({ name: "UsageError", exitCode: 2, message }),
    );
  });
});
