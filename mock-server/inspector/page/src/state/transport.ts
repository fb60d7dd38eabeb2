/** How the page reaches its mock: over HTTP, unless the program that embeds the page has another way. */
export interface Transport {
  fetch(url: URL | string, init: RequestInit): Promise<Response>;
  /** Opens the event stream. @param url relative to the page */
  openStream(url: string): ActivitySource;
}

export type ActivitySource = Pick<EventSource, "onopen" | "onmessage" | "onerror" | "readyState" | "close">;

let current: Transport = {
  fetch: (url, init) => fetch(url, init),
  openStream: (url) => new EventSource(url),
};

/** Called before the page starts. */
export function setTransport(transport: Transport): void {
  current = transport;
}

export const transport: Transport = {
  fetch: (url, init) => current.fetch(url, init),
  openStream: (url) => current.openStream(url),
};
