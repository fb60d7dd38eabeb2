/** What the core asks of the world outside; adapters over real sockets or in-process functions. */
export interface Outside {
  /** Sends one delivery attempt; never rejects. */
  deliver(request: DeliveryRequest): Promise<DeliveryAnswer>;
  /** Reads a URL (connection check, artifact download); never rejects. */
  read(url: string, headers: Readonly<Record<string, string>>): Promise<ReadAnswer>;
  /** Breaks off everything under way; those answers come back as errors. New requests are served. */
  abort(): void;
  /** Replaces the check of a provider connection; `true` means the platform accepted it. */
  checkConnection?(check: ConnectionCheck): boolean | Promise<boolean>;
}

export type ConnectionCheck = {
  readonly connectionId: string;
  readonly workspaceId: string;
  readonly providerKey: string;
  /** What the start step was given. */
  readonly inputs: unknown;
};

export type DeliveryRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly timeoutMs: number;
};

export type DeliveryAnswer =
  | { readonly status: number; readonly headers: Record<string, string>; readonly body: string }
  | { readonly status: null; readonly error: string };

export type ReadAnswer =
  | { readonly status: number; readonly bytes: number; readonly mimeType: string }
  | { readonly status: null; readonly error: string };
