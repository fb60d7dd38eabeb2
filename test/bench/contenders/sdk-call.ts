import { GraphQLClient } from "graphql-request";
import type { CreateContender } from "../alternate.ts";
import { type CreatePeerClients, loadPeerClients } from "../load-peer.ts";
import { createMemoryClient, createMemoryFetch } from "../memory-service.ts";
import { listTasksText } from "../sample-query.ts";

const url = "http://service.localhost/graphql";
const variables = { limit: 20 };

type Call = () => Promise<unknown>;

const own: Readonly<Record<string, () => Call>> = {
  "fetch + JSON.parse": rawCall,
  "this SDK": () => sdkCall(),
  "this SDK, rateLimit: false": () => sdkCall(false),
  "graphql-request, text": graphqlRequestCall,
};

/**
 * One call, with a `fetch` that responds from memory. Every process loads the peers, because a larger heap is collected
 * less often.
 *
 * @param argument `alone`: without the peers, which may not be installed
 */
export const createContender: CreateContender = async (name, argument) => {
  const createPeerClients = argument === "alone" ? () => [] : await loadPeerClients();
  const call = own[name]?.() ?? peerCall(name, createPeerClients);
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

function graphqlRequestCall(): Call {
  const client = new GraphQLClient(url, {
    fetch: createMemoryFetch(),
    headers: { authorization: "Bearer token" },
  });
  return () => client.request(listTasksText, variables);
}

function peerCall(name: string, createPeerClients: CreatePeerClients): Call {
  // @linear/sdk uses the global one.
  globalThis.fetch = createMemoryFetch();
  const peers = createPeerClients(listTasksText, globalThis.fetch, { throttled: false });
  const peer = peers.find((each) => each.name === name);
  if (!peer) throw new Error(`there is no contender ${name}`);
  return () => peer.call(variables);
}
