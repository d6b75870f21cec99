/** A walk through a page with the Tab key, as a user without a mouse makes it. */
import type { Page } from 'playwright-core';

/** A control with the focus. */
interface Stop {
  /** Its number in the page; null: the focus is in no control. */
  readonly id: number | null;
  readonly name: string;
  readonly faults: readonly string[];
}

/** More stops than any page of the tests has. */
const MAX_STOPS = 400;

/**
 * Presses Tab from the start of the page, or of its open dialog, until the focus returns to a control or leaves the
 * page. Walks a second time if this did not reach all controls.
 * @param start a selector: the walk begins in this part. Default: the whole page.
 * @returns the faults: a control that has the focus and is not visible, a focus that is not visible in one of the
 *   themes, an order that differs from the places of the controls, a control that Tab does not reach, a part that only
 *   a mouse can use, more than {@link MAX_STOPS} stops, and a trap.
 *   Ctrl+Shift+F6 leaves the screen and the terminal of a machine forward, so these are no traps.
 */
export async function tabOrderFaults(page: Page, start = 'body'): Promise<readonly string[]> {
  await page.evaluate(install);
  const faults = await walk(page, start);
  const unreached = async (): Promise<readonly string[]> =>
    (await page.evaluate('tabOrder.unreached()')) as readonly string[]; // the function returns texts
  // The walk can add controls: Tab in a terminal gets its keyboard, and then a button to hand it over appears.
  const again = (await unreached()).length > 0 ? await walk(page, start) : [];
  return [...faults, ...again, ...(await unreached())];
}

/** Makes one walk. @returns the faults of the controls on the way. */
async function walk(page: Page, start: string): Promise<readonly string[]> {
  await page.evaluate(`tabOrder.start(${JSON.stringify(start)})`);
  const faults: string[] = [];
  const seen = new Set<number>();
  let before: Stop = { id: null, name: '', faults: [] };
  for (let count = 0; ; count += 1) {
    await page.keyboard.press('Tab');
    let stop = await look(page);
    if (stop.id !== null && stop.id === before.id) {
      await page.keyboard.press('Control+Shift+F6');
      stop = await look(page);
      if (stop.id === before.id) return [...faults, `${stop.name}: a trap`];
    }
    // Behind the last control, the focus leaves the page for the window of the browser.
    if (stop.id === null || seen.has(stop.id)) break;
    seen.add(stop.id);
    faults.push(...stop.faults);
    before = stop;
    if (count === MAX_STOPS) return [...faults, `more than ${MAX_STOPS} stops`];
  }
  return faults;
}

async function look(page: Page): Promise<Stop> {
  return (await page.evaluate('tabOrder.look()')) as Stop; // `tabOrder.look` below returns a Stop
}

