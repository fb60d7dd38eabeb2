// Of the command line, of the calls that the inspector makes, and of what messages say.

import type { FindingMutant } from "./finding-mutant.ts";

export const toolFindingMutants: readonly FindingMutant[] = [
  {
    name: "silent-mock",
    finding: "a running mock does not show why a delivery failed",
    tests: ["test/unit/mock-server/cli/activity-log.test.ts"],
    patches: [{ find: "const hasFailed = error !== null;", replace: "const hasFailed = error === 0;" }],
  },
  {
    name: "mock-without-a-log",
    finding: "a running mock prints no line for its requests and deliveries",
    tests: ["test/unit/mock-server/cli/running-mock-commands.test.ts"],
    named: "a line for each request",
    patches: [{ find: "if (line !== null) output.write(line);", replace: "void line;" }],
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
    name: "trigger-json-without-a-reason",
    finding: "the JSON of trigger does not have the reason of a failure",
    tests: ["test/unit/mock-server/cli/trigger-command.test.ts"],
    named: "why a delivery failed",
    patches: [
      {
        find: "JSON.stringify({ event, subject, deliveries })",
        replace:
          "JSON.stringify({ event, subject, deliveries: deliveries.map(({ lastError: _, ...rest }) => rest) })",
      },
    ],
  },
  {
    name: "trigger-without-virtual-time",
    finding: "trigger does not say that a receiver may reject a delivery for its virtual time",
    tests: ["test/unit/mock-server/cli/trigger-command.test.ts"],
    named: "virtual time",
    patches: [
      { find: 'if (!isRejected || mode === "real" ||', replace: 'if (!isRejected || mode !== "real" ||' },
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
    finding: "the value -1 of a flag and an unknown flag are reported in the words of Node",
    tests: ["test/unit/cli/flags.test.ts", "test/unit/mock-server/cli/mock-command.test.ts"],
    folder: "cli",
    patches: [
      {
        find: "strict: false, tokens: true });",
        replace: "strict: true, allowPositionals: true, tokens: true });",
      },
    ],
  },
  {
    name: "flag-not-named",
    finding: "an unknown flag is reported without the nearest one",
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
    name: "one-help-for-all",
    finding: "the help of inbox show has flags of the other subcommands",
    tests: ["test/e2e/inbox-command.test.ts"],
    named: "the help of inbox",
    folder: "receiver-kit",
    patches: [
      {
        find: "flags: { ...storeFlags, ...command.flags },",
        replace:
          'flags: { ...storeFlags, ...command.flags, state: text("<states>", "rows in these states") },',
      },
    ],
  },
  {
    name: "receiver-over-https-only",
    finding: "the message about a wrong --deliver-to hides that plain HTTP to this computer works",
    tests: ["test/unit/mock-server/cli/mock-command.test.ts"],
    named: "mock rejects",
    patches: [
      {
        find: '"an https URL, or an http URL of this computer such as http://127.0.0.1:3000/webhooks";',
        replace: '"an https URL";',
      },
    ],
  },
  {
    name: "scenario-not-named",
    finding: "the message about a missing scenario file does not name its flag",
    tests: ["test/unit/mock-server/cli/mock-command.test.ts"],
    named: "cannot read a scenario",
    patches: [{ find: "--scenario: cannot read ", replace: "cannot play " }],
  },
  {
    name: "failure-on-stdout",
    finding: "check-receiver prints on stdout that it could not run",
    tests: ["test/e2e/check-receiver-command.test.ts"],
    named: "writes to stderr when it could not run",
    folder: "receiver-kit",
    patches: [
      { find: "else (couldNotRun ? io.stderr : io.stdout).write(", replace: "else io.stdout.write(" },
    ],
  },
  {
    name: "silent-check",
    finding: "check-receiver prints nothing for as long as it runs, where there is no terminal",
    tests: ["test/e2e/check-receiver-command.test.ts"],
    named: "every five seconds",
    folder: "receiver-kit",
    patches: [
      { find: "if (stderr.isTTY !== true) stderr.write(", replace: 'if (latest === "") stderr.write(' },
    ],
  },
  {
    name: "base-url-without-a-scheme",
    finding: "the message about a baseUrl without https:// does not say what is missing",
    tests: ["test/unit/sdk/options.test.ts"],
    folder: "sdk",
    patches: [
      {
        find: "expected an absolute URL such as https://service.example, got one without https://",
        replace: "expected an absolute URL, got something else",
      },
    ],
  },
  {
    name: "empty-secret",
    finding: "the message about an empty secret does not mention the environment variable",
    tests: ["test/unit/receiver-kit/signature/secret.test.ts"],
    folder: "receiver-kit",
    patches: [
      {
        find: "got an empty string: is the environment variable set?",
        replace: "got an empty string",
      },
    ],
  },
  {
    name: "mounting-in-express-only",
    finding: "a receiver behind the body parser of Fastify or Koa responds with advice for Express only",
    tests: ["test/unit/receiver-kit/http/fetch-handler.test.ts"],
    named: "mounting hint",
    folder: "receiver-kit",
    patches: [
      {
        find: "Koa: the route before koa-bodyparser; Fastify: removeAllContentTypeParsers() in the scope of the route. ",
        replace: "",
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
    name: "response-of-1024-characters",
    finding: "a receiver's response is cut before the reason at its end",
    tests: ["test/unit/mock-server/control/controls/inspector-calls.test.ts"],
    named: "16 KB of a response",
    patches: [{ find: "responseBodyCharsMax: 16_384,", replace: "responseBodyCharsMax: 1_024," }],
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
  {
    name: "output-that-cannot-be-written",
    finding: "output to a full disk, or to a reader that has ended, makes a command print a stack trace",
    tests: ["test/e2e/command-line.test.ts"],
    named: "output is not read|cannot be written",
    folder: "bin",
    needsCopy: true,
    patches: [{ find: 'process.stdout.on("error", ', replace: 'process.stdout.on("errors", ' }],
  },
];
