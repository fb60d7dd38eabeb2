import { operationDocuments, type Router } from "@workspace-tasks/mock-server/parts";

/** What a run may do to the service; `exceed`: use up the rate limit of a key. */
export const permissions = ["read", "write", "exceed"] as const;
export type Permission = (typeof permissions)[number];

/** Keys by their use; which ones there are decides which probes are sent. */
export const keyNames = ["admin", "readOnly", "revoked", "expired", "partner"] as const;
export type KeyName = (typeof keyNames)[number];

/** Environment variables of the keys. */
export const keyVariables: Readonly<Record<KeyName, string>> = {
  admin: "WORKSPACE_TASKS_API_KEY",
  readOnly: "WORKSPACE_TASKS_READ_ONLY_API_KEY",
  revoked: "WORKSPACE_TASKS_REVOKED_API_KEY",
  expired: "WORKSPACE_TASKS_EXPIRED_API_KEY",
  partner: "WORKSPACE_TASKS_PARTNER_API_KEY",
};

/** `reader` is a workspaceToken of the administrator's key, or of the read-only key without one. */
export type TokenName = "reader" | "admin" | "readOnly" | "user" | "partner" | "none" | "invalid";

/** Values that exist only while a run is in progress. None of them reaches a record. */
export interface SendContext {
  key(name: KeyName | "wrong"): string;
  /** A URL that no receiver can have, marked with the run. Default origin: one with `.invalid`, which never resolves. */
  url(name: string, origin?: string): string;
  /** The text at a path below `data` of an earlier response. @throws UnresolvedError when there is none */
  of(probe: Probe, path: string): string;
}

type Variables = Readonly<Record<string, unknown>>;

/** A request that is not GraphQL over HTTP as it should be. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | null;
  readonly body: string | null;
}

/** One request. */
export interface Probe {
  /** Permanent: records refer to it. */
  readonly id: string;
  readonly permission: "read" | "write";
  readonly router: Router;
  readonly token: TokenName | ((context: SendContext) => string);
  readonly request:
    | RawRequest
    | {
        readonly document: string;
        readonly operationName?: string;
        variables(context: SendContext): Variables;
      };
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Time to wait before it is sent. */
  readonly waitMs?: number | undefined;
  /** Why a value of an earlier response, that it needs, may be absent. */
  readonly absent?: string | undefined;
  /** Keys that it cannot do without, beside that of its token. */
  readonly needs?: readonly KeyName[] | undefined;
  /** What is sent, where the request itself does not say it. */
  readonly about?: string | undefined;
}

/** A probe that only one rule reads has the id of that rule. */
export type Draft = Omit<Probe, "id"> & { readonly id?: string };
type More = Partial<Omit<Probe, "id" | "request">>;

/** A probe that several rules read. */
export const shared = (id: string, draft: Draft): Probe => ({ ...draft, id });

/** A query. Default: on the base router, with the reader's token. */
export const query = (document: string, more: More = {}): Draft => ({
  permission: "read",
  router: "base",
  token: "reader",
  request: { document, variables: () => ({}) },
  ...more,
});

export type OperationName = keyof typeof operationDocuments;

/** An operation that the SDK ships. Default: a mutation needs `--writes` and the administrator's token. */
export function call(
  name: OperationName,
  variables: Variables | ((context: SendContext) => Variables) = {},
  more: More = {},
): Draft {
  const { kind, router, text } = operationDocuments[name];
  const isMutation = kind === "mutation";
  const request = {
    document: text,
    variables: typeof variables === "function" ? variables : () => variables,
  };
  const [permission, token] = isMutation ? (["write", "admin"] as const) : (["read", "reader"] as const);
  return { permission, router, token, request, ...more };
}

const tokenKeys: Readonly<Partial<Record<TokenName, KeyName>>> = {
  admin: "admin",
  readOnly: "readOnly",
  partner: "partner",
};

/** The keys without which a probe cannot be sent. */
export function keysNeeded({ token, needs = [] }: Probe): readonly KeyName[] {
  const ofToken = typeof token === "string" ? tokenKeys[token] : undefined;
  return ofToken === undefined ? needs : [...needs, ofToken];
}

const tokenTexts: Readonly<Partial<Record<TokenName, string>>> = {
  readOnly: ", with a read-only key",
  user: ", with a userToken",
  partner: ", with a partner's token",
  none: ", without a token",
  invalid: ", with a token that was never issued",
};

const placeholders: SendContext = {
  key: (name) => `<${name} key>`,
  url: (name, origin = "https://receiver.invalid") => `${origin}/…/${name}`,
  of: (probe, path) => `<${path.split(".").at(-1)} of ${probe.id}>`,
};

/** What a probe sends, with placeholders for what a run inserts. */
export function describeProbe({ about, token, request, router, headers }: Probe): string {
  const tokenText = typeof token === "string" ? (tokenTexts[token] ?? "") : `, with ${token(placeholders)}`;
  const place = router === "gateway" ? " on the gateway" : "";
  const names = Object.keys(headers ?? {});
  const added = names.length === 0 ? "" : `, with the header ${names.join(", ")}`;
  return (about ?? describeRequest(request)) + place + tokenText + added;
}

function describeRequest(request: Probe["request"]): string {
  if (!("document" in request)) {
    const { method, path, contentType, body } = request;
    return [method, path, contentType, body].filter(Boolean).join(" ");
  }
  const [, name] = /^(?:query|mutation) (\w+)/.exec(request.document) ?? [];
  const variables = JSON.stringify(request.variables(placeholders));
  return `${name ?? request.document}${variables === "{}" ? "" : ` ${variables}`}`;
}
