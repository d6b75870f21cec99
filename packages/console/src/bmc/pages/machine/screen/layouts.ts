/**
 * Finds the keys that write a text on a keyboard of the guest. VNC sends keys, not characters, so the
 * layout of the guest decides what a key means.
 */
import { keys, type Key } from './keys.js';
import { layoutData, layoutOf, places } from './layout-data.js';

/** The name of a layout. */
export type LayoutName = keyof typeof layoutData;
/** The names of all layouts. */
export const layoutNames = Object.keys(layoutData) as readonly LayoutName[]; // `layoutData` is a literal

/** Keys to press together, the last one after the others. */
type Chord = readonly Key[];

/**
 * Returns the chords for a text. A line end is Enter, and a tab is Tab.
 * @returns `chords`: for each character that the layout has, a list of one or two chords. A dead key needs two: its
 *   own, then Space. `untypable`: the other characters, each once.
 */
export function chordsOf(
  text: string,
  name: LayoutName,
): { readonly chords: readonly (readonly Chord[])[]; readonly untypable: readonly string[] } {
  const untypable = new Set<string>();
  const chords: (readonly Chord[])[] = [];
  for (const character of text.replaceAll(/\r\n?/g, '\n')) {
    const found = chordsOfCharacter(character, name);
    if (found === undefined) untypable.add(character);
    else chords.push(found);
  }
  return { chords, untypable: [...untypable] };
}

function chordsOfCharacter(character: string, name: LayoutName): readonly Chord[] | undefined {
  if (character === '\n') return [[keys.Enter]];
  if (character === '\t') return [[keys.Tab]];
  if (character === ' ') return [[keys.Space]];
  const { plain, shift, altGr = '', dead = '' } = layoutOf(name);
  const keysym = keysymOf(character);
  const alone = places[plain.indexOf(character)];
  if (alone !== undefined) return [[{ keysym, code: alone }]];
  const shifted = places[shift.indexOf(character)];
  if (shifted !== undefined) return [[keys.Shift, { keysym, code: shifted }]];
  const third = keyOf(altGr, character);
  if (third !== undefined) return [[keys.AltGr, { keysym, code: third }]];
  const [code, modifier] = keyOf(dead, character)?.split('+').reverse() ?? [];
  if (code === undefined) return undefined;
  const key = { keysym, code };
  return [modifier === 'Shift' || modifier === 'AltGr' ? [keys[modifier], key] : [key], [keys.Space]];
}

/** Returns the key of a character in a list such as `@KeyQ ~AltGr+BracketRight`; undefined: the list lacks it. */
function keyOf(list: string, character: string): string | undefined {
  return list
    .split(' ')
    .find((item) => item.startsWith(character))
    ?.slice(character.length);
}

/** Returns the keysym of a character: Latin-1 is its own code, others are in the range for Unicode. */
function keysymOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? code : 0x01000000 + code;
}
