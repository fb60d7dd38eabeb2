import { parse } from "graphql";
import { GraphQLClient } from "graphql-request";
import type { CreateContender } from "../alternate.ts";
import { createMemoryClient, createMemoryFetch, listTasksText } from "../memory-service.ts";

const url = "http://service.localhost/graphql";
const variables = { limit: 20 };

type Call = () => Promise<unknown>;

const calls: Readonly<Record<string, () => Call>> = {
  "fetch + JSON.parse": rawCall,
  "this SDK": () => sdkCall(),
  "this SDK, rateLimit: false": () => sdkCall(false),
  "graphql-request, DocumentNode": () => graphqlRequestCall(parse(listTasksText)),
  "graphql-request, text": () => graphqlRequestCall(listTasksText),
};

/** One call, with a `fetch` that responds from memory. */
export const createContender: CreateContender = (name) => {
  const call = calls[name]?.();
  if (!call) throw new Error(`there is no contender ${name}`);
  return async (count) => {
    for (let done = 0; done < count; done++) await call();
  };
};

function rawCall(): Call {
  const fetch = createMemoryFetch();
  return async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer token" },
      body: JSON.stringify({ query: listTasksText, variables }),
    });
    return JSON.parse(await response.text());
  };
}

function sdkCall(rateLimit?: false): Call {
  const client = createMemoryClient(rateLimit);
  return () => client.request(listTasksText, variables);
}

function graphqlRequestCall(document: string | ReturnType<typeof parse>): Call {
  const client = new GraphQLClient(url, {
    fetch: createMemoryFetch(),
    headers: { authorization: "Bearer token" },
  });
  return () => client.request(document, variables);
}
