import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { freePort } from "../../support/listen.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";
import { buildImage, createApplication, deployment, instructionsOf, running } from "./deployment-fixture.ts";

// biome-ignore lint/suspicious/noExplicitAny: what is missing in a file fails the test that reads it
type Loose = any;

const read = (file: string) => readFileSync(join(deployment, file), "utf8");
const documentsOf = (file: string): readonly Loose[] =>
  parseAllDocuments(read(file), { merge: true, strict: true }).map((document) => {
    expect([...document.errors, ...document.warnings], file).toEqual([]);
    return document.toJS();
  });

/** The variables that a program reads. */
const variablesOf = (program: string) => [
  ...[...read(program).matchAll(/process\.env\.(\w+)/g)].map(([, name]) => name),
  ...[...read(program).matchAll(/const \{([^}]*)\} = process\.env/g)].flatMap(
    ([, names = ""]) => names.match(/\b[A-Z_]{4,}\b/g) ?? [],
  ),
];
const serverVariables = variablesOf("server.mjs");
const at = (port: number, command: readonly string[]) =>
  command.map((part) => part.replaceAll(/\b(3000|4010|9464)\b/g, String(port)));

let folder: string;
let server: PostgresServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "workspace-tasks-deployment-"));
  const manifest = { scripts: { test: "node tests.mjs" } };
  [server] = await Promise.all([
    PostgresServer.start(),
    createApplication(join(folder, "application"), ["server.mjs", "migrate.mjs", "receiver.mjs"], manifest),
  ]);
  writeFileSync(
    join(folder, "application/tests.mjs"),
    `import { createClient } from "@workspace-tasks/sdk";
const { WORKSPACE_TASKS_BASE_URL: baseUrl, WORKSPACE_TASKS_API_KEY: apiKey } = process.env;
const client = createClient({ baseUrl, apiKey });
console.log("passed", (await client.me()).__typename);
await client.close();
`,
  );
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** A service that is not there: reconciling fails, and nothing else. */
const service = {
  WORKSPACE_TASKS_BASE_URL: "http://127.0.0.1:1",
  WORKSPACE_TASKS_API_KEY: "wtk_test",
};
const images = new Map<string, ReturnType<typeof buildImage>>();

/** The image of a Dockerfile, which is built when a test first asks for it, and its folder. */
async function imageOf(dockerfile: "Dockerfile" | "mock.Dockerfile") {
  const image = join(folder, `image-of-${dockerfile}`);
  const building = images.get(dockerfile) ?? buildImage(dockerfile, join(folder, "application"), image);
  images.set(dockerfile, building);
  return { ...(await building), image };
}

const get = (port: number, path: string) =>
  fetch(`http://127.0.0.1:${port}${path}`).then(
    async (response) => ({ status: response.status, body: await response.text() }),
    () => ({ status: 0, body: "" }),
  );

async function deliver(port: number): Promise<number> {
  const timestampSeconds = Math.floor(Date.now() / 1000);
  const { headers, body } = signDelivery({ body: JSON.stringify(sampleEvent()), timestampSeconds });
  const init = { method: "POST", headers: { ...headers }, body: new Uint8Array(body) };
  return (await fetch(`http://127.0.0.1:${port}/webhooks`, init)).status;
}

