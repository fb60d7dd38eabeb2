export declare function isBuilt(): boolean;
