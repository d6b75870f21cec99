import { describe, expect, it } from '@jest/globals';
import * as en from './en/index.js';

/** All texts, as each language has them. The English ones are the model. */
type Texts = typeof en;

/** All languages by their tag (BCP 47). A language without a text is a compile error here. */
const languages = { en } satisfies Readonly<Record<string, Texts>>;

/** Returns the paths of the texts that a language does not have, or has empty. */
function missingTexts(model: object, language: object, path = ''): readonly string[] {
  const found = new Map<string, unknown>(Object.entries(language));
  return Object.entries(model).flatMap(([key, wanted]: [string, unknown]) => {
    const here = path === '' ? key : `${path}.${key}`;
    const text = found.get(key);
    if (typeof text !== typeof wanted || text === null || (text === '' && wanted !== '')) return [here];
    if (typeof wanted !== 'object' || wanted === null || typeof text !== 'object') return [];
    return missingTexts(wanted, text, here);
  });
}

describe('the languages', () => {
  it.each(Object.entries(languages))('have all texts: %s', (_tag, language) => {
    expect(missingTexts(en, language)).toEqual([]);
  });

  it('are incomplete without one text of a page', () => {
    const { override: _override, ...bootTexts } = en.bootTexts;
    // @ts-expect-error The texts of the tab Boot have no `override`, so this is no language.
    const language: Texts = { ...en, bootTexts };
    expect(missingTexts(en, language)).toEqual(['bootTexts.override']);
  });

  it('are incomplete without the name of a value', () => {
    const { Pxe: _pxe, ...targets } = en.bootTexts.targets;
    const language: Texts = { ...en, bootTexts: { ...en.bootTexts, targets } };
    expect(missingTexts(en, language)).toEqual(['bootTexts.targets.Pxe']);
  });
});
