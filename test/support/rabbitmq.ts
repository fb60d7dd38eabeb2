import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import * as fs from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { unpackedPackage } from "./debian-programs.ts";
import { acceptsConnections, freePort } from "./listen.ts";
import { endProcess, endWithThisProcess, hasEnded } from "./running-program.ts";

/** The one that docs/rabbitmq.md says to enable. */
function pluginToEnable(): string {
  const page = fs.readFileSync(path.join(import.meta.dirname, "../../docs/rabbitmq.md"), "utf8");
  const [, plugin] = /^rabbitmq-plugins enable (\w+)$/m.exec(page) ?? [];
  if (plugin === undefined) throw new Error("docs/rabbitmq.md names no plugin to enable");
  return plugin;
}

// A busy machine takes a minute.
const startTimeoutMs = 300_000;

interface RabbitmqNode {
  readonly name: string;
  readonly directory: string;
  readonly port: number;
  readonly distributionPort: number;
  process: ChildProcess | undefined;
}

/**
 * One RabbitMQ server, or a cluster of three, with new data directories. Every port is on 127.0.0.1, those of Erlang's
 * distribution and of its port mapper too. The processes end with this one, however it ends; disposing ends them and
 * deletes their data.
 */
export class RabbitmqCluster implements AsyncDisposable {
  readonly #binaries: RabbitmqBinaries;
  readonly #directory: string;
  readonly #portMapperPort: number;
  readonly #nodes: readonly RabbitmqNode[];
  #portMapper: ChildProcess | undefined;

  private constructor(
    binaries: RabbitmqBinaries,
    directory: string,
    ports: readonly number[],
    nodes: readonly RabbitmqNode[],
  ) {
    this.#binaries = binaries;
    this.#directory = directory;
    this.#portMapperPort = ports[0]!;
    this.#nodes = nodes;
  }