describe("the Dockerfile of the receiver", () => {
  it("the Dockerfile of the receiver builds an image that migrates, serves, reports its health, and ends in order", async () => {
    const { image, env, command, check } = await imageOf("Dockerfile");
    const database = { ...env, DATABASE_URL: server.url() };
    using migration = running(["node", "migrate.mjs"], image, database);
    expect(await migration.ended()).toMatchObject({ code: 0 });
    const list = ["node_modules/.bin/workspace-tasks-inbox", "list", "--store", server.url()];
    using inbox = running(list, image, env);
    expect(await inbox.ended()).toMatchObject({ code: 0 });

    const [port, operations] = [await freePort(), await freePort()];
    const ports = { PORT: String(port), OPERATIONS_PORT: String(operations) };
    const settings = { ...service, ...ports, DRAIN_MS: "1000", WORKSPACE_TASKS_SIGNING_SECRET: secretA };
    using receiver = running(command, image, { ...database, ...settings });
    await expect.poll(async () => (await get(operations, "/ready")).status, { timeout: 20_000 }).toBe(200);
    using health = running(at(operations, check), image, env);
    expect(await health.ended()).toMatchObject({ code: 0 });
    expect(await deliver(port)).toBe(200);
    expect((await get(operations, "/metrics")).body).toMatch(/deliveries_total\{.*accepted.*\} 1/);
    for (const path of ["/metrics", "/ready", "/live", "/other"])
      expect((await get(port, path)).status, path).toBe(404);
    expect((await get(operations, "/webhooks")).status).toBe(404);

    receiver.signal("SIGTERM");
    await expect.poll(async () => (await get(operations, "/ready")).status).toBe(503);
    // The load balancer may not have noticed.
    expect(await deliver(port)).toBe(200);
    expect((await get(operations, "/live")).status).toBe(200);
    expect(await receiver.ended()).toMatchObject({
      code: 0,
      output: expect.stringMatching(/ready for webhooks/),
    });
    using deadHealth = running(at(operations, check), image, env);
    expect(await deadHealth.ended()).toMatchObject({ code: 1 });
  });

  it("the Dockerfile of the receiver builds an image without the mock and its command", async () => {
    const modules = join((await imageOf("Dockerfile")).image, "node_modules");
    expect(readdirSync(join(modules, "@workspace-tasks")).sort()).toEqual(["events", "receiver-kit", "sdk"]);
    const development = ["workspace-tasks", "graphql", "standardwebhooks"];
    expect(development.filter((name) => existsSync(join(modules, name)))).toEqual([]);
  });

  it("the Dockerfile of the receiver builds an image whose process ends when there is no database", async () => {
    const ports = { PORT: String(await freePort()), OPERATIONS_PORT: String(await freePort()) };
    const settings = { ...ports, DATABASE_URL: "postgres://127.0.0.1:1/none" };
    const env = {
      ...settings,
      WORKSPACE_TASKS_SIGNING_SECRET: secretA,
      WORKSPACE_TASKS_BASE_URL: "http://127.0.0.1:1",
      WORKSPACE_TASKS_API_KEY: "wtk_any",
    };
    const { image } = await imageOf("Dockerfile");
    using receiver = running(["node", "server.mjs"], image, env);
    expect(await receiver.ended()).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^cannot start: postgres inbox: it cannot be opened: .+DATABASE_URL\n$/),
    });
    using migration = running(["node", "migrate.mjs"], image, settings);
    expect(await migration.ended()).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^cannot migrate: postgres inbox: it cannot be opened: .+\n$/),
    });
  });

  it("the Dockerfile of the receiver copies what its programs and the files of the other deployments name", () => {
    const copied = instructionsOf("Dockerfile").flatMap(({ name, text }) =>
      name === "COPY" ? text.split(" ") : [],
    );
    for (const file of ["compose.yaml", "kubernetes.yaml", "webhooks.service"]) {
      const programs = read(file).match(/\w+\.mjs/g) ?? [];
      expect(programs.length, file).toBeGreaterThan(0);
      expect(programs.filter((program) => !copied.includes(program))).toEqual([]);
    }
  });
});

describe("the Dockerfile of the mock", () => {
  it("the Dockerfile of the mock builds an image whose mock is healthy, and serves under the name of its service", async () => {
    const { image, command, check } = await imageOf("mock.Dockerfile");
    const port = await freePort();
    using mock = running(at(port, command), image, {});
    await expect
      .poll(async () => (await get(port, "/_mock/v1/health")).status, { timeout: 20_000 })
      .toBe(200);
    using health = running(at(port, check), image, {});
    expect(await health.ended()).toMatchObject({ code: 0 });
    const asMock = ["--silent", "--header", "Host: mock:4010", `http://127.0.0.1:${port}/_mock/v1/health`];
    expect(execFileSync("curl", asMock, { encoding: "utf8" })).toContain("{");
    mock.signal("SIGTERM");
    expect(await mock.ended()).toMatchObject({ code: 0 });
  });
});

