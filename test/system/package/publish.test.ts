// scripts/publish.mjs against a registry in this process, which speaks as much of npm's protocol as publishing needs.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { packages, root } from "../../../scripts/packages.ts";
import { RunningProgram } from "../../support/running-program.ts";

interface Document {
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
  readonly name: string;
  readonly versions: Readonly<
    Record<string, { readonly dist: { readonly integrity: string }; readonly repository?: unknown }>
  >;
}

let server: Server;
let folder: string;
let packed: string;
let documents = new Map<string, Document>();
let accepts = (_name: string) => true;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const name = decodeURIComponent((request.url ?? "").slice(1).replace(/\?.*/, ""));
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (request.method === "PUT") {
      const document = JSON.parse(await text(request)) as Document;
      if (!accepts(name)) return send(400, { error: "this registry is out of order" });
      documents.set(name, document);
      return send(201, { ok: true });
    }
    const found = documents.get(name);
    return found ? send(200, found) : send(404, { error: "Not found" });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  folder = mkdtempSync(join(tmpdir(), "workspace-tasks-registry-"));
  packed = await pack("tarballs", { WORKSPACE_TASKS_REPOSITORY: "https://example.com/a/b" });
}, 120_000);

afterEach(() => {
  documents = new Map();
  accepts = () => true;
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Packs as the first job of a release does. */
async function pack(into: string, env: Readonly<Record<string, string>>): Promise<string> {
  const tarballs = join(folder, into);
  using packing = new RunningProgram(["--import", "tsx", "scripts/pack.ts", tarballs], { env });
  const { code, output } = await packing.ended();
  expect(code, output).toBe(0);
  return tarballs;
}

/** Publishes as its second job does: from a folder without dependencies. */
async function publish(tarballs = packed) {
  const { port } = server.address() as AddressInfo;
  const registry = `http://127.0.0.1:${port}/`;
  const settings = join(folder, "npmrc");
  writeFileSync(settings, `registry=${registry}\n//127.0.0.1:${port}/:_authToken=token\nfetch-retries=0\n`);
  for (const file of ["publish.mjs", "capture.mjs"])
    cpSync(join(root, "scripts", file), join(folder, "scripts", file));
  using running = new RunningProgram([join(folder, "scripts/publish.mjs"), tarballs], {
    cwd: "/",
    env: { npm_config_userconfig: settings, npm_config_registry: registry },
  });
  return await running.ended();
}

const names = packages.map(({ name }) => name);
const positionOf = (name: string) => [...documents.keys()].indexOf(name);

describe("publishing", { timeout: 120_000 }, () => {
  it("publishing sends every package once, each after those that it depends on, with the repository and links that lead there", async () => {
    const { code, output } = await publish();
    expect(code, output).toBe(0);
    expect([...documents.keys()].sort()).toEqual([...names].sort());
    for (const { name, manifest } of packages) {
      const needed = Object.keys(manifest.dependencies ?? {}).filter((each) => names.includes(each));
      expect(needed.filter((each) => positionOf(each) > positionOf(name))).toEqual([]);
      const published = documents.get(name)?.versions[manifest.version];
      expect(published?.repository).toMatchObject({ url: "git+https://example.com/a/b.git" });
      const [attachment] = Object.values(documents.get(name)?._attachments ?? {});
      const tarball = join(folder, "published.tgz");
      writeFileSync(tarball, Buffer.from(attachment?.data ?? "", "base64"));
      const { stdout } = spawnSync("tar", ["-xzOf", tarball, "package/README.md"], { encoding: "utf8" });
      const targets = [...stdout.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
      expect(targets.length).toBeGreaterThan(0);
      expect(targets.filter((target) => !target?.startsWith("https://"))).toEqual([]);
    }
  });

  it("publishing that ended in the middle sends only what is missing when it is run again", async () => {
    accepts = (name) => name !== "@workspace-tasks/mock-server";
    const first = await publish();
    expect(first.code).toBe(1);
    expect(first.output).toContain("run this again");
    expect(documents.has("workspace-tasks")).toBe(false);
    const before = new Map(documents);
    accepts = () => true;
    expect((await publish()).code).toBe(0);
    expect([...documents.keys()].sort()).toEqual([...names].sort());
    for (const [name, document] of before) expect(documents.get(name)).toBe(document);
  });

  it("publishing sends nothing when the registry has the version of one package with another content", async () => {
    const [{ name, manifest } = { name: "", manifest: { version: "" } }] = packages.slice(-1);
    const dist = { integrity: "sha512-other", tarball: "http://127.0.0.1/none.tgz" };
    documents.set(name, {
      name,
      "dist-tags": { latest: manifest.version },
      versions: { [manifest.version]: { name, version: manifest.version, dist } },
    } as never);
    const { code, output } = await publish();
    expect(code).toBe(1);
    expect(output).toContain(`the registry has another ${manifest.version}; nothing was published`);
    expect([...documents.keys()]).toEqual([name]);
  });

  it("publishing ends before it sends anything when the tarballs do not name their repository, or there are none", async () => {
    const unnamed = await publish(await pack("unnamed", {}));
    expect(unnamed.code).toBe(1);
    expect(unnamed.output).toContain("pack with WORKSPACE_TASKS_REPOSITORY");
    const none = await publish(join(folder, "scripts"));
    expect(none.code).toBe(1);
    expect(none.output).toContain("expected tarballs in");
    expect(documents.size).toBe(0);
  });
});
