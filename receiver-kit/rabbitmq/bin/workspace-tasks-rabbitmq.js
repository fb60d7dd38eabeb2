#!/usr/bin/env node
import { readFileSync } from "node:fs";

// An older Node would fail with the name of a function that it does not have.
const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const oldest = engines.node.replace(">=", "");
if (process.version.slice(1).localeCompare(oldest, "en", { numeric: true }) < 0) {
  console.error(
    `workspace-tasks-rabbitmq: expected Node ${oldest} or newer, got ${process.version}; update Node`,
  );
  process.exitCode = 70;
} else {
  const { run } = await import("@workspace-tasks/receiver-rabbitmq/program");
  await run();
}
