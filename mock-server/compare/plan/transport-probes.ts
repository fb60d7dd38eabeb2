import { group, type Probe } from "./probe.ts";

const json = "application/json";
const typename = "{ __typename }";
const raw = (sends: string, method: string, contentType: string | null, body: string | null) => ({
  sends,
  request: { method, contentType, body },
});

const ofRouter = (name: string, router: Probe["router"]) =>
  group(
    name,
    { permission: "read", router, token: "none" },
    {
      typename: { sends: "{ __typename } without a token", request: { document: typename } },
      schema: {
        sends: "an introspection query for __schema",
        request: { document: "{ __schema { queryType { name } } }" },
      },
      type: {
        sends: "an introspection query for __type",
        request: { document: '{ __type(name: "Query") { name } }' },
      },
      "near-miss": {
        sends: "a field that is nearly named like an existing one",
        request: { document: "{ mee { __typename } }" },
      },
    },
  );

export const transportProbes: readonly Probe[] = [
  ...ofRouter("base", "base"),
  ...group(
    "http",
    { permission: "read", router: "base", token: "none" },
    {
      get: raw("a GET request", "GET", null, null),
      "malformed-json": raw("a body that is not JSON", "POST", json, "{"),
      "no-query": raw("a JSON body without query", "POST", json, "{}"),
      "wrong-type": raw(
        "a body of type text/plain",
        "POST",
        "text/plain",
        JSON.stringify({ query: typename }),
      ),
      syntax: { sends: "a document with a syntax error", request: { document: "{ me {" } },
    },
  ),
];

export const gatewayTransportProbes = ofRouter("gateway", "gateway");
