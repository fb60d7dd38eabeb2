import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { expect } from "vitest";
import { jsonPost } from "../../../support/mock-client.ts";

const it = mockTest.extend({ mockOptions: { listen: false, clock: "virtual" } });

const exchange = "exchangeSurfaceRefreshTokenForAccessTokens";
const requests: readonly [string, (key: string) => object][] = [
  [
    "a misspelled argument",
    (key) => ({ query: `mutation { ${exchange}(refreshTokn: "${key}") { userToken } }` }),
  ],
  ["a document with a missing brace", (key) => ({ query: `mutation { ${exchange}(refreshToken: ${key})` })],
  ["a comment", (key) => ({ query: `# ${key}\n{ me { __typename } }` })],
  [
    "a literal without quotes",
    (key) => ({ query: `mutation { ${exchange}(refreshToken: ${key}) { userToken } }` }),
  ],
  ["an alias", (key) => ({ query: `{ ${key.replaceAll("-", "_")}: me { __typename } }` })],
  [
    "the name of a variable",
    (key) => ({ query: `query ($${key.replaceAll("-", "_")}: Int) { me { __typename } }` }),
  ],
  ["a variable that is not used", (key) => ({ query: "{ me { __typename } }", variables: { a: key } })],
  [
    "the name of an operation",
    (key) => ({ query: `query ${key.replaceAll("-", "_")} { me { __typename } }` }),
  ],
  [
    "an error about a value",
    (key) => ({
      query: `mutation { ${exchange}(refreshToken: "", expiresInSeconds: "${key}") { userToken } }`,
    }),
  ],
  [
    "a header in a variable",
    (key) => ({ query: "{", variables: { headers: { authorization: `Bearer ${key}` } } }),
  ],
];

it.for(requests)("an API key in %s is not in journal, snapshot or activity", async ([, body], { mock }) => {
  const activities: unknown[] = [];
  mock.subscribe((activity) => activities.push(activity));
  for (const key of [mock.apiKey, "wtp_0123456789abcdef0123456789abcdef"]) {
    const sent = JSON.stringify(body(key));
    await mock.fetch("/graphql", {
      method: "POST",
      headers: { "content-type": "application/json", "source-platform": `platform ${key}` },
      body: sent,
    });
    const seen = JSON.stringify([
      await mock.control.listRequests(),
      (await mock.control.getSnapshot()) as unknown,
      activities,
    ]);
    expect(seen).toContain("[redacted]");
    expect(seen).not.toContain(key);
    expect(seen).not.toContain(key.replaceAll("-", "_"));
  }
});

it("a credential of another shape in a misspelled argument of the exchange is not in the journal", async ({
  mock,
}) => {
  const query = `mutation ($k: String!) { ${exchange}(refreshTokn: $k, apiKy: "live-key-of-production") { userToken } }`;
  await mock.fetch("/graphql", jsonPost({ query, variables: { k: "live-key-of-production" } }));
  expect(JSON.stringify(await mock.control.listRequests())).not.toContain("live-key");
});

it("long names in a document do not fill the journal", async ({ mock }) => {
  const name = "x".repeat(500_000);
  await mock.fetch("/graphql", jsonPost({ query: `query ${name} { ${name.slice(0, 400_000)} }` }));
  expect(JSON.stringify(await mock.control.listRequests()).length).toBeLessThan(15_000);
});
