import { type ClockView, createControlClient } from "@workspace-tasks/mock-server/control";
import type { ActivitySource } from "@workspace-tasks/page-parts/state.ts";
import { useAdvancing, useResource } from "@workspace-tasks/page-parts/state.ts";
import { createContext } from "preact";
import { useContext } from "preact/hooks";

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

/** Called before the page starts. */
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

/** The control API of the mock that serves this page. */
export const control = createControl(worldUrl);

/** The control API of the mock's own world. */
export const mockControl = createControl(mockUrl);

/** Provided by the app, which reads the clock once for all parts of the page. `undefined`: not read yet. */
export const ClockContext = createContext<ClockView | undefined>(undefined);

export const useClock = () => useContext(ClockContext);

/** These topics can set or cancel timers. */
const topics = ["clock", "task", "stage", "delivery", "task-plan", "job", "connection"];

/** Reads the clock. A real one advances between two reads. */
export function useReadClock() {
  const clock = useResource("clock", topics, () => control.getClock()) ?? undefined;
  return { clock, nowMs: useAdvancing(clock?.now, clock?.mode === "real") };
}
