// SIGTERM under load through nginx, which keeps its connections open, and with connections on which nothing, or a part of a
// request, was sent: the documented programs end, and what they acknowledged is in the inbox.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type InboxStore, storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import { program } from "../../projects/project.ts";
import { bundle, bundledProgram, createBundleFolder } from "../../support/bundled-program.ts";
import { startNginx } from "../../support/debian-programs.ts";
import { isFullDepth } from "../../support/depth.ts";
import { postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import { freePort } from "../../support/listen.ts";
import { RawConnection } from "../../support/raw-http.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { missingProgram, sharedPostgres } from "../../support/shared-server.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";
import { withFolder } from "../../support/with-folder.ts";
import { hasPostgres } from "../../support/with-postgres.ts";

const frameworks = ["express", "fastify", "hono", "node-http"] as const;
type Framework = (typeof frameworks)[number];
const textOf = (name: Framework | "receiver") => program(`examples/http-frameworks/${name}.ts`);
const senders = 16;
/** Of connections: each one may be answered once more, or twice where that was on its way. */
const lateMax = 4 * senders;
const limitMs = 2_000;

/** The executables of these versions of Node. */
const nodes: readonly (readonly [name: string, executable: string])[] = isFullDepth
  ? await Promise.all(["20", "22", "24"].map(nodeOf))
  : [[`Node ${process.versions.node.split(".")[0]}`, process.execPath]];

async function nodeOf(major: string): Promise<readonly [name: string, executable: string]> {
  const args = ["-y", "-p", `node@${major}`, "node", "-p", "process.execPath"];
  const { stdout } = await promisify(execFile)("npx", args);
  return [`Node ${major}`, stdout.trim()];
}

const bundled = new Map<string, Promise<string>>();
/** The program in one file, with its `receiver.ts`. */
function recipe(text: string): Promise<string> {
  const known = bundled.get(text) ?? bundleRecipe(text);
  bundled.set(text, known);
  return known;
}

async function bundleRecipe(text: string): Promise<string> {
  const folder = createBundleFolder("program");
  writeFileSync(path.join(folder, "receiver.ts"), textOf("receiver"));
  writeFileSync(path.join(folder, "server.ts"), text);
  const file = path.join(folder, "server.mjs");
  await bundle({ entry: path.join(folder, "server.ts"), file });
  return file;
}

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly inbox: InboxStore;
}

async function withSqlite(use: (place: Place) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const file = path.join(folder, "webhooks.db");
    const port = await freePort();
    const env = { INBOX_FILE: file, PORT: String(port), WORKSPACE_TASKS_SIGNING_SECRET: secretA };
    const inbox = storeOf(sqliteInbox(file));
    await use({ folder, port, env, inbox });
    await inbox.close();
  });
}

async function withPostgres(use: (place: Place) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await using database = await (await sharedPostgres()).database();
    const pool = database.pool();
    const inbox = storeOf(postgresInbox(pool));
    await inbox.open();
    const port = await freePort();
    const env = {
      DATABASE_URL: database.url,
      PORT: String(port),
      OPERATIONS_PORT: String(await freePort()),
      DRAIN_MS: "0",
      WORKSPACE_TASKS_SIGNING_SECRET: secretA,
      WORKSPACE_TASKS_BASE_URL: "http://127.0.0.1:1",
      WORKSPACE_TASKS_API_KEY: "wtk_test",
    };
    await use({ folder, port, env, inbox });
    await inbox.close();
    await pool.end();
  });
}

/** Senders that repeat each delivery until it is acknowledged, on connections that they keep. */
class Load {
  readonly acknowledged: string[] = [];
  readonly statuses = new Map<number, number>();
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: senders });
  readonly #done: Promise<unknown>;
  #isStopped = false;

  constructor(url: string) {
    this.#url = url;
    this.#done = Promise.all(Array.from({ length: senders }, () => this.#send()));
  }

  /** Resolves when what was begun is acknowledged. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
    this.#agent.destroy();
  }

  async #send(): Promise<void> {
    while (!this.#isStopped) {
      const body = JSON.stringify(sampleEvent());
      const { id, headers } = signDelivery({ body, timestampSeconds: Math.floor(Date.now() / 1_000) });
      while ((await this.#post(body, headers)) !== 200) await pause(5);
      this.acknowledged.push(id);
    }
  }

  async #post(body: string, headers: object): Promise<number> {
    const status = await new Promise<number>((resolve) => {
      const options = { method: "POST", agent: this.#agent, headers: { ...headers } };
      const sent = request(this.#url, options, (response) => {
        response.resume().once("close", () => resolve(response.statusCode ?? 0));
      });
      sent.once("error", () => resolve(0)).end(body);
    });
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    return status;
  }
}

const head = "POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n";

/** What a load balancer, a browser or a stranger leaves open; closed by the program, or at the end. */
function openConnections(port: number): Disposable {
  const sockets = ["", head.trimEnd(), `${head}{"a":`].map((text) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    if (text) socket.write(text);
    return socket;
  });
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

