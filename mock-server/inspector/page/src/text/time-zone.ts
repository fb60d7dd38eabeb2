// The mock's times are UTC; those of one's own log often are not.

const storageKey = "workspace-tasks time zone";

let isLocal = wasLocal();

/** The choice of the last time, where the browser permits storage. */
function wasLocal(): boolean {
  try {
    return localStorage.getItem(storageKey) === "local";
  } catch {
    return false;
  }
}

export const isLocalTime = (): boolean => isLocal;

export function toggleTimeZone(): void {
  isLocal = !isLocal;
  try {
    localStorage.setItem(storageKey, isLocal ? "local" : "utc");
  } catch {
    // Storage is forbidden: the choice lasts as long as the page.
  }
}

/** What a time of day is ahead of UTC at this instant. */
export const zoneOffsetMs = (atMs: number): number =>
  isLocal ? -new Date(atMs).getTimezoneOffset() * 60_000 : 0;
