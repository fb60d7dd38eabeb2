// What a rule creates is removed when the rule ends, and what is left of it when the run ends: found by the URL of the run, and
// by the ids that are known. It is known at any time, as a run may be ended, or lose the service, at any request.

import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { SendError, Untestable } from "./send.ts";
import type { CreatedEndpoint, Service, ServiceResponse, TokenName } from "./service.ts";

export interface Removal {
  readonly left: readonly (Readonly<CreatedEndpoint> & { readonly command: string })[];
  /** Why something is left; `null` when nothing is. */
  readonly problem: string | null;
}

/** How long a service that is away is waited for at the end of a run. */
const removalMsMax = 120_000;
const pauseMs = 5_000;
const pagesMax = 60;

type Input = Readonly<Record<string, unknown>>;

/** Events that are rare enough to cause no delivery while an endpoint exists. */
export const quiet = { eventTypes: ["documents.synced"] };

const isUnsent = (error: unknown) => error instanceof SendError && error.isUnsent;

/** Asks for an endpoint at a URL without a receiver. */
export async function create(
  service: Service,
  url: string,
  input: Input = quiet,
  token: TokenName = "admin",
): Promise<ServiceResponse> {
  await service.token(token);
  const endpoint: CreatedEndpoint = { url, id: null, isCertain: false };
  service.created.add(endpoint);
  try {
    const response = await service.operation(
      "CreateWebhookEndpoint",
      { input: { url, ...input } },
      { token },
    );
    const id = valueAt(response.data, "createWebhookEndpoint", "endpoint", "id");
    if (typeof id === "string") Object.assign(endpoint, { id, isCertain: true });
    else if (response.body === "graphql") service.created.delete(endpoint);
    return response;
  } catch (error) {
    if (isUnsent(error)) service.created.delete(endpoint);
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

/** Asks for the deletion of an endpoint. One that is not confirmed leaves it for the list at the end of the run. */
export async function remove(service: Service, endpointId: string): Promise<ServiceResponse> {
  const known = [...service.created].find(({ id }) => id === endpointId);
  if (known) known.isCertain = false;
  try {
    const response = await service.operation("DeleteWebhookEndpoint", { endpointId });
    if (known && response.data?.["deleteWebhookEndpoint"] === true) service.created.delete(known);
    return response;
  } catch (error) {
    if (known && isUnsent(error)) known.isCertain = true;
    throw error;
  }
}

/** Removes, once, what a rule has created and is known by its id. What fails is left for the end of the run. */
export async function removeKnown(service: Service): Promise<void> {
  for (const { id, isCertain } of [...service.created]) {
    if (id === null || !isCertain) continue;
    await remove(service, id).catch((error: unknown) => {
      // A repeated deletion shows nothing: the next list does.
      if (!(error instanceof Untestable)) throw error;
    });
  }
}

/** Removes what is left, at the end of a run, also of one that was stopped. */
export async function removeLeft(service: Service): Promise<Removal> {
  const { created, sender, clock } = service;
  const deadline = new AbortController();
  const cancel = clock.schedule(removalMsMax, () => deadline.abort());
  sender.clean(deadline.signal);
  try {
    for (;;) {
      const error = await removeOnce(service).catch(sendError);
      if (created.size === 0 || error?.kind !== "away" || deadline.signal.aborted)
        return removalOf(service, error?.message ?? "the service did not delete them");
      await sender.wait(pauseMs, `for the service, which has ${endpointsText(created.size)} of the run`);
    }
  } finally {
    cancel();
  }
}

/** What is left at this moment. */
export function removalOf({ created, access }: Service, problem: string | null = null): Removal {
  const command = (url: string) => `workspace-tasks endpoints delete '${url}' --base-url ${access.baseUrl}`;
  const left = [...created].map((each) => ({ ...each, command: command(each.url) }));
  return { left, problem: left.length === 0 ? null : problem };
}

/** What is known is removed, then what the service lists; another list says what is left. */
async function removeOnce(service: Service): Promise<undefined> {
  const { created } = service;
  for (let pass = 0; pass < 2 && created.size > 0; pass += 1) {
    const failure = await removeKnown(service).catch(sendError);
    if (created.size === 0) return;
    const listed = await listOwn(service).catch(sendError);
    if (listed instanceof SendError) throw failure ?? listed;
    created.clear();
    for (const endpoint of listed) created.add(endpoint);
  }
}

/** A failure of the service or of the network. @throws any other error */
export function sendError(error: unknown): SendError {
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
    const options = { token: "admin", isNew: true } as const;
    const { data } = await service.operation("ListWebhookEndpoints", variables, options);
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

/** What is left on the service, with URLs and ids, and the commands that remove it. */
export function removalText({ left, problem }: Removal): string {
  if (left.length === 0) return "Removed what the run has created.";
  const lines = left.map(({ url, id, isCertain }) => {
    // An id is text of the service, and must not control a terminal.
    const shown = id?.replace(/[^\w.:=-]/g, "…") ?? "id not known";
    return `  ${url}  ${shown}${isCertain ? "" : ", perhaps: a response was lost"}`;
  });
  return [
    `NOT removed: ${endpointsText(left.length)}${problem === null ? "" : ` (${problem})`}`,
    ...lines,
    `  to remove ${left.length === 1 ? "it" : "them"}:`,
    ...left.map(({ command }) => `  ${command}`),
  ].join("\n");
}
