// Of the inspector's page.

import type { FindingMutant } from "./finding-mutant.ts";

export const inspectorFindingMutants: readonly FindingMutant[] = [
  {
    name: "receiver-with-its-own-clock",
    finding: "the inspector calls a signature right that a receiver with its own clock rejects",
    tests: ["test/unit/mock-server/inspector/page/signature.test.ts"],
    patches: [
      {
        find: ": [...findings, ...virtualTimeFindings(input)],",
        replace: ": [...findings, ...virtualTimeFindings(input).slice(9)],",
      },
    ],
  },
  {
    name: "times-without-a-date",
    finding: "the inspector shows equal times of two days alike",
    tests: ["test/unit/mock-server/inspector/page/format.test.ts"],
    patches: [
      {
        find: "return isSameDay(time, formatTime(nowMs)) ?",
        replace: "return isSameDay(time, formatTime(nowMs)) || time ?",
      },
    ],
  },
  {
    name: "streams-of-hidden-tabs",
    finding: "six tabs of the inspector use up the connections of a browser, and all of them freeze",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "ninth tab",
    needsCopy: true,
    patches: [
      {
        find: "if (!document.hidden) return open();",
        replace: "if (!document.hidden || url) return open();",
      },
    ],
  },
  {
    name: "moving-buttons",
    finding: "the buttons of the clock move under the mouse",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "buttons of the clock",
    needsCopy: true,
    patches: [
      {
        find: "+{step}\n              </ActionButton>\n            ))}\n          </Segments>",
        replace:
          "+{step}\n              </ActionButton>\n            ))}\n          </Segments>\n          {nextMs === null ? null : <span>{formatRelative(nextMs, nowMs).repeat(3)}</span>}",
      },
    ],
  },
  {
    name: "no-copy-over-plain-http",
    finding: "over plain http from another host, the copy buttons of the inspector do nothing",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "over plain http",
    needsCopy: true,
    patches: [{ find: "return copySelected(text);", replace: "return !copySelected;" }],
  },
  {
    name: "back-to-the-overview",
    finding: "the back button of a phone leads from a row to the overview, not to the list",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "back button of a phone",
    needsCopy: true,
    patches: [
      {
        find: "if (id && !current.id) history.pushState({ list }",
        replace: "if (id && !list) history.pushState({ list }",
      },
    ],
  },
  {
    name: "another-429",
    finding: "the 429 that the inspector injects is not the one of the service",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "own 429",
    needsCopy: true,
    patches: [
      {
        find: 'fault: { kind: "rate-limited", retryAfterSeconds: 1 } },',
        replace: 'fault: { kind: "status", status: 429, retryAfterSeconds: 1 } },',
      },
    ],
  },
  {
    name: "requests-since-the-page-was-opened",
    finding: "the overview counts the requests since the page was opened, not those of the last minute",
    tests: ["test/unit/mock-server/inspector/page/traffic.test.ts"],
    patches: [
      {
        find: "return { sequence: newest.sequence, bySecond: count(added, known.bySecond",
        replace:
          "return { sequence: newest.sequence, bySecond: count(known.sequence === 0 ? [] : added, known.bySecond",
      },
    ],
  },
  {
    name: "secrets-of-every-endpoint",
    finding: "the inspector fetches the signing secrets of all endpoints although nothing needs them",
    tests: ["test/browser/inspector.test.ts"],
    named: "are fetched only on request",
    needsCopy: true,
    patches: [
      { find: "const key = delivery ? `secrets of", replace: 'const key = endpointId !== "" ? `secrets of' },
    ],
  },
  {
    name: "secrets-of-other-endpoints",
    finding: "to check the signature of one delivery, the inspector fetches the secrets of all endpoints",
    tests: ["test/unit/mock-server/inspector/page/endpoint-secrets.test.ts"],
    patches: [
      {
        find: "endpointId === null || id === endpointId",
        replace: "endpointId === null || id !== null",
      },
    ],
  },
  {
    name: "attempt-that-does-not-exist",
    finding: "the address of an attempt that the mock does not have shows an empty page",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "names unknown addresses",
    needsCopy: true,
    patches: [
      {
        find: "(attempt ? show(attempt) : fail()), fail);",
        replace: "(attempt ? show(attempt) : fail()));",
      },
    ],
  },
  {
    name: "buttons-without-a-mock",
    finding: "the buttons of the inspector can be pressed after the mock has stopped",
    tests: ["test/browser/inspector.test.ts"],
    named: "shows a lost connection",
    needsCopy: true,
    patches: [{ find: "disabled={isLost || disabled}", replace: "disabled={isLost ? disabled : disabled}" }],
  },
  {
    name: "loading-without-a-mock",
    finding: "a view that is opened after the mock has stopped says Loading without end",
    tests: ["test/browser/inspector.test.ts"],
    named: "shows a lost connection",
    needsCopy: true,
    patches: [
      {
        find: 'if (connection === "lost") return <>Not read yet: the mock does not respond.</>;',
        replace: "void connection;",
      },
      {
        find: "return problem ? <>Not read.</> :",
        replace: "return problem === connection ? <>Not read.</> :",
      },
    ],
  },
  {
    name: "generic-reason",
    finding: "the list of requests shows Unauthorized as the reason of every rejection",
    tests: ["test/unit/mock-server/inspector/page/request-labels.test.ts"],
    patches: [
      {
        find: "rejection ??\n    errors[0]?.message ??",
        replace: "errors[0]?.message ??\n    rejection ??",
      },
    ],
  },
  {
    name: "fault-without-its-status",
    finding: "the list of requests shows that a fault set the status, and not which one",
    tests: ["test/unit/mock-server/inspector/page/request-labels.test.ts"],
    patches: [{ find: 'status ?? ""}`.trimEnd()', replace: 'status === 0 ? status : ""}`.trimEnd()' }],
  },
  {
    name: "window-that-has-ended",
    finding: "the gauge of a rate limit stays at what was used in a window that has ended",
    tests: ["test/browser/inspector.test.ts"],
    named: "when its window ends",
    needsCopy: true,
    patches: [
      {
        find: "if (hasEnded) setWindowsEnded((count) => count + 1);",
        replace: "void [hasEnded, setWindowsEnded];",
      },
    ],
  },
  {
    name: "window-ends-in-the-past",
    finding: "the gauge of a rate limit says that it frees 4.3 s ago",
    tests: ["test/unit/mock-server/inspector/page/format.test.ts"],
    patches: [{ find: 'atMs <= nowMs ? "frees now" :', replace: 'atMs <= 0 ? "frees now" :' }],
  },
  {
    name: "curl-expands-the-url",
    finding: "the copied curl command sends several requests when the URL has brackets",
    tests: ["test/unit/mock-server/inspector/page/format.test.ts"],
    patches: [{ find: '"curl -g -X POST"', replace: '"curl -X POST"' }],
  },
  {
    name: "curl-reads-a-file",
    finding: "the copied curl command reads a file when the body starts with @",
    tests: ["test/unit/mock-server/inspector/page/format.test.ts"],
    patches: [{ find: "`--data-raw ", replace: "`--data-binary " }],
  },
  {
    name: "unknown-status-in-the-address",
    finding: "a list whose address has an unknown status is empty, and the mock rejects the call",
    tests: ["test/browser/inspector.test.ts"],
    named: "shows every filter",
    needsCopy: true,
    patches: [
      {
        find: '"pending" : statuses.find((known) => known === status),',
        replace: '"pending" : (status as (typeof statuses)[number]),',
      },
    ],
  },
  {
    name: "filtered-list-like-an-empty-one",
    finding: "a filter that matches nothing shows the text for a mock without deliveries",
    tests: ["test/browser/inspector.test.ts"],
    named: "reaches every view, every row and its actions",
    needsCopy: true,
    patches: [{ find: ") : isFiltered ? (", replace: ") : isFiltered && list.rows.length > 0 ? (" }],
  },
  {
    name: "response-in-no-time",
    finding: "every response on a virtual clock says that it took 0 ms",
    tests: ["test/unit/mock-server/inspector/page/format.test.ts"],
    patches: [{ find: "Math.round(durationMs) > 0 ?", replace: "Math.round(durationMs) >= 0 ?" }],
  },
  {
    name: "empty-body-that-ends",
    finding: "the diagnosis of a signature has no word for a body that did not arrive",
    tests: ["test/unit/mock-server/inspector/page/signature.test.ts"],
    patches: [
      { find: "index >= text.length ? endOf(text) :", replace: 'index >= text.length ? "it ends" :' },
    ],
  },
  {
    name: "no-signatures-over-plain-http",
    finding: "over plain http from another host, the inspector says that there is no secret to try",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "over plain http",
    needsCopy: true,
    patches: [
      {
        find: 'if (key.length === 0) return "";',
        replace: 'if (key.length === 0 || globalThis.isSecureContext === false) return "";',
      },
    ],
  },
  {
    name: "response-below-the-request",
    finding: "the response that says why a delivery was rejected is out of sight, below its request",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "why a delivery was rejected",
    needsCopy: true,
    patches: [
      { find: "{error && response}", replace: "" },
      { find: "{!error && response}", replace: "{response}" },
    ],
  },
  {
    name: "faults-without-a-mark",
    finding: "active faults are visible in one view only, so a forgotten one looks like a bug",
    tests: ["test/browser/inspector-tasks.test.ts"],
    named: "own 429",
    needsCopy: true,
    patches: [{ find: "if (faults === 0) return null;", replace: "if (faults >= 0) return null;" }],
  },
  {
    name: "address-change-while-loading",
    finding: "an address that changes while the page loads leaves the view as it was",
    tests: ["test/unit/mock-server/inspector/page/address.test.ts"],
    patches: [
      {
        find: "// The address may have changed before this listener was there.\n  update();",
        replace: "",
      },
    ],
  },
];
