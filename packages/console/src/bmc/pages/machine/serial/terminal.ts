/** The terminal that shows a serial console. */
import { FitAddon } from '@xterm/addon-fit';
import { SearchAddon } from '@xterm/addon-search';
import { Terminal } from '@xterm/xterm';
import { obeyStylePolicy } from './style-policy.js';

/** Lines above the screen: enough for the log of a boot (576 KiB at most) with lines of 30 bytes or more. */
const SCROLLBACK = 20_000;

/** Options of {@link openTerminal}. */
interface TerminalOptions {
  readonly parent: HTMLElement;
  readonly label: string;
  /** Called with what the user types, and with the terminal's answers to queries of the guest. */
  readonly onInput: (bytes: Uint8Array<ArrayBuffer>) => void;
  /** Called when the user leaves the terminal with Ctrl+F6 (back) or Ctrl+Shift+F6 (forward). */
  readonly onLeave: (direction: 'back' | 'forward') => void;
}

/** The terminal in the page. */
export interface SerialTerminal {
  /** Shows output. @param onShown called when it was processed. */
  write(bytes: Uint8Array, onShown: () => void): void;
  /** Shows a text of the service. */
  note(text: string): void;
  clear(): void;
  /** Enables or disables input. A disabled terminal does not answer queries of the guest either. */
  setWritable(isWritable: boolean): void;
  setScreenReader(isOn: boolean): void;
  /** Selects the next or the previous match of a text. @returns false without a match. */
  find(text: string, direction: 'next' | 'previous'): boolean;
  /** Returns the selected text; if nothing is selected, all text. */
  text(): string;
  readonly size: { readonly columns: number; readonly rows: number };
  focus(): void;
  dispose(): void;
}

/** Opens a terminal that fills its parent. */
export function openTerminal({ parent, label, onInput, onLeave }: TerminalOptions): SerialTerminal {
  const endPolicy = obeyStylePolicy();
  const terminal = new Terminal({
    scrollback: SCROLLBACK,
    fontFamily: 'ui-monospace, monospace',
    fontSize: 14,
    cursorBlink: true,
    // The guest writes the links and may be hostile, so a click never opens them.
    linkHandler: { activate: () => undefined },
    theme: { background: '#10151d', foreground: '#e5e9f0', selectionBackground: '#38507a' },
    minimumContrastRatio: 4.5,
  });
  const fit = new FitAddon();
  const search = new SearchAddon();
  terminal.loadAddon(fit);
  terminal.loadAddon(search);
  terminal.open(parent);
  terminal.textarea?.setAttribute('aria-label', label);
  const encoder = new TextEncoder();
  terminal.onData((text) => onInput(encoder.encode(text)));
  terminal.onBinary((text) => onInput(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.key !== 'F6' || !event.ctrlKey) return true;
    if (event.type === 'keydown') onLeave(event.shiftKey ? 'forward' : 'back');
    return false;
  });
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(parent);
  return {
    write: (bytes, onShown) => terminal.write(bytes, onShown),
    note: (text) => terminal.write(`\r\n\x1b[0;2m[${printable(text)}]\x1b[0m\r\n`),
    clear: () => terminal.reset(),
    setWritable: (isWritable) => (terminal.options.disableStdin = !isWritable),
    setScreenReader: (isOn) => (terminal.options.screenReaderMode = isOn),
    find: (text, direction) => (direction === 'next' ? search.findNext(text) : search.findPrevious(text)),
    text: () => selectedText(terminal),
    get size() {
      return { columns: terminal.cols, rows: terminal.rows };
    },
    focus: () => terminal.focus(),
    dispose() {
      resized.disconnect();
      terminal.dispose();
      endPolicy();
    },
  };
}

function selectedText(terminal: Terminal): string {
  if (terminal.hasSelection()) return terminal.getSelection();
  terminal.selectAll();
  const all = terminal.getSelection();
  terminal.clearSelection();
  return all.trimEnd();
}

/** Removes control characters: the text may contain a name from the host, and the name an escape sequence. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '');
}
