/**
 * The texts of both consoles. All pages and components import their texts from here, so this file selects the
 * language of a build (docs/internals/languages.md).
 */
export * from './en/index.js';
