/** Placeholder of the errors floor; filled with the package. */
export {};
