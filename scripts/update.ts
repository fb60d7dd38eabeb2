import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** Writes a generated file. With `--check` it changes nothing and fails when the file is out of date. */
export function update(file: string, text: string): void {
  if (existsSync(file) && text === readFileSync(file, "utf8")) return;
  if (process.argv.includes("--check")) {
    console.error(`${file} is out of date; run npm run codegen and npm run docs`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(file, text);
  console.log(`updated ${file}`);
}
