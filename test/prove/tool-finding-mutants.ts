// Of the command line and the inspector.

import type { FindingMutant } from "./finding-mutant.ts";

export const toolFindingMutants: readonly FindingMutant[] = [
  {
    name: "silent-mock",
    finding: "a running mock does not show why a delivery failed",
    tests: ["test/unit/mock-server/cli/activity-log.test.ts"],
    patches: [{ find: "const hasFailed = error !== null;", replace: "const hasFailed = error === 0;" }],
  },
  {
    name: "trigger-without-a-reason",
    finding: "trigger does not say why a delivery failed",
    tests: ["test/unit/mock-server/cli/trigger-command.test.ts"],
    patches: [
      {
        find: "const reason = lastError === null ?",
        replace: "const reason = lastError === null || lastError ?",
      },
    ],
  },
  {
    name: "trigger-of-nothing",
    finding: "trigger succeeds although nothing was sent",
    tests: ["test/unit/mock-server/cli/trigger-command.test.ts"],
    patches: [
      {
        find: "const hasSucceeded = deliveries.length > 0 && deliveries.every(",
        replace: "const hasSucceeded = deliveries.every(",
      },
    ],
  },
  {
    name: "negative-number",
    finding: "the command line calls the value -1 of a flag ambiguous",
    tests: ["test/unit/cli/flags.test.ts", "test/unit/mock-server/cli/mock-command.test.ts"],
    folder: "cli",
    patches: [{ find: "strict: false, tokens: true });", replace: "strict: true, tokens: true });" }],
  },
  {
    name: "flag-not-named",
    finding: "an unknown flag is reported in the words of Node, without the nearest flag",
    tests: ["test/unit/cli/flags.test.ts"],
    folder: "cli",
    patches: [
      {
        find: "if (name === undefined) throw unknownFlag(token.rawName, [...typed.keys()]);",
        replace: "if (name === undefined) throw unknownFlag(token.rawName, []);",
      },
    ],
  },
  {
    name: "rejected-delivery-like-a-waiting-one",
    finding: "a delivery that its receiver rejects looks like one that waits",
    tests: ["test/unit/mock-server/control/controls/inspector-calls.test.ts"],
    patches: [
      {
        find: 'status !== "cancelled" && (attempts.at(-1)?.error ?? null) !== null;',
        replace: 'status === "failed" && (attempts.at(-1)?.error ?? null) !== null;',
      },
    ],
  },
  {
    name: "cut-response-not-marked",
    finding: "a receiver's response is cut without saying so",
    tests: ["test/unit/mock-server/control/controls/inspector-calls.test.ts"],
    patches: [
      {
        find: "...(isTruncated ? { responseTruncated: true } : {}),",
        replace: "...(isTruncated ? {} : {}),",
      },
    ],
  },
  {
    name: "virtual-time-not-mentioned",
    finding: "nothing says that a receiver with its own clock rejects deliveries of a distant virtual time",
    tests: ["test/unit/mock-server/rules/deliveries/deliveries.test.ts"],
    patches: [
      {
        find: "if (Math.abs(world.clock.now() - realClock.now()) <= toleranceMs) return rejection;",
        replace: "if (toleranceMs) return rejection;",
      },
    ],
  },
  {
    name: "receiver-lost-at-a-reset",
    finding: "a reset loses the receiver of --deliver-to",
    tests: ["test/unit/mock-server/cli/mock-command.test.ts"],
    named: "over a reset",
    patches: [
      { find: "if (url === undefined) return changes;", replace: "if (url !== null) return changes;" },
    ],
  },
  {
    name: "exact-search",
    finding: "a search finds whole words only",
    tests: ["test/unit/mock-server/control/controls/inspector-calls.test.ts"],
    patches: [
      {
        find: "each != null && pattern.test(each));",
        replace: "each != null && pattern.test(each) && each === text);",
      },
    ],
  },
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
    name: "signal-to-npx",
    finding: "a signal to npx leaves the mock and its command running",
    tests: ["test/e2e/mock-processes.test.ts"],
    named: "shell of npm",
    folder: "bin",
    needsCopy: true,
    patches: [
      { find: "if (process.ppid === parent) return;", replace: "if (process.ppid && parent) return;" },
    ],
  },
  {
    name: "stack-trace",
    finding: "an unexpected error of a command is printed as a stack trace",
    tests: ["test/e2e/command-line.test.ts"],
    named: "an unexpected error",
    folder: "bin",
    needsCopy: true,
    patches: [{ find: "env.WORKSPACE_TASKS_DEBUG ? error.stack : error.message", replace: "error.stack" }],
  },
];
