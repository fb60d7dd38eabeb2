// What a run has created and not yet removed is known at any time: it may be ended, or lose the service, at any request.

import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { operationDocuments } from "@workspace-tasks/mock-server/parts";
import type { RawResponse } from "../observe/observe-response.ts";

/** A webhook endpoint that a run has created. */
export interface CreatedEndpoint {
  readonly url: string;
  /** `null` when the response that says it was lost. */
  readonly id: string | null;
  /** Without it a response was lost, and the endpoint may not exist. */
  readonly isCertain: boolean;
}

/** Takes the response of the service to a request; `null` when the request cannot have arrived. */
type Settle = (response: RawResponse | null) => void;

export interface CreatedEndpoints {
  /** Those that are not known to be removed. */
  left(): readonly CreatedEndpoint[];
  /** Whether a request was sent that creates one. */
  hasSent(): boolean;
  /** Called before a request is sent. What it returns is not called when the response is lost. */
  sending(body: string | null): Settle;
  /** What is left is this. */
  set(endpoints: readonly CreatedEndpoint[]): void;
}

/** Path of the URLs of a run, by which its endpoints are found. @param runId letters and digits, 20 at most */
export const markOf = (runId: string): string => `/workspace-tasks-compare/${runId}/`;

/** Nothing but a run has such a URL: no receiver can have it. */
const ownUrl =
  /^https?:\/\/(user:password@)?(receiver\.invalid|127\.0\.0\.1:9)\/workspace-tasks-compare\/\w{1,20}\/[\w %-]{1,40}$/;

export const isOwnUrl = (url: string): boolean => ownUrl.test(url);

export function createdEndpoints(): CreatedEndpoints {
  let endpoints: readonly CreatedEndpoint[] = [];
  let hasSent = false;

  const replace = (old: CreatedEndpoint, ...others: readonly CreatedEndpoint[]) => {
    endpoints = [...endpoints.filter((each) => each !== old), ...others];
  };

  const creating = (url: string): Settle => {
    const endpoint = { url, id: null, isCertain: false };
    hasSent = true;
    endpoints = [...endpoints, endpoint];
    return (response) => {
      const id = valueAt(response?.json, "data", "createWebhookEndpoint", "endpoint", "id");
      replace(endpoint, ...(typeof id === "string" ? [{ url, id, isCertain: true }] : []));
    };
  };

  const deleting = (known: CreatedEndpoint): Settle => {
    const unsure = { ...known, isCertain: false };
    replace(known, unsure);
    return (response) => {
      const isDeleted = valueAt(response?.json, "data", "deleteWebhookEndpoint") === true;
      replace(unsure, ...(isDeleted ? [] : [known]));
    };
  };

  return {
    left: () => endpoints,
    hasSent: () => hasSent,
    sending(body) {
      const { CreateWebhookEndpoint, DeleteWebhookEndpoint } = operationDocuments;
      const json = body === null ? undefined : jsonOrUndefined(body);
      const query = valueAt(json, "query");
      const url = valueAt(json, "variables", "input", "url");
      if (query === CreateWebhookEndpoint.text && typeof url === "string") return creating(url);
      const id = valueAt(json, "variables", "endpointId");
      const known = query === DeleteWebhookEndpoint.text && endpoints.find((each) => each.id === id);
      return known ? deleting(known) : () => {};
    },
    set: (all) => {
      endpoints = all;
    },
  };
}
