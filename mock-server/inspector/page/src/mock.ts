import {
  type ApiKeyView,
  type ClockView,
  createControlClient,
  type Overview,
  type RecordedRequest,
} from "@workspace-tasks/mock-server/control";
import type * as Parts from "@workspace-tasks/page-parts/shell.tsx";
import { type ActivitySource, useAdvancing, useResource } from "@workspace-tasks/page-parts/state.ts";
import { shortId } from "@workspace-tasks/page-parts/text.ts";
import { createContext } from "preact";
import { type Dispatch, type StateUpdater, useContext, useState } from "preact/hooks";

// The mock that serves this page: where it is, how the page reaches it, and its clock.

/** How the page reaches its mock: over HTTP, unless the program that embeds the page has another way. */
export interface Transport {
  /** Other programs reach the mock at the address of the page. */
  readonly hasAddress: boolean;
  fetch(url: URL | string, init: RequestInit): Promise<Response>;
  /** Opens the event stream. @param url relative to the page */
  openStream(url: string): ActivitySource;
}

let current: Transport = {
  hasAddress: true,
  fetch: (url, init) => fetch(url, init),
  openStream: (url) => new EventSource(url),
};

/** It is called before the page starts. */
export function setTransport(transport: Transport): void {
  current = transport;
}

export const transport: Transport = {
  get hasAddress() {
    return current.hasAddress;
  },
  fetch: (url, init) => current.fetch(url, init),
  openStream: (url) => current.openStream(url),
};

const createControl = (baseUrl: string) => createControlClient({ baseUrl, fetch: transport.fetch });

// A named world has the page at `/w/{name}/_mock/`; only the mock's own control API knows all worlds.
const place = /^(.*?)(?:\/w\/([^/]+))?\/_mock\//.exec(location.pathname);

/** `undefined` in the mock's own world. */
export const worldName = place?.[2];

/** Where the mock's own world is served. */
export const mockUrl = `${location.origin}${place?.[1] ?? ""}`;

/** Where the world of this page is served. */
export const worldUrl = worldName === undefined ? mockUrl : `${mockUrl}/w/${worldName}`;

/** What each view gets. */
export type ViewProps = Parts.ViewProps<Overview>;

/** The control API of the mock that serves this page. */
export const control = createControl(worldUrl);

/** The control API of the mock's own world. */
export const mockControl = createControl(mockUrl);

/** The app provides the clock, which it reads once for all parts of the page. `undefined`: not read yet. */
export const ClockContext = createContext<ClockView | undefined>(undefined);

export const useClock = () => useContext(ClockContext);

/** These topics can set or cancel timers. */
const topics = ["clock", "task", "stage", "delivery", "task-plan", "job", "connection"];

/** Reads the clock. A real one advances between two reads. */
export function useReadClock() {
  const clock = useResource("clock", topics, () => control.getClock()) ?? undefined;
  return { clock, nowMs: useAdvancing(clock?.now, clock?.mode === "real") };
}

export type Router = RecordedRequest["router"];

export const routerOptions = [
  { value: "base", text: "workspace API" },
  { value: "gateway", text: "partner gateway" },
];

export const nameOfKey = ({ id, role, access, revokedAt }: ApiKeyView): string =>
  `${revokedAt === null ? (role ?? "former member") : "revoked"}, ${access}, ${shortId(id)}`;

/**
 * A new token of an API key or partner key.
 * @param keyId `null`: the mock's own key for the router
 * @throws MockServerError for a key that is revoked or deleted
 */
export async function newToken(
  router: Router,
  keyId: string | null,
  caller?: RecordedRequest["caller"],
): Promise<string> {
  const { data: partners } = await control.listPartnerKeys();
  const partner =
    keyId === null ? router === "gateway" && partners[0] : partners.find(({ id }) => id === keyId);
  if (partner) return (await control.createPartnerToken({ keyId: partner.id })).accessToken;
  const { userToken, workspaceToken } = await control.createTokens(keyId === null ? {} : { keyId });
  return caller === "user" ? userToken : workspaceToken;
}

/** An HTTP request with an operation, as a client sends it. */
export const graphqlRequest = (router: Router, token: string | null, query: string, variables?: unknown) => ({
  url: `${worldUrl}${router === "gateway" ? "/gateway" : ""}/graphql`,
  headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
  body: JSON.stringify({ query, ...(variables ? { variables } : {}) }),
});

const kept = new Map<string, unknown>();

/** A state that outlives its view: what was typed is still there when the user returns to it. */
export function useKept<Value>(
  key: string,
  initial: Value | (() => Value),
): [Value, Dispatch<StateUpdater<Value>>] {
  const [value, setValue] = useState(kept.has(key) ? (kept.get(key) as Value) : initial);
  kept.set(key, value);
  return [value, setValue];
}
