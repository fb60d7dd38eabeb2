// The part of the `pg` package that the inbox uses, described by shape: the kit's types then need no package of their
// own, and pools that wrap pg's fit too.

export type PostgresRow = Readonly<Record<string, unknown>>;

export interface PostgresResult {
  readonly rows: readonly PostgresRow[];
  readonly rowCount?: number | null;
}

/** `extended`: the server rejects a text with more than one statement. */
export interface PostgresQuery {
  readonly text: string;
  readonly queryMode: "extended";
}

export interface PostgresQueryable {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
}

export interface PostgresClient extends PostgresQueryable {
  query(query: string | PostgresQuery, values?: unknown[]): Promise<PostgresResult>;
  release(destroy?: boolean): void;
  /** `I` when no transaction is open; older versions of pg do not tell. */
  getTransactionStatus?(): string | null;
  on(event: string, listener: (message?: { readonly payload?: string }) => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on?(event: "error", listener: () => void): unknown;
  removeListener?(event: "error", listener: () => void): unknown;
}
