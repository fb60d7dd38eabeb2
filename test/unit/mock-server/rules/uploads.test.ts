import { expect, it } from "vitest";
import { appendToUpload, createUpload, uploadContent } from "../../../../mock-server/rules/uploads.ts";
import { createTestWorld } from "../../../support/mock-world.ts";

it("an upload in chunks of one byte is kept in few blocks, and large chunks are blocks of their own", () => {
  const { world } = createTestWorld();
  const upload = createUpload(world, "workspace", { lengthBytes: null, metadata: {} });
  for (let at = 0; at < 100_000; at++) appendToUpload(world, upload, Uint8Array.of(at % 256));
  expect(world.state.uploadContents.get(upload.id)?.length).toBe(2);
  for (let at = 0; at < 4; at++) appendToUpload(world, upload, new Uint8Array(65_536).fill(7));
  expect(world.state.uploadContents.get(upload.id)?.length).toBe(5);
  const content = uploadContent(world, upload.id);
  expect(content.length).toBe(100_000 + 4 * 65_536);
  expect([content[255], content[99_999], content.at(-1)]).toEqual([255, 99_999 % 256, 7]);
});
