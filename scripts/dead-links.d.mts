/** The relative links of the documents at `root`, pictures included, that lead to no file or no heading. */
export function deadLinks(root: string, documents: readonly string[]): readonly string[];
