import { expect, it } from '@jest/globals';
import { softKeyboard } from './soft-keyboard.js';

it('a soft keyboard types what is inserted, and translates Enter and Backspace', () => {
  const translate = softKeyboard();
  expect(translate({ inputType: 'insertText', data: 'ab' })).toEqual({ removed: 0, text: 'ab' });
  expect(translate({ inputType: 'insertLineBreak', data: null })).toEqual({ removed: 0, text: '\n' });
  expect(translate({ inputType: 'insertParagraph', data: null })).toEqual({ removed: 0, text: '\n' });
  expect(translate({ inputType: 'deleteContentBackward', data: null })).toEqual({ removed: 1, text: '' });
  expect(translate({ inputType: 'formatBold', data: null })).toEqual({ removed: 0, text: '' });
});

it('a soft keyboard types a word once while the user composes it, and corrects what changes', () => {
  const translate = softKeyboard();
  const compose = (data: string) => translate({ inputType: 'insertCompositionText', data });
  expect([compose('r'), compose('ro'), compose('roo')].map(({ text }) => text)).toEqual(['r', 'o', 'o']);
  expect(compose('ro')).toEqual({ removed: 1, text: '' });
  expect(compose('root')).toEqual({ removed: 0, text: 'ot' });
  // The keyboard replaces the word by its suggestion.
  expect(compose('rest')).toEqual({ removed: 3, text: 'est' });
  // The space ends the word, so the console does not compare the next word with it.
  expect(translate({ inputType: 'insertText', data: ' ' })).toEqual({ removed: 0, text: ' ' });
  expect(compose('re')).toEqual({ removed: 0, text: 're' });
});
