import { toBase64 } from "@workspace-tasks/kernel/bytes.ts";
import * as z from "zod";
import { found } from "../rules/service-error.ts";
import { uploadContent } from "../rules/uploads.ts";
import type { UploadRecord } from "../state/records.ts";
import { isoTime, isoTimeOrNull } from "../time/duration.ts";
import { id, listOf, texts, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

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
    run: ({ worlds }) => ({ data: [...worlds.current.state.uploads.values()].map(viewUpload) }),
  }),
  getUpload: defineRoute("GET /uploads/{id}", {
    summary: "One upload with the bytes received.",
    response: uploadDetail,
    run({ worlds }, uploadId) {
      const upload = found(worlds.current.state.uploads.get(uploadId), "Upload not found");
      return { ...viewUpload(upload), contentBase64: toBase64(uploadContent(worlds.current, uploadId)) };
    },
  }),
};

const viewUpload = ({ createdAtMs, completedAtMs, ...upload }: UploadRecord) => ({
  ...upload,
  createdAt: isoTime(createdAtMs),
  completedAt: isoTimeOrNull(completedAtMs),
});
