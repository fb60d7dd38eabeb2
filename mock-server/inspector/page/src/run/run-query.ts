import type { RecordedRequest } from "@workspace-tasks/mock-server/control";
import { control, transport } from "../state/mock.ts";
import { parseJson } from "../text/http-text.ts";
import { graphqlRequest, newToken, type Router } from "./request-keys.ts";
import { canBeSent } from "./sent-query.ts";

export interface RunRequest {
  readonly router: Router;
  readonly query: string;
  /** JSON, or empty. */
  readonly variables: string;
  /** Of an API key or partner key; empty: no token; `null`: the mock's own API key. */
  readonly keyId: string | null;
}

export interface RunResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** In the computer's time. */
  readonly durationMs: number;
  /** The request as it was sent, for a shell. */
  readonly sent: ReturnType<typeof graphqlRequest>;
  /** The request in the mock's journal, which says more about a rejection than its response. */
  readonly recorded: RecordedRequest | null;
}

/** Sends an operation as a client does, with a new token of the key. */
export async function runQuery(request: RunRequest): Promise<RunResponse> {
  const { router, query, variables, keyId } = request;
  const values = variables.trim() && parseJson("the variables are", variables);
  const token = keyId === "" ? null : await newToken(router, keyId);
  const sent = graphqlRequest(router, token, query, values);
  const { url, headers, body } = sent;
  const startedMs = performance.now();
  const response = await transport.fetch(url, { method: "POST", headers, body }).catch(() => {
    throw new Error("the connection was cut before a response; an active fault can do that");
  });
  const text = await response.text().catch(() => {
    throw new Error(`HTTP ${response.status}, then the connection was cut; an active fault can do that`);
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: text,
    durationMs: performance.now() - startedMs,
    sent,
    recorded: await findRecorded(query),
  };
}

/** The newest request, if it is this one: others may have been made meanwhile. */
async function findRecorded(query: string): Promise<RecordedRequest | null> {
  const [newest] = (await control.listRequests({ order: "desc", limit: 1 })).data;
  return newest && canBeSent(newest.query, query) ? newest : null;
}
