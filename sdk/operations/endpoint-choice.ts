import type { StoredSecrets } from "../signing-secrets/signing-secrets.ts";
import type {
  CreateWebhookEndpointInput,
  UpdateWebhookEndpointInput,
  WebhookEndpoint,
} from "./webhook-endpoints.ts";

export interface EndpointChoice {
  readonly kept?: WebhookEndpoint | undefined;
  /** Equal to `kept` in URL, description and events. */
  readonly duplicates: readonly WebhookEndpoint[];
  /** Of the same URL, but not equal. */
  readonly others: readonly WebhookEndpoint[];
}

/** Of equal endpoints the oldest is kept, so that all processes choose the same one. */
export function chooseEndpoint(
  all: readonly WebhookEndpoint[],
  wanted: CreateWebhookEndpointInput,
  stored: Pick<StoredSecrets, "url" | "endpointId">,
): EndpointChoice {
  const isStored = ({ id }: WebhookEndpoint) => id === stored.endpointId;
  // The service may write a URL differently, and the stored endpoint is known by its id.
  const candidates = all
    .filter(
      (each) => hrefOf(each.url) === hrefOf(wanted.url) || (isStored(each) && stored.url === wanted.url),
    )
    .sort(byAge);
  const isAsWanted = (each: WebhookEndpoint) => contentOf(each) === contentOf(wanted);
  const model = candidates.find(isStored) ?? candidates.find(isAsWanted) ?? candidates[0];
  const isEqual = (each: WebhookEndpoint) => model !== undefined && contentOf(each) === contentOf(model);
  const [kept, ...duplicates] = candidates.filter(isEqual);
  return { kept, duplicates, others: candidates.filter((each) => !isEqual(each)) };
}

/** What makes the endpoint the wanted one; `undefined` when it is. */
export function differenceOf(
  { enabled, description, eventTypes }: WebhookEndpoint,
  wanted: CreateWebhookEndpointInput,
): UpdateWebhookEndpointInput | undefined {
  const isDescribed = wanted.description === undefined || (wanted.description ?? "") === description;
  const change = {
    ...(enabled ? {} : { enabled: true }),
    ...(isDescribed ? {} : { description: wanted.description }),
    ...(namesOf(wanted.eventTypes) === namesOf(eventTypes) ? {} : { eventTypes: wanted.eventTypes ?? null }),
  };
  return Object.keys(change).length > 0 ? (change as UpdateWebhookEndpointInput) : undefined;
}

const byAge = (a: WebhookEndpoint, b: WebhookEndpoint) =>
  Date.parse(a.createdAt) - Date.parse(b.createdAt) || (a.id < b.id ? -1 : 1);
const contentOf = ({ url, description, eventTypes }: CreateWebhookEndpointInput) =>
  JSON.stringify([hrefOf(url), description ?? "", namesOf(eventTypes)]);
const hrefOf = (url: string) => (URL.canParse(url) ? new URL(url).href : url);
const namesOf = (eventTypes: readonly string[] | null | undefined) =>
  eventTypes ? [...new Set(eventTypes)].sort().join() : null;
