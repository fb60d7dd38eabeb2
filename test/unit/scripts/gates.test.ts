import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

// A gate that cannot fail is useless, so each runs in a small repository that breaks its rule.

type Repository = Disposable & {
  readonly root: string;
  run(script: string, ...args: string[]): Promise<{ code: number; output: string }>;
};

function repository(files: Readonly<Record<string, string>>): Repository {
  const root = mkdtempSync(join(tmpdir(), "workspace-tasks-gate-"));
  cpSync("scripts", join(root, "scripts"), { recursive: true });
  for (const [path, text] of Object.entries({ ".gitignore": "dist/\n", ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return {
    root,
    run: (script, ...args) =>
      new Promise((resolve) => {
        execFile(process.execPath, [join(root, "scripts", script), ...args], (error, stdout, stderr) => {
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

it("check-links reports a missing picture, whichever way a document shows it", async () => {
  const document = [
    "![one](images/one.png)",
    '![two](images/two.png "Title")',
    '<img alt="three" src="images/three.png">',
    "[![four](images/four.png)](#one)",
    "![five][five]",
    "[five]: images/five.png",
    '<a href="images/six.png">six</a>',
    "# One",
  ].join("\n\n");
  const names = ["one", "two", "three", "four", "five", "six"];
  const pictures = Object.fromEntries(names.map((name) => [`images/${name}.png`, ""]));
  using sound = repository({ "a.md": document, ...pictures });
  expect(await sound.run("check-links.mjs")).toMatchObject({ code: 0 });

  using broken = repository({ "a.md": document });
  const { code, output } = await broken.run("check-links.mjs");
  expect(code).toBe(1);
  expect(output.trim().split("\n").toSorted()).toEqual(
    names.map((name) => `a.md: images/${name}.png does not exist`).toSorted(),
  );
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
  using sound = repository({ "package-lock.json": lockWith("MIT"), "docs/maintainers/licences.md": "stale" });
  expect((await sound.run("check-licences.mjs")).output).toContain("docs/maintainers/licences.md is out of date");

  using broken = repository({ "package-lock.json": lockWith("GPL-3.0"), "docs/maintainers/licences.md": "" });
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

it("build runs again after a build of other sources was killed in the middle", async () => {
  const bundle = `
    import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
    mkdirSync("dist/examples", { recursive: true });
    mkdirSync("dist/mock-server/inspector/page", { recursive: true });
    cpSync("sdk/index.ts", "dist/index.js");
    writeFileSync("dist/examples/start.js", "");
    writeFileSync("dist/mock-server/inspector/page/index.html", "");
    appendFileSync("dist/builds", "one ");
    if (readFileSync("sdk/index.ts", "utf8") === "killed") process.kill(process.ppid, "SIGKILL");`;
  using small = repository({
    "package.json": JSON.stringify({ exports: { ".": "./dist/index.js" } }),
    "sdk/index.ts": "before",
    "scripts/bundle.mjs": bundle,
    "scripts/declarations.mjs": "",
    "node_modules/typescript/bin/tsc": "",
    "node_modules/vite/bin/vite.js": "",
  });
  const build = async (source: string) => {
    writeFileSync(join(small.root, "sdk/index.ts"), source);
    const { code } = await small.run("build.mjs");
    const read = (file: string) => readFileSync(join(small.root, file), "utf8");
    return [code, read("dist/index.js"), read("dist/builds")];
  };
  expect(await build("before")).toEqual([0, "before", "one "]);
  expect(await build("before")).toEqual([0, "before", "one "]);
  expect(await build("killed")).toEqual([1, "killed", "one one "]);
  expect(await build("before")).toEqual([0, "before", "one one one "]);
});

it("the documents and package.json name the versions that the gates test", () => {
  const read = (file: string) => readFileSync(file, "utf8");
  const page = read("docs/compatibility.md");
  const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };
  const [, node = "none"] = /^>=(\d+\.\d+)\.0$/.exec(engines.node) ?? [];
  expect(page).toContain(`| Node | ${node}, 22, 24 |`);
  const tested = /const typeScripts = \[(.*)\]/
    .exec(read("scripts/consumer-matrix.mjs"))?.[1]
    ?.match(/[\d.]+/g);
  expect(page).toContain(`\n${tested?.at(0)} to ${tested?.at(-1)}, with`);
  expect(read("README.md")).toContain(`Node ${node} or newer`);
  expect(read("README.md")).toContain(`TypeScript ${tested?.at(0)} or newer`);
  expect(read("scripts/runtime-matrix.mjs")).toContain(node.replace(/\..*/, ""));
});

it("complete-lock-file reports an entry without a hash that this machine needs, and before a release any", async () => {
  const lockOf = (packages: object) => JSON.stringify({ packages: { "": {}, ...packages } });
  const other = { version: "1.0.0", optional: true, os: ["win32"], cpu: ["x64"] };
  const files = (packages: object) => ({
    "package-lock.json": lockOf(packages),
    "bench/peers/package-lock.json": lockOf({}),
    "test/mutation/package-lock.json": lockOf({}),
    "examples/frameworks/package-lock.json": lockOf({}),
  });
  using sound = repository(files({ "node_modules/a-win32-x64": other }));
  expect((await sound.run("complete-lock-file.mjs", "--check")).code).toBe(0);
  expect((await sound.run("complete-lock-file.mjs", "--release")).output).toContain(
    "node_modules/a-win32-x64",
  );
  using needed = repository(files({ "node_modules/a": { version: "1.0.0" } }));
  const { code, output } = await needed.run("complete-lock-file.mjs", "--check");
  expect(code).toBe(1);
  expect(output).toContain(
    "package-lock.json has entries without a hash, which npm installs unchecked: node_modules/a\n",
  );
  using lacking = repository(
    files({
      "node_modules/a": {
        version: "1.0.0",
        integrity: "x",
        optionalDependencies: { "a-linux-x64": "1.0.0" },
      },
    }),
  );
  expect((await lacking.run("complete-lock-file.mjs", "--check")).output).toContain(
    "lacks optional dependencies: a-linux-x64",
  );
});

it("fresh-machine-matrix rejects a selection of tests that do not exist, before it runs any", async () => {
  using broken = repository({ "test/tidy/a.test.ts": "" });
  const { code, output } = await broken.run("fresh-machine-matrix.mjs", "--list");
  expect(code).toBe(1);
  expect(output).toMatch(/^no test has this path: test\/unit\/scripts, /);
  const list = ["scripts/fresh-machine-matrix.mjs", "--list"];
  expect(await promisify(execFile)(process.execPath, list)).toMatchObject({ stderr: "" });
});
