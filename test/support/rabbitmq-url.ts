import { inject } from "vitest";

/** `amqp://` URL of the server that all test files share; the first call starts it. */
export async function sharedRabbitmqUrl(): Promise<string> {
  const response = await fetch(inject("rabbitmqOrigin"));
  if (!response.ok) throw new Error(await response.text());
  const [url] = (await response.json()) as readonly [string];
  return url;
}
