// Generated code is committed so that users and tests never need the generator. This regenerates it
// and fails when the result differs: a schema or document was changed without `npm run codegen`.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folders = ["sdk/generated", "mock-server/generated"];

const read = () =>
  new Map(
    folders.flatMap((folder) =>
      readdirSync(join(root, folder)).map((file) => [
        `${folder}/${file}`,
        readFileSync(join(root, folder, file), "utf8"),
      ]),
    ),
  );

const before = read();
const { status } = spawnSync("npm", ["run", "--silent", "codegen"], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
  shell: process.platform === "win32",
});
if (status !== 0) process.exit(status ?? 1);

const stale = [...read()].filter(([file, text]) => before.get(file) !== text).map(([file]) => file);
if (stale.length > 0) {
  console.error(`generated code was stale and has been rewritten; commit it: ${stale.join(", ")}`);
  process.exit(1);
}
console.log(`generated code is fresh (${before.size} files)`);
