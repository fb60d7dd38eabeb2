import "../style/tokens.css";
import "../style/elements.css";
import "../style/layout.css";
import { render } from "preact";
import { startLive } from "../state/store.ts";
import { App } from "./app.tsx";

const root = document.getElementById("page");
if (root) {
  startLive("v1/stream");
  render(<App />, root);
}
