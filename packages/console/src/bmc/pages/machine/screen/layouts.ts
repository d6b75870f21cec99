/**
 * Finds the keys that write a text on a keyboard of the guest. VNC sends keys, not characters, so the
 * layout of the guest decides what a key means.
 */
import { keys, type Key } from './keys.js';

/** Keyboard layouts. */
export const layoutNames = ['us', 'gb', 'de', 'fr'] as const;
/** The name of a layout. */
export type LayoutName = (typeof layoutNames)[number];

/** The places of the keys with characters, row by row. The key beside the left Shift exists in Europe. */
const places = [
  'Backquote Digit1 Digit2 Digit3 Digit4 Digit5 Digit6 Digit7 Digit8 Digit9 Digit0 Minus Equal',
  'KeyQ KeyW KeyE KeyR KeyT KeyY KeyU KeyI KeyO KeyP BracketLeft BracketRight Backslash',
  'KeyA KeyS KeyD KeyF KeyG KeyH KeyJ KeyK KeyL Semicolon Quote',
  'IntlBackslash KeyZ KeyX KeyC KeyV KeyB KeyN KeyM Comma Period Slash',
]
  .join(' ')
  .split(' ');

/** The characters of all places: alone, with Shift, and with AltGr. A space: none, or a dead key. */
interface Layout {
  readonly plain: string;
  readonly shift: string;
  readonly altGr?: Readonly<Record<string, string>>;
  /** Dead keys, which write their character before a space. True: with Shift. */
  readonly dead?: Readonly<Record<string, readonly [place: string, hasShift: boolean]>>;
}

const layouts: Readonly<Record<LayoutName, Layout>> = {
  us: {
    plain: "`1234567890-=qwertyuiop[]\\asdfghjkl;' zxcvbnm,./",
    shift: '~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:" ZXCVBNM<>?',
  },
  gb: {
    plain: "`1234567890-=qwertyuiop[]#asdfghjkl;'\\zxcvbnm,./",
    shift: '¬!"£$%^&*()_+QWERTYUIOP{}~ASDFGHJKL:@|ZXCVBNM<>?',
    altGr: { '€': 'Digit4' },
  },
  de: {
    plain: ' 1234567890ß qwertzuiopü+#asdfghjklöä<yxcvbnm,.-',
    shift: `°!"§$%&/()=? QWERTZUIOPÜ*'ASDFGHJKLÖÄ>YXCVBNM;:_`,
    altGr: {
      ...{ '@': 'KeyQ', '€': 'KeyE', µ: 'KeyM', '²': 'Digit2', '³': 'Digit3', '{': 'Digit7', '[': 'Digit8' },
      ...{ ']': 'Digit9', '}': 'Digit0', '\\': 'Minus', '~': 'BracketRight', '|': 'IntlBackslash' },
    },
    dead: { '^': ['Backquote', false], '´': ['Equal', false], '`': ['Equal', true] },
  },
  fr: {
    plain: `²&é"'(-è_çà)=azertyuiop $*qsdfghjklmù<wxcvbn,;:!`,
    shift: ' 1234567890°+AZERTYUIOP £µQSDFGHJKLM%>WXCVBN?./§',
    altGr: {
      ...{ '~': 'Digit2', '#': 'Digit3', '{': 'Digit4', '[': 'Digit5', '|': 'Digit6', '`': 'Digit7', '\\': 'Digit8' },
      ...{ '^': 'Digit9', '@': 'Digit0', ']': 'Minus', '}': 'Equal', '€': 'KeyE' },
    },
    dead: { '¨': ['BracketLeft', true] },
  },
};

/** Keys to press together, the last one after the others. */
type Chord = readonly Key[];

/**
 * Returns the chords for each character of a text. A line feed is Enter.
 * @returns `chords`, and the characters without keys in this layout, each once.
 */
export function chordsOf(
  text: string,
  name: LayoutName,
): { readonly chords: readonly (readonly Chord[])[]; readonly untypable: readonly string[] } {
  const untypable = new Set<string>();
  const chords: (readonly Chord[])[] = [];
  for (const character of text.replaceAll(/\r\n?/g, '\n')) {
    const found = chordsOfCharacter(character, layouts[name]);
    if (found === undefined) untypable.add(character);
    else chords.push(found);
  }
  return { chords, untypable: [...untypable] };
}

function chordsOfCharacter(character: string, { plain, shift, altGr, dead }: Layout): readonly Chord[] | undefined {
  if (character === '\n') return [[keys.Enter]];
  if (character === '\t') return [[keys.Tab]];
  if (character === ' ') return [[keys.Space]];
  const keysym = keysymOf(character);
  const alone = places[plain.indexOf(character)];
  if (alone !== undefined) return [[{ keysym, code: alone }]];
  const shifted = places[shift.indexOf(character)];
  if (shifted !== undefined) return [[keys.Shift, { keysym, code: shifted }]];
  const third = altGr?.[character];
  if (third !== undefined) return [[keys.AltGr, { keysym, code: third }]];
  const deadKey = dead?.[character];
  if (deadKey === undefined) return undefined;
  const [code, hasShift] = deadKey;
  return [hasShift ? [keys.Shift, { keysym, code }] : [{ keysym, code }], [keys.Space]];
}

/** Returns the keysym of a character: Latin-1 is its own code, others are in the range for Unicode. */
function keysymOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? code : 0x01000000 + code;
}
