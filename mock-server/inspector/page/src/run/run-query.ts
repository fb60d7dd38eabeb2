import type { RecordedRequest } from "../api-types.ts";
import { control } from "../state/resource.ts";
import { worldUrl } from "../state/worlds.ts";
import { canBeSent } from "./sent-query.ts";

export interface RunRequest {
  readonly router: "base" | "gateway";
  readonly query: string;
  /** JSON, or empty. */
  readonly variables: string;
  /** Of an API key or partner key; empty: no token; `null`: the mock's own API key. */
  readonly keyId: string | null;
  /** Sent as it is, in place of a new one. */
  readonly token: string | null;
}

export interface RunResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** In the computer's time. */
  readonly durationMs: number;
  /** The request as it was sent, for a shell. */
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string;
  readonly token: string | null;
  /** The request in the mock's journal, which says more about a rejection than its response. */
  readonly recorded: RecordedRequest | null;
}

/** Sends an operation as a client does, with a new token of the key. */
export async function runQuery(request: RunRequest): Promise<RunResponse> {
  const { router, query, variables, keyId } = request;
  const requestBody = JSON.stringify({ query, ...(variables.trim() && { variables: parse(variables) }) });
  const token = request.token ?? (await tokenOf(router, keyId));
  const requestHeaders = {
    "content-type": "application/json",
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const url = `${worldUrl}${router === "gateway" ? "/gateway" : ""}/graphql`;
  const startedMs = performance.now();
  const response = await fetch(url, { method: "POST", headers: requestHeaders, body: requestBody }).catch(
    () => {
      throw new Error("the connection was cut before a response; an active fault can do that");
    },
  );
  const body = await response.text().catch(() => {
    throw new Error(`HTTP ${response.status}, then the connection was cut; an active fault can do that`);
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body,
    durationMs: performance.now() - startedMs,
    url,
    requestHeaders,
    requestBody,
    token,
    recorded: await findRecorded(query),
  };
}

/** The newest request, if it is this one: others may have been made meanwhile. */
async function findRecorded(query: string): Promise<RecordedRequest | null> {
  const [newest] = (await control.listRequests({ order: "desc", limit: 1 })).data;
  return newest && canBeSent(newest.query, query) ? newest : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`the variables are not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

async function tokenOf(router: RunRequest["router"], keyId: string | null): Promise<string | null> {
  if (keyId === "") return null;
  const partners = keyId === null && router === "base" ? [] : (await control.listPartnerKeys()).data;
  const partner = partners.find(({ id }) => id === keyId) ?? (keyId === null ? partners[0] : undefined);
  if (partner) return (await control.createPartnerToken({ keyId: partner.id })).accessToken;
  return (await control.createTokens(keyId === null ? {} : { keyId })).workspaceToken;
}
