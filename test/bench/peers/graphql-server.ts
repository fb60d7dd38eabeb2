// The same schema under other servers: graphql-server.ts yoga|apollo. Their resolvers return fixed data from memory; they
// have no tokens, limits or journal.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { buildSchema } from "graphql";
import { createYoga } from "graphql-yoga";
import { reportServer, serve } from "../parent.ts";

const stages = ["document-classification", "tax-extraction", "reconciliation", "review"];
const tasks = Array.from({ length: 50 }, (_, index) => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  type: "TAX_PREP",
  status: "RUNNING",
  startedAt: "2026-01-15T12:00:00.000Z",
  completedAt: null,
  errorMessage: null,
  subTasks: stages.map((type, stage) => ({
    id: `10000000-0000-4000-8000-${String(index * 10 + stage).padStart(12, "0")}`,
    type,
    status: "COMPLETED",
    startedAt: "2026-01-15T12:00:00.000Z",
    completedAt: "2026-01-15T12:00:01.000Z",
    errorMessage: null,
  })),
}));
const me = {
  __typename: "WorkspaceUser",
  id: "membership-1",
  role: "admin",
  workspace: { id: "workspace-1", tasks: ({ limit }: { limit: number }) => tasks.slice(0, limit) },
};

const schema = buildSchema(readFileSync(new URL("../../../schema.graphql", import.meta.url), "utf8"));
const meField = schema.getQueryType()?.getFields()["me"];
if (meField) meField.resolve = () => me;

if (process.argv[2] === "yoga") {
  await serve(createServer(createYoga({ schema, logging: false })));
} else {
  const server = new ApolloServer({ schema });
  const { url } = await startStandaloneServer(server, { listen: { host: "127.0.0.1", port: 0 } });
  reportServer({ port: Number(new URL(url).port) });
}
