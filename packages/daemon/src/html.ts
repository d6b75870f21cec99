/** HTML from template literals, with everything that is put in escaped unless it is HTML already. */

/** Finished HTML. Only {@link html} makes it. */
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

/** `` html`<b>${name}</b>` ``: strings and numbers are escaped, for text and for quoted attributes alike; HTML is not, lists are joined. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.map((fixed, index) => fixed + (index < parts.length ? render(parts[index] ?? '') : '')).join(''),
  );
}

/** HTML has no control characters, and a terminal that prints the page (curl) obeys them. */
function escaped(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => entities[character] ?? '')
    .replace(/\p{Cc}/gu, (control) => (control === '\n' || control === '\t' ? control : '\ufffd'));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'string') return escaped(part);
  return typeof part === 'number' ? String(part) : part.map(render).join('');
}
