// Two builds of the same sources give the same tarballs, byte for byte, so anyone can compare a published one with its
// sources: the build of this folder, and one in a folder with another name, time zone, locale and file mode mask.
//
//   node --import tsx test/gates/check-reproducible.mjs
//
// Needs a build. Prints the hashes. The dependencies are those of node_modules, and are not built.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { capture } from "../../scripts/capture.mjs";
import { packPackages } from "../../scripts/pack.ts";
import { packages, root } from "../../scripts/packages.ts";
import { projectFiles } from "../../scripts/project-files.ts";

// Where files can be linked to those of node_modules.
mkdirSync(join(root, ".tmp"), { recursive: true });
const folder = mkdtempSync(join(root, ".tmp/reproducible-"));
const here = join(folder, "here");
const elsewhere = join(folder, "another/folder/with a longer name");
const umask = 0o077;
const environment = { ...process.env, TZ: "Pacific/Kiritimati", LC_ALL: "de_DE.UTF-8" };

try {
  mkdirSync(here);
  packPackages(here);
  await buildElsewhere(copyProject());
  const [first, second] = [here, elsewhere].map(tarballsIn);
  const differing = [...first.keys()].filter((file) => second.get(file) !== first.get(file));
  for (const file of differing) {
    console.error(`two builds of ${file} differ:`);
    for (const line of await differences(file)) console.error(`  ${line}`);
    process.exitCode = 1;
  }
  // The compiler orders unions by what it has checked before.
  if (differing.length > 0)
    console.error(
      "where only declarations differ: delete .tmp, in which changed files were compiled alone, and build",
    );
  else for (const [file, sha256] of first) console.log(`two builds are equal: ${file}, sha256 ${sha256}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function copyProject() {
  const target = join(elsewhere, "package");
  const before = process.umask(umask);
  for (const file of projectFiles(root, "")) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, file), join(target, file));
  }
  process.umask(before);
  // Links to the files, which are only read; those to the packages of this project are relative.
  execFileSync("cp", ["-al", join(root, "node_modules"), target]);
  return target;
}

async function buildElsewhere(cwd) {
  const command = `umask ${umask.toString(8)} && node --import tsx scripts/build.mjs && node --import tsx scripts/pack.ts ..`;
  const { code, output } = await capture("sh", ["-c", command], { cwd, env: environment });
  if (code !== 0) throw new Error(`the build failed:\n${output}`);
}

/** Hashes by file. */
function tarballsIn(at) {
  const files = readdirSync(at).filter((file) => file.endsWith(".tgz"));
  if (files.length !== packages.length) throw new Error(`expected ${packages.length} tarballs, got ${files}`);
  return new Map(
    files.map((file) => [
      file,
      createHash("sha256")
        .update(readFileSync(join(at, file)))
        .digest("hex"),
    ]),
  );
}

/** Lines of the two listings that differ, and files with other content. */
async function differences(file) {
  const listings = await Promise.all(
    [here, elsewhere].map(async (at) => {
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
