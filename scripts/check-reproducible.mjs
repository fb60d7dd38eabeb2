// Two builds of the same sources give the same tarball, byte for byte, so anyone can compare the published one with its
// sources: in two folders, with another time zone, locale and file mode mask.
//
//   node scripts/check-reproducible.mjs
//
// Prints the hash. The dependencies are those of node_modules, and are not built.
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { capture } from "./capture.mjs";
import { projectFiles } from "./project-files.mjs";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-reproducible-"));
const inlined = ["graphql-request"];
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
  const hashes = await Promise.all(tarballs.map(pack));
  const [first, second] = hashes;
  if (first.sha256 !== second.sha256) {
    console.error(`two builds differ: ${first.sha256} and ${second.sha256}`);
    for (const file of await differences()) console.error(`  ${file}`);
    process.exitCode = 1;
  } else {
    console.log(`two builds are equal: ${first.filename}, sha256 ${first.sha256}`);
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

/** Links, as the dependencies are only read; copies of what the bundler puts into the build, whose path it writes there. */
function linkModules(from, to) {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (inlined.includes(name)) cpSync(join(from, name), join(to, name), { recursive: true });
    else symlinkSync(join(from, name), join(to, name), "junction");
  }
}

async function pack({ target, umask, env }) {
  const command = `umask ${umask.toString(8)} && npm pack --json --pack-destination ..`;
  const { code, stdout, output } = await capture("sh", ["-c", command], {
    cwd: target,
    env: { ...process.env, ...env },
  });
  if (code !== 0) throw new Error(`npm pack failed:\n${output}`);
  const [filename] = readdirSync(dirname(target)).filter((file) => file.endsWith(".tgz"));
  const bytes = readFileSync(join(dirname(target), filename));
  if (!stdout.includes(filename)) throw new Error(`npm pack wrote no ${filename}`);
  return { filename, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** Lines of the two listings that differ, and files with other content. */
async function differences() {
  const listings = await Promise.all(
    builds.map(async ({ name }) => {
      const at = join(folder, name);
      const [file] = readdirSync(at).filter((each) => each.endsWith(".tgz"));
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
