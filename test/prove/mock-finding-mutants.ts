import type { FindingMutant } from "./finding-mutant.ts";

export const mockFindingMutants: readonly FindingMutant[] = [
  {
    name: "faults-by-order-of-arrival",
    finding: "equal seeds and equal calls draw other faults when responses arrive in another order",
    tests: ["test/unit/mock-server/world/fault-store.test.ts"],
    patches: [
      {
        find: "drawnFor ??= identity();",
        replace: "drawnFor ??= String((identity(), sequence));",
      },
    ],
  },
  {
    name: "starts-by-order-of-arrival",
    finding: "which delivery starts next within an instant depends on which socket responded first",
    tests: ["test/e2e/mock-determinism.test.ts"],
    patches: [
      {
        find: 'const whenDone = "advance" in world.clock ? inStartOrder<() => void>() : asTheyArrive;',
        replace: "const whenDone = asTheyArrive;",
      },
    ],
  },
  {
    name: "fault-instead-of-the-others",
    finding: "a fault that is added ends those that are switched on",
    tests: ["test/unit/mock-server/world/fault-store.test.ts"],
    named: "are added after those of the plan",
    patches: [
      { find: "api = [...api, ...(plan.api", replace: "api = [...(plan.api" },
      {
        find: "deliveries = [...deliveries, ...(plan.deliveries",
        replace: "deliveries = [...(plan.deliveries",
      },
    ],
  },
  {
    name: "clock-past-its-end",
    finding: "an absurd advance is accepted, and takes the virtual clock past every date",
    tests: ["test/unit/mock-server/time/virtual-clock.test.ts"],
    patches: [{ find: "checkEnd(offsetMs + elapsedMs + byMs);", replace: "void checkEnd;" }],
  },
  {
    name: "time-past-its-end",
    finding: "the clock and the overview have no valid time for what is due after the year 9999",
    tests: [
      "test/unit/mock-server/time/iso-time.test.ts",
      "test/unit/mock-server/control/control-api.test.ts",
    ],
    named: "isoTime|after the year 9999",
    patches: [
      { find: "new Date(Math.min(Math.max(timeMs, timeMsMin), timeMsMax))", replace: "new Date(timeMs)" },
    ],
  },
  {
    name: "worn-out-clock",
    finding: "once the virtual clock has lost its precision, no reset makes it exact again",
    tests: ["test/unit/mock-server/time/virtual-clock.test.ts"],
    named: "loss of precision",
    patches: [{ find: "if (elapsedMs > elapsedMsMax) restartElapsed();", replace: "void restartElapsed;" }],
  },
  {
    name: "task-type-of-every-object",
    finding: "a task of the type constructor fails with an internal error",
    tests: ["test/unit/mock-server/rules/tasks/tasks.test.ts", "test/unit/mock-server/worlds.test.ts"],
    patches: [
      {
        find: "Object.hasOwn(settings.tasks.plans, taskType);",
        replace: "taskType in settings.tasks.plans;",
      },
    ],
  },
  {
    name: "plan-of-every-object",
    finding: "with a plan of the task type __proto__ a mock rejects its own snapshot",
    tests: ["test/unit/mock-server/rules/tasks/tasks.test.ts"],
    named: "survives a snapshot",
    patches: [
      {
        find: 'const plan = hasPlan(world, taskType) ? plans[taskType] : plans["*"];',
        replace: 'const plan = plans[taskType] ?? plans["*"];',
      },
    ],
  },
  {
    name: "iterator-of-another-time",
    finding: "a cursor that is no cursor reads as the end of the list",
    tests: ["test/unit/mock-server/control/controls/list-page.test.ts"],
    patches: [
      {
        find: "if (isWellFormed && cursor <= newest) return cursor;",
        replace: "if (isWellFormed || newest) return cursor;",
      },
    ],
  },
  {
    name: "endless-list",
    finding: "a loop until the last page never ends when its cursor is no cursor",
    tests: ["test/unit/mock-server/control/controls/list-page.test.ts"],
    named: "which is none",
    patches: [
      {
        find: "if (isWellFormed && cursor <= newest) return cursor;",
        replace: "if (cursor || !isWellFormed) return cursor;",
      },
      {
        find: "const done = found.length <= limit || last === undefined;",
        replace: "const done = found.length <= limit && !Number.isNaN(cursor);",
      },
      {
        find: "iterator: done ? null : String(positionOf(last)) };",
        replace: "iterator: done ? null : String(last ? positionOf(last) : cursor) };",
      },
    ],
  },
  {
    name: "older-check-wins",
    finding: "of two checks of a connection at once the older one decides",
    tests: ["test/unit/mock-server/rules/partner/connections.test.ts", "test/conformance/partner.test.ts"],
    patches: [
      {
        find: "const checking = before ? before.then(check, check) : check();",
        replace: "void before; const checking = check();",
      },
    ],
  },
  {
    name: "inputs-of-a-failed-check",
    finding: "credentials that a platform rejected are stored as settings",
    tests: ["test/unit/mock-server/rules/partner/connections.test.ts", "test/conformance/partner.test.ts"],
    patches: [{ find: "if (accepted && input.inputs != null)", replace: "if (input.inputs != null)" }],
  },
  {
    name: "switching-protocols",
    finding: "a receiver that responds with 101 holds its delivery until the time limit",
    tests: ["test/unit/mock-server/outbound/http-transport.test.ts"],
    patches: [{ find: 'request.once("upgrade", (', replace: 'request.once("upgraded", (' }],
  },
  {
    name: "token-of-the-future",
    finding: "a token says that it was issued up to a second in the future, and ends later than it does",
    tests: ["test/conformance/keys.test.ts"],
    patches: [
      { find: "iat: Math.floor(nowMs / 1_000),", replace: "iat: Math.ceil(nowMs / 1_000) + 1," },
      { find: "exp: Math.floor(endsAtMs / 1_000),", replace: "exp: Math.ceil(endsAtMs / 1_000) + 1," },
    ],
  },
  {
    name: "token-of-181-seconds",
    finding: "a token lives up to a second longer than asked for",
    tests: ["test/conformance/keys.test.ts"],
    named: "within a second",
    patches: [
      {
        find: "const endsAtMs = nowMs + lifetimeSeconds * 1_000;",
        replace: "const endsAtMs = Math.ceil(nowMs / 1_000 + lifetimeSeconds) * 1_000;",
      },
      {
        find: "exp: Math.floor(endsAtMs / 1_000),",
        replace: "exp: Math.floor(nowMs / 1_000 + lifetimeSeconds),",
      },
    ],
  },
  {
    name: "endless-stage",
    finding: "a stage that ends in millions of years makes the overview fail",
    tests: ["test/unit/mock-server/control/control-api.test.ts"],
    patches: [
      {
        find: "durationMs: z.number().nonnegative().max(durationMsMax),",
        replace: "durationMs: z.number(),",
      },
    ],
  },
  {
    name: "error-of-a-timer",
    finding: "an error in one timer of the mock ends its process",
    tests: ["test/unit/mock-server/time/timer-queue.test.ts"],
    patches: [
      {
        find: "process.emitWarning(error instanceof Error ? error : String(error));",
        replace: "throw error;",
      },
    ],
  },
  {
    name: "state-not-written-at-the-start",
    finding: "a mock starts with a state file that it cannot write, and says so when it ends",
    tests: ["test/unit/mock-server/cli/autosave.test.ts"],
    patches: [{ find: "  await write();\n  let writing", replace: "  let writing" }],
  },
  {
    name: "silent-start",
    finding: "mock --state starts with a path that does not exist, and the state is lost when it ends",
    tests: ["test/unit/mock-server/cli/mock-command.test.ts"],
    named: "state file cannot be written",
    patches: [
      {
        find: 'if (typeof lock !== "string") return lock;',
        replace: 'if (typeof lock !== "string") return lock;\n  return { release: async () => {} };',
      },
      { find: "await access(dirname(path), constants.W_OK);", replace: "void [access, dirname, constants];" },
      { find: "  await write();\n  let writing", replace: "  let writing" },
    ],
  },
  {
    name: "failed-writes-not-mentioned",
    finding: "a mock does not say that its state is no longer written",
    tests: ["test/unit/mock-server/cli/autosave.test.ts"],
    patches: [{ find: "if (!hasFailed) warn(error);", replace: "void [warn, error];" }],
  },
  {
    name: "snapshot-larger-than-a-body",
    finding: "a mock rejects a snapshot that it has written itself, because of its size",
    tests: ["test/unit/mock-server/control/control-handler.test.ts"],
    named: "larger than those of other calls",
    patches: [
      {
        find: 'if (name === "restoreSnapshot") return restoreStreamed(request, options);',
        replace: "void restoreStreamed;",
      },
    ],
  },
  {
    name: "snapshot-in-one-piece",
    finding: "a snapshot that is longer than the longest string fails with an internal error",
    tests: ["test/unit/mock-server/control/control-handler.test.ts"],
    named: "longer than the longest string",
    patches: [
      {
        find: "return snapshotResponse(await options.controls.getSnapshot());",
        replace: "return json(200, await options.controls.getSnapshot());",
      },
    ],
  },
  {
    name: "deliveries-without-a-bound",
    finding: "the memory of a mock grows with every delivery, until its process ends",
    tests: ["test/unit/mock-server/rules/deliveries/deliveries.test.ts"],
    patches: [{ find: "if (isWithin(0)) return [];", replace: "if (deliveries) return [];" }],
  },
  {
    name: "tasks-without-a-bound",
    finding: "the memory of a mock grows with every task, until its process ends",
    tests: ["test/unit/mock-server/rules"],
    patches: [
      { find: "if (state.tasks.size >= tasksMax) throw", replace: "if (state.tasks.size < 0) throw" },
    ],
  },
  {
    name: "secret-by-its-name-only",
    finding: "an API key in a comment, or in a misspelt argument, is in the journal",
    tests: ["test/unit/mock-server/graphql"],
    patches: [
      {
        find: "text.replace(secretShape, (_, scheme",
        replace: "text.replace(/^never$/g, (_, scheme",
      },
    ],
  },
  {
    name: "secret-in-another-spelling",
    finding: "the value of api_key, or of another spelling of a secret's name, is in the journal",
    tests: ["test/unit/mock-server/graphql/redaction.test.ts"],
    patches: [
      {
        find: 'secretName.test(name.replaceAll(/[-_]/g, ""));',
        replace: "secretName.test(name);",
      },
    ],
  },
  {
    name: "user-info-in-a-url",
    finding: "an endpoint may have a password in its URL, which is sent and not recorded",
    tests: ["test/unit/mock-server/rules/webhooks/endpoints.test.ts", "test/conformance/endpoints.test.ts"],
    patches: [{ find: "[^\\s\\p{Cc}\\\\/?#@]+(?:", replace: "[^\\s\\p{Cc}\\\\/?#]+(?:" }],
  },
  {
    name: "plan-of-every-other-type",
    finding: "the plan of `*`, which is for every other task type, has no effect",
    tests: ["test/unit/mock-server/rules/tasks/tasks.test.ts", "test/unit/mock-server/control"],
    patches: [
      {
        find: '(hasPlan(world, taskType) ? undefined : taskPlans.get("*"));',
        replace: "(hasPlan(world, taskType) ? undefined : undefined);",
      },
    ],
  },
  {
    name: "nested-too-deeply",
    finding: "a body that is nested thousands of levels deep fails with an internal error",
    tests: ["test/unit/mock-server/control/control-handler.test.ts"],
    patches: [
      {
        find: "if (!isNestedDeeper(body, jsonDepthMax)) return JSON.parse(body);",
        replace: "if (!isNestedDeeper(body, 1e9 * jsonDepthMax)) return JSON.parse(body);",
      },
    ],
  },
  {
    name: "doubled-records",
    finding: "a snapshot with two records of one id is restored",
    tests: ["test/unit/mock-server/snapshot/snapshot.test.ts"],
    patches: [
      { find: "if (keys.has(key)) return", replace: "if (keys.has(key) && noun === undefined) return" },
    ],
  },
  {
    name: "snapshot-of-no-time",
    finding: "a snapshot of a time that no clock has is restored, and every key has expired",
    tests: ["test/unit/mock-server/snapshot/snapshot.test.ts"],
    named: "that no record can have",
    patches: [
      { find: "nowMs: z.number().min(timeMsMin).max(timeMsMax),", replace: "nowMs: z.number()," },
      { find: 'checkValue("clock.setNow", "nowMs", nowMs, timeKind);', replace: "" },
    ],
  },
  {
    name: "record-of-no-date",
    finding: "a snapshot with a time that is no date is restored, and reading the record fails",
    tests: ["test/unit/mock-server/snapshot/snapshot.test.ts"],
    named: "that no record can have",
    patches: [{ find: "atMs = z.number().min(-8.64e15).max(8.64e15);", replace: "atMs = z.number();" }],
  },
  {
    name: "repaired-urls",
    finding: "a URL with a space, or without slashes, is accepted, which a stricter service rejects",
    tests: ["test/unit/mock-server/rules/webhooks/endpoints.test.ts", "test/conformance/endpoints.test.ts"],
    patches: [
      {
        find: "[/?#][^\\s\\p{Cc}\\\\]*)?$/iu.test(text) && URL.canParse(text);",
        replace: "[/?#][^\\s\\p{Cc}\\\\]*)?$/iu.test(text) || URL.canParse(text);",
      },
    ],
  },
  {
    name: "schema-of-the-reader",
    finding: "the published schema of an event requires none of the fields that the service always sends",
    tests: ["test/unit/sdk/events/webhook-event.test.ts", "test/conformance/events.test.ts"],
    folder: "sdk",
    patches: [
      {
        find: "if (jsonSchema.properties) jsonSchema.required = Object.keys(jsonSchema.properties);",
        replace: "",
      },
    ],
  },
  {
    name: "stream-without-readers",
    finding: "a mock that had a reader of its stream once costs more for the rest of its life",
    tests: ["test/unit/mock-server/control/event-stream.test.ts"],
    patches: [
      {
        find: "cancelStop = wallClock.schedule(returnWithinMs, stop, { background: true });",
        replace: "cancelStop = wallClock.schedule(1e9 * returnWithinMs, stop, { background: true });",
      },
    ],
  },
  {
    name: "array-as-a-body",
    finding: "a body that is an array is reported as one without a query",
    tests: ["test/unit/mock-server/graphql/hostile-requests.test.ts"],
    named: "POST /graphql with the body",
    patches: [
      {
        find: 'if (!isPlainObject(params)) return invalid("JSON body must be an object");',
        replace: 'if (!isPlainObject(params)) return invalid("Missing query");',
      },
    ],
  },
  {
    name: "subscription-as-input",
    finding: "a subscription is rejected as wrong input and not as an invalid document",
    tests: [
      "test/unit/mock-server/graphql/hostile-requests.test.ts",
      "test/unit/mock-server/graphql/document-cache.test.ts",
    ],
    named: "with a subscription|operations that the service does not have",
    patches: [{ find: "    operationTypeRule,\n", replace: "" }],
  },
  {
    name: "junk-behind-a-signature",
    finding: "a token with characters behind its signature is accepted",
    tests: ["test/unit/mock-server/world/tokens.test.ts"],
    patches: [
      {
        find: "const presented = Buffer.from(signature);",
        replace: 'const presented = Buffer.from(Buffer.from(signature, "base64url").toString("base64url"));',
      },
    ],
  },
  {
    name: "scenario-without-a-caller",
    finding: "a long scenario continues after its caller has disconnected",
    tests: ["test/unit/mock-server/control/controls/play-scenario.test.ts"],
    patches: [
      { find: "if (signal?.aborted) throw failure(", replace: "if (signal === null) throw failure(" },
    ],
  },
  {
    name: "invisible-name",
    finding: "a name of invisible characters passes as a name",
    tests: ["test/conformance/partner.test.ts"],
    patches: [{ find: "/^[\\s\\p{Cc}\\p{Cf}]*$/u.test(text);", replace: "/^\\s*$/u.test(text);" }],
  },
  {
    name: "one-upload-twice",
    finding: "an upload that is named twice becomes two documents",
    tests: ["test/conformance/partner.test.ts"],
    patches: [
      {
        find: "const uploadIds = [...new Set(input.uploadIds)];\n  checkUploads(world, workspace, uploadIds);\n  return {",
        replace:
          "const uploadIds = input.uploadIds;\n  checkUploads(world, workspace, uploadIds);\n  return {",
      },
    ],
  },
  {
    name: "foreign-host",
    finding: "a web page whose name is rebound to this computer can call the mock",
    tests: ["test/unit/mock-server/http/request-guard.test.ts"],
    patches: [
      {
        find: "if (name === null || !(isLoopbackHost(name)",
        replace: 'if (name === null && !(isLoopbackHost(name ?? "")',
      },
    ],
  },
  {
    name: "draft-through-a-link",
    finding: "writing the state file follows a link that another user has put in its place",
    tests: ["test/unit/mock-server/snapshot/snapshot-file.test.ts"],
    patches: [
      {
        find: 'const draft = join(folder, "draft");',
        replace: 'const draft = join(dirname(path), ["", basename(path), process.pid, "draft"].join("."));',
      },
      {
        find: 'const file = await open(draft, "wx", 0o600);',
        replace: 'const file = await open(draft, "w", 0o600);',
      },
    ],
  },
  {
    name: "two-mocks-on-one-file",
    finding: "two mocks that use one state file overwrite each other's state",
    tests: ["test/unit/mock-server/snapshot/state-lock.test.ts"],
    patches: [
      {
        find: "if (owner === null || isRunning(owner)) return describe(owner, path);",
        replace: "void [isRunning, describe];",
      },
    ],
  },
  {
    name: "deliveries-to-anywhere",
    finding: "a copied production URL is called although deliveries are limited to this computer",
    tests: [
      "test/unit/mock-server/outbound/http-transport.test.ts",
      "test/unit/mock-server/cli/mock-command.test.ts",
    ],
    patches: [
      {
        find: "if (url && loopbackOnly && !isLoopbackHost(url.hostname))",
        replace: "if (url && loopbackOnly && !url.hostname)",
      },
    ],
  },
  {
    name: "time-overtakes-requests",
    finding:
      "virtual time passes a request that a client in this process has in flight, which then times out",
    tests: ["test/e2e/mock-virtual-time.test.ts"],
    patches: [
      {
        find: "holds.set(request, holdRequest(clocksOf(url.pathname, authorization),",
        replace: "holds.set(request, holdRequest([],",
      },
    ],
  },
  {
    name: "subdomain-of-localhost",
    finding: "deliveries to a subdomain of localhost are accepted and cannot be sent",
    tests: ["test/unit/mock-server/outbound/http-transport.test.ts"],
    named: "subdomain of localhost",
    patches: [
      {
        find: "const options = { method, headers, lookup: lookupLocalhost };",
        replace: "const options = { method, headers };\n    void lookupLocalhost;",
      },
    ],
  },
];
