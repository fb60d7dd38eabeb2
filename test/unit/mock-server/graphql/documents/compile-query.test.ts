import fc from "fast-check";
import * as graphql from "graphql";
import { beforeAll, describe, expect, it } from "vitest";
import { compileQuery } from "../../../../../mock-server/graphql/documents/compile-query.ts";
import type { ResolverContext } from "../../../../../mock-server/graphql/schema/resolvers.ts";
import { routerSchema } from "../../../../../mock-server/graphql/schema/router-schema.ts";
import { createApiKey, exchangeApiKey } from "../../../../../mock-server/rules/identity/api-keys.ts";
import { authorise } from "../../../../../mock-server/rules/identity/caller.ts";
import { setStageStatus, setTaskStatus } from "../../../../../mock-server/rules/tasks/task-status.ts";
import { startTask } from "../../../../../mock-server/rules/tasks/tasks.ts";
import * as operations from "../../../../../sdk/generated/operations.ts";
import { createTestWorld, type TestWorld } from "../../../../support/mock-world.ts";

const schema = routerSchema("base");
type Variables = Record<string, unknown>;

function compile(query: string, within: graphql.GraphQLSchema = schema) {
  const document = graphql.parse(query);
  const [operation] = document.definitions as [graphql.OperationDefinitionNode];
  return { document, run: compileQuery(within, document, operation) };
}

/** What both executors respond; the compiled one `null` where it leaves the query to graphql-js. */
async function both(query: string, contextValue: ResolverContext, variableValues: Variables = {}) {
  const { document, run } = compile(query);
  const result = await graphql.execute({ schema, document, contextValue, variableValues });
  return { compiled: run?.(contextValue, variableValues) ?? null, executed: JSON.stringify(result), result };
}

let fixture: TestWorld;
let member: ResolverContext;
beforeAll(() => {
  fixture = createTestWorld();
  const { world, workspaceId, clientId } = fixture;
  const { apiKey } = createApiKey(world, { workspaceId });
  const { workspaceToken } = exchangeApiKey(world, { refreshToken: apiKey });
  member = { world, caller: authorise(world, `Bearer ${workspaceToken}`) };
  fixture.addEndpoint({ description: 'a "quoted" \\ text\nof two lines \ud83d\ude42' });
  for (const type of ["TAX_PREP", "BINDER", "TAX_PREP"]) {
    const plan = { progression: "manual", stages: [] } as const;
    const task = startTask(world, {
      workspaceId,
      clientId,
      type,
      plan,
      attributes: [{ name: "n", value: "v" }],
    });
    const stage = { taskId: task.id, subTaskType: "extraction" };
    setStageStatus(world, { ...stage, status: "FAILED", errorMessage: "unreadable" });
    if (type === "TAX_PREP") setTaskStatus(world, { taskId: task.id, status: "COMPLETED" });
  }
});

const selections = new Map<string, fc.Arbitrary<string>>();

/** Random selections of the schema, with aliases, fragments and repeated fields. */
function selectionOf(type: graphql.GraphQLOutputType, depth: number): fc.Arbitrary<string> {
  const name = `${graphql.getNamedType(type).name}/${depth}`;
  const selection = selections.get(name) ?? createSelection(type, depth);
  selections.set(name, selection);
  return selection;
}

