/** How the service reaches other computers: over sockets (`http`) or as functions (`in-process`). */
export interface Transport {
  /** Sends one delivery attempt; never rejects. */
  deliver(request: DeliveryRequest): Promise<DeliveryResponse>;
  /** Reads a URL (connection check, artifact download); never rejects. */
  read(url: string, headers: Readonly<Record<string, string>>): Promise<ReadResponse>;
  /** Aborts all requests in flight, which then resolve with an error. New requests are sent. */
  abort(): void;
  /** Replaces the check of a provider connection; `true` means the platform accepted it. */
  checkConnection?(check: ConnectionCheck): boolean | Promise<boolean>;
}

export interface ConnectionCheck {
  readonly connectionId: string;
  readonly workspaceId: string;
  readonly providerKey: string;
  /** What the start step was given. */
  readonly inputs: unknown;
}

export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly timeoutMs: number;
}

export interface TransportFailure {
  readonly status: null;
  readonly error: string;
}

export type DeliveryResponse =
  | {
      readonly status: number;
      readonly headers: Record<string, string>;
      readonly body: string;
      /** Whether the body was longer; its end was not read. */
      readonly isTruncated?: boolean | undefined;
    }
  | TransportFailure;

export type ReadResponse =
  | { readonly status: number; readonly bytes: number; readonly mimeType: string }
  | TransportFailure;
