import { describe, expect, it } from "vitest";
import { documentCache } from "../../../../mock-server/graphql/document-cache.ts";
import { defaultSettings } from "../../../../mock-server/settings.ts";
import { cpuMs } from "../../../support/cpu-ms.ts";

const base = documentCache("base", defaultSettings.bounds);
const messages = (query: string, cache = base) => cache.prepare(query).errors.map(({ message }) => message);

describe("document cache", () => {
  it("validates a document once", () => {
    const query = "{ __typename }";
    expect(base.prepare(query)).toBe(base.prepare(query));
  });

  it("caches errors too, and drops unused documents first", () => {
    const first = base.prepare("{ nothing0 }");
    expect(base.prepare("{ nothing0 }")).toBe(first);
    for (let number = 1; number <= 500; number++) base.prepare(`{ nothing${number} }`);
    expect(base.prepare("{ nothing500 }")).toBe(base.prepare("{ nothing500 }"));
    expect(base.prepare("{ nothing0 }")).not.toBe(first);
  });

  it("is shared by mocks with equal bounds, and dropped when many other bounds were used since", () => {
    const withTokens = (queryTokensMax: number) =>
      documentCache("base", { ...defaultSettings.bounds, queryTokensMax });
    const first = withTokens(100);
    expect(withTokens(100)).toBe(first);
    for (let tokens = 101; tokens <= 140; tokens++) withTokens(tokens);
    expect(withTokens(140)).toBe(withTokens(140));
    expect(withTokens(100)).not.toBe(first);
  });

  it("does not cache long texts", () => {
    const query = `{ __typename } # ${"x".repeat(20_000)}`;
    expect(base.prepare(query)).not.toBe(base.prepare(query));
  });

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

  it("has no operations for an invalid document", () => {
    expect(base.prepare("{ nothing }").operation(null)).toBeNull();
  });
});

describe("documents with operations that the service does not have", () => {
  it("are invalid before they are executed", () => {
    expect(messages("subscription { me { __typename } }")).toEqual([
      "The service has no subscription operations",
    ]);
  });
});

describe("document bounds", () => {
  const shallow = documentCache("base", { queryTokensMax: 100, journalTextCharsMax: 100, queryDepthMax: 3 });

  it("limit the depth of fields, in the document and through fragments", () => {
    const at = (fields: string) => `{ me { ... on WorkspaceUser { ${fields} } } }`;
    expect(messages(at("workspace { name }"), shallow)).toEqual([]);
    expect(messages(at("workspace { tasks { id } }"), shallow)).toEqual([
      "Query is nested deeper than 3 fields",
    ]);
    const hidden = `${at("workspace { ...W }")} fragment W on Workspace { tasks { id } }`;
    expect(messages(hidden, shallow)).toEqual(["Query is nested deeper than 3 fields"]);
    expect(messages(hidden)).toEqual([]);
  });

  it("reject fragments with a cycle", () => {
    const query = "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }";
    expect(messages(query)[0]).toContain("Cannot spread fragment");
  });

  it("reject a document with too many tokens before it is parsed completely", () => {
    const query = `{ ${"a ".repeat(101)} }`;
    expect(messages(query, shallow)[0]).toContain("more that 100 tokens");
  });

  it("allow the widest document to be validated in little time", () => {
    // The rule on conflicting fields compares every pair of equal names; graphql-js stops at some point.
    const query = `{ ${"__typename ".repeat(1_990)} }`;
    const startedMs = cpuMs();
    expect(messages(query).length).toBeLessThanOrEqual(1);
    expect(cpuMs() - startedMs).toBeLessThan(3_000);
  });
});
