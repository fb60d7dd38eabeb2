import { isLocalTime, showLocalTime } from "./time-zone.ts";

const storageKey = "workspace-tasks time zone";

/** The choice of the last time, where the browser permits storage. */
export function restoreTimeZone(): void {
  try {
    showLocalTime(localStorage.getItem(storageKey) === "local");
  } catch {
    // Storage is forbidden: times are UTC.
  }
}

export function toggleTimeZone(): void {
  showLocalTime(!isLocalTime());
  try {
    localStorage.setItem(storageKey, isLocalTime() ? "local" : "utc");
  } catch {
    // Storage is forbidden: the choice lasts as long as the page.
  }
}
