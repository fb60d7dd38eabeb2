// Where a receiver process may die. Whatever it was doing then never goes on; what it had committed stays.
//
//   C0  the request has arrived, its body is being read        no row, no answer: the sender comes again
//   C1  verified, not stored                                   the same
//   C2  while the insert commits: it may have, or not          never acknowledged; comes again as new or as duplicate
//   C3  stored, not answered                                   comes again as a duplicate
//   C4  answered, not claimed                                  claimed after the restart
//   C5  claimed, the handlers not begun or in the middle       claimed again when the lease ends
//   C6  while the settlement commits: it may have, or not      the local effect takes place once either way
//   C7  an effect outside is done, nothing is settled          handled again under the same idempotency key
//   C8  no crash: the process stands still beyond its lease    fenced off when it wakes up
//   C9  in maintenance: heartbeat or purge                     repeated
//   C10 no crash: two processes store one delivery at once     one is new, the other a duplicate

export const crashPoints = ["C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10"] as const;
export type CrashPoint = (typeof crashPoints)[number];

/** How often each point was struck. */
export type CrashCounts = Record<CrashPoint, number>;

export const noCrashes = (): CrashCounts =>
  Object.fromEntries(crashPoints.map((point) => [point, 0])) as CrashCounts;
