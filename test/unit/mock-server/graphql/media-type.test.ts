import { describe, expect, it } from "vitest";
import { isJson, negotiateMediaType } from "../../../../mock-server/graphql/media-type.ts";

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
    ["APPLICATION/JSON", json],
    ["application/graphql-response+json; charset=utf-16, application/json", json],
    ["text/html", null],
    ["", json],
    ["application/json ; q=0.5 , application/graphql-response+json ; q=0.5", json],
    ["application/json;q=0.000, application/graphql-response+json;q=0.1", graphql],
    ["application/json;q=0.9, application/graphql-response+json;q=1.000", graphql],
    ["application/graphql-response+json;q=0.9, application/json;q=1.5", json],
    ["application/graphql-response+json;q=0.9, application/json;x=1;q=0.1", graphql],
    ['application/graphql-response+json;charset="UTF-8", application/json;q=0.9', graphql],
    ["application/graphql-response+json;charset=utf8, application/json;q=0.9", graphql],
    ["application/graphql-response+json;charset=xutf-8, application/json;q=0.9", json],
    ["application/graphql-response+json;xcharset=latin1, application/json;q=0.9", graphql],
    // What is no quality counts as 1.
    ["application/json;q=x1, application/graphql-response+json;q=0.5", json],
    ["application/json;q=1, application/graphql-response+json;q=1.5", json],
    [";", null],
    ["application/json; charset=latin1", null],
  ])("returns for Accept %s the type %s", (accept, expected) => {
    expect(negotiateMediaType(accept)).toBe(expected);
  });
});

describe("isJson", () => {
  it.each([
    ["application/json", true],
    ["Application/JSON", true],
    ["application/json; charset=utf-8", true],
    ['application/json; charset="UTF-8"', true],
    ["application/json;charset=utf8", true],
    ["application/json; profile=x", true],
    ['application/json; profile="a;charset=b"; charset=utf-8', true],
    ["application/json;", true],
    ['application/json; profile="a; charset=latin1', true],
    ["application/json; charset=utf-80", false],
    ["application/json; charset=charset=utf-8", false],
    ["application/json; charset=utf-16", false],
    ["application/json; profile=x; charset=latin1", false],
    ["application/json-patch+json", false],
    ["text/plain", false],
    ["", false],
    [undefined, false],
  ])("is for Content-Type %s %s", (contentType, expected) => {
    expect(isJson(contentType)).toBe(expected);
  });
});
