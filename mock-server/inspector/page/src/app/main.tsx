import { startStream } from "@workspace-tasks/page-parts/state.ts";
import { render } from "preact";
import { transport } from "../state/mock.ts";
import { App } from "./app.tsx";

const root = document.getElementById("page");
if (root) {
  startStream(() => transport.openStream("v1/stream"));
  render(<App />, root);
}
