import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

/** Writes the licences of the packages whose code is part of the page: their texts must accompany every copy. */
export function licencesPlugin(): Plugin {
  return {
    name: "licences",
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const output of Object.values(bundle)) {
        for (const id of output.type === "chunk" ? output.moduleIds : []) {
          const [folder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? [];
          if (folder) folders.add(folder);
        }
      }
      const source = [...folders].sort().map(licenceOf).join("\n\n");
      this.emitFile({ type: "asset", fileName: "assets/licences.txt", source });
    },
  };
}

function licenceOf(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
  };
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
}
