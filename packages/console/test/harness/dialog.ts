/** The checks of an open dialog: what users of a mouse, a keyboard, a phone and a screen reader need. */
import type { Page } from 'playwright-core';
import { accessibilityFaults, painted, takePictures, WIDTHS } from './browser.js';
import { tabOrderFaults } from './tab-order.js';

/** The rules of axe whose result depends on the colors, so only these run again in the dark theme. */
export const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** The window of a phone whose soft keyboard is open. It is as narrow as 1280 pixels at a zoom of 400 %. */
const SMALL = { width: 320, height: 400 };

/**
 * Checks the topmost dialog at three widths in both themes, and in a low window. Leaves the page in the light theme at
 * 1440 × 900 pixels.
 * @param picture the name of the pictures (`takePictures`).
 * @returns the faults: those of axe and of the walk with Tab, a missing focus, a part outside of the window, a text
 *   that is cut off and has no title.
 */
export async function dialogFaults(page: Page, picture: string): Promise<readonly string[]> {
  const faults: string[] = [];
  const note = (where: string, found: readonly string[]): void => {
    faults.push(...found.map((fault) => `${where}: ${fault}`));
  };
  const hasFocus = await page.evaluate(() => document.activeElement?.closest('dialog:modal') !== null);
  if (!hasFocus) faults.push('the focus is not in the dialog');
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await painted(page);
    note(`${width}`, [...(await places(page)), ...(await accessibilityFaults(page))]);
    await page.emulateMedia({ colorScheme: 'dark' });
    note(`${width}, dark`, await accessibilityFaults(page, COLOR_RULES));
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await takePictures(page, picture);
  for (const size of [SMALL, { width: 1440, height: 900 }]) {
    await page.setViewportSize(size);
    await painted(page);
    note(`${size.width} × ${size.height}`, [...(await places(page)), ...(await tabOrderFaults(page))]);
  }
  return faults;
}

/** Returns what is wrong with the places of the topmost dialog and its parts. */
function places(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const dialog = [...document.querySelectorAll('dialog:modal')].at(-1);
    if (dialog === undefined) return ['there is no dialog'];
    const found: string[] = [];
    const { left, top, right, bottom } = dialog.getBoundingClientRect();
    if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) found.push('is outside of the window');
    if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the window');
    for (const each of [dialog, ...dialog.querySelectorAll<HTMLElement>('*')]) {
      const isScrolled = each.matches('pre, input, textarea, .visually-hidden') || each.closest('[title]') !== null;
      const isCut = each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== 'visible';
      if (isCut && !isScrolled) found.push(`is cut off: ${each.textContent.slice(0, 60)}`);
    }
    return found;
  });
}
