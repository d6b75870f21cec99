/**
 * The titles of tests. A title continues the name of its suite, so it begins with its verb. A title
 * that begins with "of" or "that" hides the verb at its end. A title that begins with "and" has half
 * of its subject in the name of the suite. "is named" can mean "is reported" or "has the name".
 */
import { expect, it } from '@jest/globals';
import { repositoryFiles } from '../support/repository-files.js';

const TITLE =
  /(?:\b(?:it|test)(?:\.\w+)*|[\])>])\(\s*(['"`])((?:of|that|whose|where|and|or|(?:is|are) named)[ ,].*?)\1,/g;

const unclearTitles = (text: string): readonly string[] =>
  Array.from(text.matchAll(TITLE), ([, , title = '']) => title);

it('no title in the repository begins with a word that hides its verb', () => {
  const files = [...repositoryFiles('*.test.ts', '*.test.tsx')];
  expect(files.length).toBeGreaterThan(400);
  expect(files.flatMap(([file, text]) => unclearTitles(text).map((title) => `${file}: ${title}`))).toEqual([]);
});

it.each(['of', 'that', 'whose', 'where', 'and', 'or', 'is named', 'are named'])(
  'titles that begin with "%s" are found, in plain tests and behind tables',
  (word) => {
    const text = [
      `it('${word} a run ends', test);`,
      `it.concurrent('starts', test);`,
      `])(\n  "${word} is %s ends",\n  test);`,
      `it.each([1])('${word} it is %i', test);`,
      `it('origin and order are shown', test);`,
    ].join('\n');
    expect(unclearTitles(text)).toEqual([`${word} a run ends`, `${word} is %s ends`, `${word} it is %i`]);
  },
);
