// Tests of an application in the runners that people have.
import { regionOf } from "../../support/documents.ts";
import { launchOptions } from "../../system/browser/support/chromium.ts";
import { installedBy, type Project, program, shownBy } from "../project.ts";
import { oneByOne, repeated } from "../repeated-tests.ts";

const page = "docs/recipes/test-runners.md";
const ours = ["@workspace-tasks/sdk", "@workspace-tasks/receiver-kit", "@workspace-tasks/mock-server"];

const pools = ["threads", "forks", "vmThreads", "vmForks"];
const environments = ["node", "jsdom", "happy-dom"];
const readme = {
  "fixture.test.ts": repeated(shownBy("README.md", "mockTest(")),
  "msw.test.ts": repeated(regionOf("examples/msw.test.ts#msw")),
};

const asThePageSays = /`(\/\/ @vitest-environment node)`/.exec(program(page))?.[1] ?? "";
/** In a project whose tests of pages have a document. */
const inDocument = Object.fromEntries(
  Object.entries(readme).map(([name, text]) => [name, `${asThePageSays}\n${text}`]),
);

const vitest = (pool: string, environment: string, node = "node@24", version = "vitest"): Project => ({
  part: "test runners",
  of: "vitest",
  how: `${node}, ${pool}, ${environment}`,
  install: [
    ...installedBy("README.md", "Tests against the mock"),
    ...[node, "@workspace-tasks/sdk", "msw", "jsdom", "happy-dom"],
  ].map((name) => (name === "vitest" ? version : name)),
  files: environment === "node" ? readme : inDocument,
  run: `vitest run --pool ${pool} --environment ${environment}`,
  prints: /Tests +8 passed/,
});

const jestTest = program("examples/test-runners/jest-webhooks.ts");
const inJest = {
  "four-times.test.ts": repeated(jestTest),
  "alone.test.ts": jestTest,
  "tsconfig.json": shownBy(page, '"nodenext"'),
};
/** Jest's own settings: a file of CommonJS unless it says otherwise. */
const commonJs = JSON.stringify({ type: "commonjs" });
const inJavaScript = `
const fixture = worldPerTest({ world: { clock: "virtual" } });
test("has a world", async () => {
  const { baseUrl, apiKey, clock, control } = fixture.world;
  const client = createClient({ baseUrl, apiKey, clock });
  const { taskId } = await control.startTask({ taskType: "TAX_PREP" });
  expect((await clock.runUntil(client.tasks.waitFor(taskId))).status).toBe("COMPLETED");
  await client.me();
  await expect(fixture.world).toHaveReceivedRequest({ operation: "me" });
  await client.close();
});
test("has another world", async () => {
  expect((await fixture.world.control.listTasks()).data).toEqual([]);
});
`;
const jestWorlds = shownBy("docs/parallel-tests.md", "mock-server/jest");
const imports = `import { worldPerTest } from "@workspace-tasks/mock-server/jest";
import { createClient } from "@workspace-tasks/sdk";
`;
const required = imports.replaceAll(/import (.*) from (.*);/g, "const $1 = require($2);");

const inNodeTest = `import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";

const mock = await createMockServer();
const client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
afterEach(() => mock.control.reset());
after(() => Promise.all([client.close(), mock.close()]));

test("a task is listed", async () => {
  const { taskId } = await mock.control.startTask({ taskType: "BINDER" });
  assert.deepEqual((await client.tasks.list().toArray()).map(({ id }) => id), [taskId]);
});
`;

const jest = (
  how: string,
  others: Pick<Project, "files" | "run" | "prints"> & Partial<Project>,
): Project => ({
  part: "test runners",
  of: "jest",
  how,
  install: [...installedBy(page, "Jest"), ...ours, "@swc/core", "@swc/jest"],
  ...others,
});

