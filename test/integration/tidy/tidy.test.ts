import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { packages, pages } from "../../../scripts/packages.ts";
import { projectFiles } from "../../../scripts/project-files.ts";
import type { KnownSurvivors } from "../../mutation/survivors.ts";
import { filesOfGates, longestFiles } from "../../support/longest-files.ts";
import { houseRules, packagesByFolder, violations } from "./house-rules.ts";
import type { SourceFile } from "./import-graph.ts";
import { layerViolations, readLayers } from "./layers.ts";

const read = (...endings: string[]): readonly SourceFile[] =>
  projectFiles(".", ...endings).map((path) => ({ path, text: readFileSync(path, "utf8") }));
const sources = read(".ts", ".tsx", ".mjs", ".js");
const documents = read(".md", ".graphql");

describe("the house rules", () => {
  it("the house rules hold in every file", () => {
    expect(sources.length).toBeGreaterThan(30);
    expect(violations([...sources, ...documents])).toEqual([]);
  });

  it("every test file that is to start first exists", () => {
    const paths = new Set(sources.map(({ path }) => path));
    expect(longestFiles.filter((file) => !paths.has(file))).toEqual([]);
  });

  it("every test file that npm test leaves out is run by a gate", () => {
    const gates = readFileSync("test/gates/check.mjs", "utf8");
    expect(filesOfGates.filter((file) => !gates.includes(file))).toEqual([]);
  });

  it("every mutant that is known to survive is of a line of today's sources", () => {
    const known = JSON.parse(readFileSync("test/mutation/survivors.json", "utf8")) as KnownSurvivors;
    const lines = new Map(
      sources.map(({ path, text }) => [path, text.split("\n").map((line) => line.trim())]),
    );
    const gone = Object.entries(known).flatMap(([path, reasons]) =>
      Object.values(reasons)
        .flat()
        .filter(({ line }) => !lines.get(path)?.includes(line))
        .map(({ line }) => `${path}: ${line}`),
    );
    expect(gone).toEqual([]);
  });

  // One broken example per rule.
  const broken: Record<string, SourceFile> = {
    "packages import each other by name, and only downwards": {
      path: "receiver-kit/a.ts",
      text: 'import { createClient } from "@workspace-tasks/sdk";',
    },
    "only commands import the shared command line": {
      path: "receiver-kit/receiver.ts",
      text: 'import type { CommandIo } from "@workspace-tasks/kernel/cli/command-line.ts";',
    },
    "the event contract imports only zod and its version": {
      path: "sdk/events/a.ts",
      text: 'import { createHash } from "node:crypto";',
    },
    "the kernel imports only modules of Node": {
      path: "sdk/kernel/a.ts",
      text: 'import { WorkspaceTasksError } from "../errors.ts";',
    },
    "the mock imports modules of Node in its folder for them and in its commands": {
      path: "mock-server/world/a.ts",
      text: 'import { createHash } from "node:crypto";',
    },
    "optional peers are imported only behind their entry point": {
      path: "receiver-kit/receiver.ts",
      text: 'import type { Request } from "express";',
    },
    "signer and verifier share no code": {
      path: "receiver-kit/signature/verifier.ts",
      text: 'import { Webhook } from "standardwebhooks";',
    },
    "time, randomness and the environment are injected": {
      path: "sdk/credentials/credentials.ts",
      text: "const expired = Date.now() > expiresAt;",
    },
    "nothing prints but the output of a command, and the default logger": {
      path: "receiver-kit/cli/a.ts",
      text: "process.stdout.write(row.id);",
    },
    "no index.ts below the folder of a package": { path: "mock-server/delivery/index.ts", text: "" },
    "no notes for later": { path: "sdk/client.ts", text: `// ${"TO"}DO: retry` },
  };

  it("a relative import of a file of another package is found", () => {
    const file = { path: "mock-server/tools/a.ts", text: 'import { a } from "../server.ts";' };
    expect(violations([file])).toHaveLength(1);
  });

  it.each(houseRules)("the rule '$name' finds a broken example and accepts a valid file", ({ name }) => {
    const ruleOf = (file: SourceFile) => violations([file]).filter(({ message }) => message.includes(name));
    const example = broken[name];
    expect(example && ruleOf(example)).toHaveLength(1);
    expect(violations([{ path: "sdk/client.ts", text: 'import { z } from "zod";\n' }])).toEqual([]);
  });
});

describe("the layers of ARCHITECTURE.md", () => {
  const layers = readLayers(readFileSync("ARCHITECTURE.md", "utf8"));

  it("cover every package but the pages", () => {
    const isPage = (folder: string) => pages.some((page) => page.folder === folder);
    const folders = Object.keys(packagesByFolder).filter((folder) => !isPage(folder));
    expect([...layers.keys()].sort()).toEqual(folders.sort());
  });

  it("hold for every import of the sources, type imports included", () => {
    expect(layerViolations(sources, layers)).toEqual([]);
  });
});

describe("the check of layers", () => {
  const layers = readLayers("```layers sdk\nclient.ts\nlow/ side/   two neighbours\nground.ts\n```\n");
  const file = (path: string, ...imports: string[]): SourceFile => ({
    path: `sdk/${path}`,
    text: imports.map((specifier) => `import type { A } from "${specifier}";`).join("\n"),
  });
  const sound = [
    file("client.ts", "./low/a.ts"),
    file("low/a.ts", "./b.ts", "../ground.ts", "zod"),
    file("low/b.ts"),
    file("side/c.ts", "../ground.ts"),
    file("ground.ts"),
  ];
  const changed = (path: string, ...imports: string[]) => [
    ...sound.filter((other) => other.path !== `sdk/${path}`),
    file(path, ...imports),
  ];

  it("accepts imports of lower layers", () => {
    expect(layerViolations(sound, layers)).toEqual([]);
  });

  it.each([
    [
      "an upward import of a type",
      changed("ground.ts", "./client.ts"),
      "sdk/ground.ts imports sdk/client.ts, a higher layer",
    ],
    [
      "an import of a neighbour",
      changed("side/c.ts", "../low/b.ts"),
      "sdk/side/c.ts imports sdk/low/b.ts, its neighbour in one layer",
    ],
    ["a cycle of files", changed("low/b.ts", "./a.ts"), "a cycle of files: sdk/low/a.ts, sdk/low/b.ts"],
    [
      "a cycle of folders inside a layer",
      [...changed("low/a.ts", "./deep/d.ts"), file("low/deep/d.ts", "../b.ts")],
      "a cycle of folders: sdk/low, sdk/low/deep",
    ],
    ["a file in no layer", [...sound, file("new.ts")], "sdk/new.ts is in no layer of ARCHITECTURE.md"],
    [
      "a layer without files",
      sound.filter(({ path }) => path !== "sdk/side/c.ts"),
      "sdk/side/ is in ARCHITECTURE.md and has no file",
    ],
  ])("finds %s", (_, files, message) => {
    expect(layerViolations(files, layers)).toContain(message);
  });
});

describe("public surface", () => {
  it("every entry point stands in the README of its package", () => {
    const missing = packages.flatMap(({ name, folder, entries }) => {
      const readme = readFileSync(`${folder}/README.md`, "utf8");
      const names = entries.filter(({ isPublic }) => isPublic).map(({ path }) => path.replace(".", name));
      return names.filter((each) => !readme.includes(each));
    });
    expect(missing).toEqual([]);
  });
});
