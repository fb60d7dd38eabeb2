import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { projectFiles } from "../../scripts/project-files.mjs";
import { houseRules, violations } from "./house-rules.ts";
import type { SourceFile } from "./import-graph.ts";
import { layerViolations, readLayers } from "./layers.ts";

const files = projectFiles(".", ".ts", ".tsx", ".mjs", ".js");
const sources: SourceFile[] = files.map((path) => ({ path, text: readFileSync(path, "utf8") }));

describe("house rules", () => {
  it("hold in every source file", () => {
    expect(sources.length).toBeGreaterThan(30);
    expect(violations(sources)).toEqual([]);
  });

  // One broken example per rule: a rule that cannot fail guards nothing.
  const broken: Record<string, SourceFile> = {
    "the three products do not know each other": {
      path: "receiver-kit/a.ts",
      text: 'import { createClient } from "../sdk/client.ts";',
    },
    "the shared command line is for commands": {
      path: "receiver-kit/receiver.ts",
      text: 'import type { CommandIo } from "../cli/command-line.ts";',
    },
    "the event contract stands alone": {
      path: "sdk/events/a.ts",
      text: 'import { createHash } from "node:crypto";',
    },
    "optional peers stay behind their own entry point": {
      path: "receiver-kit/receiver.ts",
      text: 'import type { Request } from "express";',
    },
    "the signer and the verifier are two hands": {
      path: "receiver-kit/signature/verifier.ts",
      text: 'import { Webhook } from "standardwebhooks";',
    },
    "time, chance and the environment come in through the door": {
      path: "sdk/credentials/credentials.ts",
      text: "const expired = Date.now() > expiresAt;",
    },
    "no index.ts below the first level": { path: "mock-server/delivery/index.ts", text: "" },
    "file names are kebab-case": { path: "sdk/rateLimiter.ts", text: "" },
    "a file holds one noun": { path: "sdk/everything.ts", text: "\n".repeat(351) },
    "nothing is left for later": { path: "sdk/client.ts", text: `// ${"TO"}DO: retry` },
  };

  it.each(houseRules)("$name", (rule) => {
    const example = broken[rule.name];
    expect(example && rule.check(example)).not.toEqual([]);
    expect(rule.check({ path: "sdk/clock.ts", text: 'import { z } from "zod";\n' })).toEqual([]);
  });
});

describe("the layers of ARCHITECTURE.md", () => {
  const layers = readLayers(readFileSync("ARCHITECTURE.md", "utf8"));

  it("cover the three products", () => {
    expect([...layers.keys()]).toEqual(["sdk", "mock-server", "receiver-kit"]);
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

  it.each([
    ['import { a } from "./client.ts";'],
    ['import type { A } from "./client.ts";'],
    ['import {\n  type A,\n  a,\n} from "./client.ts";'],
    ['export { a } from "./client.ts";'],
    ['export type { A } from "./client.ts";'],
    ['import "./client.ts";'],
    ['const a = await import("./client.ts");'],
    ['type A = import("./client.ts").A;'],
  ])("sees %j", (text) => {
    const files = [...sound.filter(({ path }) => path !== "sdk/ground.ts"), { path: "sdk/ground.ts", text }];
    expect(layerViolations(files, layers)).toContain("sdk/ground.ts imports sdk/client.ts, a higher layer");
  });
});

describe("public surface", () => {
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { exports: Record<string, unknown> };

  it("every entry point stands in the README", () => {
    const readme = readFileSync("README.md", "utf8");
    const missing = Object.keys(manifest.exports)
      .map((key) => key.replace("./", "workspace-tasks/"))
      .filter((name) => name !== "workspace-tasks/package.json" && !readme.includes(name));
    expect(missing).toEqual([]);
  });
});
