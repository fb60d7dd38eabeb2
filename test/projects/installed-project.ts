// A folder with what its user would have: a manifest, node_modules, nothing of this repository.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packages } from "../../scripts/packages.ts";
import { RunningProgram } from "../support/running-program.ts";
import type { Files, Project } from "./project.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

export interface Ended {
  readonly code: number | string | null;
  readonly output: string;
}

const installTimeoutMs = 900_000;
const kept = [
  "node_modules",
  "package-lock.json",
  "pnpm-lock.yaml",
  "pnpm-workspace.yaml",
  "yarn.lock",
  ".yarnrc.yml",
  ".pnp.cjs",
  ".pnp.loader.mjs",
  ".yarn",
];

/** What this process has and its user has not. */
export const foreign: Variables = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => /^npm_|VITEST|^NODE_(OPTIONS|ENV|PATH)$|^CI$|WORKSPACE_TASKS/i.test(name))
    .map((name) => [name, undefined]),
);

export class InstalledProject {
  readonly folder: string;
  readonly #manager: Project["manager"];
  readonly #manifest: object;

  /**
   * @param folder is created
   * @param tarballs paths by the names of our packages
   */
  constructor(
    folder: string,
    { install, manager }: Pick<Project, "install" | "manager">,
    tarballs: ReadonlyMap<string, string>,
  ) {
    this.folder = folder;
    this.#manager = manager;
    const settings = settingsOf(install, manager, tarballs);
    this.#manifest = JSON.parse(settings["package.json"] ?? "{}");
    mkdirSync(folder);
    this.#writeFiles(settings);
  }

  /** Tries it twice: the registry answers slowly at times. */
  async install(): Promise<Ended & { readonly repeated: boolean }> {
    const first = await this.run(this.installLine, installTimeoutMs);
    if (first.code === 0 || /ERESOLVE|PEER_DEP_ISSUES/.test(first.output))
      return { ...first, repeated: false };
    return { ...(await this.run(this.installLine, installTimeoutMs)), repeated: true };
  }

  get installLine(): string {
    if (this.#manager === "yarn") return "npx -y -p @yarnpkg/cli-dist@4 yarn install";
    if (this.#manager === "pnpm")
      return "npx -y pnpm@latest install --strict-peer-dependencies --no-frozen-lockfile --ignore-scripts";
    return "npm install --no-audit --no-fund --prefer-offline --loglevel=error";
  }

  /** Replaces the files of the last row. A `package.json` adds to what names the packages. */
  write({ "package.json": own = "{}", ...files }: Files): void {
    for (const name of readdirSync(this.folder)) {
      if (!kept.includes(name)) rmSync(join(this.folder, name), { recursive: true, force: true });
    }
    const manifest = { ...this.#manifest, ...JSON.parse(own) };
    this.#writeFiles({ ...files, "package.json": JSON.stringify(manifest, null, 2) });
  }

  #writeFiles(files: Files): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      writeFileSync(join(this.folder, path), text);
    }
  }

  start(line: string, env: Variables = {}): RunningProgram {
    const path = `${join(this.folder, "node_modules/.bin")}:${process.env["PATH"]}`;
    return new RunningProgram(["-c", line], {
      command: "sh",
      cwd: this.folder,
      env: {
        ...foreign,
        PATH: path,
        NO_COLOR: "1",
        // Not optimised: what is tested is that it works.
        CFLAGS: "-O0",
        CXXFLAGS: "-O0",
        NEXT_TELEMETRY_DISABLED: "1",
        NUXT_TELEMETRY_DISABLED: "1",
        YARN_ENABLE_TELEMETRY: "0",
        ...env,
      },
    });
  }

  /** Runs a line of a shell; after the limit it and what it started are ended. */
  async run(line: string, timeoutMs: number, env: Variables = {}): Promise<Ended> {
    using running = this.start(line, env);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      running[Symbol.dispose]();
    }, timeoutMs);
    const { code, output } = await running.ended();
    clearTimeout(timer);
    return { code: late ? `not ended after ${timeoutMs / 1000} s` : code, output };
  }

  /** @returns the version of a package that is installed, or an empty text */
  versionOf(name: string): string {
    try {
      return JSON.parse(readFileSync(join(this.folder, "node_modules", name, "package.json"), "utf8"))
        .version;
    } catch {
      return "";
    }
  }
}

/** Name and range of a word of `npm install`. */
export function specOf(word: string): { readonly name: string; readonly range: string } {
  const [, name = "", range = "latest"] = /^(@?[^@]+)(?:@(.*))?$/.exec(word) ?? [];
  return { name, range };
}

function settingsOf(
  install: readonly string[],
  manager: Project["manager"],
  tarballs: ReadonlyMap<string, string>,
): Files {
  const dependencies = Object.fromEntries(
    install
      .map(specOf)
      .map(({ name, range }) => [name, tarballs.has(name) ? `file:${tarballs.get(name)}` : range]),
  );
  // No registry has what our packages depend on.
  const others = Object.fromEntries(
    packages.flatMap(({ name }) => (name in dependencies ? [] : [[name, `file:${tarballs.get(name)}`]])),
  );
  const manifest = {
    name: "project",
    version: "1.0.0",
    private: true,
    type: "module",
    dependencies,
    allowScripts: { "better-sqlite3": true },
  };
  if (manager === "pnpm") {
    const overrides = Object.entries(others).map(([name, file]) => `  "${name}": "${file}"\n`);
    return {
      "package.json": JSON.stringify(manifest),
      "pnpm-workspace.yaml": `overrides:\n${overrides.join("")}`,
    };
  }
  if (manager === "yarn") {
    const settings = "nodeLinker: pnp\nenableGlobalCache: true\nenableImmutableInstalls: false\n";
    return {
      "package.json": JSON.stringify({ ...manifest, resolutions: others }),
      ".yarnrc.yml": settings,
      "yarn.lock": "",
    };
  }
  return { "package.json": JSON.stringify({ ...manifest, overrides: others }) };
}
