import { samples } from "../samples/samples.ts";
import { createEditor } from "./editor.ts";
import { createOutput } from "./output.ts";
import { createWorld } from "./world.ts";
import "./page.css";

const byId = <Type extends HTMLElement>(id: string) => document.getElementById(id) as Type;
const [runButton, stopButton] = [byId<HTMLButtonElement>("run"), byId<HTMLButtonElement>("stop")];
const newWorld = byId<HTMLInputElement>("new-world");
const inspector = byId<HTMLIFrameElement>("inspector");
const output = createOutput(byId("output"));
const editor = createEditor(byId("editor"), () => void run());
const stopped = "Stopped: the worker of the program was ended, with its world. This is a new world.";

/** The page in the frame needs a port of each new mock, and another one when it is loaded again. */
const connectInspector = () =>
  inspector.contentWindow?.postMessage("connect", location.origin, [world.connect()]);
const world = createWorld({ onLine: output.add, onStart: connectInspector });
inspector.addEventListener("load", connectInspector);
inspector.src = "./inspector/index.html";

let isRunning = false;
let hasRun = false;
const say = (text: string) => {
  byId("status").textContent = text;
};
const setRunning = (running: boolean) => {
  isRunning = running;
  runButton.disabled = running;
  stopButton.disabled = !running;
};

async function run(): Promise<void> {
  if (isRunning) return;
  if (hasRun && newWorld.checked) world.replace("");
  hasRun = true;
  output.clear();
  setRunning(true);
  say("The program runs.");
  try {
    await world.run(editor.text());
    say("The program has ended.");
  } catch (error) {
    hasRun = false;
    say(error instanceof Error ? error.message : String(error));
  }
  setRunning(false);
}

runButton.addEventListener("click", () => void run());
stopButton.addEventListener("click", () => world.replace(stopped));

const show = (index: number) => {
  editor.show(samples[index]?.code ?? "");
  for (const [at, button] of buttons.entries()) button.ariaPressed = String(at === index);
};
const buttons = samples.map(({ title }, index) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = title;
  button.addEventListener("click", () => show(index));
  return button;
});
for (const button of buttons) {
  const item = document.createElement("li");
  item.append(button);
  byId("samples").append(item);
}
show(0);
