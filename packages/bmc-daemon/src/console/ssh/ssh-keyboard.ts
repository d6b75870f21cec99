/** Texts about the keyboard of a console, for SSH clients. */
import { keyboardTimes, type KeyboardStatus } from '../console-keyboard.js';

/** Returns the text about a change of the keyboard; null if the client needs none. */
export function changeText(before: KeyboardStatus, { holder, asker, isYours }: KeyboardStatus): string | null {
  if (isYours && asker !== null && asker !== before.asker) {
    const seconds = keyboardTimes.handOverMs / 1000;
    return `${asker} asks for the keyboard, and gets it in ${seconds} s. To hand it over: ~G or Ctrl-] G`;
  }
  if (isYours && !before.isYours && before.asker !== null) return 'you have the keyboard';
  if (before.isYours && !isYours && holder !== null) return `${holder} has the keyboard now`;
  return null;
}

/** Returns the answer to a client that asks for the keyboard. @param name the client's own name. */
export function askText({ holder, asker, isYours }: KeyboardStatus, name: string): string {
  if (isYours) return 'you have the keyboard';
  return asker === name ? `asked ${holder ?? ''} for the keyboard` : `${asker ?? ''} asks for the keyboard already`;
}

/** Returns the text for a client that types while another client has the keyboard. */
export function refusalText({ holder }: KeyboardStatus): string {
  return `${holder ?? 'another client'} has the keyboard. To ask for it: ~T or Ctrl-] T`;
}
