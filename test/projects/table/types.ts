// The declarations of the packages, in each supported version of TypeScript and beside those of the ecosystem, and the types
// that other languages make of the schemas.
import { packages } from "../../../scripts/packages.ts";
import { knownEventNames } from "../../../sdk/events/catalog.ts";
import { exampleEvent } from "../../../sdk/events/example-event.ts";
import { installedBy, type Project, program, shellLinesOf, shownBy } from "../project.ts";

interface Setting {
  readonly file: string;
  readonly [option: string]: unknown;
}

const strictest = {
  module: "nodenext",
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
};

/** With the setting of the oldest supported programs, which TypeScript 7 no longer has. */
function settingsOf(version: string): Readonly<Record<string, Setting>> {
  const node = { file: "typed.ts", module: "commonjs", moduleResolution: "node", skipLibCheck: true };
  return {
    ...(version !== "latest" && {
      node: { ...node, ...(version === "6.0" && { ignoreDeprecations: "6.0" }) },
    }),
    bundler: { file: "typed.ts", module: "esnext", moduleResolution: "bundler", skipLibCheck: true },
    commonjs: { file: "typed.cts", module: "node16", skipLibCheck: true },
    // Before 5.4, the declarations of zod have errors.
    strictest: { file: "typed.mts", ...strictest, skipLibCheck: version === "5.2" },
    "without-node": { file: "without-node.mts", module: "nodenext", types: [], lib: ["es2022", "dom"] },
  };
}

const compile = (settings: Readonly<Record<string, Setting>>): Pick<Project, "files" | "run" | "prints"> => ({
  files: Object.fromEntries(
    Object.entries(settings).flatMap(([name, { file, ...options }]) => {
      const compilerOptions = { strict: true, noEmit: true, target: "es2022", types: ["node"], ...options };
      const source = file.startsWith("typed.") ? "typed.ts" : file;
      return [
        [`tsconfig.${name}.json`, JSON.stringify({ compilerOptions, files: [file] })],
        [file, program(source)],
      ];
    }),
  ),
  run: `${Object.keys(settings)
    .map((name) => `tsc -p tsconfig.${name}.json`)
    .join(" && ")} && echo compiled`,
  prints: /^compiled$/m,
});

const typescript = (version: string, quick = false): Project => ({
  part: "types",
  of: "typescript",
  install: [
    `typescript@${version}`,
    ...packages.map(({ name }) => name),
    ...["@types/node@20", "@opentelemetry/api"],
  ],
  ...compile(settingsOf(version)),
  ...(quick && { quick }),
});

const beside = (of: string, install: readonly string[], options: object = {}): Project => ({
  part: "types",
  of,
  install: ["typescript", "@types/node", ...install],
  ...compile({ strictest: { file: `beside-${of.replace(/.*\//, "")}.mts`, ...strictest, ...options } }),
});

export const types: readonly Project[] = [
  typescript("5.2", true),
  typescript("5.4"),
  typescript("5.7"),
  typescript("5.9"),
  typescript("6.0"),
  typescript("latest", true),
  beside("vitest", ["vitest@4", "@workspace-tasks/mock-server"]),
  beside("vitest", ["vitest", "@workspace-tasks/mock-server"]),
  beside("@types/aws-lambda", ["@types/aws-lambda", "@workspace-tasks/receiver-kit"]),
  otherLanguages(),
];

/** What the page makes of the schemas; Python reads each event with it, and none that it does not know. */
function otherLanguages(): Project {
  const page = "docs/recipes/other-languages.md";
  const heading = "Types of the events";
  const made = shellLinesOf(page, heading).filter((line) => !line.startsWith("npm install "));
  const check = `
for line in open("examples.txt", "rb"):
    event = read_event(line)
    print(type(event).__name__, getattr(event, "taskId", None))
print(read_event(b'{"event": "task.paused"}'), read_event(b'{"event": "task.running", "id": 1}'))
`;
  const examples = knownEventNames.map((name) => JSON.stringify(exampleEvent(name)));
  const printed = [
    ...["TaskRunning", "TaskCompleted", "TaskFailed", "SubtaskCompleted", "SubtaskFailed"].map(
      (type) => `${type} ${String(exampleEvent("task.running")["taskId"])}`,
    ),
    "DocumentsSynced None",
    "None None",
    "public class TaskCompleted {",
    "public partial class TaskCompleted",
  ];
  return {
    part: "types",
    of: "quicktype",
    how: "Pydantic, C# and Java",
    install: installedBy(page, heading),
    files: {
      "check.py": shownBy(page, "def read_event", heading) + check,
      "examples.txt": `${examples.join("\n")}\n`,
    },
    run: `(${[...made, "python3 check.py", "grep -ho 'public.* class TaskCompleted.*' events/*.java Events.cs"].join(" && ")})`,
    prints: new RegExp(printed.map((line) => `^\\s*${line}$`).join("[^]*"), "m"),
  };
}
