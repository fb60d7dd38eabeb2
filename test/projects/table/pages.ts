// What README.md shows as tests: four times in one file in random order, and as the only test of a process.
import { regionOf } from "../../support/documents.ts";
import { type Files, installedBy, type Project, program, shownBy } from "../project.ts";
import { oneByOne, repeated } from "../repeated-tests.ts";

function inManyWays(name: string, text: string): Files {
  const alone = oneByOne(text).map((each, index) => [`${name}-alone-${index}.test.ts`, each]);
  return { [`${name}-four-times.test.ts`]: repeated(text), ...Object.fromEntries(alone) };
}

const readme = [
  "node@24",
  ...installedBy("README.md", "Install"),
  ...installedBy("README.md", "Tests against the mock"),
  "msw",
];

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
      run: "vitest run --no-file-parallelism",
      prints: /Tests +135 passed/,
      quick: true,
    };
  }),
];
