import { render } from "preact";
import { App } from "./app.tsx";
import { startLive } from "./store.ts";

const root = document.getElementById("page");
if (root) {
  startLive("v1/stream");
  render(<App />, root);
}
