/** Lines that each sample of the playground prints, by its title. */
export const sampleOutputs: Readonly<Record<string, readonly string[]>> = {
  Call: ["role: admin", "client: Ada Lovelace"],
  Task: ["at first: RUNNING", "an hour later: COMPLETED"],
  Delivery: ["task.running RUNNING", "task.completed COMPLETED", "stored: 4"],
  "Failing handler": ["attempt 1", "attempt 2", "attempt 3"],
  Retry: [
    "2026-01-15T12:00:00.000Z 019bc186-de00-7000-8000-ed1a8db1b0cd 503",
    "2026-01-15T12:00:05.000Z 019bc186-de00-7000-8000-ed1a8db1b0cd 503",
    "2026-01-15T12:05:05.000Z 019bc186-de00-7000-8000-ed1a8db1b0cd 204",
  ],
  Clock: [
    "now: 2026-01-15T12:00:00.000Z",
    "later: 2026-01-17T12:00:00.000Z",
    "still a member: admin",
    "exchangeSurfaceRefreshTokenForAccessTokens 200",
    "me 200",
    "me 200",
    "exchangeSurfaceRefreshTokenForAccessTokens 200",
    "me 200",
  ],
  Fault: ["after a retry: admin", "WorkspaceTasksError PERMISSION_DENIED: me: not a member"],
  Signature: [
    "signature: v1,j4vWnAsqF1foUKGNHT2i8ZZ2U1SnBtI8N/6/FmQaZrg=",
    "verified: true",
    "one bit changed: SIGNATURE_MISMATCH",
  ],
};
