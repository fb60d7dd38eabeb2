// Compares what is installed here with limits: at most so many packages and bytes, without those that are not counted.
import assert from "node:assert/strict";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

const { packagesMax, bytesMax, uncounted, never } = JSON.parse(process.argv[2]);
const foldersOf = (folder) => readdirSync(folder).filter((name) => !name.startsWith("."));
const installed = foldersOf("node_modules").flatMap((name) =>
  name.startsWith("@") ? foldersOf(`node_modules/${name}`).map((each) => `${name}/${each}`) : [name],
);
const sizeOf = (path) => {
  const stats = lstatSync(path);
  return stats.isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
    : stats.size;
};
const counted = installed.filter((name) => !uncounted.includes(name));
const bytes = counted.reduce((sum, name) => sum + sizeOf(`node_modules/${name}`), 0);
const found = `${installed.length} packages, ${(bytes / 1e6).toFixed(3)} MB: ${installed}`;
assert.ok(
  installed.length <= packagesMax && bytes <= bytesMax,
  `expected at most ${packagesMax} and ${bytesMax}, got ${found}`,
);
assert.deepEqual(
  installed.filter((name) => never.includes(name)),
  [],
);
console.log(`within limits: ${found}`);
