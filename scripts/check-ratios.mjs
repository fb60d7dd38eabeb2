// Fails when something has become about twice as slow as it was, compared with what one would take in its place: the
// full comparison is `npm run bench`. Absolute times would fail on every slower machine; ratios taken in turns do
// not. Each limit is 1.75 times worse than usual. `--twice` lets ours do everything twice, which has to fail.
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { buildSchema } from "graphql";
import { createHandler } from "graphql-http/lib/use/fetch";
import { GraphQLClient } from "graphql-request";
import { Webhook } from "standardwebhooks";
import { createMockServer } from "workspace-tasks/mock-server";
import { createVerifier } from "workspace-tasks/receiver-kit";
import { createClient } from "workspace-tasks/sdk";

const twice = process.argv.includes("--twice");
const rounds = 11;
const roundMs = 60;
const triesMax = 3;

const comparisons = [
  { name: "verify 8 KB ÷ standardwebhooks", usual: 0.1, prepare: prepareVerify },
  { name: "SDK call ÷ graphql-request", usual: 1.3, prepare: prepareCall },
  { name: "mock query ÷ graphql-http", usual: 0.48, prepare: prepareQuery },
];

let failed = false;
for (const { name, usual, prepare } of comparisons) {
  const { ours, theirs } = await prepare();
  const limit = usual * 1.75;
  let ratio = Number.POSITIVE_INFINITY;
  // A busy machine can spoil a try, not three of them in one direction.
  for (let tries = 0; tries < triesMax && ratio > limit; tries++) ratio = await measure(ours, theirs);
  if (ratio > limit) failed = true;
  console.log(`${ratio > limit ? "✗" : "✓"} ${name}: ${ratio.toFixed(3)}, at most ${limit.toFixed(3)}`);
}
if (failed) console.error("about twice as slow as usual; npm run bench shows more");
process.exit(failed ? 1 : 0);

/** The median over the rounds of our processor time divided by theirs. */
async function measure(ours, theirs) {
  const oursPerRound = await countFor(ours);
  const theirsPerRound = await countFor(theirs);
  const ratios = [];
  for (let round = 0; round < rounds; round++) {
    const mine = await cpuUs(ours, oursPerRound);
    ratios.push(((twice ? 2 : 1) * mine) / (await cpuUs(theirs, theirsPerRound)));
  }
  return ratios.sort((a, b) => a - b)[Math.floor(rounds / 2)];
}

async function countFor(work) {
  for (let count = 16; ; count *= 2) {
    const spentMs = ((await cpuUs(work, count)) * count) / 1_000;
    if (spentMs >= roundMs / 2) return Math.ceil((count * roundMs) / spentMs);
  }
}

async function cpuUs(work, count) {
  const before = process.cpuUsage();
  for (let done = 0; done < count; done++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

function prepareVerify() {
  const key = Buffer.alloc(32, 7);
  const secret = `whsec_${key.toString("base64")}`;
  const body = Buffer.from(JSON.stringify({ event: "task.completed", notes: "x".repeat(8_000) }));
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const hmac = createHmac("sha256", key).update(`msg_1.${timestamp}.`).update(body);
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${hmac.digest("base64")}`,
  };
  const verifier = createVerifier({ secrets: [secret] });
  const webhook = new Webhook(secret);
  return { ours: () => verifier.verify(body, headers), theirs: () => webhook.verify(body, headers) };
}

function prepareCall() {
  const query = "query Probe { me { __typename } }";
  const tokens = { userToken: "user-token", workspaceToken: "workspace-token" };
  const exchange = JSON.stringify({ data: { exchangeSurfaceRefreshTokenForAccessTokens: tokens } });
  const answer = JSON.stringify({ data: { me: { __typename: "WorkspaceUser", notes: "x".repeat(4_000) } } });
  const fetch = async (_url, { body }) =>
    new Response(String(body).includes("ExchangeApiKey") ? exchange : answer, {
      headers: { "content-type": "application/json" },
    });
  const client = createClient({ apiKey: "key", baseUrl: "http://ratio.localhost", fetch, rateLimit: false });
  const peer = new GraphQLClient("http://ratio.localhost/graphql", { fetch });
  return { ours: () => client.request(query), theirs: () => peer.request(query) };
}

async function prepareQuery() {
  const mock = await createMockServer({
    listen: false,
    settings: { rateLimit: { requests: 1_000_000_000 } },
  });
  const post = (query, variables, token) =>
    new Request("http://ratio.localhost/graphql", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ query, variables }),
    });
  const exchange =
    "mutation Exchange($key: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken } }";
  const exchanged = await mock.fetch(post(exchange, { key: mock.apiKey }, ""));
  const { data } = await exchanged.json();
  const token = data.exchangeSurfaceRefreshTokenForAccessTokens.workspaceToken;

  const schema = buildSchema(readFileSync(new URL("../schema.graphql", import.meta.url), "utf8"));
  const me = { __typename: "WorkspaceUser", id: "membership-1", role: "admin" };
  const bare = createHandler({ schema, rootValue: { me } });
  const query = "query Me { me { __typename ... on WorkspaceUser { id role } } }";
  const ask = (answer) => async () => {
    const response = await answer(post(query, undefined, token));
    const text = await response.text();
    if (!text.includes("WorkspaceUser")) throw new Error(`unexpected answer: ${text}`);
  };
  return { ours: ask((request) => mock.fetch(request)), theirs: ask(bare) };
}
