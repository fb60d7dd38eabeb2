import { defineConfig } from "vite";
import { pageConfig } from "../../../scripts/build-page.ts";

export default defineConfig(pageConfig(import.meta.dirname, "../../dist/page"));
