// Programs that some tests need. The tests of a missing one are skipped, and the end of a run says so; with
// WORKSPACE_TASKS_TESTS=all, as in CI, the test files that need it fail. Each is looked for when a test file first asks: to look for all takes seconds.

type Found = object | { readonly missing: string };

const reasonOf = (found: Found) => ("missing" in found ? String(found.missing) : undefined);

const probes = {
  postgres: async () => reasonOf((await import("./postgres-binaries.ts")).findPostgres()),
  rabbitmq: async () => reasonOf((await import("./rabbitmq-binaries.ts")).findRabbitmq()),
  python: async () => reasonOf((await import("./receivers/served-receiver.ts")).findPython()),
  promtool: async () => reasonOf((await import("./promtool.ts")).findPromtool()),
  nginx: async () => reasonOf((await import("./nginx.ts")).findNginx()),
  systemd: async () => reasonOf((await import("./systemd-analyze.ts")).findSystemdAnalyze()),
  pseudoTerminal: async () => (await import("./pseudo-terminal.ts")).pseudoTerminalMissing(),
  chromium: async () => (await import("../system/browser/support/chromium.ts")).chromiumMissing(),
} satisfies Readonly<Record<string, () => Promise<string | undefined>>>;

export type Program = keyof typeof probes;
export const programs = Object.keys(probes) as readonly Program[];

/** Why the program cannot be used; `null` when it can. */
export async function probe(program: Program): Promise<string | null> {
  const missing = await probes[program]();
  if (missing === undefined) return null;
  if (process.env["WORKSPACE_TASKS_TESTS"] === "all") throw new Error(`${program}: ${missing}`);
  return missing;
}
