/** Where the receiver reports; the shape of pino, so that a pino logger can be given as it is. */
export interface ReceiverLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLogger: ReceiverLogger = { info() {}, warn() {}, error() {} };

/** Warnings and errors on stderr: what is wrong must be seen before anybody thought of a logger. */
export const consoleLogger: ReceiverLogger = {
  info() {},
  warn: (fields, message) => console.warn(`workspace-tasks receiver: ${message}`, fields),
  error: (fields, message) => console.error(`workspace-tasks receiver: ${message}`, fields),
};
