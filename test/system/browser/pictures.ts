// Pictures of the inspector for the ten questions of support/questions.ts, wide and narrow, light and dark; one look answers each:
// `npx tsx --conditions=workspace-tasks-source test/system/browser/pictures.ts <folder> [question]`
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { buildPage } from "./support/built-page.ts";
import { launchChromium } from "./support/chromium.ts";
import { InspectorPage } from "./support/inspector-page.ts";
import { questionsOf } from "./support/questions.ts";
import { createTroubledMock, makeTrouble } from "./support/troubled-mock.ts";

const [, , folder, chosen] = process.argv;
if (!folder) throw new Error("expected a folder for the pictures as the first argument");

/** The first attempts of `/slow` have timed out by then, and others run. */
const untilTimeoutMs = 12_000;
const widths = { 1440: 900, 1024: 768, 390: 844 };

mkdirSync(folder, { recursive: true });
buildPage();
await using troubled = await createTroubledMock();
await using browser = await launchChromium();
await makeTrouble(troubled);
await pause(untilTimeoutMs);
const questions = Object.entries(await questionsOf(troubled)).filter(([name]) => !chosen || name === chosen);
for (const [width, height] of Object.entries(widths)) {
  for (const colorScheme of ["light", "dark"] as const) {
    const size = { width: Number(width), height, colorScheme };
    await using inspector = await InspectorPage.open(browser, troubled.mock, size);
    for (const [name, { hash, shows }] of questions) {
      await inspector.go(hash);
      const answer = inspector.page.getByText(shows).filter({ visible: true }).first();
      await answer.waitFor();
      await answer.scrollIntoViewIfNeeded();
      await inspector.page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
    }
  }
}
