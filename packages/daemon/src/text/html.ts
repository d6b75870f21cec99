/** Builds HTML from template literals and escapes the values in them. */

/** HTML that is already escaped. Create it with {@link html} only. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | readonly Part[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Builds HTML: `` html`<b>${name}</b>` ``. Escapes strings for text and for quoted attributes.
 * Inserts {@link Html} unchanged and joins lists.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.map((fixed, index) => fixed + (index < parts.length ? render(parts[index] ?? '') : '')).join(''),
  );
}

/**
 * Escapes a text. Replaces control characters except line feeds and tabs: HTML forbids them, and a
 * terminal (curl) would execute them.
 */
function escapeText(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => entities[character] ?? '')
    .replace(/\p{Cc}/gu, (control) => (control === '\n' || control === '\t' ? control : '\ufffd'));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'string') return escapeText(part);
  return typeof part === 'number' ? String(part) : part.map(render).join('');
}
