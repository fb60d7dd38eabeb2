// What the documentation site makes of documents. test/system/browser/site.test.ts looks at the built site.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandsFor } from "../../../docs/.vitepress/commands-for.ts";
import { overviewSections } from "../../../docs/.vitepress/overview.ts";
import { pageOf, siteLink } from "../../../docs/.vitepress/pages.ts";
import { deadAnchors } from "../../../docs/generate/built-links.ts";
import { projectFiles } from "../../../scripts/project-files.ts";
import { withFolder } from "../../support/with-folder.ts";

const repository = "https://code.example/owner/name";

describe("a link of a document", () => {
  it.each([
    ["docs/webhooks.md", "production.md#sqlite", "/production.md#sqlite"],
    ["docs/webhooks.md", "../README.md", "/index.md"],
    ["docs/recipes/serverless.md", "../../receiver-kit/README.md", "/packages/receiver-kit.md"],
    ["README.md", "docs/README.md", "/documentation.md"],
    ["README.md", "https://www.standardwebhooks.com", "https://www.standardwebhooks.com"],
    ["README.md", "#install", "#install"],
  ])("of %s to %s leads to %s on the site", (source, href, expected) => {
    expect(siteLink(source, href)).toBe(expected);
  });

  it("a link to a source leads to the repository where a release has named it, and is text elsewhere", () => {
    expect(siteLink("README.md", "examples")).toBeUndefined();
    expect(siteLink("README.md", "examples", repository)).toBe(`${repository}/blob/main/examples`);
  });

  it("a link to a file that does not exist fails the build", () => {
    expect(() => siteLink("docs/sdk.md", "missing.md")).toThrow(
      "docs/sdk.md: the link missing.md leads to no file",
    );
  });
});

it("every page of the site but the API is in the documentation's overview", () => {
  const listed = new Set(overviewSections().flatMap(({ pages }) => pages.map(({ source }) => source)));
  const pages = projectFiles(".", ".md").filter(
    (file) => pageOf(file) && !file.startsWith("docs/playground/"),
  );
  expect(pages.filter((file) => !listed.has(file))).toEqual(["docs/README.md"]);
});

describe("commandsFor", () => {
  const commands = "npm install --save-dev workspace-tasks vitest\nnpx workspace-tasks mock\nnode a.mjs\n";

  it.each([
    ["npm", commands],
    ["pnpm", "pnpm add --save-dev workspace-tasks vitest\npnpm exec workspace-tasks mock\nnode a.mjs\n"],
    ["yarn", "yarn add --dev workspace-tasks vitest\nyarn workspace-tasks mock\nnode a.mjs\n"],
    ["bun", "bun add --dev workspace-tasks vitest\nbunx workspace-tasks mock\nnode a.mjs\n"],
  ] as const)("%s installs packages and runs their commands in its own way", (manager, expected) => {
    expect(commandsFor(manager, commands)).toBe(expected);
  });
});

describe("deadAnchors", () => {
  const found = (links: string) =>
    withFolder(async (folder) => {
      mkdirSync(join(folder, "guides"));
      writeFileSync(join(folder, "index.html"), '<h2 id="start">Start</h2>');
      writeFileSync(join(folder, "guides/a.html"), `<h2 id="own">Own</h2>${links}`);
      return deadAnchors(folder);
    });

  it("accepts links to headings of the same page and of others, and links to other servers", async () => {
    const links = ["#own", "../index.html#start", "../#start", "https://other.example/#any"];
    expect(await found(links.map((href) => `<a href="${href}">x</a>`).join(""))).toEqual([]);
  });

  it("finds a link to a heading that the page does not have", async () => {
    const links = '<a href="#none">x</a><a href="../index.html#none">x</a>';
    expect(await found(links)).toEqual([
      "guides/a.html: #none has no such heading",
      "guides/a.html: ../index.html#none has no such heading",
    ]);
  });
});