describe("the compose file", () => {
  it("the compose file passes variables that the programs read; its mock delivers to its receiver, which accepts", async () => {
    const [compose] = documentsOf("compose.yaml");
    const { database, migrate, receiver, mock } = compose.services;
    const { environment = {}, ports } = receiver;
    expect(Object.keys(environment).filter((name) => !serverVariables.includes(name))).toEqual([]);
    expect(Object.keys(migrate.environment ?? {})).toEqual(["DATABASE_URL"]);
    expect(Object.keys(database.environment ?? {})).toEqual(["POSTGRES_PASSWORD"]);
    expect([ports, mock.ports]).toEqual([["127.0.0.1:3000:3000"], ["127.0.0.1:4010:4010"]]);

    const [mockPort, receiverPort, operations] = [await freePort(), await freePort(), await freePort()];
    const { image } = await imageOf("Dockerfile");
    const { image: mockImage } = await imageOf("mock.Dockerfile");
    using migrating = running(["node", "migrate.mjs"], image, { DATABASE_URL: server.url() });
    expect(await migrating.ended()).toMatchObject({ code: 0 });
    const settings = {
      ...environment,
      DATABASE_URL: server.url(),
      PORT: String(receiverPort),
      OPERATIONS_PORT: String(operations),
      DRAIN_MS: "0",
    };
    using receiving = running(["node", "server.mjs"], image, settings);
    await expect.poll(async () => (await get(operations, "/ready")).status, { timeout: 20_000 }).toBe(200);
    // In place of the container's name: not a loopback name, but it leads to this computer.
    const here = (part: string) =>
      part
        .replace("4010", String(mockPort))
        .replace("receiver:3000", `0.0.0.0:${receiverPort}`)
        .replace("=receiver", "=0.0.0.0");
    const command = mock.command?.map(here) ?? [];
    using serving = running(command, mockImage, {});
    await serving.said(/Ctrl\+C stops it/);
    const [program = ""] = command;
    const trigger = [program, "trigger", "task.completed", "--mock", `http://127.0.0.1:${mockPort}`];
    using triggering = running(trigger, mockImage, {});
    expect(await triggering.ended()).toMatchObject({
      code: 0,
      output: expect.stringMatching(/ 200 {2}succeeded$/m),
    });
    await receiving.said(/task \S+ is COMPLETED/);
  });
});

describe("the Kubernetes manifests", () => {
  it("the Kubernetes manifests name paths, ports and variables of the server, and leave it the time that it needs to end", () => {
    const [job, workload, service] = documentsOf("kubernetes.yaml");
    const { metadata, spec } = workload.spec.template;
    const [container] = spec.containers;
    const names = container.env.map(({ name }: Loose) => name);
    expect(names.toSorted()).toEqual(serverVariables.toSorted());
    const numberOf = (name: string) =>
      Number(container.env.find((entry: Loose) => entry.name === name)?.value);
    expect(container.ports).toEqual([
      { name: "webhooks", containerPort: numberOf("PORT") },
      { name: "operations", containerPort: numberOf("OPERATIONS_PORT") },
    ]);
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"] as const) {
      const { path, port } = container[probe].httpGet;
      expect(port).toBe("operations");
      expect(read("server.mjs")).toContain(`request.url === "${path}"`);
    }
    // Strangers reach the webhooks alone.
    expect(service.spec.ports).toEqual([{ port: 80, targetPort: "webhooks" }]);
    expect(service.spec.selector).toEqual(metadata.labels);
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(numberOf("DRAIN_MS")).toBeGreaterThan(periodSeconds * failureThreshold * 1000);
    // The drain, a delivery that is being stored, running handlers, connections of the pool.
    const neededMs = numberOf("DRAIN_MS") + 10_000 + 10_000 + 5_000;
    expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(neededMs);
    const [migration] = job.spec.template.spec.containers;
    expect(migration.command).toEqual(["node", "migrate.mjs"]);
    expect(migration.env.map(({ name }: Loose) => name)).toEqual(variablesOf("migrate.mjs"));
  });
});

describe("the systemd unit", () => {
  it("the systemd unit sets variables that the server reads", () => {
    const set = [...read("webhooks.service").matchAll(/^Environment=(.*)$/gm)].flatMap(
      ([, text = ""]) => text.match(/[A-Z_]+(?==)/g) ?? [],
    );
    expect(set.length).toBeGreaterThan(1);
    expect(set.filter((name) => name !== "NODE_ENV" && !serverVariables.includes(name))).toEqual([]);
  });
});

