// The files for operators, as the programs read them that they are for.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { verifyUnit } from "../../support/debian-programs.ts";
import { missingProgram } from "../../support/shared-server.ts";
import { withFolder } from "../../support/with-folder.ts";

// biome-ignore lint/suspicious/noExplicitAny: what is missing in a file fails the test that reads it
type Loose = any;

const manifests = readFileSync("examples/deployment/kubernetes.yaml", "utf8");
const objectsOf = (text: string): readonly Loose[] => parseAllDocuments(text).map((each) => each.toJS());

/** What Kubernetes would reject in each text, by its own types: unknown fields, missing ones, and values of another type. */
function problemsOf(...texts: readonly string[]): readonly string[] {
  const sources = new Map(
    texts.map((text, index) => [join(process.cwd(), `manifests-${index}.ts`), typedObjects(text)]),
  );
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    types: [],
    skipLibCheck: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, version, ...others) => {
    const source = sources.get(name);
    if (source === undefined) return getSourceFile.call(host, name, version, ...others);
    return ts.createSourceFile(name, source, version);
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  return [...sources.keys()].map((file) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))
      .join("\n"),
  );
}

const typedObjects = (text: string) =>
  objectsOf(text)
    .map((object, index) => {
      const { apiVersion, kind } = object;
      const module = `kubernetes-types/${apiVersion === "v1" ? "core/v1" : apiVersion}.js`;
      return `import type { ${kind} as Kind${index} } from "${module}";
export const object${index}: Kind${index} = ${JSON.stringify(object, null, 1)};`;
    })
    .join("\n");

/** What the Pod Security Standard `restricted` asks for and a pod does not have. */
function unrestricted(pod: Loose): readonly string[] {
  const { securityContext: own = {}, containers, initContainers = [], volumes = [] } = pod;
  const problems: string[] = [];
  const require = (holds: boolean, what: string) => {
    if (!holds) problems.push(what);
  };
  for (const name of ["hostNetwork", "hostPID", "hostIPC"]) require(!pod[name], name);
  const volumeKinds = ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"];
  for (const { name: _, ...kind } of volumes) {
    const allowed = [...volumeKinds, "projected", "secret"];
    require(Object.keys(kind).every((each) => allowed.includes(each)), "volumes");
  }
  for (const { securityContext = {}, ports = [] } of [...containers, ...initContainers]) {
    const context = { ...own, ...securityContext };
    require(context.runAsNonRoot === true, "runAsNonRoot");
    require(context.runAsUser !== 0, "runAsUser");
    require(["RuntimeDefault", "Localhost"].includes(context.seccompProfile?.type), "seccompProfile");
    require(context.allowPrivilegeEscalation === false, "allowPrivilegeEscalation");
    require(!context.privileged, "privileged");
    require(context.capabilities?.drop?.includes("ALL") === true, "capabilities.drop");
    const added: readonly string[] = context.capabilities?.add ?? [];
    require(added.every((each) => each === "NET_BIND_SERVICE"), "capabilities.add");
    require(ports.every(({ hostPort }: Loose) => !hostPort), "hostPort");
  }
  return problems;
}

describe("kubernetes.yaml", () => {
  it("has the fields that Kubernetes knows, with values of their types", () => {
    expect(objectsOf(manifests).map(({ kind }) => kind)).toEqual(["Job", "Deployment", "Service"]);
    expect(problemsOf(manifests)).toEqual([""]);
  });

  it("would be noticed with a misspelt or misplaced field, a value of another type, or without a name", () => {
    const mistakes: readonly (readonly [before: string, after: string, problem: string])[] = [
      ["failureThreshold: 1\n", "failureTreshold: 1\n", "failureTreshold"],
      ["backoffLimit: 3", "restartPolicy: Never", "restartPolicy"],
      ["replicas: 2", 'replicas: "2"', "number"],
      ['value: "3000"', "value: 3000", "string"],
      ["- name: migrate\n          image", "- image", "name"],
    ];
    for (const [before] of mistakes) expect(manifests).toContain(before);
    const found = problemsOf(...mistakes.map(([before, after]) => manifests.replace(before, after)));
    for (const [index, [, , problem]] of mistakes.entries()) expect(found[index]).toContain(problem);
  });

  const pods = (text: string) =>
    objectsOf(text).flatMap(({ spec }) => (spec.template ? [spec.template.spec] : []));
  it("has pods that the Pod Security Standard restricted admits", () => {
    expect(pods(manifests)).toHaveLength(2);
    expect(pods(manifests).flatMap(unrestricted)).toEqual([]);
  });

  it.each([
    ["runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"],
    ["runAsUser: 1000", "runAsUser: 0", "runAsUser"],
    ["seccompProfile: { type: RuntimeDefault }", "hostNetwork: true", "seccompProfile"],
    ["allowPrivilegeEscalation: false", "privileged: true", "privileged"],
    ["drop: [ALL]", "drop: [CHOWN]", "capabilities.drop"],
    ["capabilities: { drop", "capabilities: { add: [SYS_TIME], drop", "capabilities.add"],
    ["containerPort: 3000", "containerPort: 3000, hostPort: 3000", "hostPort"],
  ])("%j in place of %j would not be admitted", (before, after, problem) => {
    expect(pods(manifests.replace(before, after)).flatMap(unrestricted)).toContain(problem);
  });
});

describe.skipIf((await missingProgram("systemd")) !== undefined)("webhooks.service", () => {
  const unit = readFileSync("examples/deployment/webhooks.service", "utf8");
  const verify = (text: string) =>
    withFolder(async (folder) => {
      writeFileSync(join(folder, "webhooks.service"), text);
      return verifyUnit(join(folder, "webhooks.service"));
    });

  it("is accepted by systemd", async () => {
    expect(await verify(unit)).toBe("");
  });

  it.each([
    ["a misspelt name", "NoNewPrivileges=", "NoNewPriviliges=", "NoNewPriviliges"],
    ["a wrong value", "Restart=always", "Restart=allways", "allways"],
    ["a program without a path", "/usr/bin/env node server.mjs", "./server.mjs", "server.mjs"],
    ["a section that does not exist", "[Install]", "[Instal]", "Instal"],
  ])("%s would be noticed", async (_, before, after, problem) => {
    expect(unit).toContain(before);
    expect(await verify(unit.replace(before, after))).toContain(problem);
  });
});
