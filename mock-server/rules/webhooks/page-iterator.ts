// A cursor contains the id of the last item returned, not a position, and the items are in order of their ids. So
// a page neither repeats nor omits an item that exists throughout, whatever is created or deleted in between.

import { fromBase64, textOfUtf8, toBase64Url, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { badInput } from "../service-error.ts";

const lastIdPattern = /\n([0-9a-f-]{36})$/;

/** The cursor after `lastId` in the list of one workspace's endpoints. */
export const encodeIterator = (workspaceId: string, lastId: string): string =>
  toBase64Url(utf8(`webhook-endpoints\n${workspaceId}\n${lastId}`));

/**
 * The id after which the page starts.
 * @throws ServiceError BAD_USER_INPUT for a cursor that is malformed or belongs to another workspace
 */
export function decodeIterator(workspaceId: string, iterator: string): string {
  const text = textOfUtf8(fromBase64(iterator) ?? new Uint8Array());
  const lastId = lastIdPattern.exec(text)?.[1];
  // Encoding it again detects another workspace, and what a lenient base64 decoder ignores.
  if (lastId === undefined || encodeIterator(workspaceId, lastId) !== iterator)
    throw badInput("Invalid iterator");
  return lastId;
}
