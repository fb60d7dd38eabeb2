// What documents tell a reader to type. test/projects runs the commands of the README, `npm run docs` copies code from
// tested examples.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { helpTexts } from "../../../docs/generate/help-texts.ts";
import { runMockCommand } from "../../../mock-server/cli/mock-command.ts";
import {
  runClockCommand,
  runResendCommand,
  runResetCommand,
  runSnapshotCommand,
} from "../../../mock-server/cli/running-mock.ts";
import { runTriggerCommand } from "../../../mock-server/cli/trigger-command.ts";
import { projectFiles } from "../../../scripts/project-files.ts";
import type { CommandIo } from "../../../sdk/kernel/cli/command-line.ts";
import { startCapturingReceiver } from "../../support/capturing-receiver.ts";
import { blocksOf, linesOf, shellBlockOf } from "../../support/documents.ts";
import { runCommand, startCommand } from "../../support/run-command.ts";
import { withFolder } from "../../support/with-folder.ts";

const read = (file: string) => readFileSync(file, "utf8");
const documents = projectFiles(".", ".md");

/** Flags by command, from the help texts that the site shows. */
const flagsOf = new Map(
  [...(await helpTexts()).matchAll(/^### (.+)\n\n```text\n([\s\S]*?)^```$/gm)].map(
    ([, name = "", help = ""]) => [
      name,
      new Set([...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag)),
    ],
  ),
);

/** What is wrong with a command line of this project; nothing when command and flags exist. */
function problemsOf(line: string): readonly string[] {
  const [own = ""] = line
    .replace(/^.*?\b(?:workspace-tasks |(?=workspace-tasks-inbox))/, "")
    .split(/ (?:--|&&?|\|)(?= |$)/);
  const words = own.split(/[\s=]+/);
  const name = [3, 2, 1].map((count) => words.slice(0, count).join(" ")).find((each) => flagsOf.has(each));
  if (["--help", "…"].includes(own) || own.startsWith("<command>")) return [];
  if (name === undefined) return [`unknown command ${own}`];
  const given = words.filter((word) => /^--[a-z]/.test(word));
  return given
    .filter((flag) => flag !== "--help" && !flagsOf.get(name)?.has(flag))
    .map((flag) => `${name} has no flag ${flag}`);
}

describe("commands in the documents", () => {
  const commands = documents.flatMap((file) => {
    const text = read(file).replace(/<!-- commands:begin -->[\s\S]*<!-- commands:end -->/, "");
    const inline = text
      .replace(/^```[\s\S]*?^```$/gm, "")
      .matchAll(/`((?:npx |[\w./]*\/)?workspace-tasks(?:-inbox)? [^`\n]*)`/g);
    const fenced = blocksOf(text).flatMap((block) => linesOf(block.text));
    const typed = fenced.filter((line) => /^(?:npx |\$ )?workspace-tasks(?:-inbox)? /.test(line));
    return [...[...inline].map(([, command = ""]) => command), ...typed].map((command) => ({
      file,
      command,
    }));
  });

  it("commands in the documents name commands and flags that exist", () => {
    expect(commands.length).toBeGreaterThan(40);
    const wrong = commands.flatMap(({ file, command }) =>
      problemsOf(command).map((problem) => `${file}: ${problem} (${command})`),
    );
    expect(wrong).toEqual([]);
  });

  it("commands in the documents are of programs that a reader has: these packages, npm, Node, curl, RabbitMQ", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Readonly<Record<string, string>> };
    const known = [
      (line: string) => /^(?:npx )?workspace-tasks(?:-inbox)? /.test(line),
      (line: string) => /^npm (?:install|ci|start|test|pkg set)\b|^curl |^(?:export )?[A-Z_]+=/.test(line),
      (line: string) => /^(?:mkdir -p \S+ && )?npx (?:ts-jest|playwright|quicktype) /.test(line),
      (line: string) => line.startsWith("rabbitmq-plugins enable "),
      (line: string) => Object.hasOwn(scripts, /^npm run (?:--silent )?([\w:-]+)/.exec(line)?.[1] ?? ""),
      (line: string) => existsSync(/^node (?:--\S+ (?:tsx )?)*(\S+)/.exec(line)?.[1] ?? ""),
    ];
    const lines = documents.flatMap((file) =>
      blocksOf(read(file))
        .filter(({ language, mark }) => language === "sh" && !mark.startsWith("none: "))
        .flatMap(({ text }) => linesOf(text).map((line) => ({ file, line }))),
    );
    expect(lines.length).toBeGreaterThan(25);
    expect(lines.filter(({ line }) => !known.some((accepts) => accepts(line)))).toEqual([]);
  });
});

it("the session of docs/cli.md works as described", () =>
  withFolder(async (folder) => {
    await using receiver = await startCapturingReceiver();
    const [start = "", ...lines] = shellBlockOf("docs/cli.md", "clock advance");
    const local = (line: string) =>
      line
        .replace(/^workspace-tasks /, "")
        .replace(/ &$/, "")
        .replace("http://127.0.0.1:3000/webhooks", receiver.url)
        .replace("state.json", join(folder, "state.json"))
        .split(" ");
    const [, ...flags] = local(start);
    const mock = startCommand(runMockCommand, [...flags, "--port", "0", "--json"]);
    const { baseUrl } = JSON.parse(await mock.firstOutput()) as { baseUrl: string };
    const commands: Readonly<Record<string, (argv: readonly string[], io: CommandIo) => Promise<number>>> = {
      trigger: runTriggerCommand,
      clock: runClockCommand,
      resend: runResendCommand,
      snapshot: runSnapshotCommand,
      reset: runResetCommand,
    };
    // The receiver fails at first.
    receiver.respondWith(503);
    const results: string[] = [];
    for (const [name = "", ...argv] of lines.map(local)) {
      if (name === "resend") receiver.respondWith(204);
      const run = commands[name];
      if (!run) throw new Error(`no test runs ${name}`);
      const { code, out, err } = await runCommand(run, argv, { env: { WORKSPACE_TASKS_BASE_URL: baseUrl } });
      results.push(`${name} ${code} ${out}${err}`);
    }
    mock.stop();
    expect(await mock.result()).toMatchObject({ code: 0 });
    expect(results.map((text) => text.slice(0, text.indexOf(" ") + 2))).toEqual([
      "trigger 1",
      "resend 0",
      "clock 0",
      "snapshot 0",
      "reset 0",
    ]);
    expect(results[0]).toContain("503");
    expect(existsSync(join(folder, "state.json"))).toBe(true);
    expect(receiver.deliveries.length).toBeGreaterThan(3);
  }));

it("the curl request of docs/mock-server.md for an override is accepted by a mock", async () => {
  await using mock = await createMockServer();
  const [line = ""] = shellBlockOf("docs/mock-server.md", "/_mock/v1/overrides");
  const [, url = "", type = "", body = ""] =
    /^curl (\S+) -H 'content-type: (\S+)' +-d '(.+)'$/.exec(line) ?? [];
  const headers = { "content-type": type };
  const response = await fetch(url.replace("http://127.0.0.1:4010", mock.baseUrl), {
    method: "POST",
    headers,
    body,
  });
  expect(response.status).toBe(201);
});
