import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Caller } from "../rules/identity/caller.ts";
import type { ApiFault } from "../state/fault.ts";
import type { Router } from "../state/router.ts";
import type { Hold } from "../time/work-in-flight.ts";
import type { World } from "../world/world.ts";
import type { PreparedDocument, PreparedOperation } from "./documents/document-cache.ts";
import type { FormattedError } from "./error-format.ts";
import type { MediaType } from "./media-type.ts";
import type { RequestParams } from "./request-params.ts";

export interface GraphqlRequest {
  readonly method: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: RequestBody;
  /** Makes virtual time wait for the request. */
  readonly hold?: RequestHold | null | undefined;
}

type RequestHold = Pick<Hold, "pause" | "resume"> & { moveTo(clock: Clock): void };

/** The text, or what is wrong with its bytes. */
export type RequestBody = string | { readonly problem: "too-large" | "not-utf-8" };

/** @param bytes `null` for a body that is too large */
export function decodeBody(bytes: Uint8Array | null): RequestBody {
  if (!bytes) return { problem: "too-large" };
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return { problem: "not-utf-8" };
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What is known about one request; each step adds its result, the journal records all of it. */
export interface RequestContext {
  readonly world: World;
  readonly router: Router;
  readonly request: GraphqlRequest;
  readonly startedMs: number;
  caller: Caller;
  mediaType?: MediaType;
  params?: RequestParams;
  prepared?: PreparedDocument;
  operation?: PreparedOperation;
  /** Operations that an override responds to. */
  overridden?: readonly string[];
  faults: readonly ApiFault[];
  errors: readonly FormattedError[];
  rejection: string | null;
}

export const singleHeader = ({ headers }: GraphqlRequest, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};
