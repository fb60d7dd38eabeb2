export interface Line {
  readonly kind: "log" | "warn" | "error" | "result";
  readonly text: string;
  /** The code is that of a typed error. */
  readonly code?: string | undefined;
}

/** A message with a port connects a client of the mock. */
export type ToWorker = { readonly run: string } | { readonly connect: true };

export type FromWorker = { readonly line: Line } | { readonly hasEnded: true };
