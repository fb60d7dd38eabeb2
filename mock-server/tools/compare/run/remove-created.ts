// What a run has created is removed again, whichever way it ended: found by the mark in its URL and not by ids that an
// interrupted or unlucky run never learned.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { operationDocuments } from "@workspace-tasks/mock-server/parts";
import { graphqlRequest, SendError, type Sender } from "./send-request.ts";
import { NoTokenError, type Session } from "./session.ts";

export interface Removal {
  readonly removed: number;
  /** URLs of endpoints that still exist. */
  readonly left: readonly string[];
  /** Why it is not known what is left; `null` when it is. */
  readonly problem: string | null;
}

interface Endpoint {
  readonly id: string;
  readonly url: string;
}

const pagesMax = 60;

/** @param mark part of the URL of every endpoint of the run */
export async function removeCreated(
  mark: string,
  baseUrl: string,
  sender: Sender,
  session: Session,
): Promise<Removal> {
  const call = async (query: string, variables: object): Promise<unknown> => {
    const bearer = await session.token("admin");
    return (await sender.send(graphqlRequest(baseUrl, { query, variables }, bearer))).json;
  };
  let endpoints: readonly Endpoint[];
  try {
    endpoints = await listMarked(mark, call);
  } catch (error) {
    return { removed: 0, left: [], problem: reasonOf(error) };
  }
  for (const { id } of endpoints) {
    // What a response would say is seen in the list afterwards.
    await call(operationDocuments.DeleteWebhookEndpoint.text, { endpointId: id }).catch(() => undefined);
  }
  try {
    const left = endpoints.length === 0 ? [] : await listMarked(mark, call);
    return {
      removed: endpoints.length - left.length,
      left: left.map(({ url }) => shown(url, mark)),
      problem: null,
    };
  } catch (error) {
    return { removed: 0, left: endpoints.map(({ url }) => shown(url, mark)), problem: reasonOf(error) };
  }
}

async function listMarked(
  mark: string,
  call: (query: string, variables: object) => Promise<unknown>,
): Promise<readonly Endpoint[]> {
  const found: Endpoint[] = [];
  let iterator: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    // A service may allow smaller pages than 100; none allows fewer than its default of 20.
    const json = await call(operationDocuments.ListWebhookEndpoints.text, { limit: 20, iterator });
    const endpoints = endpointsIn(json);
    const items = (endpoints["data"] as readonly unknown[]).filter(isPlainObject);
    for (const { id, url } of items) {
      if (typeof id === "string" && typeof url === "string" && url.includes(mark)) found.push({ id, url });
    }
    iterator = typeof endpoints["iterator"] === "string" ? endpoints["iterator"] : null;
    if (iterator === null || endpoints["done"] === true) return found;
  }
  // Those that were found are removed all the same: the next list may end.
  if (found.length > 0) return found;
  throw new SendError("unavailable", `the workspace has more than ${pagesMax * 20} endpoints`);
}

/** What the service says about a URL is its own text: its host and the name that the run gave it are enough. */
function shown(url: string, mark: string): string {
  const [, origin = ""] = /^(https?:\/\/[\w.:-]{1,100})\//.exec(url.replace(/\/\/[^/]*@/, "//")) ?? [];
  return (
    origin +
    mark +
    url
      .slice(url.indexOf(mark) + mark.length)
      .replace(/[^\w %-]/g, "…")
      .slice(0, 40)
  );
}

function endpointsIn(json: unknown): Readonly<Record<string, unknown>> {
  const inner = (value: unknown, name: string) => (isPlainObject(value) ? value[name] : undefined);
  const found = ["data", "me", "workspace", "webhookEndpoints"].reduce(inner, json);
  if (isPlainObject(found) && Array.isArray(found["data"])) return found;
  throw new SendError("unavailable", "the endpoints could not be listed");
}

function reasonOf(error: unknown): string {
  if (error instanceof SendError || error instanceof NoTokenError) return error.message;
  throw error;
}