  static async start(size: 1 | 3 = 1): Promise<RabbitmqCluster> {
    const binaries = findRabbitmq();
    if ("missing" in binaries) throw new Error(binaries.missing);
    const directory = fs.mkdtempSync(path.join(tmpdir(), "workspace-tasks-rabbitmq-data-"));
    const ports: number[] = [];
    while (ports.length < 1 + 2 * size) {
      const port = await freePort();
      if (!ports.includes(port)) ports.push(port);
    }
    const nodes = Array.from({ length: size }, (_, index): RabbitmqNode => {
      const name = `rabbit${index}@localhost`;
      const [port, distributionPort] = ports.slice(1 + 2 * index) as [number, number];
      return {
        name,
        directory: path.join(directory, `node${index}`),
        port,
        distributionPort,
        process: undefined,
      };
    });
    const cluster = new RabbitmqCluster(binaries, directory, ports, nodes);
    try {
      // Erlang reads the cookie from the home directory.
      const cookie = path.join(directory, ".erlang.cookie");
      fs.writeFileSync(cookie, randomBytes(20).toString("hex"), { mode: 0o400 });
      cluster.#portMapper = cluster.#spawn(directory, "port-mapper", [
        cluster.#program("epmd"),
        ...["-address", "127.0.0.1", "-port", String(cluster.#portMapperPort)],
      ]);
      await Promise.all(nodes.map((_, index) => cluster.startNode(index)));
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** `amqp://` URLs of the nodes. */
  get urls(): readonly string[] {
    return this.#nodes.map(({ port }) => `amqp://guest:guest@127.0.0.1:${port}`);
  }

  portOf(index: number): number {
    return this.#nodes[index]!.port;
  }

  /** Starts a node, on its data. Resolves when it accepts connections. */
  async startNode(index: number): Promise<void> {
    const node = this.#nodes[index]!;
    fs.mkdirSync(node.directory, { recursive: true });
    fs.writeFileSync(path.join(node.directory, "rabbitmq.conf"), this.#configuration(node));
    fs.writeFileSync(path.join(node.directory, "plugins"), `[${pluginToEnable()}].\n`);
    const child = this.#spawn(node.directory, "server", [
      this.#program("erlexec"),
      ...["-noinput", "-s", "rabbit", "boot", "-boot", "start_sasl", "+W", "w", "+sbwt", "none", "+S", "1:1"],
      ...["-kernel", "inet_dist_use_interface", "{127,0,0,1}"],
      ...["-kernel", "inet_dist_listen_min", String(node.distributionPort)],
      ...["-kernel", "inet_dist_listen_max", String(node.distributionPort)],
      ...["-kernel", "prevent_overlapping_partitions", "false"],
      ...["-syslog", "logger", "[]", "-syslog", "syslog_error_logger", "false"],
    ]);
    node.process = child;
    const deadlineMs = Date.now() + startTimeoutMs;
    while (!(await acceptsConnections(node.port))) {
      if (hasEnded(child) || Date.now() > deadlineMs) {
        const log = fs.readFileSync(path.join(node.directory, "server.log"), "utf8").slice(-4_000);
        throw new Error(`${node.name} did not start:\n${log}`);
      }
      await pause(50);
    }
  }

  /** Ends a node without warning, as a power failure does. */
  async killNode(index: number): Promise<void> {
    await endProcess(this.#nodes[index]!.process, "SIGKILL");
  }

  /** Of the processes of the nodes. */
  get pids(): readonly number[] {
    return this.#nodes.flatMap(({ process: child }) => child?.pid ?? []);
  }

  /** Stops a node, which keeps its connections, and lets it continue. */
  freezeNode(index: number): () => void {
    const { process: child } = this.#nodes[index]!;
    child?.kill("SIGSTOP");
    return () => void child?.kill("SIGCONT");
  }

  /** Stops RabbitMQ and not its process, as `rabbitmqctl stop_app` does, and returns how it starts again. */
  async stopApplication(index: number): Promise<() => Promise<void>> {
    await this.evaluate(index, "rabbit:stop()");
    return async () => {
      await this.evaluate(index, "rabbit:start()");
      await this.#untilRunning(index);
    };
  }

  /** Parts a node from the other ones, not from its clients; returns how it is repaired. */
  async isolateNode(index: number): Promise<() => Promise<void>> {
    const { name } = this.#nodes[index]!;
    const others = this.#nodes.filter((node) => node.name !== name).map((node) => `'${node.name}'`);
    const survivor = (index + 1) % this.#nodes.length;
    // With other cookies neither side accepts a connection of the other.
    const useCookie = (cookie: string) =>
      this.evaluate(
        survivor,
        `rpc:multicall([${others}], erlang, set_cookie, ['${name}', ${cookie}]),
         rpc:multicall([${others}], erlang, disconnect_node, ['${name}'])`,
      );
    await useCookie("apart");
    return async () => {
      await useCookie("erlang:get_cookie()");
      // It had paused itself, because it was in the minority.
      await this.#untilRunning(index);
    };
  }

  async #untilRunning(index: number): Promise<void> {
    const deadlineMs = Date.now() + startTimeoutMs;
    while ((await this.evaluate(index, "rabbit:is_running()")) !== "true") {
      if (Date.now() > deadlineMs) throw new Error(`${this.#nodes[index]!.name} did not join again`);
      await pause(200);
    }
  }

  /** Kills a node and deletes its data. */
  async destroyNode(index: number): Promise<void> {
    await this.killNode(index);
    await rm(this.#nodes[index]!.directory, { recursive: true, force: true });
  }

  /** Starts a destroyed node with an empty disk, as a member of the cluster and of every queue again. */
  async replaceNode(index: number, survivor: number): Promise<void> {
    const { name } = this.#nodes[index]!;
    await this.evaluate(survivor, `rabbit_mnesia:forget_cluster_node('${name}', false)`);
    await this.evaluate(survivor, `rabbit_quorum_queue:shrink_all('${name}')`);
    await this.startNode(index);
    await this.evaluate(survivor, `rabbit_quorum_queue:grow('${name}', <<".*">>, <<".*">>, all)`);
  }

  /** Evaluates an Erlang expression on a node; resolves to the printed result. */
  async evaluate(index: number, expression: string): Promise<string> {
    const { name } = this.#nodes[index]!;
    const script = `
      {ok, Tokens, _} = erl_scan:string(${JSON.stringify(`${expression}.`)}),
      {ok, Parsed} = erl_parse:parse_exprs(Tokens),
      io:format("~0p", [case rpc:call('${name}', erl_eval, exprs, [Parsed, []], 15000) of
        {value, Value, _} -> Value; Other -> Other end]), halt().`;
    const directory = path.join(this.#directory, "control");
    fs.mkdirSync(directory, { recursive: true });
    const child = this.#spawn(
      directory,
      "erl",
      [
        this.#program("erlexec"),
        ...["-boot", "no_dot_erlang", "-noinput", "-hidden", "+S", "1:1", "-start_epmd", "false"],
        ...["-sname", `control${randomBytes(4).toString("hex")}@localhost`],
        ...["-kernel", "inet_dist_use_interface", "{127,0,0,1}", "-eval", script],
      ],
      "pipe",
    );
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`${expression} failed with ${code}: ${output}`);
    return output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map(({ process: child }) => endProcess(child, "SIGKILL")));
    await endProcess(this.#portMapper, "SIGTERM");
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }

  #configuration({ port }: RabbitmqNode): string {
    const lines = [
      `listeners.tcp.local = 127.0.0.1:${port}`,
      "log.console = true",
      "log.console.level = warning",
      "log.file = false",
      "disk_free_limit.absolute = 50MB",
      "queue_leader_locator = balanced",
      "cluster_partition_handling = pause_minority",
    ];
    if (this.#nodes.length > 1) {
      lines.push("cluster_formation.peer_discovery_backend = classic_config");
      for (const [index, { name }] of this.#nodes.entries())
        lines.push(`cluster_formation.classic_config.nodes.${index + 1} = ${name}`);
    }
    return `${lines.join("\n")}\n`;
  }

  /** @param name of a program of the Erlang runtime */
  #program(name: string): string {
    return path.join(erlangRuntime(this.#binaries), "bin", name);
  }

  #spawn(directory: string, name: string, command: readonly string[], stdout: "pipe" | "file" = "file") {
    const { home, erlangRoot, libraryPath } = this.#binaries;
    const node = this.#nodes.find((candidate) => candidate.directory === directory);
    const log = fs.openSync(path.join(directory, `${name}.log`), "a");
    const [file = "", ...args] = command;
    const child = spawn(file, args, {
      cwd: directory,
      stdio: ["ignore", stdout === "pipe" ? "pipe" : log, log],
      env: {
        PATH: process.env["PATH"],
        LC_ALL: "C.UTF-8",
        HOME: this.#directory,
        ROOTDIR: erlangRoot,
        BINDIR: path.join(erlangRuntime(this.#binaries), "bin"),
        EMU: "beam",
        PROGNAME: "erl",
        ERL_LIBS: path.join(home, "plugins"),
        LD_LIBRARY_PATH: libraryPath,
        ERL_EPMD_ADDRESS: "127.0.0.1",
        ERL_EPMD_PORT: String(this.#portMapperPort),
        ...(node && nodeEnvironment(home, node)),
      },
    });
    fs.closeSync(log);
    endWithThisProcess(child, this.#directory);
    return child;
  }
}

const nodeEnvironment = (home: string, { name, directory, distributionPort }: RabbitmqNode) => ({
  RABBITMQ_HOME: home,
  RABBITMQ_NODENAME: name,
  RABBITMQ_BASE: directory,
  RABBITMQ_CONFIG_FILE: path.join(directory, "rabbitmq.conf"),
  RABBITMQ_ADVANCED_CONFIG_FILE: path.join(directory, "advanced.config"),
  RABBITMQ_CONF_ENV_FILE: path.join(directory, "none"),
  RABBITMQ_ENABLED_PLUGINS_FILE: path.join(directory, "plugins"),
  RABBITMQ_PLUGINS_DIR: path.join(home, "plugins"),
  RABBITMQ_MNESIA_BASE: path.join(directory, "data"),
  RABBITMQ_LOG_BASE: path.join(directory, "log"),
  RABBITMQ_GENERATED_CONFIG_DIR: path.join(directory, "generated"),
  RABBITMQ_PID_FILE: path.join(directory, "pid"),
  RABBITMQ_DIST_PORT: String(distributionPort),
});

function erlangRuntime({ erlangRoot }: RabbitmqBinaries): string {
  const runtime = fs.readdirSync(erlangRoot).findLast((name) => name.startsWith("erts-"));
  return path.join(erlangRoot, runtime ?? "erts");
}

export interface RabbitmqBinaries {
  /** Folder with `plugins`. */
  readonly home: string;
  /** Folder of the Erlang runtime, with `bin` and `erts-…`. */
  readonly erlangRoot: string;
  /** For the shared libraries of unpacked packages. */
  readonly libraryPath: string | undefined;
}

type Found = RabbitmqBinaries | { readonly missing: string };
let found: Found | undefined;

/**
 * The programs of this machine, or else of the distribution's packages, or the reason why there are none. Looks, and
 * downloads where necessary, once per process.
 */
export function findRabbitmq(): Found {
  found ??= installed() ?? unpacked();
  return found;
}

/** `rabbitmq-server` is a script below the home folder, or one that calls it. */
function installed(): RabbitmqBinaries | undefined {
  const homes = ["/usr/lib/rabbitmq/lib", "/usr/local/lib", "/opt", "/opt/homebrew/opt", "/usr/local/opt"]
    .flatMap((folder) => subfolders(folder, /^rabbitmq(_server.*|)$/))
    .filter((folder) => fs.existsSync(path.join(folder, "plugins")));
  const [home] = homes;
  if (!home) return undefined;
  const evaluated = spawnSync(
    "erl",
    ["-boot", "no_dot_erlang", "-noinput", "-eval", 'io:format("~s", [code:root_dir()]), halt().'],
    { encoding: "utf8", timeout: 30_000 },
  );
  return evaluated.status === 0 ? { home, erlangRoot: evaluated.stdout, libraryPath: undefined } : undefined;
}

function unpacked(): Found {
  const found = unpackedPackage("rabbitmq-server");
  if ("missing" in found) return { missing: `no installed RabbitMQ was found, and ${found.missing}` };
  return binariesIn(found.folder);
}

function binariesIn(folder: string): Found {
  const [home] = subfolders(path.join(folder, "usr/lib/rabbitmq/lib"), /^rabbitmq_server/);
  const [libraryPath] = subfolders(path.join(folder, "usr/lib"), /-linux-gnu/);
  if (!home) return { missing: `${folder} contains no RabbitMQ; delete it` };
  return { home, erlangRoot: path.join(folder, "usr/lib/erlang"), libraryPath };
}

function subfolders(folder: string, name: RegExp): readonly string[] {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder)
    .filter((entry) => name.test(entry))
    .map((entry) => fs.realpathSync(path.join(folder, entry)));
}
