import { toBase64 } from "@workspace-tasks/kernel/bytes.ts";
import * as z from "zod";
import { found } from "../rules/service-error.ts";
import { uploadContent } from "../rules/uploads.ts";
import { stateSchema } from "../state/records.ts";
import { listOf, shown, shownSchema } from "./fields.ts";
import { defineRoute } from "./route.ts";

const uploadSummary = shownSchema(stateSchema.shape.uploads.element);
const uploadDetail = uploadSummary.extend({ contentBase64: z.string().describe("The bytes received.") });

export const uploadRoutes = {
  listUploads: defineRoute("GET /uploads", {
    summary: "All uploads, oldest first.",
    response: listOf(uploadSummary),
    run: ({ worlds }) => ({ data: [...worlds.current.state.uploads.values()].map(shown) }),
  }),
  getUpload: defineRoute("GET /uploads/{id}", {
    summary: "One upload with the bytes received.",
    response: uploadDetail,
    run({ worlds }, uploadId) {
      const upload = found(worlds.current.state.uploads.get(uploadId), "Upload not found");
      return { ...shown(upload), contentBase64: toBase64(uploadContent(worlds.current, uploadId)) };
    },
  }),
};
