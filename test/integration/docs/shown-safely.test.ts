import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

const root = new URL("../../../", import.meta.url).pathname;
const read = (file: string) => readFileSync(root + file, "utf8");

describe("what the documents show", () => {
  it("has no secret in an argument, which every user of the machine sees", () => {
    // docs/reference is generated: options of commands, not commands to type.
    const files = ["docs", "examples"]
      .flatMap((folder) => readdirSync(root + folder, { recursive: true }).map((file) => `${folder}/${file}`))
      .concat("README.md", "receiver-kit/README.md", "mock-server/README.md")
      .filter(
        (file) => /\.(md|ts|ya?ml)$/.test(file) && !/node_modules|\.vitepress|^docs\/reference\//.test(file),
      );
    expect(files).toContain("docs/check-receiver.md");
    const shows = (text: string) => /--(?:old-)?secret[ =][<w]/.test(text);
    expect(shows("check-receiver <url> --secret whsec_…")).toBe(true);
    expect(files.filter((file) => shows(read(file)))).toEqual([]);
  });

  it("meets the restricted standard of Kubernetes in every pod, which then has no token either", () => {
    const documents = parseAllDocuments(read("examples/deployment/kubernetes.yaml")).map((each) =>
      each.toJS(),
    );
    const pods = documents.flatMap(({ spec }) => (spec.template ? [spec.template.spec] : []));
    expect(pods).toHaveLength(2);
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      for (const { securityContext } of pod.containers) {
        expect(securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
        });
      }
    }
  });
});
