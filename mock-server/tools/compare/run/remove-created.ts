/*
 * What runs have created is removed again, found by its URL and by the ids that are known:
 *
 *   list → delete each → list again       nothing is left: done; the service keeps some: these are left
 *        → no response                    waits, again, until the time is over: what is known is left
 */

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import type { VirtualClock } from "@workspace-tasks/mock-server";
import { operationDocuments } from "@workspace-tasks/mock-server/parts";
import { withoutTexts } from "../observe/without-texts.ts";
import { type CreatedEndpoint, type CreatedEndpoints, isOwnUrl } from "./created-endpoints.ts";
import { graphqlRequest, SendError, type Sender } from "./send-request.ts";
import type { Access, Session } from "./session.ts";
import { sleep } from "./sleep.ts";

export interface Removal {
  readonly removed: number;
  readonly left: readonly CreatedEndpoint[];
  /** Why something is left; `null` when nothing is. */
  readonly problem: string | null;
  /** The command that removes what is left; `null` when nothing is. */
  readonly command: string | null;
}

export interface RemovalContext {
  readonly access: Access;
  readonly sender: Sender;
  readonly session: Session;
  readonly clock: Clock | VirtualClock;
  /** Ends the attempts to reach the service. */
  readonly signal: AbortSignal;
  readonly onWait?: ((ms: number, reason: string) => void) | undefined;
}

export const cleanCommand = ({ baseUrl }: Access): string =>
  `workspace-tasks compare --base-url ${baseUrl} --clean`;

/** How long a service that is away is waited for. */
export const removalMsMax = 120_000;
const pagesMax = 60;
const pauseMs = 5_000;

/** Whether an endpoint of a run, as the service lists it, is one of those that are removed. */
type Belongs = (endpoint: CreatedEndpoint) => boolean;

/** Removes what is known to be created, and what the service lists and belongs to it. */
export async function removeCreated(
  created: CreatedEndpoints,
  context: RemovalContext,
  belongs: Belongs,
): Promise<Removal> {
  const { access, clock, signal } = context;
  const endsTicks = clock.monotonic() + removalMsMax;
  const mayWait = () => !signal.aborted && clock.monotonic() < endsTicks;
  const deleted = new Set<string>();
  let error: SendError | null = null;
  do {
    if (error) {
      context.onWait?.(
        pauseMs,
        `for the service, which has ${created.left().length} webhook endpoints of runs`,
      );
      await sleep(clock, pauseMs, signal);
    }
    error = await removeOnce(created, context, belongs, deleted).catch(expected);
  } while (error && isPassing(error) && created.left().length > 0 && mayWait());
  const left = created.left();
  const removed = [...deleted].filter((id) => !left.some((each) => each.id === id)).length;
  if (left.length === 0) return { removed, left, problem: null, command: null };
  const problem = error?.message ?? "the service did not delete them";
  return {
    removed,
    left: withoutTexts(left, Object.values(access.keys)),
    problem,
    command: cleanCommand(access),
  };
}

/** Two removals as one, with the causes of both. */
export function joinRemovals(first: Removal | null, second: Removal): Removal {
  if (!first) return second;
  const problems = new Set([first, second].flatMap(({ problem }) => problem ?? []));
  return {
    removed: first.removed + second.removed,
    left: [...first.left, ...second.left],
    problem: [...problems].join("; ") || null,
    command: first.command ?? second.command,
  };
}

/** Asks whether these are removed. */
export type AgreesToRemove = (endpoints: readonly CreatedEndpoint[]) => Promise<boolean>;

/** Removes what earlier runs have left, if that is agreed to; `null` when it is not. @throws SendError */
export async function removeEarlier(
  created: CreatedEndpoints,
  context: RemovalContext,
  agrees: AgreesToRemove,
): Promise<Removal | null> {
  const endpoints = await listOwn(context, () => true);
  if (endpoints.length > 0 && !(await agrees(endpoints))) return null;
  created.set(endpoints);
  // What appears meanwhile is of a run in progress, and was not agreed to.
  const agreed = new Set(endpoints.map(({ id }) => id));
  const removal = await removeCreated(created, context, ({ id }) => agreed.has(id));
  created.set([]);
  return removal;
}

/** A failure of the service or of the network. @throws any other error */
export function expected(error: unknown): SendError {
  if (error instanceof SendError) return error;
  throw error;
}

/** A service that is down may be back in a minute. */
const isPassing = ({ kind }: SendError) => ["network", "timeout", "unavailable"].includes(kind);

async function removeOnce(
  created: CreatedEndpoints,
  context: RemovalContext,
  belongs: Belongs,
  deleted: Set<string>,
): Promise<null> {
  const listed = await listOwn(context, belongs).catch((error: unknown) => {
    if (isPassing(expected(error))) throw error;
    return null;
  });
  if (listed) {
    const isListed = ({ id }: CreatedEndpoint) => listed.some((each) => each.id === id);
    // A list may be a little behind.
    const others = created.left().filter((each) => each.id !== null && !isListed(each));
    created.set([...listed, ...others]);
  }
  for (const { id } of created.left()) {
    if (id === null) continue;
    deleted.add(id);
    // What a response would say is seen in the list afterwards.
    await call(context, operationDocuments.DeleteWebhookEndpoint.text, { endpointId: id });
  }
  if (listed && created.left().length + listed.length > 0) created.set(await listOwn(context, belongs));
  return null;
}

async function call({ access, sender, session }: RemovalContext, query: string, variables: object) {
  const bearer = await session.token("admin");
  return (await sender.send(graphqlRequest(access.baseUrl, { query, variables }, bearer))).json;
}

/** The endpoints of runs that the service has. @throws SendError */
async function listOwn(context: RemovalContext, belongs: Belongs): Promise<readonly CreatedEndpoint[]> {
  const found: CreatedEndpoint[] = [];
  let iterator: unknown = null;
  for (let page = 0; page < pagesMax; page += 1) {
    // A service may allow smaller pages than 100; none allows fewer than its default of 20.
    const json = await call(context, operationDocuments.ListWebhookEndpoints.text, { limit: 20, iterator });
    const endpoints = valueAt(json, "data", "me", "workspace", "webhookEndpoints");
    const items = valueAt(endpoints, "data");
    if (!Array.isArray(items)) throw new SendError("rejected", "the endpoints could not be listed");
    for (const { id, url } of items.filter(isPlainObject)) {
      if (typeof url !== "string" || typeof id !== "string" || !isOwnUrl(url)) continue;
      const endpoint = { url, id, isCertain: true };
      if (belongs(endpoint)) found.push(endpoint);
    }
    iterator = valueAt(endpoints, "iterator");
    if (typeof iterator !== "string" || valueAt(endpoints, "done") === true) return found;
  }
  // Those that were found are removed all the same: the next list may end.
  if (found.length > 0) return found;
  throw new SendError("rejected", `the workspace has more than ${pagesMax * 20} endpoints`);
}
