/** Where the receiver reports; the shape of pino, so that a pino logger can be given as it is. */
export interface ReceiverLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLogger: ReceiverLogger = { info() {}, warn() {}, error() {} };
