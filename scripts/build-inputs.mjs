import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFiles } from "./project-files.mjs";

const root = join(import.meta.dirname, "..");
const builtFrom = join(root, "dist/.built-from");
const inputs =
  /^(sdk|mock-server|receiver-kit|examples\/start)\b|^scripts\/(build|bundle|declarations)\b|^(package|package-lock|tsconfig|tsconfig\.build)\.json$|^schema\.graphql$/;

/** Whether dist/ was built from the sources as they are. */
export function isBuilt() {
  if (!existsSync(builtFrom) || readFileSync(builtFrom, "utf8") !== hashOfInputs()) return false;
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const targetsIn = (target) =>
    typeof target === "string" ? [target] : Object.values(target).flatMap(targetsIn);
  const files = [
    ...targetsIn(exports),
    "dist/examples/start.js",
    "dist/mock-server/inspector/page/index.html",
  ];
  return files.every((file) => existsSync(join(root, file)));
}

/** Before a build, which may end in the middle: its output is then of no sources. */
export function setUnbuilt() {
  rmSync(builtFrom, { force: true });
}

export function setBuilt() {
  writeFileSync(builtFrom, hashOfInputs());
}

function hashOfInputs() {
  const hash = createHash("sha256");
  for (const file of projectFiles(root, "").filter((path) => inputs.test(path)))
    hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest("hex");
}
