const mimeTypes: ReadonlyMap<string, string> = new Map([
  ["pdf", "application/pdf"],
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["csv", "text/csv"],
  ["txt", "text/plain"],
  ["xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
]);

/** Guessed from the file extension. */
export const guessMimeType = (fileName: string): string =>
  mimeTypes.get(fileName.split(".").at(-1)?.toLowerCase() ?? "") ?? "application/octet-stream";
