/**
 * Rejects some unclear comments. "Starts it" has no noun before "it". "Not root:" does not say what is
 * not root. "Exits 1 above a goal" is wrong for a goal that is a minimum.
 */
import { expect, it } from '@jest/globals';
import { repositoryFiles } from '../support/repository-files.js';

const UNCLEAR =
  /(?:\/\/|^\s*#|\/\*\*(?:\s*\n\s*\*)?) (?:[A-Z][a-z]+s (?:it|them)\b|Not ).*|\bExits\s+(?:\* )?1 (?:above|below|over)\b.*/gm;

const unclearBeginnings = (text: string): readonly string[] =>
  Array.from(text.matchAll(UNCLEAR), ([found]) => found.trim());

it('no comment begins with "Not" or with a verb before "it" or "them", or says "Exits 1 above"', () => {
  const files = [
    ...repositoryFiles(
      '*.ts',
      '*.tsx',
      '*.js',
      '*.sh',
      '*.service',
      '*.py',
      ':!packages/daemon/test/house/comments.test.ts',
    ),
  ];
  expect(files.length).toBeGreaterThan(1500);
  expect(files.flatMap(([file, text]) => unclearBeginnings(text).map((found) => `${file}: ${found}`))).toEqual([]);
});

it.each([
  ['/** Starts it with a file. */', 1],
  ['/**\n * Closes them. */', 1],
  ['stop(); // Not root.', 1],
  ['# Ends it.', 1],
  [' * Exits 1 above a goal.', 1],
  [' * Starts a server. Exits\n * 1 over a goal.', 1],
  ['/** Starts the server, and ends it. */', 0],
  ['// Nothing else.', 0],
  [' * Exits 1 if it misses a goal.', 0],
])('%j has %i unclear beginnings', (text, count) => {
  expect(unclearBeginnings(text)).toHaveLength(count);
});