function createSelection(type: graphql.GraphQLOutputType, depth: number): fc.Arbitrary<string> {
  const named = graphql.getNamedType(type);
  const typeName = fc.constant("__typename");
  if (graphql.isUnionType(named)) {
    const fragments = named
      .getTypes()
      .map((each) => selectionOf(each, depth).map((inner) => `... on ${each.name} ${inner}`));
    return fc
      .subarray(fragments, { minLength: 1 })
      .chain((some) => fc.tuple(...some))
      .map((some) => `{ __typename ${some.join(" ")} }`);
  }
  if (!graphql.isObjectType(named)) return fc.constant("");
  const fields = Object.values(named.getFields())
    .filter(
      ({ name, args }) =>
        name !== "payloadSchema" && args.every(({ type: each }) => !String(each).endsWith("!")),
    )
    .filter((field) => depth > 1 || !isComposite(field.type))
    .map((field) => {
      const inner = isComposite(field.type) ? selectionOf(field.type, depth - 1) : fc.constant("");
      return fc
        .tuple(fc.constantFrom("", `a${field.name}: `, "same: "), inner)
        .map(([alias, text]) => `${alias}${field.name} ${text}`);
    });
  const one = fc.oneof(typeName, ...fields);
  const many = fc.array(one, { minLength: 1, maxLength: 5 }).map((some) => some.join(" "));
  return fc.oneof(
    many.map((text) => `{ ${text} }`),
    fc
      .tuple(many, many)
      .map(([text, more]) => `{ ${text} ... { ${more} } ... on ${named.name} { ${text} } }`),
  );
}

const isComposite = (type: graphql.GraphQLOutputType) => {
  const named = graphql.getNamedType(type);
  return graphql.isObjectType(named) || graphql.isUnionType(named);
};

describe("a compiled query", () => {
  it("writes the response of graphql-js, byte for byte, for any valid query without errors", async () => {
    const queryType = schema.getQueryType();
    if (!queryType) throw new Error("the schema has no queries");
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(selectionOf(queryType, 5), async (query) => {
        fc.pre(graphql.validate(schema, graphql.parse(query)).length === 0);
        const { compiled, executed, result } = await both(query, member);
        if (result.errors) expect(compiled).toBeNull();
        else expect(compiled).toBe(executed);
        if (compiled !== null) compared++;
      }),
      { numRuns: 150, seed: 20_260_115 },
    );
    expect(compared).toBeGreaterThan(50);
  });

  it.each(Object.entries(operations).filter(([, document]) => /^\s*query/.test(String(document))))(
    "%s of the SDK is compiled",
    async (_, document) => {
      const query = String(document);
      const withPromises = query.includes("payloadSchema");
      const variables = { id: fixture.clientId, limit: 10, offset: 0, filters: null };
      const { compiled, executed } = await both(query, member, variables);
      expect(compiled).toBe(withPromises ? null : executed);
    },
  );

  it("reads arguments and variables with their defaults, also explicit null", async () => {
    const query = `query ($limit: Int, $types: [String!] = ["BINDER"]) { me { ... on WorkspaceUser { workspace {
      tasks(limit: $limit, filters: { types: $types }) { id } again: tasks(limit: 1) { id type } } } } }`;
    for (const variables of [{}, { limit: 2 }, { limit: null, types: null }, { types: ["TAX_PREP"] }]) {
      const { compiled, executed } = await both(query, member, variables);
      expect(compiled).toBe(executed);
      expect(compiled).toContain('"again":[{');
    }
  });

  it.each([
    [
      "an exception of a resolver",
      "{ me { __typename ... on WorkspaceUser { workspace { tasks(limit: 0) { id } } } } }",
    ],
    ["a value of the wrong type in a variable", "query ($n: Int!) { me { __typename } }"],
    ["a directive", "query ($n: Int) { me { __typename @skip(if: true) } }"],
    ["a mutation", 'mutation { deleteWebhookEndpoint(endpointId: "x") }'],
    ["a promise", "{ webhookEventCatalog { payloadSchema } }"],
  ])("leaves %s to graphql-js", async (_, query) => {
    const { run } = compile(query);
    expect(run?.(member, { n: "text" }) ?? null).toBeNull();
  });

  it("leaves documents that would compile to very many fields to graphql-js, without delay", () => {
    const level = (inner: string) =>
      ["a", "b", "c", "d", "e"].map((name) => `${name}: workspace ${inner}`).join(" ");
    const many = Array.from({ length: 600 }, (_, index) => `f${index}: id`).join(" ");
    expect(compile(`{ me { ... on WorkspaceUser { ${many} } } }`).run).toBeNull();
    expect(compile(`{ me { ... on WorkspaceUser { ${level("{ id }")} } } }`).run).not.toBeNull();
  });
});
