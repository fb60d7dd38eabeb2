// The mock's times are UTC; those of one's own log often are not.

let isLocal = false;

export const isLocalTime = (): boolean => isLocal;

export function showLocalTime(isShown: boolean): void {
  isLocal = isShown;
}

/** What a time of day is ahead of UTC at this instant. */
export const zoneOffsetMs = (atMs: number): number =>
  isLocal ? -new Date(atMs).getTimezoneOffset() * 60_000 : 0;
