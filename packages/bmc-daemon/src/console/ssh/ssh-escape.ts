/**
 * Separates typed text from commands to the console service. A command starts with `~` at the start
 * of a line, as with OpenSSH and cu, or with Ctrl-] anywhere. If OpenSSH's client has a terminal, it
 * does not send `~.` to this service, and disconnects instead.
 */

/** A command to the console service. */
export type EscapeAction = 'leave' | 'help' | 'break' | 'take' | 'give';

/** Input for the guest, or a command. */
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
  [0x47, 'give'], // G
  [0x54, 'take'], // T
]);

/**
 * The rest of a cursor report (ECMA-48 CPR: ESC [ row ; column R). A terminal sends it by itself
 * when a shell asks for the cursor position; busybox does so at each prompt. So a key after such a
 * report still counts as the first one of the line.
 */
const CURSOR_REPORT = /^(?:\[[\d;]{0,9}R?)?$/;

/** A parser that accepts input in pieces. */
export class EscapeReader {
  #atLineStart = true;
  /** The start of a possible cursor report at the start of a line. */
  #report = '';
  /** An escape character whose second key has not come yet. */
  #escape: number | undefined;

  /**
   * Parses the next bytes.
   * @returns text and commands in order, without an incomplete escape.
   */
  read(bytes: Buffer): readonly Typed[] {
    const typed: Typed[] = [];
    // An escape character that starts no command is text, and may come from the previous bytes.
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
      // A doubled escape character means the character itself. An unknown command is text.
      if (byte !== escape) take(escape);
      take(byte);
    }
    flush();
    return typed;
  }

  /** Returns the incomplete escape as text, at the end of input. */
  end(): Buffer {
    const rest = this.#escape === undefined ? [] : [this.#escape];
    this.#escape = undefined;
    return Buffer.from(rest);
  }

  /** Updates whether the next byte starts a line. */
  #follow(byte: number): void {
    if ((this.#report !== '' || byte === ESC) && this.#isPartOfReport(byte)) return;
    this.#report = '';
    this.#atLineStart = byte === CR || byte === LF;
  }

  #isPartOfReport(byte: number): boolean {
    if (this.#report === '' && !this.#atLineStart) return false;
    this.#report += String.fromCharCode(byte);
    if (!CURSOR_REPORT.test(this.#report.slice(1))) return false;
    this.#atLineStart = this.#report.endsWith('R');
    if (this.#atLineStart) this.#report = '';
    return true;
  }
}
