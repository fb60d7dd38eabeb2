import { commands } from "../../mock-server/tools/program.ts";
import { runInboxCommand } from "../../receiver-kit/cli/inbox-command.ts";
import { runRabbitmqCommand } from "../../receiver-kit/rabbitmq/cli/unpark.ts";
import type { CommandIo } from "../../sdk/kernel/cli/command-line.ts";

type Run = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** The help text of every command, as the command prints it. */
export async function helpTexts(): Promise<string> {
  const sections: string[] = [];
  for (const [name, { load }] of Object.entries(commands))
    sections.push(...(await sectionsOf("workspace-tasks", await load(), name)));
  sections.push(...(await sectionsOf("workspace-tasks-inbox", runInboxCommand)));
  sections.push(...(await sectionsOf("workspace-tasks-rabbitmq", runRabbitmqCommand)));
  return sections.join("\n");
}

/** @param path the subcommands before it */
async function sectionsOf(
  program: string,
  run: Run,
  name = "",
  path: readonly string[] = [],
): Promise<readonly string[]> {
  const help = await helpOf(program, run, path);
  const title = program === "workspace-tasks" ? name : [program, name].filter(Boolean).join(" ");
  // A group lists its commands; `mock` has one command of its own.
  const isGroup = help.startsWith(`Usage: ${[program, name].filter(Boolean).join(" ")} <command>`);
  const listed = [...help.matchAll(/^ {2}([a-z][a-z-]*) {2,}/gm)].map(([, each = ""]) => each);
  const subcommands = isGroup ? listed : name === "mock" ? ["exec"] : [];
  const sections = [`### ${title}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`];
  for (const each of subcommands)
    sections.push(...(await sectionsOf(program, run, `${name} ${each}`.trim(), [...path, each])));
  return sections;
}

async function helpOf(program: string, run: Run, argv: readonly string[]): Promise<string> {
  let text = "";
  const stdout = { write: (written: string) => (text += written) };
  const stop = new AbortController().signal;
  await run([...argv, "--help"], { program, stdout, stderr: stdout, env: {}, stop });
  return text;
}
