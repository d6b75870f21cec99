/** The screen of a machine: noVNC over a WebSocket that connects again after a loss. */
import RFB from '@novnc/novnc';
import { signal } from '@preact/signals';
import { WebSocketLink } from '../../../redfish/web-socket-link.js';
import type { Key } from './keys.js';

/** Options of {@link VncScreen}. */
interface VncScreenOptions {
  /** The machine's URI. */
  readonly machine: string;
  /** The element that contains the picture. */
  readonly parent: HTMLElement;
  /** The name of the picture for screen readers. */
  readonly label: string;
  readonly isViewOnly: boolean;
  /** Called when the user leaves the screen with Ctrl+F6 (back) or Ctrl+Shift+F6 (forward). */
  readonly onLeave: (direction: 'back' | 'forward') => void;
}

/** Pause after each typed chord, in milliseconds. The keyboard of a guest holds only 16 events, and loses others. */
const TYPING_MS = 30;

/** Keys that the user presses together with F6 to leave the screen. */
const MODIFIERS: readonly Key[] = [
  { keysym: 0xffe3, code: 'ControlLeft' },
  { keysym: 0xffe4, code: 'ControlRight' },
  { keysym: 0xffe1, code: 'ShiftLeft' },
  { keysym: 0xffe2, code: 'ShiftRight' },
];

/** The connection with its picture. */
export class VncScreen {
  readonly link: WebSocketLink;
  readonly isFitted = signal(true);
  readonly isViewOnly;
  readonly #options: VncScreenOptions;
  #rfb: RFB | null = null;

  constructor(options: VncScreenOptions) {
    this.#options = options;
    this.isViewOnly = signal(options.isViewOnly);
    const { machine, parent, onLeave } = options;
    this.link = new WebSocketLink({
      machine,
      path: `${machine}/GraphicalConsole`,
      onSocket: (socket) => this.#show(socket),
      onClose: () => (this.#rfb = null),
    });
    // Listens before noVNC, which sends all keys to the machine.
    parent.addEventListener(
      'keydown',
      (event) => {
        if (event.key !== 'F6' || !event.ctrlKey) return;
        event.stopImmediatePropagation();
        event.preventDefault();
        // noVNC does not see the release of these keys, because another element has the focus then.
        for (const { keysym, code } of MODIFIERS) this.#rfb?.sendKey(keysym, code, false);
        onLeave(event.shiftKey ? 'forward' : 'back');
      },
      { capture: true },
    );
    this.link.connect();
  }

  /** Presses keys together, and releases them. Does nothing without a connection, and while the screen is view-only. */
  press(chord: readonly Key[]): void {
    for (const { keysym, code } of chord) this.#rfb?.sendKey(keysym, code, true);
    for (const { keysym, code } of chord.toReversed()) this.#rfb?.sendKey(keysym, code, false);
  }

  /**
   * Types characters one after the other, until the signal aborts or the connection is lost.
   * @param characters the chords of each character.
   * @param onTyped called after each character with the number of typed characters.
   */
  async type(
    characters: readonly (readonly (readonly Key[])[])[],
    onTyped: (count: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (const [index, chords] of characters.entries()) {
      for (const chord of chords) {
        if (signal.aborted || this.link.state.value.kind !== 'open') return;
        this.press(chord);
        await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
      }
      onTyped(index + 1);
    }
  }

  fit(isFitted: boolean): void {
    this.isFitted.value = isFitted;
    if (this.#rfb !== null) this.#rfb.scaleViewport = isFitted;
  }

  setViewOnly(isViewOnly: boolean): void {
    this.isViewOnly.value = isViewOnly;
    if (this.#rfb !== null) this.#rfb.viewOnly = isViewOnly;
  }

  /** Returns the picture as a PNG file; null: there is none. */
  async screenshot(): Promise<Blob | null> {
    const rfb = this.#rfb;
    return rfb === null ? null : await new Promise((resolve) => rfb.toBlob(resolve, 'image/png'));
  }

  focus(): void {
    this.#rfb?.focus({ preventScroll: true });
  }

  close(): void {
    this.link.close();
    this.#rfb?.disconnect();
  }

  #show(socket: WebSocket): void {
    const { parent, label } = this.#options;
    const rfb = new RFB(parent, socket);
    rfb.background = 'transparent';
    rfb.scaleViewport = this.isFitted.value;
    rfb.viewOnly = this.isViewOnly.value;
    const canvas = parent.querySelector('canvas');
    canvas?.setAttribute('role', 'img');
    canvas?.setAttribute('aria-label', label);
    if (canvas !== null) canvas.tabIndex = 0;
    rfb.addEventListener('connect', () => {
      this.link.markOpen();
      this.link.resetRetryTime();
    });
    this.#rfb = rfb;
  }
}
