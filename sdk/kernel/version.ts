/** The version of every package, built into each; a test compares it with the manifests. */
export const version = "0.1.0";
