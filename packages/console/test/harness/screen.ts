/** The picture of a screen in the page, compared with QEMU's own. */
import type { Locator, Page } from 'playwright-core';
import type { Guest, TestHost } from '../../../bmc-daemon/test/libvirt-driver/host.js';
import { CURSOR, difference, litShare, screenshot, type Picture } from '../../../bmc-daemon/test/screens/pictures.js';

/** The largest difference that a lossy compression makes in a color. */
const LOSSY = 80;

/** Returns the canvas of the screen. */
export const screenCanvas = (page: Page): Locator => page.locator('.screen-picture canvas');

/** Returns the picture in the page, in QEMU's format. */
async function shown(page: Page): Promise<Picture> {
  const { width, height, colors } = await screenCanvas(page).evaluate((element) => {
    const { width, height } = element as HTMLCanvasElement; // the locator finds a canvas
    const { data } = (element as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, width, height) ?? {};
    // Playwright needs seconds for an array of a million numbers.
    let text = '';
    for (const byte of data ?? []) text += String.fromCharCode(byte);
    return { width, height, colors: btoa(text) };
  });
  const pixels = Buffer.from(colors, 'base64');
  for (let at = 0; at < pixels.length; at += 4) {
    pixels.set([pixels[at + 2] ?? 0, pixels[at + 1] ?? 0, pixels[at] ?? 0, 0], at);
  }
  return { width, height, pixels };
}

/** Waits until the page shows the same picture as QEMU's own screenshot, and more than a cursor. */
export async function untilSame(page: Page, host: TestHost, guest: Guest): Promise<void> {
  await screenCanvas(page).waitFor();
  for (;;) {
    const picture = await shown(page);
    if (litShare(picture) < CURSOR) continue;
    if (difference(picture, await screenshot(host, guest), LOSSY) < CURSOR) return;
  }
}
