import "../style/tokens.css";
import "../style/elements.css";
import "../style/layout.css";
import { render } from "preact";
import { startLive } from "../state/store.ts";
import { restoreTimeZone } from "../text/stored-time-zone.ts";
import { App } from "./app.tsx";

const root = document.getElementById("page");
if (root) {
  restoreTimeZone();
  startLive("v1/stream");
  render(<App />, root);
}
