import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { packPackages } from "../../../scripts/pack.ts";
import { packages, readJson } from "../../../scripts/packages.ts";
import { foreign, type Variables } from "../../projects/installed-project.ts";
import { shellBlockOf } from "../../support/documents.ts";
import { RunningProgram } from "../../support/running-program.ts";

export const deployment = join(import.meta.dirname, "../../../examples/deployment");
const execute = promisify(execFile);

const environment = { ...process.env, ...foreign };

const [production = [], development = []] = shellBlockOf("docs/deployment.md", "npm install").map((line) =>
  line.split(" ").filter((word) => !/^(?:npm|install|--save-dev)$/.test(word)),
);

/** A folder as a user's repository: its files, a manifest with what docs/deployment.md installs, a lock file. */
export async function createApplication(folder: string, files: readonly string[], manifest: object = {}) {
  mkdirSync(folder, { recursive: true });
  const tarballs = packPackages(join(folder, ".."));
  const versionsOf = (names: readonly string[]) => versions(names, tarballs);
  for (const file of files) cpSync(join(deployment, file), join(folder, file));
  const text = JSON.stringify({
    name: "application",
    version: "1.0.0",
    type: "module",
    dependencies: versionsOf(production),
    devDependencies: versionsOf(development),
    overrides: versionsOf(packages.map(({ name }) => name).filter(isIndirect)),
    ...manifest,
  });
  writeFileSync(join(folder, "package.json"), text);
  const lock = ["install", "--package-lock-only", "--prefer-offline", "--no-audit", "--no-fund"];
  await execute("npm", lock, { cwd: folder, env: environment });
}

/** The packages that others depend on come from tarballs, too: no registry has this version. */
const isIndirect = (name: string) => ![...production, ...development].includes(name);

function versions(names: readonly string[], tarballs: ReadonlyMap<string, string>) {
  const { devDependencies } = readJson("package.json") as { devDependencies: Record<string, string> };
  return Object.fromEntries(
    names.map((name) => [name, tarballs.has(name) ? `file:${tarballs.get(name)}` : devDependencies[name]]),
  );
}

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

export function instructionsOf(dockerfile: string): readonly Instruction[] {
  return readFileSync(join(deployment, dockerfile), "utf8")
    .split("\n")
    .filter((line) => line && !line.startsWith("#"))
    .map((line) => {
      const [name = "", ...rest] = line.split(" ");
      return { name, text: rest.join(" ") };
    });
}

/** Executes what builds an image, in an empty folder; returns the environment and the commands of the image. */
export async function buildImage(dockerfile: string, context: string, image: string) {
  mkdirSync(image);
  const env: Record<string, string> = {};
  let command: readonly string[] = [];
  let check: readonly string[] = [];
  const ports: number[] = [];
  const known: Record<string, (text: string) => unknown> = {
    FROM: () => {},
    WORKDIR: () => {},
    USER: () => {},
    EXPOSE: (text) => ports.push(Number(text)),
    ENV: (text) => {
      const [name = "", value = ""] = text.split("=");
      env[name] = value;
    },
    COPY: (text) => {
      for (const file of text.split(" ").slice(0, -1)) cpSync(join(context, file), join(image, file));
    },
    RUN: (text) => execute("sh", ["-c", text], { cwd: image, env: { ...environment, ...env } }),
    HEALTHCHECK: (text) => {
      check = JSON.parse(text.slice(text.indexOf("CMD ") + 4)) as string[];
    },
    CMD: (text) => {
      command = JSON.parse(text) as string[];
    },
  };
  for (const { name, text } of instructionsOf(dockerfile)) {
    const run = known[name];
    if (!run) throw new Error(`${dockerfile}: unknown instruction ${name}`);
    await run(text);
  }
  return { env, command, check, ports };
}

/** A command on a machine that does not run this test. */
export const running = ([command = "", ...args]: readonly string[], cwd: string, env: Variables) =>
  new RunningProgram(args, { command, cwd, env: { ...foreign, ...env } });
