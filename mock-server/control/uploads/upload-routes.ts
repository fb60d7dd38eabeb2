import * as z from "zod";
import { id, listOf, texts, time } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";

const uploadSummary = z.object({
  id,
  workspaceId: id,
  fileName: z.string(),
  fileType: z.string(),
  metadata: texts.describe("From `Upload-Metadata`."),
  lengthBytes: z.int().nullable().describe("`null` while the length is deferred."),
  offsetBytes: z.int().describe("Bytes received."),
  createdAt: time,
  completedAt: time.nullable(),
});

const uploadDetail = uploadSummary.extend({ contentBase64: z.string().describe("The bytes received.") });

export const uploadRoutes = {
  listUploads: defineRoute("GET /uploads", {
    summary: "All uploads, oldest first.",
    response: listOf(uploadSummary),
  }),
  getUpload: defineRoute("GET /uploads/{id}", {
    summary: "One upload with the bytes received.",
    response: uploadDetail,
  }),
};
