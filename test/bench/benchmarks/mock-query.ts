import {
  atLeast,
  type Benchmark,
  cellOf,
  type MeasureOptions,
  number,
  type Result,
  times,
} from "../benchmark.ts";
import { httpRequest, sendAll } from "../deliver.ts";
import type { Sample } from "../meter.ts";
import { type ServerProcess, startServer } from "../processes.ts";
import { inTurns, medianIn, type Rounds, ratioIn } from "../statistics.ts";

const ours = "this mock";
const connections = 20;
const peers = { "graphql-yoga": "yoga", "Apollo Server": "apollo" } as const;
const names = [ours, ...Object.keys(peers)];

interface Query {
  readonly label: string;
  readonly requests: number;
  readonly body: string;
}

const small: Query = {
  label: "small query",
  requests: 4_000,
  body: JSON.stringify({ query: "query Me { me { __typename ... on WorkspaceUser { id role } } }" }),
};
const list: Query = {
  label: "list of 50 tasks with 4 stages each",
  requests: 400,
  body: JSON.stringify({
    query: `query ListTasks($limit: Int) { me { ... on WorkspaceUser { workspace { id tasks(limit: $limit) {
      id type status startedAt completedAt errorMessage
      subTasks { id type status startedAt completedAt errorMessage }
    } } } } }`,
    variables: { limit: 50 },
  }),
};

export const benchmark: Benchmark = {
  title: "Querying the mock",
  question: "What does a small query over HTTP cost?",
  answer: (result) =>
    `${cellOf(result, ours, "µs")} µs, ${cellOf(result, ours, "requests/s")} requests per second; graphql-yoga takes ${cellOf(result, "graphql-yoga", "÷ this mock")}`,
  about:
    `HTTP over ${connections} keep-alive connections, each server in its own process, with the same schema. The mock checks the token, applies ` +
    "the rate limit, writes its journal and reads its tasks; the resolvers of the peers return fixed objects. µs of CPU time per request, the " +
    "ratio to the mock, and requests per second of wall time.",
  notes: ["Of a list nearly all is graphql-js and JSON, in the mock as in the peers."],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const servers = new Map<string, ServerProcess>();
  try {
    const mock = await startServer("servers/mock.ts");
    servers.set(ours, mock);
    for (const [name, kind] of Object.entries(peers)) {
      servers.set(name, await startServer("peers/graphql-server.ts", kind));
    }
    const smallRounds = await measureQuery(small, servers, mock, quick);
    const listRounds = await measureQuery(list, servers, mock, quick);
    const goalsOf = (label: string, rounds: Rounds<keyof Sample>) =>
      Object.keys(peers).map((peer) =>
        atLeast(`${label}: ${peer} ÷ this mock`, 2, ratioIn(rounds, ours, peer, "cpuUs")),
      );
    return {
      goals: [...goalsOf("small query", smallRounds), ...goalsOf("list of tasks", listRounds)],
      tables: [tableOf(small, smallRounds), tableOf(list, listRounds)],
    };
  } finally {
    for (const server of servers.values()) await server[Symbol.asyncDispose]();
  }
}

async function measureQuery(
  { requests, body }: Query,
  servers: ReadonlyMap<string, ServerProcess>,
  mock: ServerProcess,
  quick: boolean,
): Promise<Rounds<keyof Sample>> {
  const headers = {
    authorization: `Bearer ${mock.workspaceToken}`,
    "content-type": "application/json",
    accept: "application/json",
  };
  const length = { host: "127.0.0.1", "content-length": String(Buffer.byteLength(body)) };
  const request = httpRequest("/graphql", { ...headers, ...length }, Buffer.from(body));
  for (const [name, server] of servers) {
    // A response with errors also has status 200, and would be fast.
    const response = await fetch(urlOf(server), { method: "POST", headers, body });
    const { data, errors } = (await response.json()) as { data?: { me?: unknown }; errors?: unknown };
    if (!data?.me || errors) throw new Error(`${name} responded ${JSON.stringify(errors ?? data)}`);
  }
  const count = quick ? Math.ceil(requests / 10) : requests;
  const all = Array.from({ length: count }, () => request);
  return inTurns(names, { rounds: quick ? 2 : 9, warmUpRounds: 2 }, async (name) => {
    const server = servers.get(name) as ServerProcess;
    const cpuBefore = await server.cpuUs();
    const { wallMs } = await sendAll(server.port, all, connections);
    return { cpuUs: ((await server.cpuUs()) - cpuBefore) / count, wallUs: (wallMs * 1_000) / count };
  });
}

function tableOf({ label }: Query, rounds: Rounds<keyof Sample>) {
  return {
    columns: [label, "µs", `÷ ${ours}`, "requests/s"],
    rows: names.map((name) => [
      name,
      number(medianIn(rounds, name, "cpuUs")),
      times(ratioIn(rounds, ours, name, "cpuUs")),
      number(1e6 / medianIn(rounds, name, "wallUs")),
    ]),
  };
}

const urlOf = ({ port }: ServerProcess) => `http://127.0.0.1:${port}/graphql`;