const start = async ({ env }: Place, args: readonly string[], command = process.execPath) => {
  const program = new RunningProgram(args, { command, env });
  await program.said(/ready/);
  return program;
};

/** Ends the program under load, starts it again, and looks for what was acknowledged. */
async function endsUnderLoad(place: Place, args: readonly string[], command: string): Promise<void> {
  using proxy = await startNginx(place.folder, place.port);
  using program = await start(place, args, command);
  const load = new Load(proxy.url);
  await expect.poll(() => load.acknowledged.length).toBeGreaterThan(200);
  using _ = openConnections(place.port);
  await pause(50);
  const before = load.statuses.get(503) ?? 0;
  const signalledAt = performance.now();
  program.signal("SIGTERM");
  const { code, output } = await program.ended();
  const tookMs = performance.now() - signalledAt;
  expect(code, output).toBe(0);
  expect((load.statuses.get(503) ?? 0) - before).toBeLessThanOrEqual(lateMax);
  // A busy machine may take longer for any of it; the controls run without an end.
  if (isFullDepth) expect(tookMs).toBeLessThan(limitMs);
  using next = await start(place, args, command);
  await load.stop();
  next.signal("SIGTERM");
  expect((await next.ended()).code).toBe(0);
  await place.inbox.open();
  const found = await Promise.all(load.acknowledged.map((id) => place.inbox.get({ source: "default", id })));
  expect(found.filter((row) => row === undefined)).toEqual([]);
  if (process.env["WORKSPACE_TASKS_TIMES"])
    console.log(`${args.join(" ")}: ${Math.round(tookMs)} ms, ${JSON.stringify([...load.statuses])}`);
}

const inCluster = (program: readonly string[]) => [
  "test/system/receiver-kit/cluster-primary.mjs",
  ...program,
];
const waysOf = (name: string): readonly ("alone" | "in node:cluster")[] =>
  isFullDepth || name === "express" ? ["alone", "in node:cluster"] : ["alone"];
const argsOf = (way: string, program: readonly string[]) => (way === "alone" ? program : inCluster(program));

describe.skipIf((await missingProgram("nginx")) !== undefined)("SIGTERM behind nginx", () => {
  for (const [node, executable] of nodes) {
    for (const name of isFullDepth ? frameworks : (["express"] as const)) {
      it.each(waysOf(name))(`ends the recipe for ${name} under load, ${node}, %s`, (way) =>
        withSqlite(async (place) =>
          endsUnderLoad(place, argsOf(way, [await recipe(textOf(name))]), executable),
        ),
      );
    }
    it.skipIf(!hasPostgres).each(waysOf("server.mjs"))(
      `ends the program of the deployment under load, ${node}, %s`,
      (way) =>
        withPostgres(async (place) =>
          endsUnderLoad(
            place,
            argsOf(way, await bundledProgram("examples/deployment/server.mjs")),
            executable,
          ),
        ),
    );
  }

  const closing = /^ {2}server\.closeAllConnections.*\n/m;
  const express = textOf("express");
  it("does not end a recipe that leaves connections on which nothing was sent to Node", () =>
    withSqlite(async (place) => {
      expect(express).toMatch(closing);
      using program = await start(place, [await recipe(express.replace(closing, ""))]);
      using _ = openConnections(place.port);
      await pause(50);
      expect(await isOverAfterSigterm(program)).toBe(false);
    }));

  it.each([
    ["does not end a recipe whose responses do not close a connection in use", false],
    ["ends one whose responses do", true],
  ])("%s", (_, isClosing) =>
    withSqlite(async (place) => {
      const used = isClosing ? "{ ...receiver }" : "{ ...receiver, isClosing: undefined }";
      const changed = express
        .replace(closing, "")
        .replace("webhookMiddleware(receiver)", `webhookMiddleware(${used})`);
      expect(changed).toContain(used);
      using program = await start(place, [await recipe(changed)]);
      await using connection = await RawConnection.open(place.port);
      connection.write(`${head}{`);
      await pause(50);
      const isOver = isOverAfterSigterm(program);
      // As behind a proxy: the next request is there before the connection is idle.
      for (let sent = 0; sent < 1.2 * limitMs && !connection.isClosed; sent += 50) {
        connection.write(`}${" ".repeat(98)}${head}{`);
        await pause(50);
      }
      expect(await isOver).toBe(isClosing);
    }),
  );
});

async function isOverAfterSigterm(program: RunningProgram): Promise<boolean> {
  program.signal("SIGTERM");
  return Promise.race([program.ended().then(() => true), pause(limitMs, false)]);
}
