import type { Line } from "../worker/messages.ts";

const linesMax = 2_000;
const tones: Readonly<Record<Line["kind"], string>> = {
  log: "calm",
  warn: "wait",
  error: "bad",
  result: "good",
};

export interface Output {
  clear(): void;
  add(line: Line): void;
}

/** The lines that a program prints. What they say is text, whatever it contains. */
export function createOutput(list: HTMLElement): Output {
  const item = ({ kind, text }: Line) => {
    const element = document.createElement("li");
    element.className = `tone-${tones[kind]}`;
    element.textContent = text;
    return element;
  };
  // What scrolls must be reached with the keyboard.
  list.tabIndex = 0;
  return {
    clear: () => list.replaceChildren(),
    add(line) {
      if (list.childElementCount >= linesMax) list.firstElementChild?.remove();
      const element = item(line);
      list.append(element);
      if (line.code !== undefined) void explain(element, line.code);
      list.scrollTop = list.scrollHeight;
    },
  };
}

async function explain(element: HTMLElement, code: string): Promise<void> {
  const { adviceFor } = await import("./error-advice.ts");
  const advice = adviceFor(code);
  if (advice === undefined) return;
  const line = document.createElement("p");
  line.textContent = `What to do: ${advice}`;
  element.append(line);
}
