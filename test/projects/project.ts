// A row of the table of real projects: what a user has, what the user runs, and what must come out.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../../scripts/packages.ts";
import { blocksOf, linesOf } from "../support/documents.ts";

export interface Project {
  /** The line of docs/compatibility.md that names it. */
  readonly part:
    | "runtimes"
    | "bundlers"
    | "HTTP frameworks"
    | "page frameworks"
    | "serverless"
    | "ORMs"
    | "test runners"
    | "package managers"
    | "peers"
    | "types"
    | "pages";
  /** The package that is tried, as in `install`; its version is shown. */
  readonly of: string;
  /** What is special about this row. */
  readonly how?: string;
  /** The words of `npm install`. Names of this repository's packages are their tarballs, all others come from the registry. */
  readonly install: readonly string[];
  /** Default: npm. */
  readonly manager?: "pnpm" | "yarn";
  /** Contents by path. */
  readonly files: Files;
  /** A line of a shell that ends by itself; the programs of what is installed are on its path. */
  readonly run?: string;
  /** What `run` prints; it must also end with 0. */
  readonly prints?: RegExp;
  /** A line of a shell that serves on `$PORT` until it is ended. */
  readonly serve?: string;
  /** Uses what `serve` serves. Rejects when something is not as expected. */
  readonly uses?: (served: Served) => Promise<void>;
  /** The variables DATABASE_URL, RABBITMQ_URL and SERVERS, or the first of them. */
  readonly servers?: true | "postgres";
  /** Also a part of what CI runs. */
  readonly quick?: true;
}

export type Files = Readonly<Record<string, string>>;

export interface Served {
  readonly folder: string;
  readonly origin: string;
  /** Resolves when the program has printed this. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  /** Runs a line of a shell in the project; resolves with what it prints, and rejects when it fails. */
  run(line: string): Promise<string>;
}

/** A file of test/projects/programs, or of another folder of this repository. */
export const program = (name: string): string =>
  readFileSync(join(root, name.includes("/") ? name : `test/projects/programs/${name}`), "utf8");

/** What a test of this repository imports from other files of it, and from the process that runs all tests. */
export function importsOf(path: string): Files {
  const found: Record<string, string> = {
    "vitest.config.ts": "export default { test: { provide: { sharedServers: process.env.SERVERS } } };\n",
  };
  const add = (importer: string): void => {
    for (const [, imported = ""] of program(importer).matchAll(/ from "(\.[^"]+)"/g)) {
      const file = join(dirname(importer), imported);
      if (found[file] !== undefined) continue;
      found[file] = program(file);
      add(file);
    }
  };
  add(path);
  return found;
}

/** What a page tells its reader to install: the words of all lines with `npm install`, below a heading or in the whole page. */
export function installedBy(page: string, heading?: string): readonly string[] {
  const words = shellLinesOf(page, heading)
    .filter((line) => line.startsWith("npm install "))
    .flatMap((line) => line.split(" ").slice(2))
    .filter((word) => !word.startsWith("--"));
  if (words.length === 0)
    throw new Error(`${page}, ${heading ?? "the whole page"}: no line with npm install`);
  return [...new Set(words)];
}

/** The manifest of `npm init -y` of npm 11, changed as the page tells its reader. */
export function initialised(page: string): string {
  const isModule = shellLinesOf(page).includes("npm pkg set type=module");
  return JSON.stringify({ type: isModule ? "module" : "commonjs" });
}

/** What a page tells its reader to type. */
export const shellLinesOf = (page: string, heading?: string): readonly string[] =>
  blocksOf(partOf(page, heading)).flatMap(({ language, text }) => (language === "sh" ? linesOf(text) : []));

/** The code of a page that has this text, below a heading or in the whole page. */
export function shownBy(page: string, text: string, heading?: string): string {
  const found = blocksOf(partOf(page, heading)).filter(
    (block) => block.language !== "sh" && block.text.includes(text),
  );
  if (found.length !== 1)
    throw new Error(
      `${page}, ${heading ?? "the whole page"}: expected one block with ${text}, got ${found.length}`,
    );
  return found[0]?.text ?? "";
}

function partOf(page: string, heading: string | undefined): string {
  const text = readFileSync(join(root, page), "utf8");
  if (heading === undefined) return text;
  const [, part] = text.split(new RegExp(`^##+ ${heading}$`, "m"));
  if (part === undefined) throw new Error(`${page} has no heading ${heading}`);
  return part.split(/^## /m)[0] ?? "";
}
