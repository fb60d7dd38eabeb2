// The API reference of the site: every export of every public entry point with its doc comment, a page per entry point.
import { Application, type ProjectReflection } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import { type EntryPoint, entryPoints } from "../../test/support/public-exports.ts";

const layout: Partial<PluginOptions> = {
  outputFileStrategy: "modules",
  entryFileName: "index",
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCustomAnchors: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  pageTitleTemplates: {
    index: () => "API reference",
    module: ({ name }) => specifierOf(name),
    member: ({ name }) => name,
  },
};

/** @param folder from the root of the repository. @throws when a source cannot be read, with the reason in the output */
export async function writeApiReference(folder: string): Promise<void> {
  const options = {
    plugin: ["typedoc-plugin-markdown"],
    tsconfig: "docs/generate/api.tsconfig.json",
    entryPoints: entryPoints().map(({ source }) => source),
    outputs: [{ name: "markdown", path: folder }],
    // Types are checked elsewhere.
    skipErrorChecking: true,
    validation: false,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    disableSources: true,
    readme: "none",
    groupOrder: ["Functions", "Variables", "Interfaces", "Type Aliases", "Classes", "*"],
    logLevel: "Warn" as const,
    ...layout,
  };
  const app = await Application.bootstrapWithPlugins(options);
  const project = await app.convert();
  if (!project) throw new Error("TypeDoc could not read the entry points; the reason is above");
  nameModules(project);
  await app.generateOutputs(project);
}

const specifierOf = (name: string) =>
  name.startsWith("workspace-tasks/") ? name : `@workspace-tasks/${name}`;

/** A module is named as it is imported, without the scope: addresses of pages have these names. */
function nameModules({ children = [] }: ProjectReflection): void {
  const bySource = new Map(
    entryPoints().map((entry) => [entry.source.replace(/(?:\/index)?\.ts$/, ""), entry]),
  );
  for (const module of children) {
    const { specifier } = bySource.get(module.name) as EntryPoint;
    module.name = specifier.replace("@workspace-tasks/", "");
  }
}
