import { describe, expect, it } from "vitest";
import { negotiateMediaType } from "../../../../mock-server/graphql/media-type.ts";

describe("negotiateMediaType", () => {
  const json = "application/json";
  const graphql = "application/graphql-response+json";
  it.each([
    [undefined, json],
    ["*/*", json],
    ["application/*", json],
    ["application/json; charset=utf-8", json],
    ["text/html, application/graphql-response+json;q=0.9, application/json", json],
    ["application/json;q=0.9, application/graphql-response+json", graphql],
    ["application/graphql-response+json, application/json", graphql],
    ["application/json;q=0, */*;q=0.1, application/graphql-response+json;q=0.2", graphql],
    ["application/json;q=0", null],
    ["application/json;q=nonsense", json],
    ["application/json, application/graphql-response+json", json],
    ["APPLICATION/JSON", json],
    ["application/graphql-response+json; charset=utf-16, application/json", json],
    ["text/html", null],
    ["application/json; charset=latin1", null],
  ])("returns for Accept %s the type %s", (accept, expected) => {
    expect(negotiateMediaType(accept)).toBe(expected);
  });
});
