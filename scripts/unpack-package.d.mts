export declare function unpackPackage(project: string, others?: readonly string[]): string;
