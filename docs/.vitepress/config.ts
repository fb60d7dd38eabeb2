import { join, relative } from "node:path";
import { defineConfig } from "vitepress";
import { root } from "../../scripts/packages.ts";
import { projectFiles } from "../../scripts/project-files.ts";
import { anchorOf } from "../../test/support/documents.ts";
import { extendMarkdown } from "./markdown.ts";
import { pageOf, referenceFolder } from "./pages.ts";
import { sideBar } from "./side-bar.ts";

/** `https://github.com/<owner>/<name>`: a release names it; sources and edit links are there. */
const repository = process.env["WORKSPACE_TASKS_REPOSITORY"];
const sourceOf = (file: string) => relative(root, file).replaceAll("\\", "/");

/** `docs/generate/site.ts` builds it into the site; while documents are shown as they change, there is none. */
const playground = { text: "Playground", link: "/playground/", target: "_self" };

/** On a narrow screen a script shows the side bar; without scripts it is above the page. */
const sideBarWithoutScript = `<style>.VPSidebar.VPSidebar { position: static; width: auto; max-width: none; opacity: 1;
visibility: visible; transform: none; box-shadow: none }</style>`;

/** These pages have tables of many columns, or the help of commands at its 80 columns. */
const widePages = ["docs/cli.md", "docs/mock-control-api.md", "docs/mock-limits.md", "docs/benchmarks.md"];

export default defineConfig({
  title: "workspace-tasks",
  description:
    "Client SDK, mock server and webhook receiver kit for the Workspace Task and Integration Service",
  lang: "en",
  head: [["noscript", {}, sideBarWithoutScript]],
  // Relative: the site may be in a folder of its host.
  base: "./",
  srcDir: "..",
  srcExclude: [
    "**/{node_modules,dist,.tmp}/**",
    ...projectFiles(root, ".md").filter((file) => !pageOf(file)),
    `${referenceFolder}/*.md`,
  ],
  rewrites: (source) => pageOf(source) ?? source,
  cacheDir: join(root, ".tmp/vitepress"),
  vite: { build: { chunkSizeWarningLimit: 4_000 } }, // The index of the search, which is loaded when one searches.
  // A side bar links to every page.
  router: { prefetchLinks: false },
  markdown: {
    anchor: { slugify: anchorOf },
    image: { lazyLoad: true },
    languageAlias: { layers: "txt" }, // of ARCHITECTURE.md
    config: (md) => extendMarkdown(md, sourceOf, repository),
  },
  transformPageData: ({ filePath }) => {
    const isMade = filePath.startsWith(`${referenceFolder}/`);
    if (!isMade && !widePages.includes(filePath)) return undefined;
    // A page without headings has no outline beside it.
    const aside = !filePath.endsWith("/mock-control-api.md");
    return { frontmatter: { pageClass: "wide", aside, ...(isMade && { editLink: false }) } };
  },
  themeConfig: {
    search: {
      provider: "local",
      // Guides come before lists of names. The function runs in the browser, without anything around it.
      options: {
        miniSearch: {
          searchOptions: {
            boostDocument: (id: string) =>
              /\/reference\/api\/|\/(?:benchmarks|changes|assumptions|compatibility)\.html|\/maintainers\//.test(
                id,
              )
                ? 0.2
                : 1,
          },
        },
      },
    },
    outline: [2, 3],
    sidebar: sideBar(),
    nav: [
      { text: "Documentation", link: "/documentation" },
      { text: "API", link: "/reference/api/sdk" },
      ...(process.argv.includes("build") ? [playground] : []),
    ],
    ...(repository && {
      editLink: { pattern: `${repository}/edit/main/:path`, text: "Edit this page" },
      socialLinks: [{ icon: "github", link: repository }],
    }),
  },
});
