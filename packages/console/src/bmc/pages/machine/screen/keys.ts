/** Keys with their X11 keysym and their place on the keyboard, and keys that browsers do not pass to a page. */

/** A key, as VNC sends it. */
export interface Key {
  readonly keysym: number;
  /** As in `KeyboardEvent.code`. QEMU uses it, unless the machine has a keyboard layout of its own. */
  readonly code: string;
}

/** Keys that are named, not typed as a character; also Space. */
export const keys = {
  Shift: { keysym: 0xffe1, code: 'ShiftLeft' },
  Ctrl: { keysym: 0xffe3, code: 'ControlLeft' },
  Alt: { keysym: 0xffe9, code: 'AltLeft' },
  AltGr: { keysym: 0xfe03, code: 'AltRight' },
  Win: { keysym: 0xffeb, code: 'MetaLeft' },
  Esc: { keysym: 0xff1b, code: 'Escape' },
  Tab: { keysym: 0xff09, code: 'Tab' },
  Enter: { keysym: 0xff0d, code: 'Enter' },
  Space: { keysym: 0x20, code: 'Space' },
  Backspace: { keysym: 0xff08, code: 'Backspace' },
  Del: { keysym: 0xffff, code: 'Delete' },
  Left: { keysym: 0xff51, code: 'ArrowLeft' },
  Up: { keysym: 0xff52, code: 'ArrowUp' },
  Right: { keysym: 0xff53, code: 'ArrowRight' },
  Down: { keysym: 0xff54, code: 'ArrowDown' },
  Home: { keysym: 0xff50, code: 'Home' },
  End: { keysym: 0xff57, code: 'End' },
  PageUp: { keysym: 0xff55, code: 'PageUp' },
  PageDown: { keysym: 0xff56, code: 'PageDown' },
  Insert: { keysym: 0xff63, code: 'Insert' },
  Print: { keysym: 0xff61, code: 'PrintScreen' },
} as const satisfies Readonly<Record<string, Key>>;

const functionKey = (number: number): Key => ({ keysym: 0xffbd + number, code: `F${number}` });
const functionKeyNumbers = Array.from({ length: 12 }, (_none, index) => index + 1);

/** Ctrl+Alt+Del. */
export const ctrlAltDelete: readonly Key[] = [keys.Ctrl, keys.Alt, keys.Del];

/** Modifier keys, which apply to the next key. */
export const modifierNames = ['Ctrl', 'Alt', 'Shift', 'Win'] as const satisfies readonly (keyof typeof keys)[];
/** One of {@link modifierNames}. */
export type ModifierName = (typeof modifierNames)[number];

const { Esc, Tab, Enter, Backspace, Del, Left, Up, Right, Down, Home, End, PageUp, PageDown, Insert } = keys;
/** Keys that firmware needs, by their names. Most of them are not on soft keyboards. */
export const specialKeys: ReadonlyMap<string, Key> = new Map<string, Key>([
  ...Object.entries({ Esc, Tab, Left, Up, Down, Right, Enter, Backspace, Del }),
  ...functionKeyNumbers.map((number) => [`F${number}`, functionKey(number)] as const),
  ...Object.entries({ Home, End, PgUp: PageUp, PgDn: PageDown, Ins: Insert }),
]);

/** Keys and combinations that the user can select and send, by their names. */
export const combinations: ReadonlyMap<string, readonly Key[]> = new Map<string, readonly Key[]>([
  ['Esc', [keys.Esc]],
  ['Tab', [keys.Tab]],
  ['Win', [keys.Win]],
  ['Print', [keys.Print]],
  ['Alt+Tab', [keys.Alt, keys.Tab]],
  ['Ctrl+Esc', [keys.Ctrl, keys.Esc]],
  ['Alt+Print', [keys.Alt, keys.Print]],
  ['Ctrl+Alt+Backspace', [keys.Ctrl, keys.Alt, keys.Backspace]],
  ...functionKeyNumbers.map((number) => [`F${number}`, [functionKey(number)]] as const),
  ['Alt+F4', [keys.Alt, functionKey(4)]],
  ...functionKeyNumbers.map((number) => [`Ctrl+Alt+F${number}`, [keys.Ctrl, keys.Alt, functionKey(number)]] as const),
]);
