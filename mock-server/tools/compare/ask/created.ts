// What a rule creates is removed when the rule ends, and what is left of it when the run ends: found by the URL of the run, and
// by the ids that are known. It is known at any time, as a run may be ended, or lose the service, at any request.

import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { Missing, SendError, Untestable } from "./send.ts";
import type { AskOptions, CreatedEndpoint, Service, ServiceResponse } from "./service.ts";

export interface Removal {
  readonly removed: number;
  readonly left: readonly Readonly<CreatedEndpoint>[];
  /** Why something is left; `null` when nothing is. */
  readonly problem: string | null;
  /** The commands that remove what is left; none when nothing is. */
  readonly commands: readonly string[];
}

/** How long a service that is away is waited for at the end of a run. */
const removalMsMax = 120_000;
const pauseMs = 5_000;
const pagesMax = 60;

type Input = Readonly<Record<string, unknown>>;

/** Events that are rare enough to cause no delivery while an endpoint exists. */
export const quiet = { eventTypes: ["documents.synced"] };

/** Asks for an endpoint at a URL without a receiver. */
export async function create(
  service: Service,
  url: string,
  input: Input = quiet,
  options: AskOptions = {},
): Promise<ServiceResponse> {
  const endpoint: CreatedEndpoint = { url, id: null, isCertain: false };
  service.created.add(endpoint);
  try {
    const response = await service.operation("CreateWebhookEndpoint", { input: { url, ...input } }, options);
    const id = valueAt(response.data, "createWebhookEndpoint", "endpoint", "id");
    if (typeof id === "string") {
      Object.assign(endpoint, { id, isCertain: true });
      service.createdIds.add(id);
    } else if (response.body === "graphql") service.created.delete(endpoint);
    return response;
  } catch (error) {
    const isUnsent =
      error instanceof SendError ? error.isUnsent || error.kind === "no-token" : error instanceof Missing;
    if (isUnsent) service.created.delete(endpoint);
    throw error;
  }
}

/** An endpoint for one rule, with its secret. @throws Untestable when it cannot be created */
export async function createdBy(service: Service, input: Input = quiet) {
  const url = service.url("change");
  const response = await create(service, url, input);
  const made = valueAt(response.data, "createWebhookEndpoint");
  const endpoint = valueAt(made, "endpoint");
  if (!isPlainObject(endpoint) || typeof endpoint["id"] !== "string")
    throw new Untestable("no endpoint could be created");
  return { id: endpoint["id"], url, endpoint, secret: valueAt(made, "signingSecret") };
}

/** Asks for the deletion of an endpoint. */
export async function remove(service: Service, endpointId: string): Promise<ServiceResponse> {
  const known = [...service.created].find(({ id }) => id === endpointId);
  if (known) Object.assign(known, { isCertain: false, isAsked: true });
  const response = await service
    .operation("DeleteWebhookEndpoint", { endpointId })
    .catch((error: unknown) => {
      if (known && error instanceof SendError && error.isUnsent)
        Object.assign(known, { isCertain: true, isAsked: false });
      throw error;
    });
  if (known) {
    known.isCertain = true;
    if (response.data?.["deleteWebhookEndpoint"] === true) service.created.delete(known);
  }
  return response;
}

/** Removes, once, what a rule has created and is known by its id. What fails is left for the end of the run. */
export async function removeKnown(service: Service): Promise<void> {
  for (const { id, isAsked } of [...service.created])
    if (id !== null && !isAsked) await remove(service, id).catch(ofRepetition);
}

/** A repeated deletion shows nothing: the next list does. */
function ofRepetition(error: unknown): void {
  if (!(error instanceof Untestable)) throw error;
}

/** Removes what is left, at the end of a run, also of one that was stopped. */
export async function removeLeft(service: Service): Promise<Removal> {
  const deadline = new AbortController();
  const cancel = service.clock.schedule(removalMsMax, () => deadline.abort());
  service.sender.clean(deadline.signal);
  try {
    return removalOf(service, await untilRemoved(service, deadline.signal));
  } finally {
    cancel();
  }
}

