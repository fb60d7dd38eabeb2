import { expect, it } from "vitest";
import { loadedModules } from "../../support/loaded-modules.ts";

// The schemas of records and requests load when a snapshot or the control API needs them, not at the start.

const query = `
  const { createMockServer } = await import("@workspace-tasks/mock-server");
  const mock = await createMockServer();
  const exchange = \`mutation { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "\${mock.apiKey}") { userToken } }\`;
  const response = await fetch(mock.baseUrl + "/graphql", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: exchange }),
  });
  if (!(await response.text()).includes('"userToken"')) throw new Error("the query failed");`;

it("a mock responds to its first query without loading zod", async () => {
  const modules = await loadedModules(`${query} await mock.close();`);
  expect(modules.some((url) => url.includes("/mock-server/graphql/"))).toBe(true);
  expect(modules.filter((url) => url.includes("/node_modules/zod/"))).toEqual([]);
});

it("control: a mock loads zod to restore a snapshot", async () => {
  const modules = await loadedModules(
    `${query} await mock.control.restoreSnapshot(await mock.control.getSnapshot()); await mock.close();`,
  );
  expect(modules.filter((url) => url.includes("/node_modules/zod/"))).not.toEqual([]);
});