describe("the workflow that releases", () => {
  it("the workflow that releases has its identity in a job alone that installs nothing and publishes what the other has packed", () => {
    const [{ permissions, on, jobs }] = documentsOf("../../.ci/release.yaml");
    const { pack, publish } = jobs;
    expect([permissions, on.push.tags, pack.permissions]).toEqual([{}, ["v*"], { contents: "read" }]);
    expect([publish.permissions["id-token"], publish.environment, publish.needs]).toEqual([
      ...["write", "npm", "pack"],
    ]);
    const commandsOf = ({ steps }: Loose): string[] => steps.flatMap(({ run }: Loose): string[] => run ?? []);
    expect(commandsOf(publish)).toEqual([
      expect.stringMatching(/^node scripts\/publish\.mjs tarballs --provenance /),
    ]);
    const programs = [...commandsOf(pack), ...commandsOf(publish)].map(
      (command) => /^(?:node (?:--import tsx )?)?(\S+)/.exec(command)?.[1] ?? "",
    );
    expect(programs).toHaveLength(5);
    expect(programs.filter((program) => !existsSync(join(deployment, "../..", program)))).toEqual([]);
    // Folders that a step writes are kept, and one of them is what is published.
    const kept = pack.steps.flatMap((step: Loose) => (step.uses?.includes("upload") ? [step.with.path] : []));
    expect(kept).toEqual(["tarballs", "sbom"]);
    for (const name of kept)
      expect(commandsOf(pack).some((command) => command.endsWith(` ${name}`))).toBe(true);
    expect(publish.steps.find((step: Loose) => step.uses?.includes("download")).with).toEqual({
      name: "tarballs",
      path: "tarballs",
    });
  });

  it.each(["../../.ci/release.yaml", "../../.ci/site.yaml", "github-actions.yaml"])(
    "the actions of %s are named by the hash of a commit, with its version",
    (file) => {
      const actions = [...read(file).matchAll(/uses: (.+)$/gm)].map(([, action = ""]) => action);
      const isPinned = (action: string) => /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action);
      expect(actions.length).toBeGreaterThan(1);
      expect(actions.filter((action) => !isPinned(action))).toEqual([]);
      expect(isPinned("actions/checkout@v5")).toBe(false);
    },
  );
});

/** As a step of a pipeline, at the end of which its background processes are ended. */
const inBash = (script: string) => [
  ...["bash", "-e", "-o", "pipefail", "-c"],
  `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${script}`,
];

describe.concurrent("the pipeline", () => {
  it("the pipeline of GitHub Actions runs the tests with a mock, and check-receiver", {
    timeout: 120_000,
  }, async ({ expect }) => {
    const [workflow] = documentsOf("github-actions.yaml");
    const { steps } = workflow.jobs.test;
    const port = await freePort();
    const application = await copyOfApplication("github");
    const output: string[] = [];
    for (const { run, env } of steps.filter((step: Loose) => step.run)) {
      const variables = Object.entries(env ?? {}).map(([name, value]) => [name, String(value)]);
      const bash = inBash(run ?? "");
      using step = running(at(port, bash), application, {
        ...Object.fromEntries(variables),
        ...(env && { PORT: String(port) }),
      });
      const ended = await step.ended();
      expect(ended).toMatchObject({ code: 0 });
      output.push(ended.output);
    }
    expect(output.join("\n")).toMatch(/passed WorkspaceUser/);
    expect(output.join("\n")).toMatch(/MUST/);
  });

  it("the pipeline of GitLab runs the tests with a mock, and check-receiver", { timeout: 120_000 }, async ({
    expect,
  }) => {
    const [pipeline] = documentsOf("gitlab-ci.yaml");
    const run = async (job: "test" | "receiver", expected: RegExp) => {
      const port = await freePort();
      const application = await copyOfApplication(`gitlab-${job}`);
      const script = [...pipeline.before_script, ...pipeline[job].script].join("\n");
      using step = running(at(port, inBash(script)), application, {
        ...pipeline.variables,
        PORT: String(port),
      });
      expect(await step.ended()).toMatchObject({ code: 0, output: expect.stringMatching(expected) });
    };
    await Promise.all([run("test", /passed WorkspaceUser/), run("receiver", /MUST/)]);
    const artifact = join(folder, "gitlab-receiver", pipeline.receiver.artifacts.paths[0]);
    expect(readFileSync(artifact, "utf8")).toContain("a request was rejected");
  });
});

async function copyOfApplication(name: string): Promise<string> {
  const target = join(folder, name);
  execFileSync("cp", ["-r", join(folder, "application"), target]);
  return target;
}
