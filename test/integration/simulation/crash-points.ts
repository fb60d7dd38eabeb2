// Where a receiver process may crash or pause. A crash loses what was in memory and keeps what was committed.
//
//   C0   the request is being read                      no row, no response: the sender retries
//   C1   verified, not stored                           as C0
//   C2   the insert is being committed                  not acknowledged; the retry is new or a duplicate
//   C3   stored, no response sent                       the retry is a duplicate
//   C4   response sent, not claimed                     claimed after the restart
//   C5   claimed, handlers not started or running       claimed again when the lease expires
//   C6   the settlement is being committed              the transactional effect takes place once in both cases
//   C7   an external effect is done, nothing settled    handled again with the same idempotency key
//   C8   no crash: a pause longer than the lease        the late settlement is fenced off
//   C9   in maintenance: marks or purge                 repeated
//   C10  no crash: two processes store one delivery     one insert is new, the other a duplicate

export const crashPoints = ["C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10"] as const;
export type CrashPoint = (typeof crashPoints)[number];

/** How often each point was reached by a crash, or by its condition where nothing crashes. */
export type CrashCounts = Record<CrashPoint, number>;

export const noCrashes = (): CrashCounts =>
  Object.fromEntries(crashPoints.map((point) => [point, 0])) as CrashCounts;
