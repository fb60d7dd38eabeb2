// The part of the `pg` package that the inbox uses, described by shape: the kit's types then need no package of their
// own, and pools that wrap pg's fit too.

export type PostgresRow = Readonly<Record<string, unknown>>;
export type PostgresResult = { readonly rows: readonly PostgresRow[]; readonly rowCount?: number | null };

export interface PostgresQueryable {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
}

export interface PostgresClient extends PostgresQueryable {
  release(destroy?: boolean): void;
  on(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

export interface PostgresPool extends PostgresQueryable {
  connect(): Promise<PostgresClient>;
  on?(event: "error", listener: () => void): unknown;
  removeListener?(event: "error", listener: () => void): unknown;
}

/** A client taken from the pool, given back once. Its error events are heard: an unheard one would end the process. */
export type PooledClient = { readonly client: PostgresClient; release(how?: "destroy"): void };

export async function checkOutClient(pool: PostgresPool): Promise<PooledClient> {
  const client = await pool.connect();
  let broken = false;
  let given = false;
  const onError = () => {
    broken = true;
  };
  client.on("error", onError);
  return {
    client,
    release(how) {
      if (given) return;
      given = true;
      client.removeListener("error", onError);
      client.release(broken || how === "destroy");
    },
  };
}

/** Runs `work` in one transaction; a failure rolls back and is passed on. */
export async function inTransaction<Result>(
  pool: PostgresPool,
  begin: string,
  work: (client: PostgresQueryable) => Promise<Result>,
): Promise<Result> {
  const lease = await checkOutClient(pool);
  try {
    await lease.client.query(begin);
    const result = await work(lease.client);
    await lease.client.query("COMMIT");
    lease.release();
    return result;
  } catch (error) {
    await lease.client.query("ROLLBACK").then(
      () => lease.release(),
      () => lease.release("destroy"),
    );
    throw error;
  }
}
