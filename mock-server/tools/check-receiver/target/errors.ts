/** A check has no result, for the reason in the message. */
export class UnfinishedError extends Error {
  override readonly name: string = "UnfinishedError";
}

/** The observe URL did not return what it should. */
export class ObserverError extends UnfinishedError {
  override readonly name = "ObserverError";
}

/** The connection could not be opened. */
export class UnreachableError extends UnfinishedError {
  override readonly name = "UnreachableError";
  readonly code: string;

  constructor(code: string) {
    super(`could not connect (${code})`);
    this.code = code;
  }
}
