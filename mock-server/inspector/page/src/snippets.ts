import curl from "./snippets/curl.txt?raw";
import receiver from "./snippets/receiver.txt?raw";
import sdk from "./snippets/sdk.txt?raw";

export interface SetupFacts {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly signingSecret: string;
}

export interface Snippet {
  readonly name: string;
  readonly text: string;
}

/** How to call the mock and how to receive from it; they work as they are. */
export function snippetsFor(facts: SetupFacts): readonly Snippet[] {
  const filled = (text: string) =>
    text.trim().replace(/\{\{(\w+)\}\}/g, (_, name: string) => facts[name as keyof SetupFacts]);
  return [
    { name: "curl", text: filled(curl) },
    { name: "SDK", text: filled(sdk) },
    { name: "Receiver", text: filled(receiver) },
  ];
}
