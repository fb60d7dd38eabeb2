import type { DefaultTheme } from "vitepress";
import { packages } from "../../scripts/packages.ts";
import { overviewSections } from "./overview.ts";
import { pageOf, referenceFolder } from "./pages.ts";

/** The sections of the documentation's overview, and what is made for the site. */
export function sideBar(): DefaultTheme.SidebarItem[] {
  const groups = overviewSections().map(({ title, pages }) => ({
    ...(title && { text: title }),
    items: pages.flatMap(({ label, source }) => itemsFor(label, source)),
  }));
  return [...groups, { text: "API", items: apiPages() }];
}

function itemsFor(text: string, source: string): DefaultTheme.SidebarItem[] {
  const page = pageOf(source);
  return page ? [{ text, link: `/${page}` }] : [];
}

function apiPages(): DefaultTheme.SidebarItem[] {
  return packages.flatMap(({ name, entries }) =>
    entries
      .filter(({ isPublic }) => isPublic)
      .flatMap(({ path }) => {
        const text = path.replace(".", name).replace("@workspace-tasks/", "");
        return itemsFor(text, `${referenceFolder}/api/${text}.md`);
      }),
  );
}
