import type { Finding, Measure } from "../finding.ts";
import { httpRequest, sendAll } from "../load.ts";
import { medianOf, ratioOf, type Sample } from "../samples.ts";
import { ServerProcess } from "../server-process.ts";
import { atLeast, number, times } from "../words.ts";

const ours = "this mock";
const connections = 20;
const peers = {
  "graphql-yoga": "yoga",
  "Apollo Server": "apollo",
  mercurius: "mercurius",
  "graphql-http": "graphql-http",
  "graphql-http + cache": "graphql-http-cached",
} as const;
const names = [ours, ...Object.keys(peers)];

const queries = [
  {
    label: "small query",
    requests: 4_000,
    query: "query Me { me { __typename ... on WorkspaceUser { id role } } }",
  },
  {
    label: "list of 50 tasks with 4 stages each",
    requests: 400,
    query: `query ListTasks($limit: Int) { me { ... on WorkspaceUser { workspace { id tasks(limit: $limit) {
      id type status startedAt completedAt errorMessage
      subTasks { id type status startedAt completedAt errorMessage }
    } } } } }`,
    variables: { limit: 50 },
  },
] as const;
type Query = (typeof queries)[number];

export const measure: Measure = async ({ quick }) => {
  const servers = new Map<string, ServerProcess>();
  try {
    servers.set(ours, await ServerProcess.start("servers/mock.ts"));
    for (const [name, kind] of Object.entries(peers)) {
      servers.set(name, await ServerProcess.start("peers/graphql-server.mjs", [kind]));
    }
    const token = await tokenOf(servers.get(ours));
    const found = [];
    for (const query of queries) found.push(await measureQuery(query, servers, token, quick));
    return finding(found);
  } finally {
    for (const server of servers.values()) await server[Symbol.asyncDispose]();
  }
};

async function measureQuery(
  query: Query,
  servers: ReadonlyMap<string, ServerProcess>,
  token: string,
  quick: boolean,
) {
  const body = Buffer.from(
    JSON.stringify({ query: query.query, variables: "variables" in query ? query.variables : undefined }),
  );
  const request = httpRequest(
    "/graphql",
    {
      host: "127.0.0.1",
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json",
      "content-length": String(body.length),
    },
    body,
  );
  for (const [name, server] of servers) await checkAnswer(name, server, body, token);
  const samples = new Map<string, Sample[]>(names.map((name) => [name, []]));
  const count = quick ? Math.ceil(query.requests / 10) : query.requests;
  const requests = Array.from({ length: count }, () => request);
  // The first two rounds warm up.
  for (let round = -2; round < (quick ? 2 : 9); round++) {
    for (const [name, server] of servers) {
      const cpuBefore = await server.cpuUs();
      const { wallMs } = await sendAll(server.port, requests, connections);
      const cpuUs = ((await server.cpuUs()) - cpuBefore) / count;
      if (round >= 0) samples.get(name)?.push({ cpuUs, wallUs: (wallMs * 1_000) / count });
    }
  }
  return { ...query, samples };
}

/** An answer with errors also has status 200 and would be a quick one. */
async function checkAnswer(name: string, server: ServerProcess, body: Buffer, token: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.port}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      authorization: `Bearer ${token}`,
    },
    body: body.toString(),
  });
  const { data, errors } = (await response.json()) as { data?: { me?: unknown }; errors?: unknown };
  if (!data?.me || errors) throw new Error(`${name} answered ${JSON.stringify(errors ?? data)}`);
}

async function tokenOf(mock: ServerProcess | undefined): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${mock?.port}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      query:
        "mutation Exchange($key: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken } }",
      variables: { key: mock?.apiKey },
    }),
  });
  const { data } = (await response.json()) as {
    data: { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken: string } };
  };
  return data.exchangeSurfaceRefreshTokenForAccessTokens.workspaceToken;
}

function finding(found: readonly Awaited<ReturnType<typeof measureQuery>>[]): Finding {
  const [small] = found;
  const samples = small?.samples ?? new Map();
  return {
    title: "The mock answers a query",
    about:
      `HTTP over ${connections} keep-alive connections, each server in a process of its own, with the same schema. The mock checks the token, ` +
      "counts the allowance and writes its journal; the peers' resolvers return fixed objects and do none of that. " +
      "µs of processor time per request, how many times as much as the mock's, and requests per second of the wall.",
    goals: [
      atLeast("small query: graphql-yoga ÷ this mock", 2, ratioOf(samples, ours, "graphql-yoga")),
      atLeast("small query: Apollo Server ÷ this mock", 1.3, ratioOf(samples, ours, "Apollo Server")),
    ],
    tables: found.map((query) => ({
      columns: [query.label, "µs", `÷ ${ours}`, "requests/s"],
      rows: names.map((name) => [
        name,
        number(medianOf(query.samples, name)),
        times(ratioOf(query.samples, ours, name)),
        number(1e6 / medianOf(query.samples, name, "wallUs")),
      ]),
    })),
    notes: [
      "In the list most of the time goes into graphql-js and JSON, here as there. The peers hand out fifty finished objects; the mock filters and pages its tasks and resolves 450 times for each request. It keeps their texts: writing them anew took a quarter.",
    ],
  };
}
