// The optional peers in the lowest version that the packages accept and in the newest. npm installs them beside the
// tarballs, without --force and --legacy-peer-deps, and a program of test/gates/peer-programs uses each:
//
//   node --import tsx test/gates/peer-matrix.ts [lowest] [newest] [newer-node]     default: all of them
//
// Starts PostgreSQL and RabbitMQ as the tests do. Needs a build and the npm registry.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { capture } from "../../scripts/capture.mjs";
import { packPackages } from "../../scripts/pack.ts";
import { peers, root } from "../../scripts/packages.ts";
import { PostgresDatabases } from "../support/postgres.ts";
import { type SharedPostgres, shareServers } from "../support/shared-servers.ts";

interface Project {
  readonly title: string;
  /** What to install: ranges by peer, and what their programs need besides. */
  readonly versions: Readonly<Record<string, string>>;
  /** From the package `node` of the npm registry. Default: the Node that runs this. */
  readonly node?: string;
}

type Variables = Readonly<Record<string, string>>;

const programTimeoutMs = 120_000;
const installTimeoutMs = 600_000;
const windows = process.platform === "win32";

/** The programs by peer, with their arguments; `{project}` is a name that no other project has. */
const programs: Readonly<Record<string, readonly string[]>> = {
  "@opentelemetry/api": ["opentelemetry.mjs"],
  amqplib: ["amqplib.mjs", "peers-{project}"],
  "better-sqlite3": ["sqlite.mjs", "better-sqlite3"],
  express: ["express.mjs"],
  graphql: ["graphql.mjs"],
  libsql: ["sqlite.mjs", "libsql"],
  msw: ["msw.mjs"],
  pg: ["pg.mjs"],
  vitest: ["node_modules/vitest/vitest.mjs", "run", "vitest.test.mjs"],
};

const projects: Readonly<Record<string, Project>> = {
  lowest: {
    title: "lowest",
    versions: {
      ...Object.fromEntries(peers.map(({ name, range }) => [name, lowestOf(range)])),
      "@opentelemetry/sdk-metrics": "2.0.0",
    },
  },
  newest: {
    title: "newest for Node 20",
    versions: {
      "@opentelemetry/api": "1.9",
      "@opentelemetry/sdk-metrics": "2",
      amqplib: "latest",
      "better-sqlite3": "12",
      express: "latest",
      graphql: "16",
      libsql: "latest",
      msw: "2",
      pg: "latest",
      vitest: "4",
    },
  },
  "newer-node": {
    title: "newest, where Node 20 is too old",
    node: "24",
    versions: {
      "@opentelemetry/api": "latest",
      "@opentelemetry/sdk-metrics": "latest",
      msw: "latest",
      vitest: "latest",
    },
  },
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !projects[name]);
if (unknown.length > 0) {
  console.error(`expected ${Object.keys(projects).join(", ")}, got ${unknown.join(", ")}`);
  process.exit(2);
}
const untested = peers.filter(({ name }) => !programs[name]);
if (untested.length > 0) {
  const names = untested.map(({ name }) => name).join(", ");
  console.error(`expected a program for each optional peer, got none for ${names}`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-peers-"));
try {
  const tarballs = [...packPackages(folder).values()];
  await using servers = await shareServers();
  const chosen = Object.entries(projects).filter(([name]) => asked.length === 0 || asked.includes(name));
  const outcomes = await Promise.all(
    chosen.map(async ([name, project]) => {
      const installed = await install(name, project, tarballs);
      const env = { ...installed.env, ...(await environment(servers.origin)) };
      return Promise.all(
        Object.keys(project.versions)
          .filter((peer) => programs[peer])
          .map((peer) => check(name, project, peer, { ...installed, env })),
      );
    }),
  );
  if (outcomes.flat().includes(false)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A range starts with its lowest version, of which zeros may be left out. */
function lowestOf(range: string): string {
  const [version = ""] = /\d+(?:\.\d+)*/.exec(range) ?? [];
  return [...version.split("."), "0", "0"].slice(0, 3).join(".");
}

interface Installed {
  readonly folder: string;
  /** Of the programs; finds the Node of the project first. */
  readonly env: NodeJS.ProcessEnv;
}

async function install(
  name: string,
  { title, versions, node }: Project,
  tarballs: readonly string[],
): Promise<Installed> {
  const project = join(folder, name);
  mkdirSync(project);
  cpSync(join(root, "test/gates/peer-programs"), project, { recursive: true });
  // Its driver is compiled where there is none for this machine.
  const allowScripts = { "better-sqlite3": true };
  writeFileSync(join(project, "package.json"), JSON.stringify({ name, private: true, allowScripts }));
  const env = node === undefined ? process.env : await withNode(node);
  const wanted = Object.entries(versions).map(([peer, version]) => `${peer}@${version}`);
  const args = ["install", "--no-audit", "--no-fund", "--prefer-offline", ...tarballs, ...wanted];
  const { code, output } = await capture("npm", args, {
    cwd: project,
    // Not optimised: what is tested is that it works.
    env: { ...env, CFLAGS: "-O0", CXXFLAGS: "-O0" },
    timeout: installTimeoutMs,
    shell: windows,
  });
  if (code !== 0) throw new Error(`${title}: npm install ended with ${code}:\n${output}`);
  return { folder: project, env };
}

/** The environment in which `node`, and `npm` with it, is of this version. */
async function withNode(version: string): Promise<NodeJS.ProcessEnv> {
  const args = ["-y", "-p", `node@${version}`, "-c", "node -p process.execPath"];
  const options = { cwd: folder, timeout: installTimeoutMs, shell: windows };
  const { code, stdout, output } = await capture("npx", args, options);
  if (code !== 0) throw new Error(`expected Node ${version} from the npm registry, got:\n${output}`);
  return { ...process.env, PATH: `${dirname(stdout.trim())}${delimiter}${process.env["PATH"]}` };
}

/** A database of its own, and the broker that all share. */
async function environment(origin: string): Promise<Variables> {
  const ask = async (path: string) => {
    const response = await fetch(`${origin}${path}`);
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
  const [{ port }, [url]] = (await Promise.all([ask("/postgres"), ask("/rabbitmq")])) as [
    SharedPostgres,
    [string],
  ];
  return { DATABASE_URL: (await new PostgresDatabases(port).database()).url, RABBITMQ_URL: url };
}

async function check(name: string, { title }: Project, peer: string, { folder: cwd, env }: Installed) {
  const program = (programs[peer] ?? []).map((argument) => argument.replace("{project}", name));
  const { version } = JSON.parse(readFileSync(join(cwd, "node_modules", peer, "package.json"), "utf8"));
  const { code, output } = await capture("node", program, { cwd, env, timeout: programTimeoutMs });
  console.log(`${code === 0 ? "✓" : "✗"} ${title}: ${peer} ${version}`);
  if (code !== 0) console.log(`${output}ended with ${code}`);
  return code === 0;
}
