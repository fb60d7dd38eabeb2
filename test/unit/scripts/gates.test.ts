import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

// A gate that cannot fail is useless, so each runs in a small repository that breaks its rule.

type Repository = Disposable & { run(script: string): Promise<{ code: number; output: string }> };

function repository(files: Readonly<Record<string, string>>): Repository {
  const root = mkdtempSync(join(tmpdir(), "workspace-tasks-gate-"));
  cpSync("scripts", join(root, "scripts"), { recursive: true });
  for (const [path, text] of Object.entries({ ".gitignore": "dist/\n", ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return {
    run: (script) =>
      new Promise((resolve) => {
        execFile(process.execPath, [join(root, "scripts", script)], (error, stdout, stderr) => {
          resolve({ code: error ? 1 : 0, output: stdout + stderr });
        });
      }),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

it("check-links reports a link to a missing file or heading", async () => {
  const target = "# One heading\n";
  using sound = repository({
    "a.md": "[b](docs/b.md#one-heading) [web](https://x.example)",
    "docs/b.md": target,
    "dist/ignored.md": "[c](c.md)",
  });
  expect(await sound.run("check-links.mjs")).toMatchObject({ code: 0 });

  using broken = repository({ "a.md": "[b](docs/b.md#another) [c](c.md) `[d](d.md)`", "docs/b.md": target });
  const { code, output } = await broken.run("check-links.mjs");
  expect(code).toBe(1);
  expect(output.trim().split("\n")).toEqual([
    "a.md: docs/b.md#another has no such heading",
    "a.md: c.md does not exist",
  ]);
});

it("check-licences reports a forbidden licence of a transitive dependency", async () => {
  const lockWith = (licence: string) =>
    JSON.stringify({
      packages: {
        "": { dependencies: { a: "1", b: "1" } },
        "node_modules/a": { version: "1.0.0", license: "MIT", dependencies: { b: "2" } },
        "node_modules/b": { version: "1.0.0", license: "ISC" },
        "node_modules/a/node_modules/b": { version: "2.0.0", license: licence },
        "node_modules/c": { version: "1.0.0", license: "GPL-3.0", dev: true },
      },
    });
  using sound = repository({ "package-lock.json": lockWith("MIT"), "docs/licences.md": "stale" });
  expect((await sound.run("check-licences.mjs")).output).toContain("docs/licences.md is out of date");

  using broken = repository({ "package-lock.json": lockWith("GPL-3.0"), "docs/licences.md": "" });
  expect(await broken.run("check-licences.mjs")).toEqual({
    code: 1,
    output: "licences that are not permitted: b (GPL-3.0)\n",
  });
});

it("npm run check exits with an error for an unknown gate", async () => {
  const { code, output } = await new Promise<{ code: number; output: string }>((resolve) => {
    execFile(process.execPath, ["scripts/check.mjs", "--only", "no-such-gate"], (error, stdout, stderr) => {
      resolve({ code: error ? 1 : 0, output: stdout + stderr });
    });
  });
  expect({ code, output }).toEqual({ code: 1, output: 'there is no gate named "no-such-gate"\n' });
});
