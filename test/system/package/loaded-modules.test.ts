import { expect, it } from "vitest";
import { loadedModules } from "../../support/running-program.ts";

const load = (...names: string[]) =>
  names.map((name) => `await import("@workspace-tasks/${name}");`).join("\n");
const firstQuery = `
  const { createMockServer } = await import("@workspace-tasks/mock-server");
  const mock = await createMockServer();
  const exchange = \`mutation { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "\${mock.apiKey}") { userToken } }\`;
  const response = await fetch(mock.baseUrl + "/graphql", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: exchange }),
  });
  if (!(await response.text()).includes('"userToken"')) throw new Error("the query failed");`;
const restore = "await mock.control.restoreSnapshot(await mock.control.getSnapshot());";
const close = "await mock.close();";
const drivers =
  /node_modules\/(@opentelemetry|amqplib|express|pg|libsql|better-sqlite3|msw|vitest|standardwebhooks)\//;
const others = /mock-server\/tools\/check-receiver\/|receiver-kit\/(telemetry|rabbitmq)/;

// The schemas of records and requests load when a snapshot or the control API needs them, not at the start.
it.each<[string, string, loaded: RegExp, absent: RegExp[]]>([
  [
    "receiver kit without its parts and peers",
    load("receiver-kit"),
    /receiver-kit\/receiver/,
    [drivers, others],
  ],
  [
    "inboxes without RabbitMQ",
    load("receiver-kit/sqlite", "receiver-kit/postgres"),
    /receiver-kit\/postgres/,
    [/rabbitmq/],
  ],
  [
    "intake of RabbitMQ without a client",
    load("receiver-rabbitmq"),
    /receiver-kit\/rabbitmq\//,
    [/node_modules\/amqplib\//],
  ],
  [
    "mock and its first query without zod",
    firstQuery + close,
    /mock-server\/graphql\//,
    [/node_modules\/zod\//],
  ],
  [
    "mock that restores a snapshot with zod (the control)",
    firstQuery + restore + close,
    /node_modules\/zod\//,
    [],
  ],
])("a process loads the %s", async (_, script, loaded, absent) => {
  const modules = await loadedModules(script);
  expect(modules.some((url) => loaded.test(url))).toBe(true);
  expect(modules.filter((url) => absent.some((pattern) => pattern.test(url)))).toEqual([]);
});
