import { parse, validate } from "graphql";
import { describe, expect, it } from "vitest";
import { depthRule, documentCaches } from "../../../../mock-server/graphql/documents.ts";
import { routerSchema } from "../../../../mock-server/graphql/schema.ts";

const { base } = documentCaches;
const messages = (query: string) => base.prepare(query).errors.map(({ message }) => message);

describe("document cache", () => {
  it("finds an operation by name, and the only one without a name", () => {
    const two = base.prepare("query A { me { __typename } } query B { webhookEventCatalog { name } }");
    expect(two.operation("B")?.fields).toEqual(["webhookEventCatalog"]);
    expect(two.operation(null)).toBeNull();
    expect(two.operation("C")).toBeNull();
    expect(base.prepare("query A { __typename }").operation(undefined)?.name).toBe("A");
  });

  it("lists top-level fields through fragments and aliases, once each", () => {
    const query = `{ one: me { __typename } ...F ... on Query { webhookEventCatalog { name } } }
      fragment F on Query { two: me { __typename } }`;
    expect(base.prepare(query).operation(null)?.fields).toEqual(["me", "webhookEventCatalog"]);
  });
});

describe("document bounds", () => {
  it("limit the depth of fields, in the document and through fragments", () => {
    const depthErrors = (query: string, depthMax: number) =>
      validate(routerSchema("base"), parse(query), [depthRule(depthMax)]).map(({ message }) => message);
    const at = (fields: string) => `{ me { ... on WorkspaceUser { ${fields} } } }`;
    for (const query of [
      at("workspace { tasks { id } }"),
      `${at("workspace { ...W }")} fragment W on Workspace { tasks { id } }`,
    ]) {
      expect(depthErrors(query, 4)).toEqual([]);
      expect(depthErrors(query, 3)).toEqual(["Query is nested deeper than 3 fields"]);
      expect(messages(query)).toEqual([]);
    }
    expect(messages("{ a ".repeat(13) + "}".repeat(13))).toContain("Query is nested deeper than 12 fields");
  });

  it("reject a document with too many tokens before it is parsed completely", () => {
    expect(messages(`{ ${"__typename ".repeat(1_998)} }`)[0]).not.toContain("tokens");
    expect(messages(`{ ${"__typename ".repeat(1_999)} }`)[0]).toContain("more that 2000 tokens");
  });
});
