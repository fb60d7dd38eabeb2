import { importsOf, type SourceFile, withoutComments } from "./import-graph.ts";

export interface Violation {
  readonly path: string;
  readonly message: string;
}

export interface HouseRule {
  readonly name: string;
  /** What goes wrong when the rule is broken. */
  readonly reason: string;
  check(file: SourceFile): readonly string[];
}

const code = /\.(ts|tsx|mjs|js)$/;

/** The packages, the inner ones first, and which others each may import, by their names. */
export const packagesByFolder: Readonly<Record<string, readonly string[]>> = {
  "sdk/events": ["@workspace-tasks/kernel"],
  "sdk/kernel": [],
  "sdk/page-parts": [],
  "receiver-kit/page/app": ["@workspace-tasks/page-parts", "@workspace-tasks/receiver-kit"],
  "receiver-kit/rabbitmq": ["@workspace-tasks/kernel", "@workspace-tasks/receiver-kit"],
  "mock-server/inspector/page": ["@workspace-tasks/mock-server", "@workspace-tasks/page-parts"],
  "mock-server/tools": [
    "@workspace-tasks/kernel",
    "@workspace-tasks/events",
    "@workspace-tasks/mock-server",
    "@workspace-tasks/receiver-kit",
    "@workspace-tasks/sdk",
  ],
  sdk: ["@workspace-tasks/kernel"],
  "receiver-kit": ["@workspace-tasks/kernel", "@workspace-tasks/events"],
  "mock-server": ["@workspace-tasks/kernel", "@workspace-tasks/events"],
};

/** The folder of the package that a file belongs to. */
export const packageOf = (path: string): string | undefined =>
  Object.keys(packagesByFolder).find((folder) => path.startsWith(`${folder}/`));
const productOf = packageOf;
const isEvents = (path: string) => path.startsWith("sdk/events/");
const isKernel = (path: string) => path.startsWith("sdk/kernel/");
const isPage = (path: string) =>
  /^(mock-server\/inspector\/page|receiver-kit\/page\/app|sdk\/page-parts)\//.test(path);
const isGenerated = (path: string) => path.includes("/generated/");

/** Optional peers: an import of the SDK must not need them, so only these files may import them. */
const peers: Record<string, RegExp> = {
  express: /^receiver-kit\/express\.ts$/,
  msw: /^mock-server\/adapters\/msw\.ts$/,
  vitest: /^mock-server\/adapters\/vitest\.ts$/,
  pg: /^receiver-kit\/(postgres|cli\/inbox-subcommand|inbox\/postgres\/[a-z/-]+)\.ts$/,
  amqplib: /^receiver-kit\/rabbitmq\/[a-z/-]+\.ts$/,
  libsql: /^receiver-kit\/(sqlite|inbox\/sqlite\/[a-z-]+)\.ts$/,
  "better-sqlite3": /^receiver-kit\/(sqlite|inbox\/sqlite\/[a-z-]+)\.ts$/,
};

/** The files that may use the clock, randomness and environment of the process. */
const edges: Record<string, RegExp> = {
  "Date.now": /(^|\/)clock\.ts$|\/(cli|commands)\//,
  "new Date()": /(^|\/)clock\.ts$|\/(cli|commands)\//,
  "Math.random": /(^|\/)(clock|random)\.ts$|\/(cli|commands)\//,
  randomUUID: /(^|\/)random\.ts$|\/(cli|commands)\//,
  "setTimeout(": /(^|\/)clock\.ts$|\/(cli|commands)\//,
  "setInterval(": /(^|\/)clock\.ts$|\/(cli|commands)\//,
  "process.env": /\/(cli|commands)\//,
};

/** Escapes what commands print; the default logger; and what prints no text of others. */
const printers =
  /^sdk\/kernel\/cli\/run-program\.ts$|^receiver-kit\/logger\.ts$|^mock-server\/host-process\.ts$|\/bin\//;

const contractImports = ["zod", "@workspace-tasks/kernel/version.ts"];

