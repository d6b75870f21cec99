/**
 * What is typed, and what is meant for the console service itself: `~` at the start of a line, as with OpenSSH and cu, or Ctrl-] anywhere, for
 * OpenSSH's own client takes `~.` for itself where it has a terminal.
 */

export type EscapeAction = 'leave' | 'help' | 'break';

export type Typed = { readonly bytes: Buffer } | { readonly action: EscapeAction };

const TILDE = 0x7e;
const BRACKET = 0x1d; // Ctrl-]
const CR = 0x0d;
const LF = 0x0a;
const ESC = 0x1b;

const actions: ReadonlyMap<number, EscapeAction> = new Map([
  [0x2e, 'leave'], // .
  [0x3f, 'help'], // ?
  [0x42, 'break'], // B
]);

/**
 * What a terminal answers by itself when a shell asks where its cursor is (ECMA-48 CPR: ESC [ row ; column R), as busybox's does at each
 * prompt: nobody has typed it, so the line is as empty as it was.
 */
const CURSOR_REPORT = /^(?:\[[\d;]{0,9}R?)?$/;

/** Reads on from where the last bytes ended. */
export class EscapeReader {
  #atLineStart = true;
  /** What may be the beginning of a cursor report at the start of a line. */
  #report = '';
  /** The escape that waits for its second key. */
  #escape: number | undefined;

  /** @returns what it was, in order; an escape whose second key has not come yet is in none. */
  read(bytes: Buffer): readonly Typed[] {
    const typed: Typed[] = [];
    // An escape that turns out to be none comes before its second key, maybe out of the bytes before these.
    const plain = Buffer.allocUnsafe(bytes.length + 1);
    let [from, to] = [0, 0];
    const take = (byte: number): void => {
      plain[to] = byte;
      to += 1;
      this.#follow(byte);
    };
    const flush = (): void => {
      if (to > from) typed.push({ bytes: plain.subarray(from, to) });
      from = to;
    };
    for (const byte of bytes) {
      const escape = this.#escape;
      this.#escape = undefined;
      if (escape === undefined) {
        if (byte === BRACKET || (byte === TILDE && this.#atLineStart)) this.#escape = byte;
        else take(byte);
        continue;
      }
      const action = actions.get(byte);
      if (action !== undefined) {
        flush();
        typed.push({ action });
        continue;
      }
      // Twice is once, and what is no escape is what was typed.
      if (byte !== escape) take(escape);
      take(byte);
    }
    flush();
    return typed;
  }

  /** What waits for a key that will not come any more. */
  end(): Buffer {
    const rest = this.#escape === undefined ? [] : [this.#escape];
    this.#escape = undefined;
    return Buffer.from(rest);
  }

  /** Whether a line begins behind this byte. */
  #follow(byte: number): void {
    if ((this.#report !== '' || byte === ESC) && this.#isReported(byte)) return;
    this.#report = '';
    this.#atLineStart = byte === CR || byte === LF;
  }

  #isReported(byte: number): boolean {
    if (this.#report === '' && !this.#atLineStart) return false;
    this.#report += String.fromCharCode(byte);
    if (!CURSOR_REPORT.test(this.#report.slice(1))) return false;
    this.#atLineStart = this.#report.endsWith('R');
    if (this.#atLineStart) this.#report = '';
    return true;
  }
}
