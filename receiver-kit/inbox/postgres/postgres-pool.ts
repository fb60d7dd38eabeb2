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

export interface PostgresPool extends PostgresQueryable {
  connect(): Promise<PostgresClient>;
  on?(event: "error", listener: () => void): unknown;
  removeListener?(event: "error", listener: () => void): unknown;
}

/** A client checked out of the pool. */
export interface PooledClient {
  readonly client: PostgresClient;
  /** Returns the client to the pool, once; a client that had an error, or with `destroy`, is closed instead. */
  release(destroy?: boolean): void;
  /** Rolls back, then releases; closes the client when that fails. */
  rollBack(): Promise<void>;
}

export async function checkOutClient(pool: PostgresPool): Promise<PooledClient> {
  const client = await pool.connect();
  let broken = false;
  let released = false;
  // An `error` event without a listener would end the process.
  const onError = () => {
    broken = true;
  };
  client.on("error", onError);
  const release = (destroy = false) => {
    if (released) return;
    released = true;
    client.removeListener("error", onError);
    client.release(broken || destroy);
  };
  return {
    client,
    release,
    rollBack: () =>
      client.query("ROLLBACK").then(
        () => release(),
        () => release(true),
      ),
  };
}

/** Runs `work` in one transaction; an error rolls back and is thrown. */
export async function inTransaction<Result>(
  pool: PostgresPool,
  begin: string,
  work: (client: PostgresQueryable) => Promise<Result>,
): Promise<Result> {
  const { client, release, rollBack } = await checkOutClient(pool);
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query("COMMIT");
    release();
    return result;
  } catch (error) {
    await rollBack();
    throw error;
  }
}
