// The mock's times are UTC; those of one's own log often are not. The choice is the page's, and kept by the browser.

const storageKey = "workspace-tasks time zone";

let isLocal = readStored() === "local";

export const isLocalTime = (): boolean => isLocal;

export function toggleTimeZone(): void {
  isLocal = !isLocal;
  try {
    localStorage.setItem(storageKey, isLocal ? "local" : "utc");
  } catch {
    // Storage is forbidden: the choice lasts as long as the page.
  }
}

function readStored(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null; // Forbidden, or not a browser.
  }
}

/** What a time of day is ahead of UTC at this instant. */
export const zoneOffsetMs = (atMs: number): number =>
  isLocal ? -new Date(atMs).getTimezoneOffset() * 60_000 : 0;
