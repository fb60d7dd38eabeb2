// Two builds of the same sources give the same tarballs, byte for byte, so anyone can compare a published one with its
// sources: in two folders, with another time zone, locale and file mode mask.
//
//   node --import tsx test/gates/check-reproducible.mjs
//
// Prints the hashes. The dependencies are those of node_modules, and are not built.
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { capture } from "../../scripts/capture.mjs";
import { kernel, packages, readJson, root } from "../../scripts/packages.ts";
import { projectFiles } from "../../scripts/project-files.ts";

const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-reproducible-"));
const developedWith = [...packages, kernel].flatMap(({ manifest }) =>
  Object.keys(manifest.devDependencies ?? {}),
);
const workspaces = readJson("package.json").workspaces;
const builds = [
  { name: "a", umask: 0o022, env: { TZ: "UTC", LC_ALL: "C.UTF-8" } },
  {
    name: "another/folder/with a longer name",
    umask: 0o077,
    env: { TZ: "Pacific/Kiritimati", LC_ALL: "de_DE.UTF-8" },
  },
];

try {
  // One after the other: the mask belongs to the process.
  const tarballs = [];
  for (const build of builds) tarballs.push(prepare(build));
  const [first, second] = await Promise.all(tarballs.map(pack));
  const differing = [...first].filter(([name, { sha256 }]) => second.get(name)?.sha256 !== sha256);
  for (const [name, { filename }] of differing) {
    console.error(`two builds of ${name} differ:`);
    for (const line of await differences(filename)) console.error(`  ${line}`);
    process.exitCode = 1;
  }
  if (differing.length === 0) {
    for (const { filename, sha256 } of first.values())
      console.log(`two builds are equal: ${filename}, sha256 ${sha256}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function prepare({ name, umask, env }) {
  const target = join(folder, name, "package");
  const before = process.umask(umask);
  for (const file of projectFiles(root, "")) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, file), join(target, file));
  }
  process.umask(before);
  linkModules(join(root, "node_modules"), join(target, "node_modules"));
  return { target, umask, env };
}

/** Links, as the dependencies are only read; copies of what the bundler puts into a build, whose path it writes there. */
function linkModules(from, to) {
  const isOwn = (name) => name === "@workspace-tasks" || name === "workspace-tasks";
  mkdirSync(to);
  for (const name of readdirSync(from).filter((each) => !isOwn(each))) {
    if (developedWith.includes(name)) cpSync(join(from, name), join(to, name), { recursive: true });
    else symlinkSync(join(from, name), join(to, name), "junction");
  }
  for (const workspace of workspaces) {
    const { name } = readJson(`${workspace}/package.json`);
    mkdirSync(dirname(join(to, name)), { recursive: true });
    symlinkSync(join(to, "..", workspace), join(to, name), "junction");
  }
}

/** Resolves with the files and their hashes by the names of the packages. */
async function pack({ target, umask, env }) {
  const command = `umask ${umask.toString(8)} && node --import tsx scripts/build.mjs && node --import tsx scripts/pack.ts ..`;
  const { code, output } = await capture("sh", ["-c", command], {
    cwd: target,
    env: { ...process.env, ...env },
  });
  if (code !== 0) throw new Error(`the build failed:\n${output}`);
  const tarballs = readdirSync(dirname(target)).filter((file) => file.endsWith(".tgz"));
  if (tarballs.length !== packages.length)
    throw new Error(`expected ${packages.length} tarballs, got ${tarballs}`);
  return new Map(
    tarballs.map((filename) => {
      const bytes = readFileSync(join(dirname(target), filename));
      return [filename, { filename, sha256: createHash("sha256").update(bytes).digest("hex") }];
    }),
  );
}

/** Lines of the two listings that differ, and files with other content. */
async function differences(file) {
  const listings = await Promise.all(
    builds.map(async ({ name }) => {
      const at = join(folder, name);
      await capture("tar", ["-xzf", file, "--transform", "s,^package,unpacked,"], { cwd: at });
      const { stdout } = await capture(
        "sh",
        ["-c", `tar -tvzf ${file}; find unpacked -type f | sort | xargs sha256sum`],
        { cwd: at },
      );
      return new Set(stdout.split("\n"));
    }),
  );
  const [first, second] = listings;
  return [...first].filter((line) => !second.has(line)).slice(0, 20);
}
