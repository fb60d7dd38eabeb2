export interface PackageEntry {
  /** As in `exports`. */
  readonly path: string;
  /** From the folder of the package. */
  readonly source: string;
  /** In dist/, without its ending. */
  readonly out: string;
  readonly esmOnly: boolean;
  readonly isPublic: boolean;
}

export interface Package {
  /** From the root of the repository. */
  readonly folder: string;
  readonly name: string;
  readonly manifest: {
    readonly version: string;
    readonly exports: Readonly<Record<string, unknown>>;
    readonly dependencies?: Readonly<Record<string, string>>;
    readonly peerDependencies?: Readonly<Record<string, string>>;
    readonly devDependencies?: Readonly<Record<string, string>>;
  };
  readonly entries: readonly PackageEntry[];
}

export declare const root: string;
export declare const packages: readonly Package[];
/** @param path from the root of the repository */
export declare function readJson(path: string): unknown;
