import { describe, expect, it } from '@jest/globals';
import { parseYaml } from './yaml-document.js';
import type { YamlNode } from './yaml-node.js';
import { YamlBuilder, yamlParts } from './yaml-parts.js';

/**
 * Parses a text, splits its tree, and joins the parts again. Returns the tree, and the result of the builder
 * after each part.
 * @throws {Error} if the text is not valid.
 */
function joined(text: string) {
  const { root } = parseYaml(text, 'config.yaml');
  if (root === undefined) throw new Error('the text is not valid');
  const builder = new YamlBuilder('config.yaml');
  const results: (YamlNode | undefined)[] = [...yamlParts(root)].map((part) => builder.add(structuredClone(part)));
  return { root, results };
}

describe('the parts of a YAML tree', () => {
  it.each([
    ['an empty mapping', '{}'],
    ['scalars of each type', 'a: 1\nb: text\nc: yes\nd: ~\ne: .nan\nf: ""\n5: five\n'],
    ['nested and empty collections', 'a: [[], {}, [1, {b: [x]}]]\nc: {d: {}}\ne: last\n'],
    ['anchors and merges', 'a: &a {x: 1, y: [z]}\nb: {<<: *a, y: 2}\nc: *a\n'],
  ])('give the same tree when they are joined: %s', (_name, text) => {
    const { root, results } = joined(text);
    expect(results).toEqual([root]);
  });

  it('are more than 10 for a large tree, and only the last one completes it', () => {
    const { root, results } = joined(
      Array.from({ length: 3000 }, (_, index) => `k${index}: [${index}, {a: b}]`).join('\n'),
    );
    expect(results.length).toBeGreaterThan(10);
    expect(results.slice(0, -1).every((result) => result === undefined)).toBe(true);
    expect(results.at(-1)).toEqual(root);
  });
});
