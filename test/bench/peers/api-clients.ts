import { LinearClient } from "@linear/sdk";
import { createGraphQLClient } from "@shopify/graphql-client";
import { parse } from "graphql";
import { GraphQLClient } from "graphql-request";
import { Octokit } from "octokit";
import OpenAI from "openai";
import type { CreatePeerClients } from "../load-peer.ts";

const url = "https://service.localhost/graphql";

/** Clients that one would use instead of the SDK. Each sends the given text through the given `fetch`. */
export const createApiClients: CreatePeerClients = (text, fetch, { throttled = true } = {}) => {
  const headers = { authorization: "Bearer token" };
  const request = new GraphQLClient(url, { fetch, headers });
  const document = parse(text);
  const linear = new LinearClient({ accessToken: "token", apiUrl: url });
  const octokit = new Octokit({
    auth: "token",
    baseUrl: "https://service.localhost",
    request: { fetch },
    throttle: { enabled: throttled, onRateLimit: () => true, onSecondaryRateLimit: () => true },
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const openai = new OpenAI({ apiKey: "token", baseURL: "https://service.localhost", fetch });
  const shopify = createGraphQLClient({ url, headers, customFetchApi: fetch as never, retries: 3 });
  return [
    { name: "graphql-request, DocumentNode", call: (variables) => request.request(document, variables) },
    // It has no option for `fetch`; the caller replaces the global one.
    { name: "@linear/sdk", call: (variables) => linear.client.rawRequest(text, variables) },
    { name: "octokit", call: (variables) => octokit.graphql(text, variables) },
    {
      name: "openai",
      call: (variables) => openai.post("/graphql", { body: { query: text, variables } }),
    },
    {
      name: "@shopify/graphql-client",
      async call(variables) {
        const { data, errors } = await shopify.request(text, { variables });
        if (errors) throw new Error(errors.message ?? "failed");
        return data;
      },
    },
  ];
};
