import { startPolling } from "@workspace-tasks/page-parts/state.ts";
import { render } from "preact";
import { App } from "./app.tsx";

/** How often what is shown is read again while the page is visible. */
const pollMs = 5_000;

const root = document.getElementById("page");
if (root) {
  startPolling(pollMs);
  render(<App />, root);
}
