// Whatever a page shows as a test: four times in one file in random order, and as the only test of a process.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../scripts/packages.ts";
import { regionOf } from "../../support/documents.ts";
import { type Files, importsOf, installedBy, type Project, program, shownBy } from "../project.ts";
import { oneByOne, repeated } from "../repeated-tests.ts";

/** In folders of their own, so that vitest runs the first together, and each of the others in a process of its own. */
function inManyWays(name: string, text: string, folder = "."): Files {
  const alone = oneByOne(text).map((each, index) => [`${folder}/${name}-alone-${index}.test.ts`, each]);
  return { [`${folder}/${name}-four-times.test.ts`]: repeated(text), ...Object.fromEntries(alone) };
}

const readme = [
  "node@24",
  ...installedBy("README.md", "Install"),
  ...installedBy("README.md", "Tests against the mock"),
  "msw",
];
/** A file with one of the tests has blocks without any. */
const vitest = "vitest run --no-file-parallelism --passWithNoTests";

const examples = readdirSync(join(root, "examples")).filter(
  // It runs a program in Python.
  (file) => file.endsWith(".test.ts") && file !== "parallel-tests.test.ts",
);
const proxied = shownBy("docs/sdk.md", "ProxyAgent");

export const pages: readonly Project[] = [
  {
    part: "pages",
    of: "undici",
    how: "docs/sdk.md, a proxy",
    install: ["@workspace-tasks/sdk", "undici@7"],
    files: {
      "client.mjs": `${proxied}\nconsole.log((await client.me()).__typename);\nawait client.close();\n`,
      "proxy.mjs": program("proxy.mjs"),
    },
    run: "node proxy.mjs",
    prints: /WorkspaceUser[\s\S]*through the proxy: [1-9]/,
  },
  ...["vitest", "msw"].map((name): Project => {
    const text = name === "vitest" ? shownBy("README.md", "mockTest(") : regionOf("examples/msw.test.ts#msw");
    return {
      part: "pages",
      of: "vitest",
      how: `a first test, ${name}`,
      install: readme,
      // More calls than the service permits in a minute.
      files: { ...inManyWays(name, text), "many.test.ts": repeated(text, 130) },
      run: vitest,
      prints: /Tests +135 passed/,
      quick: true,
    };
  }),
  ...examples.map((file): Project => {
    const text = readFileSync(join(root, "examples", file), "utf8");
    return {
      part: "pages",
      of: "vitest",
      how: `examples/${file}`,
      install: [
        ...readme,
        "@workspace-tasks/receiver-kit",
        ...["express", "libsql", "pg", "svix@1", "standardwebhooks"],
      ],
      files: {
        ...inManyWays(file.replace(".test.ts", ""), text, "examples"),
        ...importsOf(`examples/${file}`),
      },
      ...(text.includes("shared-server.ts") && { servers: true }),
      run: `${vitest} --testTimeout=60000`,
      prints: /Tests +\d+ passed/,
    };
  }),
];
