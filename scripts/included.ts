import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const include = /<!-- @include: (\S+) -->/g;

/** A document with the tables that it includes on the site and in its package, which `npm run build` writes. */
export const readWhole = (file: string): string =>
  readFileSync(file, "utf8").replace(include, (_, path: string) =>
    readFileSync(join(dirname(file), path), "utf8"),
  );