export const houseRules: readonly HouseRule[] = [
  {
    name: "packages import each other by name, and only downwards",
    reason: "what is published is a package, and a user of one would install all",
    check(file) {
      const own = packageOf(file.path);
      // A program imports its own package by name, as it finds the build there.
      if (own === undefined || file.path.startsWith(`${own}/bin/`)) return [];
      const allowed = packagesByFolder[own] ?? [];
      return importsOf(file)
        .filter((target) => {
          const name = /^(@workspace-tasks\/[^/]+|workspace-tasks(?=\/|$))/.exec(target)?.[0];
          if (name !== undefined) return !allowed.includes(name);
          return target.includes("/") && packageOf(target) !== undefined && packageOf(target) !== own;
        })
        .map((target) => `imports ${target}`);
    },
  },
  {
    name: "only commands import the shared command line",
    reason: "a program that imports a product parses no arguments",
    check(file) {
      const isCommand =
        /^(mock-server|receiver-kit|receiver-kit\/rabbitmq)\/(cli\/|program\.ts)|^mock-server\/tools\/(commands\/|program\.ts)/.test(
          file.path,
        );
      if (!packageOf(file.path) || isCommand || isKernel(file.path)) return [];
      return importsOf(file)
        .filter((target) => target.startsWith("@workspace-tasks/kernel/cli/"))
        .map((target) => `imports ${target}`);
    },
  },
  {
    name: "the event contract imports only zod and its version",
    reason: "both other products build on sdk/events",
    check(file) {
      if (!isEvents(file.path)) return [];
      return importsOf(file)
        .filter((target) => !contractImports.includes(target) && !isEvents(target))
        .map((target) => `imports ${target}`);
    },
  },
  {
    name: "the kernel imports only modules of Node",
    reason: "all products build on sdk/kernel, and it knows nothing of the service",
    check(file) {
      if (!isKernel(file.path)) return [];
      return importsOf(file)
        .filter((target) => !target.startsWith("node:") && !isKernel(target))
        .map((target) => `imports ${target}`);
    },
  },
  {
    name: "the mock imports modules of Node in its folder for them and in its commands",
    reason: "all else of it also runs in a browser",
    check(file) {
      const isPart = packageOf(file.path) === "mock-server";
      if (!isPart || /^mock-server\/(node|cli|codegen)\//.test(file.path)) return [];
      return importsOf(file)
        .filter((target) => target.startsWith("node:"))
        .map((target) => `imports ${target}`);
    },
  },
  {
    name: "optional peers are imported only behind their entry point",
    reason: "importing the SDK must not fail without a package that only the mock or the receiver uses",
    check(file) {
      if (!productOf(file.path)) return [];
      return importsOf(file)
        .filter((target) => peers[target] && !peers[target].test(file.path))
        .map((target) => `imports the optional peer ${target}`);
    },
  },
  {
    name: "signer and verifier share no code",
    reason: "the mock signs with standardwebhooks, the receiver verifies without it, so each tests the other",
    check(file) {
      const allowed = /^mock-server\//;
      if (!productOf(file.path) || allowed.test(file.path)) return [];
      return importsOf(file)
        .filter((target) => target === "standardwebhooks")
        .map(() => "imports standardwebhooks");
    },
  },
  {
    name: "time, randomness and the environment are injected",
    reason: "a run must be repeatable with a virtual clock and a seed",
    check(file) {
      if (!productOf(file.path) || isGenerated(file.path) || isPage(file.path)) return [];
      const code = withoutComments(file.text);
      return Object.entries(edges)
        .filter(([token, edge]) => code.includes(token) && !edge.test(file.path))
        .map(([token]) => `uses ${token}`);
    },
  },
  {
    name: "nothing prints but the output of a command, and the default logger",
    reason: "a text of others could control the terminal",
    check(file) {
      if (!productOf(file.path) || printers.test(file.path) || isPage(file.path)) return [];
      return (withoutComments(file.text).match(/\bprocess\.std(?:out|err)\b|\bconsole\.\w+\(/g) ?? []).map(
        (found) => `uses ${found}`,
      );
    },
  },
  {
    name: "no index.ts below the folder of a package",
    reason: "the folder tree is the table of contents, and barrels hide it",
    check: ({ path }) =>
      path.endsWith("/index.ts") && packageOf(path) !== undefined && path !== `${packageOf(path)}/index.ts`
        ? ["is a nested index.ts"]
        : [],
  },
  {
    name: "no notes for later",
    reason: "users do not see a note in the code",
    check(file) {
      const marks = [/\bTO[D]O\b/, /\bFIX[M]E\b/, /@ts-ig[n]ore/];
      return marks.filter((mark) => mark.test(file.text)).map((mark) => `contains ${mark.source}`);
    },
  },
];

export function violations(files: readonly SourceFile[]): readonly Violation[] {
  return houseRules.flatMap((rule) =>
    files
      .filter(({ path }) => code.test(path))
      .flatMap((file) =>
        rule
          .check(file)
          .map((what) => ({ path: file.path, message: `${what} — ${rule.name}: ${rule.reason}` })),
      ),
  );
}
