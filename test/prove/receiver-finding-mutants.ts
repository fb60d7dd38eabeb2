import type { FindingMutant } from "./finding-mutant.ts";

export const receiverFindingMutants: readonly FindingMutant[] = [
  {
    name: "bytes-without-budget",
    finding: "memory grows without limit while the inbox does not store",
    tests: ["test/unit/receiver-kit/worker/ingest.test.ts"],
    patches: [
      {
        find: "const release = this.#storing.take(row.body.byteLength);",
        replace: "const release = () => void row.body;",
      },
    ],
  },
  {
    name: "rows-left-in-the-wal",
    finding: "a copy of the database file after a clean close has no rows",
    tests: [
      "test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts",
      "test/unit/receiver-kit/inbox/sqlite/sqlite-file.test.ts",
    ],
    patches: [{ find: "if (this.#connection) checkpoint(this.#connection);", replace: "void checkpoint;" }],
  },
  {
    name: "deleted-file",
    finding: "deliveries are acknowledged into a file that was deleted",
    tests: [
      "test/unit/receiver-kit/inbox/sqlite/sqlite-file.test.ts",
      "test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts",
    ],
    patches: [
      {
        find: "try {\n      this.#options.checkFile();\n    } catch",
        replace: "try {\n      void this.#options.checkFile;\n    } catch",
      },
    ],
  },
  {
    name: "key-of-the-delivery",
    finding: "an event that arrives in two deliveries has two idempotency keys",
    tests: [
      "test/unit/receiver-kit/worker/attempt.test.ts",
      "test/unit/receiver-kit/worker/worker.test.ts",
      "test/unit/receiver-kit/worker/handlers.test.ts",
    ],
    patches: [
      {
        find: "eventIdOf(event) ?? claim.id}",
        replace: "claim.id ?? eventIdOf(event)}",
      },
    ],
  },
  {
    name: "events-by-name",
    finding: "a task event that the catalog does not know reaches no handler of task.*",
    tests: ["test/unit/receiver-kit/worker/handlers.test.ts"],
    patches: [
      {
        find: '"task.*": isTaskEvent,',
        replace: '"task.*": (event) => isTaskEvent(event) && knownEventNames.includes(event.event as never),',
      },
    ],
  },
  {
    name: "states-by-name",
    finding: "a task event that the catalog does not know reaches no state handler",
    tests: ["test/unit/receiver-kit/worker/handlers.test.ts"],
    patches: [
      {
        find: "= { task: isTaskEvent, subtask: isSubtaskEvent };",
        replace:
          "= { task: (event) => isTaskEvent(event) && knownEventNames.includes(event.event as never), subtask: isSubtaskEvent };",
      },
    ],
  },
  {
    name: "second-delivery-stale",
    finding: "a second delivery of an event, as of two endpoints that lead to one receiver, is called stale",
    tests: ["test/unit/receiver-kit/worker/handlers.test.ts"],
    patches: [
      {
        find: "return { stale: position < head,",
        replace: "return { stale: position <= head && replays === 0,",
      },
    ],
  },
  {
    name: "age-of-a-replayed-row",
    finding: "a row that is replayed late loses its id within the hour",
    tests: ["test/unit/receiver-kit/inbox/memory/memory-inbox.test.ts"],
    patches: [
      {
        find: "replayedAtMs ?? receivedAtMs;\n\nconst dueAtMs",
        replace: "receivedAtMs + 0 * (replayedAtMs ?? 0);\n\nconst dueAtMs",
      },
    ],
  },
  {
    name: "age-of-a-replayed-row-in-sql",
    finding: "a quarantined row of a SQL inbox that is replayed late loses its id within the hour",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts"],
    named: "keeps the id of a row that was replayed late",
    patches: [
      {
        find: "`coalesce(delivery.replayed_at, delivery.received_at) <= ",
        replace: "`delivery.received_at <= ",
      },
    ],
  },
  {
    name: "dead-without-a-body",
    finding: "a state whose event died and lost its body is never corrected by reconciling",
    tests: ["test/unit/receiver-kit/worker/reconcile.test.ts"],
    patches: [
      {
        find: "if (found.body !== null) return inbox.replay(found, row);",
        replace: "return inbox.replay(found, row);",
      },
    ],
  },
  {
    name: "clock-ahead-between-two-polls",
    finding:
      "a clock that is ahead for a moment, or set back while a receiver starts, delays acknowledged events by hours",
    tests: ["test/unit/receiver-kit/worker/clock-jumps.test.ts"],
    patches: [{ find: "this.#watchWait(nextInMs);", replace: "void this.#watchWait;" }],
  },
  {
    name: "due-in-the-future",
    finding: "events in a SQL inbox wait for hours after its clock was set back",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts"],
    named: "makes rows due that were stored before the clock was set back",
    patches: [
      {
        find: "const keys = await change(repairKeys, [now(), source, firstDelayMs, delayMsMax]);",
        replace: "const keys = 0;",
      },
    ],
  },
  {
    name: "lease-in-the-future",
    finding: "events of a crashed process stay with it for hours after the clock of a SQL inbox was set back",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts"],
    named: "ends the lease of a crashed worker",
    patches: [
      {
        find: "const leases = await change(sql.repairLeases, [now(), source]);",
        replace: "const leases = 0;",
      },
    ],
  },
  {
    name: "stored-ahead-not-counted",
    finding: "the statistics of a SQL inbox do not say that events were stored before its clock was set back",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts"],
    named: "a clock that is set",
    patches: [
      {
        find: 'storedAheadMs: Math.max(0, Number(newest?.["ahead"] ?? 0))',
        replace: "storedAheadMs: 0",
      },
    ],
  },
  {
    name: "timers-nothing-waits-for",
    finding:
      "a process that waits for the lock of the SQLite file, or for a time limit, ends silently with code 13",
    tests: ["test/e2e/no-silent-exit.test.ts"],
    named: "waits at start|waits for the limits",
    needsCopy: true,
    patches: [{ find: "if (background) timer.unref();", replace: "if (background || run) timer.unref();" }],
  },
  {
    name: "silent-connection",
    finding: "a PostgreSQL connection that dies without a word stops the handling of events",
    tests: ["test/unit/receiver-kit/inbox/postgres/silent-connections.test.ts"],
    named: "frees the row of a transaction",
    patches: [
      {
        find: "const result = await limited(work, { limitMs: workLimitMs, clock }, () => {",
        replace: "const result = await limited(work, { limitMs: 1e9 + workLimitMs, clock }, () => {",
      },
    ],
  },
  {
    name: "dead-client-not-returned",
    finding:
      "a PostgreSQL client whose connection died stays checked out, until the pool has no clients left",
    tests: ["test/unit/receiver-kit/inbox/postgres/bounded-pool.test.ts"],
    patches: [{ find: "if (isBroken) return destroy(client);", replace: "if (isBroken) return;" }],
  },
  {
    name: "strict-details",
    finding: "an event with one odd detail is quarantined",
    tests: ["test/unit/receiver-kit/worker/handlers.test.ts"],
    folder: "sdk",
    patches: [
      {
        find: "schema.optional().catch(undefined);",
        replace: "schema.optional();",
      },
    ],
  },
  {
    name: "strict-nullable-details",
    finding: "an event whose error message is no text is quarantined",
    tests: ["test/unit/receiver-kit/worker/handlers.test.ts"],
    folder: "sdk",
    patches: [
      { find: "schema.nullable().default(null).catch(null);", replace: "schema.nullable().default(null);" },
    ],
  },
  {
    name: "listener-for-each-receiver",
    finding: "each receiver of a pool takes a client for listening, so that many receivers use up the pool",
    tests: ["test/unit/receiver-kit/inbox/postgres/postgres-listener.test.ts"],
    patches: [
      {
        find: "const listener = ofPool.get(channel) ?? new SharedListener(",
        replace: "const listener = new SharedListener(",
      },
    ],
  },
  {
    name: "tenant-without-a-path",
    finding: "the function that finds the secrets cannot tell tenants apart by the path of the request",
    tests: ["test/unit/receiver-kit/tenants.test.ts"],
    patches: [
      {
        find: "return { path: pathOf(url), headers:",
        replace: 'return { path: pathOf(url) && "/", headers:',
      },
    ],
  },
  {
    name: "tenant-without-headers",
    finding: "the function that finds the secrets cannot tell tenants apart by the headers of the request",
    tests: ["test/unit/receiver-kit/tenants.test.ts"],
    patches: [
      {
        find: "headers: { get: (name) => findHeader(headers, name) } };",
        replace: "headers: { get: () => undefined } };",
      },
    ],
  },
  {
    name: "secrets-without-limit",
    finding: "a forged request costs one hash for each secret of a list of any length",
    tests: ["test/unit/receiver-kit/tenants.test.ts"],
    patches: [{ find: "const secretsMax = 16;", replace: "const secretsMax = 1e9;" }],
  },
  {
    name: "secret-unknown-to-handlers",
    finding: "a handler cannot tell whose secret has signed its event",
    tests: ["test/unit/receiver-kit/worker/handlers.test.ts", "test/unit/receiver-kit/tenants.test.ts"],
    patches: [{ find: "secretIndex: claim.secretIndex ?? undefined,", replace: "secretIndex: undefined," }],
  },
  {
    name: "transaction-ended-by-sqlite",
    finding:
      "after a statement that ended its transaction, a handler's further statements are committed one by one",
    tests: [
      "test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts",
      "test/unit/receiver-kit/inbox/sqlite/sqlite-shared-transaction.test.ts",
    ],
    named: "INSERT OR ROLLBACK",
    patches: [
      {
        find: "if (!ended && !connection.isInTransaction()) end(",
        replace: "if (!ended && !connection) end(",
      },
      {
        find: "if (!this.#failure && !this.#connection?.isInTransaction()) this.#end(",
        replace: "if (!this.#failure && !this.#connection) this.#end(",
      },
    ],
  },
  {
    name: "transaction-ended-by-a-handler",
    finding: "COMMIT in a handler keeps the writes of an attempt that fails, in a SQLite inbox",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-shared-transaction.test.ts"],
    named: "a COMMIT of its own",
    patches: [
      {
        find: "return keyword ? fail(controlRejected(keyword)) : (await connection()).query(statement, values);",
        replace: "return (await connection()).query(statement, values);",
      },
    ],
  },
  {
    name: "queue-without-expiry",
    finding: "a delivery that was rejected because the inbox is slow stays in the queue, and in memory",
    tests: ["test/unit/receiver-kit/inbox/group-commit.test.ts"],
    patches: [
      {
        find: "const [first] = waiting;\n    if (!first) return;",
        replace: "const [first] = waiting;\n    if (!first || options) return;",
      },
    ],
  },
  {
    name: "large-pages",
    finding: "the SQLite file has pages of 16 KB, so that storing one event writes several times as much",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-file.test.ts"],
    named: "pages of 2 KB",
    patches: [{ find: "PRAGMA page_size = 2048", replace: "PRAGMA page_size = 16384" }],
  },
  {
    name: "bodies-never-removed",
    finding: "the bodies of dead and quarantined events are never removed",
    tests: ["test/unit/receiver-kit/inbox/memory/memory-inbox.test.ts"],
    named: "unhandled|dead and quarantined|retention",
    patches: [
      {
        find: "const bodyMs = isSettled ? bodiesMs : unhandledBodiesMs;",
        replace: "const bodyMs = isSettled ? bodiesMs : unhandledBodiesMs * 1e9;",
      },
    ],
  },
  {
    name: "bodies-never-removed-in-sql",
    finding: "the bodies of dead and quarantined events are never removed from a SQL inbox",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts"],
    named: "removes the bodies of dead and quarantined rows",
    patches: [
      {
        find: "const unhandled = await purged(sql.purgeUnhandledBodies, unhandledBodiesMs);",
        replace: "const unhandled = 0;",
      },
    ],
  },
  {
    name: "no-verdict",
    finding:
      "check-receiver says that it could not run where a receiver rejects or redirects a valid delivery",
    tests: ["test/e2e/check-receiver-basic-faults.test.ts"],
    named: "redirects",
    patches: [
      {
        find: 'if (result.kind === "not-http") return { problem };',
        replace: "if (result) return { problem };",
      },
    ],
  },
  {
    name: "replacement-character-as-a-must",
    finding:
      "check-receiver fails every receiver that verifies text, for a body that no attacker can produce",
    tests: ["test/unit/receiver-kit/audit/checks/catalog.test.ts"],
    patches: [
      {
        find: '"signature.replacement-character": shouldReject({',
        replace: '"signature.replacement-character": mustReject({',
      },
    ],
  },
  {
    name: "effects-not-mentioned",
    finding: "check-receiver does not say that it has not seen the effects of deliveries",
    tests: ["test/unit/receiver-kit/audit/report.test.ts"],
    patches: [{ find: "`Effects not seen, judged by responses only:", replace: "`Judged:" }],
  },
  {
    name: "id-with-a-timestamp",
    finding: "a genuine delivery is rejected because its id ends like a timestamp",
    tests: ["test/unit/receiver-kit/signature"],
    patches: [
      { find: "if (!idPattern.test(id)) {", replace: "if (!idPattern.test(id) || /\\.\\d{10}$/.test(id)) {" },
    ],
  },
  {
    name: "id-of-a-reconcile-event",
    finding:
      "a sender can take the id of an event that reconciling finds, which is then skipped as a duplicate",
    tests: ["test/unit/receiver-kit/signature/signature-headers.test.ts"],
    patches: [{ find: "/^[A-Za-z0-9._:~+/=@-]{1,255}$/", replace: "/^[A-Za-z0-9._:~+/=@#-]{1,255}$/" }],
  },
  {
    name: "one-long-scan",
    finding: "a list of a large SQLite inbox blocks the process",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-large-inbox.test.ts"],
    patches: [
      {
        find: "Math.max(first, below - listStepRows);",
        replace: "Math.max(first, below - 1e9 * listStepRows);",
      },
    ],
  },
  {
    name: "one-long-count",
    finding: "the statistics of a large SQLite inbox block the process",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-large-inbox.test.ts"],
    named: "counts each row once",
    patches: [
      { find: "from <= last; from += listStepRows)", replace: "from <= last; from += 1e9 * listStepRows)" },
      { find: "[from, from + listStepRows]", replace: "[from, from + 1e9 * listStepRows]" },
      { find: "[after, listStepRows]", replace: "[after, 1e9 * listStepRows]" },
    ],
  },
  {
    name: "one-long-purge",
    finding: "the removal of old heads of a large SQLite inbox blocks the process",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-large-inbox.test.ts"],
    named: "removes old heads",
    patches: [{ find: "const pageKeys = 5_000;", replace: "const pageKeys = 1e9;" }],
  },
  {
    name: "not-read-again",
    finding: "events that were quarantined are not handled after an upgrade that can read them",
    tests: ["test/unit/receiver-kit/worker/replay.test.ts"],
    named: "quarantined",
    patches: [{ find: "this.#round = this.#reread();", replace: "this.#round = Promise.resolve();" }],
  },
  {
    name: "readable-by-others",
    finding: "every user of the computer can read the SQLite file",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-file.test.ts"],
    patches: [{ find: 'openSync(filePath, "wx", 0o600)', replace: 'openSync(filePath, "wx", 0o644)' }],
  },
  {
    name: "open-error-without-the-path",
    finding: "the error of a file that is no database does not name the file",
    tests: ["test/unit/receiver-kit/inbox/sqlite/sqlite-file.test.ts"],
    named: "a file that is not a database",
    patches: [
      {
        find: 'throw isReceiverError(error) || sqliteErrorCode(error).startsWith("SQLITE_BUSY")',
        replace: 'throw isReceiverError(error) || sqliteErrorCode(error).startsWith("SQLITE_")',
      },
    ],
  },
  {
    name: "never-started",
    finding: "a receiver that was never started acknowledges events, handles none and does not say so",
    tests: ["test/unit/receiver-kit/receiver.test.ts", "test/unit/receiver-kit/worker/ingest.test.ts"],
    patches: [
      { find: "if (started || warned || handlers.isEmpty) return;", replace: "if (message || 1) return;" },
    ],
  },
  {
    name: "unknown-options",
    finding: "a misspelt option of a receiver is ignored",
    tests: ["test/unit/receiver-kit/options.test.ts"],
    patches: [{ find: "z.strictObject(shape, {", replace: "z.looseObject(shape, {" }],
  },
  {
    name: "unchecked-values",
    finding:
      "a receiver accepts a misspelt value, a negative number, or an object without the expected methods",
    tests: ["test/unit/receiver-kit/options.test.ts"],
    patches: [
      {
        find: "z.custom<Type>(accepts, expected);",
        replace: "z.custom<Type>(() => true, expected);",
      },
    ],
  },
  {
    name: "not-a-number",
    finding: "a limit that is NaN is accepted, and removes the limit",
    tests: ["test/unit/receiver-kit/options.test.ts"],
    patches: [
      {
        find: "return Number.isSafeInteger(given) && (given as number) >= min;",
        replace: "return (Number.isSafeInteger(given) || Number.isNaN(given)) && !((given as number) < min);",
      },
    ],
  },
  {
    name: "options-never-undefined",
    finding: "an option that is explicitly undefined does not compile with exactOptionalPropertyTypes",
    tests: ["test/types/type-tests.test.ts"],
    needsCopy: true,
    patches: [{ find: "readonly pollMs?: number | undefined;", replace: "readonly pollMs?: number;" }],
  },
  {
    name: "names-of-the-catalog-only",
    finding: "`on` rejects the names of events that the service adds later",
    tests: ["test/unit/receiver-kit/worker/handlers.test.ts"],
    patches: [
      {
        find: "if (group) return group;\n",
        replace:
          'if (group) return group;\n  if (!knownEventNames.includes(pattern as never)) throw new ReceiverError("ARGUMENT_INVALID", pattern);\n',
      },
    ],
  },
  {
    name: "time-of-the-process",
    finding: "reconciling finds nothing of an outage in which the process ran and received nothing",
    tests: ["test/unit/receiver-kit/worker/reconcile.test.ts"],
    patches: [{ find: "if (received() > this.#received) {", replace: "if (received() >= this.#received) {" }],
  },
  {
    name: "other-workspaces-missing",
    finding: "reconciling one workspace reports the tasks of another one as missing",
    tests: ["test/unit/receiver-kit/worker/reconcile.test.ts"],
    patches: [
      {
        find: "if (isOther) otherWorkspaces += 1;",
        replace: "if (isOther && !taskId) otherWorkspaces += 1;",
      },
    ],
  },
  {
    name: "difference-called-unchanged",
    finding: "reconciling counts a task as unchanged whose status differs from that of the API",
    tests: ["test/unit/receiver-kit/worker/reconcile.test.ts"],
    named: "when statuses differ",
    patches: [
      {
        find: "head !== undefined && (head.status === change.status || head.status === null);",
        replace: "head !== undefined;",
      },
    ],
  },
  {
    name: "leases-not-renewed-in-the-new-time",
    finding:
      "a process that starts after the inbox's clock was set forward takes over events that another one handles",
    tests: ["test/unit/receiver-kit/worker/clock-jumps.test.ts"],
    patches: [{ find: "if (jumpMs > 0) this.#options.onSetForward();", replace: "if (jumpMs > 0) return;" }],
  },
  {
    name: "dead-with-its-neighbours",
    finding: "events that are claimed together with one whose handler ends the process become dead with it",
    tests: ["test/crash/poison.test.ts"],
    named: "SQLite",
    needsCopy: true,
    patches: [
      {
        find: "return afterMs === 0 ? 0 : nowMs + afterMs;",
        replace: "return afterMs === 0 ? 0 : nowMs + 0 * afterMs;",
      },
    ],
  },
  {
    name: "end-by-an-older-version-of-the-key",
    finding:
      "on PostgreSQL the end of an event that waits for an insert of the same key leaves the key leased, with one row too many",
    tests: ["test/unit/receiver-kit/inbox/postgres/postgres-concurrency.test.ts"],
    named: "an end that waits for an insert",
    patches: [
      { find: "IS NULL AND waiting = ended AS is_empty", replace: "IS NULL AS is_empty" },
      {
        find: "WHERE id = ANY (ARRAY(SELECT key_id FROM after WHERE is_empty))),",
        replace:
          "AS ordering_key USING after WHERE ordering_key.id = after.key_id AND after.is_empty AND ordering_key.waiting = after.ended),",
      },
      {
        find: "AND NOT after.is_empty",
        replace: "AND NOT (after.is_empty AND ordering_key.waiting = after.ended)",
      },
    ],
  },
  {
    name: "released-behind-an-attempt",
    finding:
      "a failed attempt is not counted when its end cannot be recorded while the receiver closes, or its event runs twice at a time",
    tests: [
      "test/unit/receiver-kit/worker/stop-on-sqlite.test.ts",
      "test/unit/receiver-kit/worker/worker.test.ts",
    ],
    patches: [
      {
        find: "if (!this.#running.has(chain.lease)) this.#release(chain);",
        replace: "this.#release(chain);",
      },
    ],
  },
  {
    name: "lock-of-the-whole-inbox",
    finding: "any role of the database can stop a PostgreSQL inbox by holding the lock that each claim takes",
    tests: ["test/unit/receiver-kit/inbox/postgres/postgres-concurrency.test.ts"],
    named: "a claim takes no advisory lock",
    patches: [
      {
        find: "BEGIN RETURN QUERY",
        replace: "BEGIN PERFORM pg_advisory_xact_lock(1); RETURN QUERY",
      },
    ],
  },
  {
    name: "several-claims-for-an-event",
    finding: "an event costs an idle receiver several claims",
    tests: ["test/unit/receiver-kit/worker/worker.test.ts"],
    named: "without a second claim",
    patches: [
      {
        find: "const isFull = count >= rowsMax || (count > 0 && nextInMs !== null && nextInMs <= 0);",
        replace: "const isFull = count > 0;",
      },
    ],
  },
  {
    name: "retention-of-a-clock-that-was-ahead",
    finding: "ids expire at once when the clock is a year ahead at two starts and was right between them",
    tests: ["test/unit/receiver-kit/worker/maintenance.test.ts"],
    named: "a year ahead at two starts",
    patches: [
      {
        find: "lastMs = Math.min(lastMs, newest.receivedAtMs);",
        replace: "lastMs = Math.max(lastMs, newest.receivedAtMs);",
      },
    ],
  },
  {
    name: "retention-time-of-the-first-start",
    finding:
      "ids that were stored before the first start expire at once when the clock is set forward before it",
    tests: ["test/unit/receiver-kit/worker/maintenance.test.ts"],
    named: "before the first start",
    patches: [
      {
        find: "if (marks[retentionTime] === undefined) {\n    await",
        replace: "if (marks[retentionTime] === null) {\n    await",
      },
    ],
  },
  {
    name: "clock-not-read-for-tenants",
    finding:
      "with tenants, a process that has claimed nothing yet repeats running events when the clock is set forward",
    tests: ["test/unit/receiver-kit/worker/clock-jumps.test.ts"],
    named: "of a tenant twice",
    patches: [
      { find: "if (!this.#storeClock.isKnown) await", replace: "if (this.#storeClock.isKnown) await" },
    ],
  },
  {
    name: "time-of-the-reading",
    finding:
      "reconciling with a clock that is ahead, and a wrong time of the tasks API, makes later events of the task too old",
    tests: ["test/unit/receiver-kit/worker/reconcile.test.ts"],
    named: "without a readable time",
    patches: [
      {
        find: "occurredAt ?? trusted(startedAt) ?? 0n,",
        replace: "occurredAt ?? BigInt(Math.round(nowMs)) * 1_000_000n,",
      },
    ],
  },
  {
    name: "clients-of-others-after-a-failover",
    finding:
      "after a failover the inbox uses idle clients of the old primary that another user of the pool left",
    tests: ["test/unit/receiver-kit/inbox/postgres/bounded-pool.test.ts"],
    named: "are all destroyed",
    patches: [{ find: "    void forEachIdle(destroy);\n", replace: "" }],
  },
];
