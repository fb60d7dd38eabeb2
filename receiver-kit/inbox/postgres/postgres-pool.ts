// The part of the `pg` package that the inbox uses, described by shape: the kit's types then need no package of their
// own, and pools that wrap pg's fit too.

export type PostgresRow = Readonly<Record<string, unknown>>;

export interface PostgresResult {
  readonly rows: readonly PostgresRow[];
  readonly rowCount?: number | null;
}

export interface PostgresQuery {
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
  /** `extended`: the server rejects a text with more than one statement. */
  readonly queryMode?: "extended" | undefined;
  readonly types?: { getTypeParser(type: number): (value: string) => unknown } | undefined;
}

export interface PostgresQueryable {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
}

/** A notification or a notice. */
interface PostgresMessage {
  readonly payload?: string;
  /** The function of the server that a notice comes from. */
  readonly routine?: string | undefined;
}

export interface PostgresClient extends PostgresQueryable {
  query(query: string | PostgresQuery, values?: unknown[]): Promise<PostgresResult>;
  /** Values of results are asked for in binary form. */
  binary?: boolean | undefined;
  release(destroy?: boolean): void;
  /** `I` when no transaction is open; older versions of pg do not tell. */
  getTransactionStatus?(): string | null;
  on(event: string, listener: (message?: PostgresMessage) => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on?(event: "error" | "acquire", listener: (client: PostgresClient) => void): unknown;
}

const ignore = () => {};

const guarded = new WeakSet<PostgresClient | PostgresPool>();

/** The server may end a connection in the same packet as its last response, before anything listens to its client. */
export function ignoreClientErrors(client: PostgresClient): void {
  if (!guarded.has(client)) client.on("error", ignore);
  guarded.add(client);
}

/**
 * An idle client that loses its server emits `error` on the pool, and without a listener that ends the process. Inboxes
 * that share a pool share one listener. It stays: connections may be lost while the pool ends, after its inbox.
 */
export function ignorePoolErrors(pool: PostgresPool): void {
  if (guarded.has(pool)) return;
  guarded.add(pool);
  pool.on?.("error", ignore);
  pool.on?.("acquire", ignoreClientErrors);
}
