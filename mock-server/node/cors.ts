import type { IncomingMessage, ServerResponse } from "node:http";

const methods = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Lets the page read this response, or send the request that it asks for. */
export function allowPage({ headers }: IncomingMessage, response: ServerResponse, origin: string): void {
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "origin");
  response.setHeader("access-control-expose-headers", "*");
  const requestHeaders = headers["access-control-request-headers"];
  if (requestHeaders !== undefined) response.setHeader("access-control-allow-headers", requestHeaders);
  response.setHeader("access-control-allow-methods", methods);
}

/** Whether a browser asks for permission before it sends the page's request. */
export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
