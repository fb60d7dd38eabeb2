export declare function projectFiles(root: string, ...endings: readonly string[]): readonly string[];