/** Adds the functions of the walk to the page. Runs in the browser, so it uses nothing from outside. */
function install(): void {
  const CONTROLS =
    'a[href], button, input, select, textarea, summary, [tabindex], [contenteditable="true"], audio[controls]';
  const numbers = new WeakMap<Element, number>();
  let count = 0;
  let last: Element | null = null;
  const looks = new Set<string>();

  const nameOf = (element: Element): string => {
    const label = element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : undefined;
    const text = element.getAttribute('aria-label') ?? label ?? element.textContent;
    return `${element.localName} "${text.trim().slice(0, 40)}"`;
  };
  let part: Element = document.body;
  /** The part of the page that a user operates now: the topmost dialog, or `part`. */
  const scope = (): Element => [...document.querySelectorAll('dialog:modal')].at(-1) ?? part;
  const isVisible = (element: Element): boolean => {
    const { width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1 && element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  };
  /**
   * Returns the element that shows the focus of `element`. The focus of a terminal is in a field outside of the window,
   * and the border of the terminal shows it.
   */
  const shownOf = (element: Element): Element => element.closest('.serial-screen') ?? element;

  const isLarge = (element: Element): boolean => {
    const { width, height } = element.getBoundingClientRect();
    return width * height > (innerWidth * innerHeight) / 8;
  };
  /** Returns why a user does not see an element; null: it is in the window, and nothing covers it. */
  const hiddenBy = (element: Element): string | null => {
    if (!isVisible(element)) return 'is not visible';
    // A link in a text can have several lines.
    const { left, top, right, bottom } = element.getClientRects()[0] ?? element.getBoundingClientRect();
    const [x0, x1] = [Math.max(left, 0), Math.min(right, innerWidth)];
    const [y0, y1] = [Math.max(top, 0), Math.min(bottom, innerHeight)];
    if (x1 - x0 < 2 || y1 - y0 < 2) return 'is outside of the window';
    const parts = isLarge(element) ? [0.02, 0.5, 0.98] : [0.5];
    const labels = element instanceof HTMLInputElement ? [...(element.labels ?? [])] : [];
    const found = parts
      .flatMap((x) => parts.map((y) => document.elementFromPoint(x0 + x * (x1 - x0), y0 + y * (y1 - y0))))
      .filter((each) => each !== null);
    const isSeen = found.some((each) => [element, ...labels].some((part) => part.contains(each)));
    return isSeen ? null : `is behind ${found.map(nameOf).join(', ')}`;
  };

  type Color = readonly [number, number, number, number];
  const colorOf = (text: string): Color => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue, alpha];
  };
  const backOf = (element: Element | null): Color => {
    for (let each = element; each !== null; each = each.parentElement) {
      const color = colorOf(getComputedStyle(each).backgroundColor);
      if (color[3] > 0.9) return color;
    }
    return [255, 255, 255, 1];
  };
  const luminance = ([red, green, blue]: Color): number => {
    const [r = 0, g = 0, b = 0] = [red, green, blue].map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a: Color, b: Color): number => {
    const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  /** Returns how many sides of a ring around an element its ancestors hide. */
  const hiddenSides = (element: Element, distance: number): number => {
    const box = element.getBoundingClientRect();
    let { left, top, right, bottom } = {
      ...{ left: box.left - distance, top: box.top - distance },
      ...{ right: box.right + distance, bottom: box.bottom + distance },
    };
    const ring = { left, top, right, bottom };
    for (let each = element.parentElement; each !== null && each !== document.body; each = each.parentElement) {
      if (getComputedStyle(each).overflow === 'visible') continue;
      const clip = each.getBoundingClientRect();
      left = Math.max(left, clip.left);
      top = Math.max(top, clip.top);
      right = Math.min(right, clip.right);
      bottom = Math.min(bottom, clip.bottom);
    }
    const isHidden = [left - ring.left, top - ring.top, ring.right - right, ring.bottom - bottom];
    return isHidden.filter((pixels) => pixels > Math.max(distance, 1) - 0.5).length;
  };
  /** Returns why the focus of an element is not visible in the current theme. */
  const ringFault = (element: Element): string | null => {
    let holder: Element | null = element;
    for (; holder !== null; holder = holder.parentElement) {
      const { outlineStyle, outlineWidth } = getComputedStyle(holder);
      if (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) break;
    }
    if (holder === null) return 'no visible focus';
    const { outlineColor, outlineOffset, outlineWidth } = getComputedStyle(holder);
    const offset = parseFloat(outlineOffset);
    const ratio = contrast(colorOf(outlineColor), backOf(offset < 0 ? holder : holder.parentElement));
    if (ratio < 3) return `the focus has a contrast of ${ratio.toFixed(1)}`;
    const hidden = hiddenSides(holder, offset + parseFloat(outlineWidth));
    // The window never shows all sides of a large part of the page.
    return hidden > (isLarge(holder) ? 3 : 1) ? `${hidden} sides of the focus are outside` : null;
  };

  /** Returns the part of an element that its scrolling parents show. */
  const visibleBox = (element: Element): { readonly right: number; readonly bottom: number } => {
    let { right, bottom } = element.getBoundingClientRect();
    for (let each = element.parentElement; each !== null && each !== document.body; each = each.parentElement) {
      if (getComputedStyle(each).overflow === 'visible') continue;
      const clip = each.getBoundingClientRect();
      right = Math.min(right, clip.right);
      bottom = Math.min(bottom, clip.bottom);
    }
    return { right, bottom };
  };
  const orderFault = (before: Element, now: Element): string | null => {
    if (before.contains(now) || now.contains(before)) return null;
    const [a, b] = [visibleBox(before), now.getBoundingClientRect()];
    const [isBelow, isRight] = [b.top >= a.bottom - 2, b.left >= a.right - 2];
    return isBelow || isRight ? null : `is after ${nameOf(before)}, but not below or beside it`;
  };

  const isOperable = (element: Element): boolean =>
    isVisible(element) &&
    !element.matches(':disabled, [tabindex="-1"]') &&
    element.closest('[inert], [aria-hidden="true"]') === null;

  Object.assign(window, {
    tabOrder: {
      /** Moves the focus, so that the next Tab leads to the first control. */
      start(selector: string): void {
        last = null;
        part = document.querySelector(selector) ?? document.body;
        const top = scope();
        const old = top.getAttribute('tabindex');
        top.setAttribute('tabindex', '-1');
        (top as HTMLElement).focus(); // `top` is the body or a dialog
        if (old === null) top.removeAttribute('tabindex');
        else top.setAttribute('tabindex', old);
      },
      look(): Stop {
        const active = document.activeElement;
        const isInPart = part.contains(active) || scope().contains(active);
        if (active === null || active === document.body || !isInPart) return { id: null, name: '', faults: [] };
        const isNew = !numbers.has(active);
        if (isNew) numbers.set(active, (count += 1));
        const id = numbers.get(active) ?? 0;
        const shown = shownOf(active);
        const faults: string[] = [];
        if (scope().matches('dialog') && !scope().contains(active)) faults.push('is behind the dialog');
        const hidden = hiddenBy(shown);
        if (hidden !== null) faults.push(`has the focus and ${hidden}`);
        if ((active as HTMLElement).tabIndex > 0) faults.push('has an order of its own');
        // A change of the theme costs much time, so only one control of each look is checked in both themes.
        const look = [shown, shown.parentElement, shown.parentElement?.parentElement]
          .map((each) => `${each?.localName}.${each?.className}`)
          .join(' ');
        const { theme = 'light' } = document.documentElement.dataset;
        for (const each of looks.has(look) ? [theme] : ['light', 'dark']) {
          if (!looks.has(look)) document.documentElement.dataset['theme'] = each;
          const fault = ringFault(shown);
          if (fault !== null) faults.push(`${fault} in the ${each} theme`);
        }
        document.documentElement.dataset['theme'] = theme;
        looks.add(look);
        const order = last?.isConnected === true ? orderFault(shownOf(last), shown) : null;
        if (order !== null) faults.push(order);
        last = active;
        return { id, name: nameOf(active), faults: faults.map((fault) => `${nameOf(active)}: ${fault}`) };
      },
      /** Returns what a mouse can operate and Tab has not reached. */
      unreached(): readonly string[] {
        const all = [...scope().querySelectorAll(CONTROLS)].filter(isOperable);
        const missed = all.filter((element) => {
          if (numbers.has(element)) return false;
          // Tab leads to one button of a group, and the arrow keys to the others.
          if (!(element instanceof HTMLInputElement) || element.type !== 'radio') return true;
          return !all.some((each) => numbers.has(each) && each.getAttribute('name') === element.name);
        });
        const pointed = [...scope().querySelectorAll('*')].filter((element) => {
          if (getComputedStyle(element).cursor !== 'pointer' || !isVisible(element)) return false;
          const control = element.closest(`${CONTROLS}, label`) ?? element.querySelector(CONTROLS);
          return control === null;
        });
        return [
          ...missed.map((element) => `${nameOf(element)}: Tab does not reach it`),
          ...pointed.map((element) => `${nameOf(element)}: only a mouse can use it`),
        ];
      },
    },
  });
}
