import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { projectFiles } from "../../scripts/project-files.mjs";
import { houseRules, type SourceFile, violations } from "./house-rules.ts";
import { importCycles } from "./import-cycles.ts";

const files = projectFiles(".", ".ts", ".tsx", ".mjs", ".js");
const sources: SourceFile[] = files.map((path) => ({ path, text: readFileSync(path, "utf8") }));

describe("house rules", () => {
  test("hold in every source file", () => {
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

  test.each(houseRules)("$name", (rule) => {
    const example = broken[rule.name];
    expect(example && rule.check(example)).not.toEqual([]);
    expect(rule.check({ path: "sdk/clock.ts", text: 'import { z } from "zod";\n' })).toEqual([]);
  });
});

describe("import cycles", () => {
  test("do not exist at run time", () => {
    expect(importCycles(sources)).toEqual([]);
  });

  test("are found, and type imports are not taken for one", () => {
    const file = (path: string, text: string): SourceFile => ({ path, text });
    const circle = [
      file("sdk/a.ts", 'import { b } from "./b.ts";'),
      file("sdk/b.ts", 'export { c } from "./c.ts";'),
      file("sdk/c.ts", 'import {\n  type A,\n  a,\n} from "./a.ts";'),
    ];
    expect(importCycles(circle)).toEqual([["sdk/a.ts", "sdk/b.ts", "sdk/c.ts"]]);
    const typesOnly = [...circle.slice(0, 2), file("sdk/c.ts", 'import type { A } from "./a.ts";')];
    expect(importCycles(typesOnly)).toEqual([]);
  });
});

describe("public surface", () => {
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { exports: Record<string, unknown> };

  test("every entry point stands in the README", () => {
    const readme = readFileSync("README.md", "utf8");
    const missing = Object.keys(manifest.exports)
      .map((key) => key.replace("./", "workspace-tasks/"))
      .filter((name) => name !== "workspace-tasks/package.json" && !readme.includes(name));
    expect(missing).toEqual([]);
  });
});
