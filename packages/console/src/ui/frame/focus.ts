/** Keeps the focus in the page when the control with the focus disappears. */

const CONTROLS = 'a[href], button, input, select, textarea, summary, [tabindex]';
/** Fields that never get the focus by themselves: they open the keyboard of a phone, and get the next typed keys. */
const TEXT_FIELDS = 'input:not([type=checkbox], [type=radio], [type=file]), textarea';

/**
 * Remembers the control with the focus.
 * @returns a function that gives the focus back: to the control, or to what is nearest to it if the control is gone,
 *   hidden or disabled. It does nothing if no control had the focus.
 */
export function rememberFocus(): () => void {
  const place = placeOf(document.activeElement);
  return () => place?.();
}

/** Starts to watch the page. If the control with the focus disappears, the nearest remaining element gets the focus. */
export function startKeepingFocus(): void {
  let restore: (() => void) | null = null;
  document.addEventListener('focusin', ({ target }) => {
    restore = target instanceof Element ? placeOf(target) : null;
  });
  document.addEventListener('focusout', ({ target }) => {
    // If the control is still usable, the user has clicked on an empty part of the page. Then the focus stays there.
    setTimeout(() => {
      if (hasFocus(document.body) && target instanceof HTMLElement && isUsable(target)) restore = null;
    });
  });
  new MutationObserver(() => {
    if (restore === null || !isFocusLost()) return;
    const lost = restore;
    restore = null;
    lost();
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled', 'hidden'] });
}

const hasFocus = (element: Element): boolean => document.activeElement === element;
/** In Firefox, a control that becomes disabled keeps the focus, but gets no keys. */
const isFocusLost = (): boolean => hasFocus(document.body) || document.activeElement?.matches(':disabled') === true;
const isUsable = (element: Element): boolean =>
  element.isConnected && !element.matches(':disabled') && element.checkVisibility({ checkVisibilityCSS: true });

/** Returns a function that focuses an element, or what is nearest to it; null: the element cannot have the focus. */
function placeOf(element: Element | null): (() => void) | null {
  if (!(element instanceof HTMLElement) || element === document.body) return null;
  const parents: HTMLElement[] = [];
  for (let parent = element.parentElement; parent !== null && parent !== document.body; parent = parent.parentElement)
    parents.push(parent);
  return () => {
    if (isUsable(element)) element.focus({ preventScroll: true });
    else if (element.isConnected) controlBeside(element, parents)?.focus({ preventScroll: true });
    // The place of an element that is gone is unknown. Its table, its dialog or the content of the page is near.
    else
      parents
        .find((parent) => isUsable(parent) && parent.matches('[tabindex], dialog'))
        ?.focus({ preventScroll: true });
    if (isFocusLost()) document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
  };
}

/**
 * Returns a usable control near an element, but no text field. Searches the first of `parents` that contains such a
 * control, and returns the last one before the element or, without one, the first one. null: no parent contains one.
 */
function controlBeside(element: Element, parents: readonly HTMLElement[]): HTMLElement | null {
  for (const parent of parents) {
    const controls = [...parent.querySelectorAll<HTMLElement>(CONTROLS)].filter(
      (control) => isUsable(control) && !control.matches(TEXT_FIELDS),
    );
    const isBefore = (control: Element): boolean =>
      (element.compareDocumentPosition(control) & Node.DOCUMENT_POSITION_PRECEDING) !== 0;
    const found = controls.filter(isBefore).at(-1) ?? controls[0];
    if (found !== undefined) return found;
  }
  return null;
}
