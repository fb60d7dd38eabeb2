// Claims on SQLite, each in one synchronous step inside a transaction of the writer.

import * as inbox from "../inbox.ts";
import { recoveredDueAtMs } from "../recovered-row.ts";
import { toBoolean, toClaims, toNumber, toReference } from "../sql/inbox-row.ts";
import type { SqliteConnection, SqliteRow } from "./sqlite-driver.ts";
import * as sql from "./sqlite-statements.ts";

export function claimRows(
  connection: SqliteConnection,
  options: inbox.InboxClaimOptions,
  nowMs: number,
): inbox.InboxClaimResult {
  const { source, worker, rowsMax } = options;
  const taken = new Taken(options);
  const died: inbox.InboxDeath[] = [];
  connection.queryPrepared(sql.wakeAhead, [nowMs, source, inbox.longestDelayMs(options)]);
  let mayHaveMore = true;
  let recovered = 0;
  // Keys that were recovered are claimed in the next round; so are those behind keys without a due row.
  for (let round = 0; mayHaveMore && !taken.isFull && round < roundsMax; round++) {
    const keys = connection.queryPrepared(sql.pickKeys, [nowMs, source, rowsMax]);
    mayHaveMore = keys.length === rowsMax;
    for (const key of keys) {
      if (taken.isFull) break;
      if (toBoolean(key["expired"])) {
        died.push(...recoverKey(connection, key, recovered, options, nowMs));
        recovered += 1;
        mayHaveMore = true;
      } else claimKey(connection, key, taken, options, nowMs);
    }
  }
  const isMoreDue = taken.rows.length < rowsMax && (taken.isFull || mayHaveMore);
  const next = isMoreDue ? { at: nowMs } : connection.firstPrepared(sql.nextWake, [nowMs, source]);
  const nextAtMs = toNumber(next?.["at"]);
  return {
    claims: toClaims(taken.rows, worker),
    died,
    nextInMs: nextAtMs === null ? null : nextAtMs - nowMs,
  };
}

/** How often one claim looks for keys. */
const roundsMax = 4;

/** The rows of a claim, up to its limits. */
class Taken {
  readonly rows: SqliteRow[] = [];
  readonly #options: inbox.InboxClaimOptions;
  #bytes = 0;
  isFull = false;

  constructor(options: inbox.InboxClaimOptions) {
    this.#options = options;
  }

  /** How many of the rows that follow fit. */
  countFitting(rows: readonly SqliteRow[]): number {
    const { rowsMax, bytesMax } = this.#options;
    let count = 0;
    for (const { body_bytes: bodyBytes } of rows) {
      const taken = this.rows.length + count;
      this.#bytes += Number(bodyBytes);
      this.isFull = taken >= rowsMax || (taken > 0 && this.#bytes > bytesMax);
      if (this.isFull) break;
      count++;
    }
    return count;
  }
}

function claimKey(
  connection: SqliteConnection,
  key: SqliteRow,
  taken: Taken,
  options: inbox.InboxClaimOptions,
  nowMs: number,
): void {
  const { worker, leaseMs, rowsPerKeyMax, keyOrder } = options;
  const longestMs = inbox.longestDelayMs(options);
  const keyId = Number(key["id"]);
  const rowsMax = Number(key["suspects"]) > 0 ? 1 : rowsPerKeyMax;
  const isStrict = keyOrder === "strict" ? 1 : 0;
  const first = connection.queryPrepared(sql.firstRows, [nowMs, keyId, rowsMax, isStrict, longestMs]);
  const notDue = first.findIndex((row) => !toBoolean(row["is_due"]));
  const due = notDue < 0 ? first : first.slice(0, notDue);
  if (due.length === 0) {
    const next = first[0] ?? connection.firstPrepared(sql.nextDueOfKey, [keyId]);
    connection.changePrepared(sql.deferKey, [keyId, toNumber(next?.["due_at"] ?? next?.["at"])]);
    return;
  }
  const count = taken.countFitting(due);
  if (count === 0) return;
  const generation = Number(key["generation"]) + 1;
  for (const row of connection.queryPrepared(sql.firstDeliveries, [
    nowMs,
    keyId,
    count,
    isStrict,
    longestMs,
  ])) {
    taken.rows.push({ ...row, key_id: keyId, generation, head: key["head"] });
  }
  const seqs = taken.rows.slice(-count).map(({ seq }) => Number(seq));
  connection.changePrepared(sql.leaseKey, [nowMs, worker, count, leaseMs, keyId, `,${seqs.join()},`]);
}

/**
 * A key whose lease expired: the row that was being handled has an attempt more, or is dead after its last one.
 *
 * @param recovered how many keys this claim has recovered before
 */
function recoverKey(
  connection: SqliteConnection,
  key: SqliteRow,
  recovered: number,
  { attemptsMax, retry }: inbox.InboxClaimOptions,
  nowMs: number,
): readonly inbox.InboxDeath[] {
  const keyId = Number(key["id"]);
  const handled = connection.firstPrepared(sql.handledRow, [keyId, key["claimed"] as string | null]);
  const died: inbox.InboxDeath[] = [];
  let dueAtMs = 0;
  if (handled) {
    const place = [keyId, String(handled["position"]), Number(handled["seq"])] as const;
    const attempts = Number(handled["attempts"]) + 1;
    if (attempts < attemptsMax) {
      dueAtMs = recoveredDueAtMs({ attempts, place: recovered, retry }, nowMs);
      connection.changePrepared(sql.countAttempt, [...place, dueAtMs]);
    } else {
      connection.firstPrepared(sql.dequeueRow, place);
      const error = inbox.leaseExpiredAfter(handled["last_error"] as string | null);
      const row = connection.firstPrepared(sql.recordEnd, [place[2], "dead", attempts, error]);
      if (row) died.push({ ...toReference(row), error });
    }
  }
  connection.changePrepared(sql.recoverKey, [nowMs, keyId, died.length, dueAtMs]);
  if (died.length > 0) connection.changePrepared(sql.deleteEmptyKey, [keyId, 0]);
  return died;
}

/** Returns the leases that are still held. */
export function renewLeases(
  connection: SqliteConnection,
  leases: readonly inbox.InboxLease[],
  leaseMs: number,
  nowMs: number,
): ReadonlySet<inbox.InboxLease> {
  const held = leases.filter(
    ({ keyId, worker, generation }) =>
      connection.changePrepared(sql.renewLease, [nowMs, leaseMs, keyId, worker, generation]) > 0,
  );
  return new Set(held);
}
