import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeEach, describe, expect, it } from "vitest";
import { packages } from "../../../scripts/packages.ts";
import { version } from "../../../sdk/kernel/version.ts";
import { PackedProject } from "./packed-project.ts";

// The packed packages, of which one says that it is of another release.

const otherVersion = "9.9.9";
const project = new PackedProject();
let restore: (() => Promise<void>)[] = [];

beforeEach(async () => {
  for (const undo of restore) await undo();
  restore = [];
});

/** Changes the version that is built into a package. */
async function setOtherVersion(name: string): Promise<void> {
  const dist = join(project.folderOf(name), "dist");
  const files = (await readdir(dist, { recursive: true })).filter((file) => /\.c?js$/.test(file));
  let count = 0;
  for (const file of files.map((each) => join(dist, each))) {
    const text = await readFile(file, "utf8");
    const changed = text.replace(`const version = "${version}"`, `const version = "${otherVersion}"`);
    if (changed === text) continue;
    count += 1;
    restore.push(() => writeFile(file, text));
    await writeFile(file, changed);
  }
  expect(count, `files of ${name} with its version`).toBeGreaterThan(0);
}

const events = "@workspace-tasks/events";
const receiverKit = "@workspace-tasks/receiver-kit";
const rabbitmq = "@workspace-tasks/receiver-rabbitmq";
const mockServer = "@workspace-tasks/mock-server";

const secret = JSON.stringify(`whsec_${Buffer.alloc(32, 1).toString("base64")}`);
const calls = {
  createReceiver: `const { createReceiver, memoryInbox } = await import("${receiverKit}");
    createReceiver({ secrets: [${secret}], inbox: memoryInbox() });`,
  verifyWebhook: `const { verifyWebhook } = await import("${receiverKit}/express");
    verifyWebhook({ secrets: [${secret}] });`,
  rabbitmqIntake: `const { rabbitmqIntake } = await import("${rabbitmq}");
    rabbitmqIntake({ urls: ["amqp://127.0.0.1"], shards: 1, secrets: [${secret}] });`,
  rabbitmqConsumer: `const { rabbitmqConsumer } = await import("${rabbitmq}");
    rabbitmqConsumer({ urls: ["amqp://127.0.0.1"], shards: 1, receivers: [{ accept() {} }] });`,
  createMockServer: `const { createMockServer } = await import("${mockServer}");
    await (await createMockServer({ listen: false })).close();`,
  auditReceiver: `const { auditReceiver } = await import("workspace-tasks/check-receiver");
    await auditReceiver({ url: "http://127.0.0.1:9/", secret: ${secret}, only: ["baseline"] });`,
};

const programOf = (call: keyof typeof calls) => `
  async function main() { ${calls[call]} }
  main().then(() => console.log("no error"), (error) => console.log(error.code, error.message));`;

const messageOf = (dependent: string, dependency: string) =>
  `expected ${dependency} ${version}, the version of ${dependent}, got ${otherVersion}; install the same version of ` +
  `both: npm install ${dependent}@${version} ${dependency}@${version}\n`;

const cases = [
  ["createReceiver", receiverKit, events],
  ["verifyWebhook", receiverKit, events],
  ["rabbitmqIntake", rabbitmq, receiverKit],
  ["rabbitmqConsumer", rabbitmq, receiverKit],
  ["createMockServer", mockServer, events],
  ["auditReceiver", "workspace-tasks", events],
] as const;

it("every package that another one depends on is compared by it", () => {
  const names = new Set(packages.map(({ name }) => name));
  const pairs = packages.flatMap(({ name, manifest }) =>
    Object.keys(manifest.dependencies ?? {})
      .filter((dependency) => names.has(dependency))
      .map((dependency) => `${name} ${dependency}`),
  );
  // The commands for the service use only what every user of the SDK has.
  const compared = [
    ...cases.map(([, ...pair]) => pair.join(" ")),
    `workspace-tasks ${mockServer}`,
    "workspace-tasks @workspace-tasks/sdk",
  ];
  expect(new Set(pairs)).toEqual(new Set(compared));
});

describe.each(cases)("%s of %s", (call, dependent, dependency) => {
  const expected = `VERSION_MISMATCH ${messageOf(dependent, dependency)}`;

  it(`rejects ${dependency} of another version, as an ES module, as CommonJS and in a bundle`, async () => {
    await setOtherVersion(dependency);
    const program = programOf(call);
    const required = program.replaceAll("await import(", "require(");
    expect((await project.run("--input-type=module", "--eval", program)).output).toBe(expected);
    expect((await project.run("--input-type=commonjs", "--eval", required)).output).toBe(expected);
    const outfile = join(project.folder, `${call}.mjs`);
    await build({
      stdin: {
        contents: program
          .replaceAll(/const (\{.*\}) = await import\((.*)\);/g, "")
          .replace(/^/, importsOf(program)),
        resolveDir: project.folder,
      },
      bundle: true,
      minify: true,
      platform: "node",
      format: "esm",
      outfile,
      logLevel: "error",
      external: ["express", "amqplib", "graphql", "standardwebhooks"],
    });
    expect((await project.run(outfile)).output).toBe(expected);
  });

  it(`takes ${dependency} of its own version`, async () => {
    const { output } = await project.run("--input-type=module", "--eval", programOf(call));
    expect(output).toBe("no error\n");
  });
});

/** The dynamic imports of a program as static ones, from which a bundler leaves out what is not used. */
const importsOf = (program: string) =>
  [...program.matchAll(/const (\{.*\}) = await import\((.*)\);/g)]
    .map(([, imported, name]) => `import ${imported} from ${name};`)
    .join("\n");

describe("the command", () => {
  const bin = () => join(project.folderOf("workspace-tasks"), "bin/workspace-tasks.js");

  it("rejects a mock server of another version", async () => {
    await setOtherVersion(mockServer);
    const message = `workspace-tasks: ${messageOf("workspace-tasks", mockServer)}`;
    expect(await project.run(bin(), "mock")).toEqual({ code: 70, output: message });
    expect(await project.run(bin(), "--help")).toEqual({ code: 70, output: message });
  });

  it("prints its version whatever the others have", async () => {
    await setOtherVersion(mockServer);
    expect(await project.run(bin(), "--version")).toEqual({ code: 0, output: `${version}\n` });
  });

  it("says what a mock server misses whose events are of another version", async () => {
    await setOtherVersion(events);
    const { code, output } = await project.run(bin(), "mock");
    expect(output).toContain(messageOf(mockServer, events).trim());
    expect(code).toBe(1);
  });
});