/** The mock and the timers of Jest, which stand still. */
const fakeTimers = (how: string, options: object, settings: object = {}): Project =>
  jest(`fake timers ${how}`, {
    files: {
      "package.json": commonJs,
      "jest.test.ts": program("test/support/fake-timers/jest.ts").replace("./suite.ts", "./suite"),
      "suite.ts": program("test/support/fake-timers/suite.ts"),
      "jest.config.json": JSON.stringify({
        transform: { "\\.ts$": "@swc/jest" },
        testTimeout: 30_000,
        ...settings,
      }),
    },
    run: `FAKE_TIMERS='${JSON.stringify(options)}' jest`,
    prints: /Tests: .*10 passed/,
  });
const doNotFake = ["setTimeout", "setImmediate", "clearTimeout", "nextTick", "queueMicrotask"];

/** Word by word, but for ports, which may be in use here. */
const onFreePorts = (text: string) =>
  text.replaceAll(
    /"([^"\n]*)\b(3000|4010)\b([^"\n]*)"/g,
    (_, before, port, after) =>
      `\`${before}\${process.env.${port === "3000" ? "PORT" : "MOCK_PORT"}}${after}\``,
  );

const playwrightTest = program("examples/test-runners/playwright-tasks.ts");

export const testRunners: readonly Project[] = [
  ...pools.flatMap((pool) => environments.map((environment) => vitest(pool, environment))),
  ...pools.map((pool) => vitest(pool, "node", "node@20.19.0", "vitest@4")),
  jest("with ts-jest", {
    files: { ...inJest, "package.json": commonJs },
    run: "ts-jest config:init && jest",
    prints: /Tests: .*5 passed/,
    quick: true,
  }),
  jest("CommonJS", {
    files: { "package.json": commonJs, "fixture.test.js": required + repeated(inJavaScript) },
    run: "jest",
    prints: /Tests: .*8 passed/,
  }),
  jest("ES modules", {
    files: {
      "jest.config.json": '{ "transform": {} }',
      "fixture.test.js": imports + repeated(inJavaScript),
    },
    run: "NODE_OPTIONS=--experimental-vm-modules jest",
    prints: /Tests: .*8 passed/,
  }),
  jest("with SWC", {
    files: {
      "package.json": commonJs,
      "jest.config.json": JSON.stringify({ transform: { "\\.ts$": "@swc/jest" } }),
      "four-times.test.ts": repeated(jestWorlds),
      "alone.test.ts": jestWorlds,
    },
    run: "jest",
    prints: /Tests: .*5 passed/,
  }),
  fakeTimers("by default", {}),
  fakeTimers("with doNotFake", { doNotFake }),
  fakeTimers("before the mock is loaded", {}, { fakeTimers: { enableGlobally: true } }),
  {
    part: "test runners",
    of: "node",
    how: "node:test",
    install: ["node@22", ...ours],
    files: {
      "four-times.test.mjs": repeated(inNodeTest),
      "alone.test.mjs": inNodeTest,
    },
    run: "node --test",
    prints: /pass 5/,
  },
  {
    part: "test runners",
    of: "@playwright/test",
    how: "with a page",
    install: [...ours, ...installedBy(page, "Playwright")],
    files: {
      "package.json": JSON.stringify({ scripts: { dev: "node task-page.mjs" } }),
      "task-page.mjs": program("task-page.mjs"),
      // The browser is not Playwright's own.
      "playwright.config.ts": onFreePorts(program("examples/test-runners/playwright.config.ts")).replace(
        "use: {",
        `use: { launchOptions: ${JSON.stringify(launchOptions())},`,
      ),
      "playwright-tasks.ts": onFreePorts(repeated(playwrightTest)),
      ...Object.fromEntries(
        oneByOne(playwrightTest).map((text, index) => [`alone-${index}.ts`, onFreePorts(text)]),
      ),
    },
    run: "playwright test && for test in alone-*.ts; do mv $test playwright-tasks.ts && playwright test || exit 1; done",
    prints: /8 passed[\s\S]+1 passed[\s\S]+1 passed/,
  },
];
