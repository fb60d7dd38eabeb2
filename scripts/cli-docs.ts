// docs/cli.md has the help text of every command, as the command prints it.

import { join } from "node:path";
import { commands } from "../mock-server/tools/bin/commands.js";
import type { CommandIo } from "../sdk/kernel/cli/command-line.ts";

export const cliDocument = "docs/cli.md";

type Run = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** The document with the help text of every command between its marks. */
export async function withHelpTexts(document: string): Promise<string> {
  const [begin, end] = ["<!-- commands:begin -->", "<!-- commands:end -->"];
  const sections: string[] = [];
  for (const [name, { module, run }] of Object.entries(commands)) {
    const file = join(import.meta.dirname, "..", `${module}.ts`);
    const loaded = (await import(/* @vite-ignore */ file)) as Readonly<Record<string, Run>>;
    sections.push(...(await sectionsOf(name, loaded[run] as Run)));
  }
  const before = document.slice(0, document.indexOf(begin) + begin.length);
  return `${before}\n\n${sections.join("\n")}\n${document.slice(document.indexOf(end))}`;
}

/** @param path the subcommands before it */
async function sectionsOf(name: string, run: Run, path: readonly string[] = []): Promise<readonly string[]> {
  const help = await helpOf(run, path);
  // A group lists its commands; `mock` has one command of its own.
  const isGroup = help.startsWith(`Usage: workspace-tasks ${name} <command>`);
  const listed = [...help.matchAll(/^ {2}([a-z][a-z-]*) {2,}/gm)].map(([, each = ""]) => each);
  const subcommands = isGroup ? listed : name === "mock" ? ["exec"] : [];
  const sections = [`### ${name}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`];
  for (const each of subcommands)
    sections.push(...(await sectionsOf(`${name} ${each}`, run, [...path, each])));
  return sections;
}

async function helpOf(run: Run, argv: readonly string[]): Promise<string> {
  let text = "";
  const stdout = { write: (written: string) => (text += written) };
  await run([...argv, "--help"], { stdout, stderr: stdout, env: {}, stop: new AbortController().signal });
  return text;
}
