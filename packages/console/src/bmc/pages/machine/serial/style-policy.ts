/**
 * Lets xterm.js obey our Content-Security-Policy. xterm.js writes rules into `<style>` elements and
 * `style` attributes, and the policy allows neither. While a terminal is open, the document creates
 * elements that put the rules into adopted style sheets and into the style object of the element.
 * The option `documentOverride` of xterm.js 6 is not sufficient: the terminal's rows and scroll bar ignore it.
 */

const HTML = 'http://www.w3.org/1999/xhtml';

let terminals = 0;

/** Begins to obey the policy. @returns a function that ends this, unless other terminals are open. */
export function obeyStylePolicy(): () => void {
  terminals += 1;
  Object.defineProperty(document, 'createElement', { value: createElement, configurable: true });
  return () => {
    terminals -= 1;
    // Without its own `createElement`, the document uses the one of its prototype again.
    if (terminals === 0) Reflect.deleteProperty(document, 'createElement');
  };
}

function createElement(asked: string): Element {
  const name = asked.toLowerCase();
  if (name === 'style') return createStyle();
  const element = document.createElementNS(HTML, name);
  if (name === 'span') element.setAttribute = setAttribute;
  return element;
}

/** Sets an attribute; `style` through the style object. */
function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

/** Returns an element whose text is a style sheet of the document until the element is removed. */
function createStyle(): HTMLElement {
  const element = document.createElementNS(HTML, 'template');
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, 'textContent', {
    set(text: string) {
      sheet.replaceSync(text);
    },
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
