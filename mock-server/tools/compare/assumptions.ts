// What the mock assumes where the interface is silent: rules name these ids, and docs/assumptions.md is made from the table.

/** Subject, what was chosen, in Markdown, and what no rule can see from outside, with what it takes. */
export type Assumption = readonly [subject: string, choice: string, rest?: string];

export const assumptions: Readonly<Record<string, Assumption>> = {
  "A-1": ["`source-platform` header", "Optional, recorded."],
  "A-2": ["`expiresInSeconds` below 1", "`BAD_USER_INPUT`."],
  "A-3": [
    "A failed exchange",
    "`Invalid refresh token`, `UNAUTHENTICATED`, for every wrong, revoked or expired key.",
  ],
  "A-4": [
    "Rejections",
    "No valid token: `Unauthorized`, `UNAUTHENTICATED`. Read-only mutation, not an administrator: `Unauthorized`, `FORBIDDEN`. HTTP 200, or 401 by a setting; the SDK also understands `me: null`.",
  ],
  "A-5": [
    "The rate window",
    "A sliding log of the last 60 s without rejected calls and those with a `userToken`; fixed by a setting. The SDK supports both.",
    "the limit of a key: send it 121 queries in a minute, with a key that nothing else uses",
  ],
  "A-6": [
    "Endpoint URLs",
    "HTTPS; plain `http` to loopback hosts, unless switched off, and to the hosts of `httpHostsAllowed`. Otherwise, or with user info or white space, `Webhook endpoint url must be an HTTPS URL`.",
  ],
  "A-7": ["Unknown endpoint", "`Webhook endpoint not found`, `NOT_FOUND`."],
  "A-8": [
    "Pages of endpoints",
    "Oldest first; the last has no cursor. A malformed or foreign cursor: `Invalid iterator`, `BAD_USER_INPUT`.",
  ],
  "A-9": ["Rotation", "Every secret in its grace period signs, newest first."],
  "A-10": [
    "`documents.synced`",
    "`id`, `event`, `version`, `occurredAt`, `workspaceId`, `clientId`, `documents`; no status, no task types. Receivers accept another list name.",
  ],
  "A-11": [
    "Retries and order",
    "At once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h; 15 s per attempt. `Retry-After` on 429 and 503 extends a wait to at most twice its length. Endpoints are never disabled automatically. A retry has the same body and the time of its attempt. Events of a task are sent in order.",
    "the order of a task's events: compare the times of their first attempts at a receiver",
  ],
  "A-12": [
    "A paused endpoint",
    "Pending deliveries wait; events meanwhile are not delivered.",
    "deliveries of a paused endpoint: pause one with a pending delivery, and watch its receiver",
  ],
  "A-13": [
    "Testing a connection",
    "The mock calls a loopback `inputs.baseUrl` with the API key as Bearer; without one, keys that start with `invalid` fail. Failure is status `failed`; an unknown id is `Provider connection not found`, `NOT_FOUND`.",
    "a collect that succeeds or fails: no operation removes a connection",
  ],
  "A-14": [
    "Conflicts",
    "A repeated `externalId`, a job that is not `pending`, an inactive connection: `CONFLICT`, nothing created.",
    "conflicts of existing records: no operation removes a connection, job or work",
  ],
  "A-15": [
    "The import",
    "`initiateTaxPrepsImport(connectionJobId)` moves the job `pending` → `active` → `completed`. Per work it finds or creates the client, pulls the artifacts, emits `documents.synced`, and runs a `TAX_PREP` task. A job needs works.",
    "an import that runs: no operation removes the clients and tasks that it creates",
  ],
  "A-16": [
    "Listing tasks",
    "`Workspace.tasks(filters, offset, limit)`, newest first; filters: ids, types, statuses, clients.",
  ],
  "A-17": [
    "`customerError`",
    "Open sets; the mock uses `CONNECTION_REAUTH_REQUIRED`/`RECONNECT`, `DOCUMENT_UNREADABLE`/`REUPLOAD`, `INTERNAL`/`CONTACT_SUPPORT`. The grace period runs from the first start; nothing follows it.",
  ],
  "A-18": [
    "Stages of `TAX_PREP`",
    "`document-classification`, `tax-extraction`, `reconciliation`, `data-entry`, `review`; an open set.",
  ],
  "A-19": [
    "The gateway's token",
    "A `workspaceToken` for its workspace, or a partner's token for `createWorkspace` and the partner's workspaces.",
  ],
  "A-20": [
    "Counting gateway calls",
    "On the workspace or partner key, without the two logins.",
    "what a key has left: use it up by hand on one router, and send a query to the other",
  ],
  "A-21": ["The two routers", "Two schemas over one store; only `me` is on both."],
  "A-22": [
    "Revoked keys",
    "Issued tokens last until they expire; the next exchange fails.",
    "a live token of a key that is revoked meanwhile: revoke a key in the web app, and use its token by hand",
  ],
  "A-23": ["A `userToken`", "Accepted for `me` only; otherwise `Unauthorized`, `FORBIDDEN`."],
  "A-24": [
    "Roles of added users",
    "The first becomes `admin`, later ones `l1`. Adding users needs an administrator; clients and connections a `read_write` key.",
    "the role that an added user gets: no operation removes a user",
  ],
  "A-25": [
    "Collecting again",
    "Possible unless disconnected (`CONFLICT`). A failed check stores no `inputs`. One check at a time.",
    "a collect of an existing connection: it is asked for new data, and no operation removes a connection",
  ],
  "A-26": [
    "Artifacts",
    "Attached while the job is `pending`.",
    "artifacts of a job: no operation removes a work",
  ],
  "A-27": [
    "Lists of tasks and clients",
    "`limit` 1 to 1,000 in the mock; the SDK asks for at most 100. A page with fewer items is the last: a service whose pages are shorter than `limit` would be listed by its first page only.",
  ],
  "A-28": [
    "Uploads",
    "Need a `read_write` key; `HEAD` any key.",
    "an upload that is created: the interface promises no operation that removes one",
  ],
  "A-29": [
    "An endpoint that changes",
    "Subscriptions count when an event happens; attempts go to the current URL.",
    "pending deliveries of an endpoint that moves or unsubscribes: change one, and watch its receiver",
  ],
  "A-30": [
    "Codes and free messages",
    "`BAD_USER_INPUT` beside the messages that the interface shows; `GRAPHQL_VALIDATION_FAILED` and `GRAPHQL_PARSE_FAILED` for documents; the message beside `RATE_LIMITED`.",
  ],
  "A-31": [
    "The catalog",
    "The six events shown. Payload schemas require the shown fields, with types of the mock. Event types of an endpoint keep the order of their first naming.",
  ],
  "A-32": ["Times", "RFC 3339 in UTC, with milliseconds."],
  "A-33": ["Ids", "UUIDs of version 7."],
  "A-34": [
    "Beyond the interface",
    "What `schema.graphql` marks, and that no result of a partner's operation is `null`. An unknown client: `NOT_FOUND`.",
  ],
  "A-35": [
    "HTTP",
    "200 for GraphQL responses, 4xx for GET and malformed requests, `application/json`, also for deliveries, which have the three headers only. Errors name what is required and suggest no names; no stack traces, no paths.",
  ],
  "A-36": ["Tokens", "JWTs with `exp`; a `workspaceToken` also has `workspaceId`."],
  "A-37": [
    "Uploads as artifacts",
    "An artifact whose `url` is that of a complete upload of its workspace is that document.",
    "works of a job: no operation removes a work",
  ],
  "A-38": [
    "Works of a request",
    "`createJobWorks` returns them in the order of its inputs: nothing else says whose each is.",
    "works of a job: no operation removes a work",
  ],
  "A-39": [
    "Empty input",
    "A blank `jobName`, `providerKey`, name or `externalId`, no works, artifacts or uploads: `BAD_USER_INPUT`. `null` where there is a default is the default.",
    "empty input of the partner's operations: what a service accepts cannot be removed",
  ],
  "A-40": [
    "Statuses of a task",
    "`COMPLETED` is final, `FAILED` can run again. No two changes have the same `occurredAt`.",
    "changes of a task: no operation makes one",
  ],
};
