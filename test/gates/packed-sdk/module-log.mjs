// Imported before a program: appends every module that the program loads to the file MODULE_LOG.
import { appendFileSync } from "node:fs";
import { createRequire, register } from "node:module";

register(new URL("./module-log-hooks.mjs", import.meta.url));

// The hooks see imports only; CommonJS modules that were required are in the cache.
process.on("exit", () => {
  const required = Object.keys(createRequire(import.meta.url).cache);
  appendFileSync(process.env.MODULE_LOG, required.map((path) => `${path}\n`).join(""));
});
