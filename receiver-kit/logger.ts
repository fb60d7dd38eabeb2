import { notifyListener } from "./notify-listener.ts";

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

/** Warnings and errors on stderr. The default, so that a wrong secret is visible before a logger is configured. */
export const consoleLogger: ReceiverLogger = {
  info() {},
  warn: (fields, message) => console.warn(`workspace-tasks receiver: ${message}`, fields),
  error: (fields, message) => console.error(`workspace-tasks receiver: ${message}`, fields),
};
