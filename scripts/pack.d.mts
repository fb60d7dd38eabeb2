export declare function packPackages(folder: string): ReadonlyMap<string, string>;
export declare function unpackPackages(
  project: string,
  others?: readonly string[],
): ReadonlyMap<string, string>;
export declare function tarballName(of: {
  readonly name: string;
  readonly manifest: { readonly version: string };
}): string;
