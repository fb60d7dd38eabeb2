import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { objectWith, withDefault } from "@workspace-tasks/kernel/schema.ts";
import { visible, visibleLines } from "@workspace-tasks/kernel/visible.ts";

/** The receiver's log, with the signature of pino: a pino logger can be passed as it is. */
export interface ReceiverLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLogger: ReceiverLogger = { info() {}, warn() {}, error() {} };

/** What the logger throws, or its promises are rejected with, is ignored: neither a response nor an event depends on its log. */
export function guardLogger(logger: ReceiverLogger): ReceiverLogger {
  const guarded = (level: keyof ReceiverLogger) => (fields: object, message: string) => {
    // There is no other place to report a failure.
    notifyListener(() => logger[level](fields, message));
  };
  return { info: guarded("info"), warn: guarded("warn"), error: guarded("error") };
}

/**
 * Warnings and errors on stderr. The default, so that a wrong secret is visible before a logger is configured. Of an error
 * only name, code, message, stack and causes are printed: other fields, such as `detail` of PostgreSQL, contain values.
 */
export const consoleLogger: ReceiverLogger = {
  info() {},
  warn: (fields, message) => console.warn(...printed(fields, message)),
  error: (fields, message) => console.error(...printed(fields, message)),
};

function printed({ err, ...fields }: { readonly err?: unknown }, message: string): readonly unknown[] {
  const error = isError(err) ? describe(err, causesMax) : shown(err);
  const shownFields = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shown(value)]));
  return [
    `workspace-tasks receiver: ${visible(message)}`,
    shownFields,
    ...(err === undefined ? [] : [error]),
  ];
}

const shown = (value: unknown) => (typeof value === "string" ? visible(value) : value);

/** The texts may be of an event: none of them can look like another line of the log. */
function describe(error: Error, causesLeft: number): string {
  const { name, code, message, stack, cause, errors } = error as Error & { code?: unknown; errors?: unknown };
  // SQLSTATE class 22: the message quotes the value.
  const text = /^22...$/.test(String(code)) ? message.replace(/"[^"]*"/g, '"…"') : message;
  const causes = [cause, ...(Array.isArray(errors) ? errors : [])].filter((each) => isError(each));
  return [
    visible(`${name}${code === undefined ? "" : ` (${code})`}: ${text}`),
    ...framesOf(stack ?? "", message).map(visibleLines),
    ...(causesLeft > 0 ? causes.map((each) => `caused by ${describe(each, causesLeft - 1)}`) : []),
  ].join("\n");
}

/** Lines of the message may look like those of the stack, which follow it. */
const framesOf = (stack: string, message: string) =>
  stack
    .slice(stack.indexOf(message) + message.length)
    .split("\n")
    .filter((line) => /^\s+at /.test(line));

const causesMax = 5;

export const loggerOption = withDefault(
  objectWith<ReceiverLogger>("a logger with info, warn and error", "info", "warn", "error"),
  consoleLogger,
);