/** @returns why something is left */
async function untilRemoved(service: Service, signal: AbortSignal): Promise<string> {
  const { created } = service;
  for (;;) {
    const error = await removeOnce(service).catch(expected);
    const isPassing = error && ["network", "timeout", "unavailable"].includes(error.kind);
    if (created.size === 0 || !isPassing || signal.aborted)
      return error?.message ?? "the service did not delete them";
    const reason = `for the service, which has ${endpointsText(created.size)} of the run`;
    await service.sender.wait(pauseMs, reason);
  }
}

/** What is left at this moment. */
export function removalOf({ created, createdIds, access }: Service, problem: string | null = null): Removal {
  const left = [...created].map(({ url, id, isCertain }) => ({ url, id, isCertain }));
  const ids = new Set(left.map(({ id }) => id));
  return {
    removed: [...createdIds].filter((id) => !ids.has(id)).length,
    left,
    problem: left.length === 0 ? null : problem,
    commands: left.map(({ url }) => `workspace-tasks endpoints delete '${url}' --base-url ${access.baseUrl}`),
  };
}

/** What is known is removed, then what the service lists; another list says what is left. */
async function removeOnce(service: Service): Promise<undefined> {
  const { created, createdIds } = service;
  for (let pass = 0; pass < 2 && created.size > 0; pass += 1) {
    const known = await removeKnown(service).catch(expected);
    if (created.size === 0) return;
    const listed = await listOwn(service).catch(expected);
    if (listed instanceof SendError) throw known instanceof SendError ? known : listed;
    created.clear();
    for (const endpoint of listed) {
      created.add(endpoint);
      createdIds.add(String(endpoint.id));
    }
  }
}

/** A failure of the service or of the network. @throws any other error */
function expected(error: unknown): SendError {
  if (error instanceof SendError) return error;
  throw error;
}

/** The endpoints of the run that the service has. @throws SendError */
async function listOwn(service: Service): Promise<readonly CreatedEndpoint[]> {
  const found: CreatedEndpoint[] = [];
  let iterator: unknown = null;
  for (let page = 0; page < pagesMax; page += 1) {
    // A service may allow smaller pages than 100; none allows fewer than its default of 20.
    const variables = { limit: 20, iterator };
    const { data } = await service.operation("ListWebhookEndpoints", variables, {
      token: "admin",
      isNew: true,
    });
    const list = valueAt(data, "me", "workspace", "webhookEndpoints");
    const items = valueAt(list, "data");
    if (!Array.isArray(items)) throw new SendError("rejected", "the endpoints could not be listed");
    for (const { id, url: shown } of items.filter(isPlainObject)) {
      const known = [...service.created].find((each) => each.id === id);
      const url = known?.url ?? service.ownUrl(shown);
      if (typeof id === "string" && url !== undefined) found.push({ url, id, isCertain: true });
    }
    iterator = valueAt(list, "iterator");
    if (typeof iterator !== "string" || valueAt(list, "done") === true) return found;
  }
  throw new SendError("rejected", `the workspace has more than ${pagesMax * 20} endpoints`);
}

export const endpointsText = (count: number): string =>
  `${count} webhook ${count === 1 ? "endpoint" : "endpoints"}`;

/** An id is text of the service, and must not control a terminal. */
const endpointLine = ({ url, id, isCertain }: CreatedEndpoint): string =>
  `  ${url}  ${id?.replace(/[^\w.:=-]/g, "…") ?? "id not known"}${isCertain ? "" : ", perhaps: a response was lost"}`;

/** What was removed, or what is left on the service, with URLs and ids, and the commands that remove it. */
export function removalText({ removed, left, problem, commands }: Removal): string {
  if (left.length === 0) return `Removed ${endpointsText(removed)}.`;
  return [
    `NOT removed: ${endpointsText(left.length)}${problem === null ? "" : ` (${problem})`}`,
    ...left.map(endpointLine),
    `  to remove ${left.length === 1 ? "it" : "them"}:`,
    ...commands.map((command) => `  ${command}`),
  ].join("\n");
}
