/** The proxy is not built yet; this package keeps its place in the workspace. */
export {};
