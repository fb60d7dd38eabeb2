// PostgreSQL and RabbitMQ for the rows that use them, started by the first.
import { PostgresDatabases } from "../support/postgres.ts";
import { type SharedPostgres, type SharedServers, shareServers } from "../support/shared-servers.ts";

export class ServersOfRows implements AsyncDisposable {
  #shared: Promise<SharedServers> | undefined;

  /** @returns the URLs of a database of the row's own, of the broker, and of what knows both */
  async environment(wanted: true | "postgres"): Promise<Readonly<Record<string, string>>> {
    this.#shared ??= shareServers();
    const { origin } = await this.#shared;
    const ask = async <T>(path: string): Promise<T> => {
      const response = await fetch(`${origin}${path}`);
      if (!response.ok) throw new Error(await response.text());
      return (await response.json()) as T;
    };
    const [{ port }, [rabbitmqUrl = ""]] = await Promise.all([
      ask<SharedPostgres>("/postgres"),
      wanted === "postgres" ? [] : ask<readonly string[]>("/rabbitmq"),
    ]);
    const { url } = await new PostgresDatabases(port).database();
    return { DATABASE_URL: url, RABBITMQ_URL: rabbitmqUrl, SERVERS: origin };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#shared)?.[Symbol.asyncDispose]();
  }
}
