/**
 * Translates the input of a soft keyboard into keys. Soft keyboards of phones send no useful `keydown`: they change
 * the text of a field, and correct what they have already typed.
 */

/** A change of the text by a soft keyboard: it deletes `removed` characters before the cursor, then types `text`. */
export interface Typed {
  readonly removed: number;
  readonly text: string;
}

/** The part of `InputEvent` that says what changed. */
type Change = Pick<InputEvent, 'inputType' | 'data'>;

/**
 * Returns a function that translates each `beforeinput` event of a field. A word that the keyboard still composes
 * arrives again and again with its complete text. The function compares this with the text of the previous event.
 */
export function softKeyboard(): (change: Change) => Typed {
  let composed = '';
  return ({ inputType, data }) => {
    if (inputType === 'insertCompositionText') {
      const before = Array.from(composed);
      const now = Array.from(data ?? '');
      let same = 0;
      while (same < before.length && before[same] === now[same]) same += 1;
      composed = data ?? '';
      return { removed: before.length - same, text: now.slice(same).join('') };
    }
    composed = '';
    if (inputType === 'insertLineBreak' || inputType === 'insertParagraph') return { removed: 0, text: '\n' };
    if (inputType.startsWith('delete')) return { removed: 1, text: '' };
    return { removed: 0, text: inputType.startsWith('insert') ? (data ?? '') : '' };
  };
}
