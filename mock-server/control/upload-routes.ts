import { z } from "zod";
import { id, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

export const uploadView = z.object({
  id,
  workspaceId: id,
  fileName: z.string(),
  fileType: z.string(),
  metadata: z.record(z.string(), z.string()).describe("As `Upload-Metadata` told it."),
  lengthBytes: z.int().nullable().describe("`null` until a deferred length is told."),
  offsetBytes: z.int().describe("Bytes that have come."),
  sha256: z.string().describe("Of the bytes that have come, in hex."),
  createdAt: time,
  completedAt: time.nullable(),
});

export const uploadRoutes = [
  defineRoute({
    method: "GET",
    path: "/uploads",
    summary: "All uploads, oldest first, and a checksum of what has come of each.",
    answer: z.object({ data: z.array(uploadView) }),
    run: (admin) => ({ data: admin.uploads() }),
  }),
];
