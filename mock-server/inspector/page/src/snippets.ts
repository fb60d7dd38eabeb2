import curl from "./snippets/curl.txt?raw";
import receiver from "./snippets/receiver.txt?raw";
import sdk from "./snippets/sdk.txt?raw";

const templates = { curl, SDK: sdk, Receiver: receiver };

export type SnippetName = keyof typeof templates;

export const snippetNames = Object.keys(templates) as readonly SnippetName[];

/** How to call the mock, or how to receive from it; it works as it is. */
export const snippetOf = (name: SnippetName, facts: Readonly<Record<"baseUrl" | "apiKey", string>>): string =>
  templates[name].trim().replace(/\{\{(\w+)\}\}/g, (_, fact: string) => facts[fact as keyof typeof facts]);
