// The tarballs in each supported version of TypeScript, with the module settings that it knows. Everything else comes from
// the npm registry:
//
//   node --import tsx test/gates/typescript-matrix.mjs [version …]     default: all of them
//
// Needs a build.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "../../scripts/capture.mjs";
import { packPackages } from "../../scripts/pack.ts";

const shell = process.platform === "win32";
const supported = ["5.2", "5.4", "5.7", "5.9", "6.0", "7.0"];
const asked = process.argv.slice(2);
const versions = asked.length > 0 ? asked : supported;

const typed = `import type { TypedDocument } from "@workspace-tasks/sdk";
import { createClient } from "@workspace-tasks/sdk";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { auditReceiver } from "workspace-tasks/check-receiver";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { openTelemetry } from "@workspace-tasks/receiver-kit/telemetry";
import { parseEvent } from "@workspace-tasks/events";
export const used = [createMockServer, createReceiver, auditReceiver, webhookMiddleware, postgresInbox, sqliteInbox, openTelemetry, parseEvent];
export async function typed(document: TypedDocument<{ a: number }, { id: string }>): Promise<number> {
  const client = createClient({ baseUrl: "" });
  // @ts-expect-error the id is missing
  await client.request(document);
  // @ts-expect-error there is no variable of this name
  await client.request(document, { id: "x", other: 1 });
  const endpoint = await client.webhooks.endpoints.update("x", { enabled: true });
  return endpoint.url.length + (await client.request(document, { id: "x" })).a;
}
`;
const withoutNode = `import { createClient } from "@workspace-tasks/sdk";
export const client = createClient({ baseUrl: "" });
`;

const project = mkdtempSync(join(tmpdir(), "workspace-tasks-typescript-"));
const write = (file, text) => writeFileSync(join(project, file), text);
let failed = false;
try {
  await install();
  for (const file of ["typed.ts", "typed.mts", "typed.cts"]) write(file, typed);
  write("without-node.mts", withoutNode);
  for (const version of versions) await compile(version);
} finally {
  rmSync(project, { recursive: true, force: true });
}
if (failed) process.exitCode = 1;

async function install() {
  write("package.json", JSON.stringify({ name: "typed", private: true }));
  const compilers = versions.map((version) => `typescript-${version}@npm:typescript@${version}`);
  const packages = [...packPackages(project).values(), ...compilers, "@types/node@20", "@opentelemetry/api"];
  const args = ["install", "--no-audit", "--no-fund", "--prefer-offline", ...packages];
  const { code, output } = await capture("npm", args, { cwd: project, shell });
  if (code !== 0) throw new Error(`npm install failed:\n${output}`);
}

/** With the setting of the oldest supported programs, which TypeScript 7 no longer has. */
function nodeResolution(version) {
  if (version === "7.0") return {};
  const options = { file: "typed.ts", module: "commonjs", moduleResolution: "node", skipLibCheck: true };
  const deprecated = version === "6.0" ? { ignoreDeprecations: "6.0" } : {};
  return { "module commonjs, moduleResolution node": { ...options, ...deprecated } };
}

async function compile(version) {
  // Checks the declarations of zod and graphql too, which takes a minute.
  const skipLibCheck = version !== "5.4" && version !== "7.0";
  const settings = {
    ...nodeResolution(version),
    "module esnext, moduleResolution bundler": {
      file: "typed.ts",
      module: "esnext",
      moduleResolution: "bundler",
      skipLibCheck: true,
    },
    "module node16, from CommonJS": { file: "typed.cts", module: "node16", skipLibCheck: true },
    "module nodenext, strictest": {
      file: "typed.mts",
      module: "nodenext",
      skipLibCheck,
      exactOptionalPropertyTypes: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
      noUncheckedIndexedAccess: true,
    },
    "the SDK without @types/node": {
      file: "without-node.mts",
      module: "nodenext",
      types: [],
      lib: ["es2022", "dom"],
    },
  };
  const check = version === "7.0" ? checkByProgram : checkInProcess(version);
  for (const [title, { file, ...options }] of Object.entries(settings)) {
    const compilerOptions = { strict: true, noEmit: true, target: "es2022", types: ["node"], ...options };
    const problems = await check({ compilerOptions, files: [file] });
    console.log(`${problems === "" ? "✓" : "✗"} TypeScript ${version}, ${title}`);
    if (problems === "") continue;
    failed = true;
    console.log(problems);
  }
}

/** TypeScript 7 is a program without an interface. */
async function checkByProgram(config) {
  write("tsconfig.json", JSON.stringify(config));
  const args = [join(project, "node_modules/typescript-7.0/bin/tsc"), "-p", "."];
  const { code, output } = await capture(process.execPath, args, { cwd: project });
  return code === 0 ? "" : output;
}

/** What `tsc` would print. Each file is parsed once for all settings of a version: that takes most of the time of `tsc`. */
function checkInProcess(version) {
  const ts = createRequire(join(project, "package.json"))(`typescript-${version}`);
  const parsed = new Map();
  return (config) => {
    const { options, fileNames, errors } = ts.parseJsonConfigFileContent(config, ts.sys, project);
    const host = ts.createCompilerHost(options);
    host.getCurrentDirectory = () => project;
    const read = host.getSourceFile;
    host.getSourceFile = (name, kind, ...rest) => {
      const key = `${name} ${JSON.stringify(kind)}`;
      if (!parsed.has(key)) parsed.set(key, read(name, kind, ...rest));
      return parsed.get(key);
    };
    const program = ts.createProgram(fileNames, options, host);
    const problems = [...errors, ...ts.getPreEmitDiagnostics(program)];
    return ts.formatDiagnostics(problems, host);
  };
}
