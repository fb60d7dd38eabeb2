import { describe, expect, it } from "vitest";
import {
  CommandError,
  defineCommand,
  onlyArgument,
  runCommandGroup,
  text,
  wholeNumber,
} from "../../../../../sdk/kernel/cli/command-line.ts";
import { runCommand } from "../../../../support/run-command.ts";

const flags = {
  store: text("<file>", "a file whose description is long enough to wrap at the width of a terminal"),
  retryCount: wholeNumber("retries", { min: 0, max: 9, fallback: 3 }),
};

const showWith = (failureCode?: 1 | 2) =>
  defineCommand({
    name: "rows show",
    failureCode,
    synopsis: "<id> [options]",
    about: "Shows a row.",
    flags,
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
