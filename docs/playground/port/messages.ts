// HTTP between a page and a worker. A response is its head, then the parts of its body, then its end; a request that is
// aborted, or a connection that is cut, ends with a failure.

export interface RequestMessage {
  readonly id: number;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export type FromClient = RequestMessage | { readonly id: number; readonly isAborted: true };

export type ToClient = { readonly id: number } & (
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly part: Uint8Array }
  | { readonly failure: string | null }
);
