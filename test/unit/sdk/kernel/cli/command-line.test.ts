import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import {
  ask,
  CommandError,
  choice,
  defineCommand,
  list,
  onlyArgument,
  parseFlags,
  runCommandGroup,
  text,
  toggle,
  wholeNumber,
} from "../../../../../sdk/kernel/cli/command-line.ts";
import { runCommand } from "../../../../support/run-command.ts";

const showFlags = {
  store: text("<file>", "a file whose description is long enough to wrap at the width of a terminal"),
  retryCount: wholeNumber("retries", { min: 0, max: 9, fallback: 3 }),
};

const showWith = (failureCode?: 1 | 2) =>
  defineCommand({
    name: "rows show",
    failureCode,
    synopsis: "<id> [options]",
    about: "Shows a row.",
    flags: showFlags,
    notes: "Exit code: 0 done.",
    async run(args, io) {
      const id = onlyArgument(args, "one id");
      if (id === "absent") throw new CommandError("no row absent");
      if (id === "hostile")
        throw new CommandError("no row \u001b]0;title\u0007\u202e\nworkspace-tasks: done");
      if (id === "bug") throw new Error("unexpected");
      io.stdout.write(`${id} ${args.flags.retryCount}`);
      return 0;
    },
  });

const run = (...argv: string[]) => runCommand(showWith(), argv);

describe("a command", () => {
  it("a command returns the exit code of the command", async () => {
    expect(await run("one")).toEqual({ code: 0, out: "one 3", err: "" });
  });

  it("a command prints a help text made from the flag table", async () => {
    const { code, out } = await run("--help");
    expect(code).toBe(0);
    expect(out).toMatch(/^Usage: workspace-tasks rows show <id> \[options\]\n/);
    // Wrapped at the width of a terminal, with defaults.
    expect(out).toMatch(/ --store <file> {5}a file whose .* wrap at the\n {21}width of a terminal\n/);
    expect(out).toMatch(/ --retry-count <n> {2}retries \(3\)\n/);
  });

  it("a command leaves a --help after -- to the command", async () => {
    expect((await run("--", "--help")).out).toBe("--help 3");
  });

  it("a command prints a usage error with a hint and returns 2", async () => {
    const { code, out, err } = await run("a", "b");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toBe(
      'workspace-tasks rows show: expected one id, got "a b"\nTry workspace-tasks rows show --help\n',
    );
  });

  it("a command shows what controls a terminal in a notice, and no line of a text as another notice", async () => {
    expect((await run("hostile")).err).toBe(
      "workspace-tasks rows show: no row \\u001b]0;title\\u0007\\u202e\n  workspace-tasks: done\n",
    );
  });

  it("a command prints an expected failure in one sentence and returns 1", async () => {
    expect(await run("absent")).toEqual({
      code: 1,
      out: "",
      err: "workspace-tasks rows show: no row absent\n",
    });
  });

  it("a command prints an unexpected error in one sentence, and its stack on request", async () => {
    expect(await run("bug")).toEqual({ code: 1, out: "", err: "workspace-tasks rows show: unexpected\n" });
    const env = { WORKSPACE_TASKS_DEBUG: "1" };
    expect((await runCommand(showWith(), ["bug"], { env })).err).toMatch(/Error: unexpected\n\s+at /);
  });

  it.each(["bug", "absent"])("a command for which 1 is a result returns 2 for the failure %s", async (id) => {
    expect((await runCommand(showWith(2), [id])).code).toBe(2);
  });
});

describe("runCommandGroup", () => {
  const group = {
    name: "rows",
    about: "Works with rows.",
    subcommands: {
      show: { about: "show a row", run: async (argv: readonly string[]) => (argv[0] === "--help" ? 8 : 7) },
    },
  };
  const runGroup = (...argv: string[]) => runCommand((args, io) => runCommandGroup(group, args, io), argv);
  it("runCommandGroup runs the named subcommand", async () => {
    expect((await runGroup("show", "one")).code).toBe(7);
  });

  it("runCommandGroup lists its subcommands with --help and help, and on stderr without arguments", async () => {
    const { code, out } = await runGroup("--help");
    expect(code).toBe(0);
    expect(out).toMatch(/^Usage: workspace-tasks rows <command>[\s\S]*\n {2}show {4}show a row\n/);
    expect((await runGroup("help")).out).toBe(out);
    expect(await runGroup()).toEqual({ code: 2, out: "", err: out });
  });

  it("runCommandGroup shows the help of the subcommand that follows help", async () => {
    expect((await runGroup("help", "show")).code).toBe(8);
    expect((await runGroup("help", "shwo")).err).toContain("did you mean show?");
  });
});

const flagTable = {
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
    expect(parseFlags([], flagTable)).toEqual({
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
    expect(parseFlags(argv, flagTable)).toMatchObject({
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
    [["--store="], '--store: expected text, got ""'],
    [["--schema", ""], '--schema: expected text, got ""'],
    [["--only", ""], '--only: expected text, got ""'],
    [["--names", ","], '--names: expected letters, got ","'],
    [["--timeout-ms", "1.5"], '--timeout-ms: expected a whole number from 1 to 1000, got "1.5"'],
    [["--kind", "slidign"], '--kind: expected sliding or fixed, got "slidign"; did you mean sliding?'],
  ])("parseFlags rejects %j", (argv, message) => {
    expect(() => parseFlags(argv, flagTable)).toThrow(
      expect.objectContaining({ name: "UsageError", exitCode: 2, message }),
    );
  });
});

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
