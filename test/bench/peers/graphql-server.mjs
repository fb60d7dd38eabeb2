// The same schema under other servers: graphql-server.mjs KIND. Their resolvers return fixed data from memory; they have
// no tokens, limits or journal. JavaScript, so that their start is measured without a TypeScript loader.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [kind = ""] = process.argv.slice(2);

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
  workspace: { id: "workspace-1", tasks: ({ limit }) => tasks.slice(0, limit) },
};

function createSchema({ buildSchema }) {
  const schema = buildSchema(readFileSync(new URL("../../../schema.graphql", import.meta.url), "utf8"));
  schema.getQueryType().getFields().me.resolve = () => me;
  return schema;
}

async function serve() {
  const graphql = await import("graphql");
  const schema = createSchema(graphql);
  switch (kind) {
    case "yoga": {
      const { createYoga } = await import("graphql-yoga");
      return listen(createYoga({ schema, logging: false }));
    }
    case "apollo": {
      const { ApolloServer } = await import("@apollo/server");
      const { startStandaloneServer } = await import("@apollo/server/standalone");
      const server = new ApolloServer({ schema });
      const { url } = await startStandaloneServer(server, { listen: { host: "127.0.0.1", port: 0 } });
      return Number(new URL(url).port);
    }
    case "mercurius": {
      const { default: fastify } = await import("fastify");
      const { default: mercurius } = await import("mercurius");
      const app = fastify();
      await app.register(mercurius, { schema });
      await app.listen({ port: 0, host: "127.0.0.1" });
      return app.addresses()[0].port;
    }
    case "graphql-http": {
      const { createHandler } = await import("graphql-http/lib/use/http");
      return listen(createHandler({ schema }));
    }
    case "graphql-http-cached": {
      const { createHandler } = await import("graphql-http/lib/use/http");
      return listen(createHandler({ schema, onSubscribe: cached(schema, graphql) }));
    }
    default:
      throw new Error(`there is no server of kind ${kind}`);
  }
}

/** Parses and validates each text once, as a service does whose clients repeat the same queries. */
function cached(schema, { parse, validate }) {
  const documents = new Map();
  return (_request, { query, operationName, variables }) => {
    let document = documents.get(query);
    if (!document) {
      document = parse(query);
      const errors = validate(schema, document);
      if (errors.length > 0) return errors;
      documents.set(query, document);
    }
    return { schema, document, operationName, variableValues: variables };
  };
}

async function listen(handler) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server.address().port;
}

const port = await serve();
if (process.send) {
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send({ cpuUs: user + system });
  });
  process.on("disconnect", () => process.exit());
  process.send({ port });
} else {
  console.log(JSON.stringify({ port }));
}
