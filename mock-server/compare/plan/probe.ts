import type { Router } from "../../state/router.ts";

/** What a run may do to the service; `exceed`: use up the rate limit of a key. */
export const permissions = ["read", "write", "exceed"] as const;
export type Permission = (typeof permissions)[number];

/** Keys by their use; which ones there are decides which probes are planned. */
export const keyNames = ["admin", "readOnly", "revoked", "expired", "partner"] as const;
export type KeyName = (typeof keyNames)[number];

/** `reader` is a workspaceToken of the administrator's key, or of the read-only key without one. */
export type TokenName = "reader" | "admin" | "readOnly" | "user" | "partner" | "none" | "invalid";

/** A value that only exists while a run is in progress. It never reaches a record. */
export type Late =
  /** From the response of an earlier probe of the same group. */
  | { readonly late: "response"; readonly probe: string; readonly path: string }
  | { readonly late: "key"; readonly key: KeyName | "wrong" }
  /** A URL that no receiver can have, marked with the run. */
  | { readonly late: "url"; readonly name: string; readonly origin: string };

export type Template =
  | null
  | string
  | number
  | boolean
  | Late
  | readonly Template[]
  | { readonly [name: string]: Template };

export interface GraphqlProbe {
  readonly document: string;
  readonly operationName?: string | undefined;
  readonly variables?: Readonly<Record<string, Template>> | undefined;
}

/** A request that is not GraphQL over HTTP as it should be. */
export interface RawProbe {
  readonly method: string;
  /** Default: the path of GraphQL. */
  readonly path?: string | undefined;
  readonly contentType: string | null;
  readonly body: string | null;
}

/** One request, as data. The ids are permanent: records and reports refer to them. */
export interface Probe {
  readonly id: string;
  /** Probes of a group depend on each other: an interrupted group is run again from its start. */
  readonly group: string;
  readonly sends: string;
  readonly permission: Permission;
  readonly router: Router;
  /** Another token of an earlier probe: `response`. */
  readonly token: TokenName | Late;
  readonly request: GraphqlProbe | RawProbe;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Time to wait before it is sent. */
  readonly waitMs?: number | undefined;
  /** Why a value of an earlier response, that it needs, may be absent. */
  readonly absent?: string | undefined;
  /** Keys that it cannot do without, beside those of its token and variables. */
  readonly needs?: readonly KeyName[] | undefined;
}

export const isGraphql = (request: Probe["request"]): request is GraphqlProbe => "document" in request;

export const from = (probe: string, path: string): Late => ({ late: "response", probe, path });
export const key = (name: KeyName | "wrong"): Late => ({ late: "key", key: name });
/** `.invalid` never resolves: no delivery can reach a receiver. */
export const url = (name: string, origin = "https://receiver.invalid"): Late => ({
  late: "url",
  name,
  origin,
});

export const isLate = (value: Template): value is Late =>
  typeof value === "object" && value !== null && !Array.isArray(value) && "late" in value;

/** Every late value within a template. */
export function lateValues(value: Template): readonly Late[] {
  if (typeof value !== "object" || value === null) return [];
  if (isLate(value)) return [value];
  return Object.values(value as Readonly<Record<string, Template>>).flatMap(lateValues);
}

const tokenKeys: Readonly<Record<TokenName, readonly KeyName[]>> = {
  reader: [],
  admin: ["admin"],
  user: [],
  readOnly: ["readOnly"],
  partner: ["partner"],
  none: [],
  invalid: [],
};

/** The keys without which a probe cannot be sent. */
export function keysNeeded({ token, request, needs = [] }: Probe): readonly KeyName[] {
  const ofToken = typeof token === "string" ? tokenKeys[token] : [];
  const variables = isGraphql(request) ? (request.variables ?? {}) : {};
  const ofVariables = lateValues(variables).flatMap((late) =>
    late.late === "key" && late.key !== "wrong" ? [late.key] : [],
  );
  return [...new Set([...needs, ...ofToken, ...ofVariables])];
}

/** Probes of one group, by id below the group's name. */
export function group(
  name: string,
  defaults: Pick<Probe, "permission" | "router" | "token">,
  probes: Readonly<Record<string, Omit<Probe, "id" | "group" | keyof typeof defaults> & Partial<Probe>>>,
): readonly Probe[] {
  return Object.entries(probes).map(([id, probe]) => ({
    ...defaults,
    ...probe,
    id: `${name}.${id}`,
    group: name,
  }));
}
