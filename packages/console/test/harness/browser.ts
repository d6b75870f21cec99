/** Debian's headless Chromium. Each page records its faults, such as uncaught errors. */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Limit of each wait. Chromium is slow on a busy machine. */
const PATIENCE_MS = 120_000;

/** A page and its faults. */
export interface OpenedPage {
  readonly page: Page;
  /** Uncaught errors, violations of the Content-Security-Policy, and dialogs that scripts open. */
  readonly faults: readonly string[];
}

/** The browser of a test file. */
interface BrowserFixture {
  /** Opens a page in a new context, which shares no storage with others. */
  readonly open: (address: string, options?: BrowserContextOptions) => Promise<OpenedPage>;
}

/** Registers the hooks that start and close one Chromium for a test file. */
export function browserFixture(): BrowserFixture {
  let browser: Browser;
  beforeAll(async () => {
    // `chromium-headless-shell` has no browser windows, so it needs half of the CPU time of `chromium`. Chromium's
    // sandbox refuses to run as root.
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] });
  }, PATIENCE_MS);
  afterAll(() => browser.close());
  return {
    async open(address, options = {}) {
      const context = await browser.newContext({
        ...{ ignoreHTTPSErrors: true, viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' },
        // `chromium-headless-shell` writes to the clipboard only with this permission. For `chromium`, a click of the
        // user is enough.
        permissions: ['clipboard-write'],
        ...options,
      });
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
      page.on('dialog', (dialog) => {
        faults.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('console', (message) => {
        if (message.text().includes('Content Security Policy')) faults.push(message.text());
      });
      await page.goto(address);
      return { page, faults };
    },
  };
}

/** Waits until the window shows all changes so far. */
export async function painted(page: Page): Promise<void> {
  await page.evaluate('new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))');
}

/**
 * Opens a tab beside `page`. Its question to the other tabs for a login arrives only later, as on a busy computer.
 * @returns the tab, and `ask`, which sends the question.
 */
export async function openLateTab(page: Page, address: string): Promise<{ tab: Page; ask: () => Promise<void> }> {
  const tab = await page.context().newPage();
  await tab.addInitScript(() => {
    class LateChannel extends BroadcastChannel {
      override postMessage(message: unknown): void {
        Object.assign(window, { ask: () => super.postMessage(message) });
      }
    }
    Object.assign(window, { BroadcastChannel: LateChannel });
  });
  await tab.goto(address);
  return { tab, ask: () => tab.evaluate('ask()') };
}

/** The whole page, except noVNC's canvas for the pointer of a machine: this canvas is not part of our page. */
const TESTED = "{ include: document, exclude: ['body > canvas'] }";

/**
 * Returns the accessibility faults that axe finds: the rule and the elements.
 * @param rules only these rules run. Default: all.
 */
export async function accessibilityFaults(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // axe stays in the page until the page loads again.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axeSource);
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) };
  // axe reads colors. After a change of the theme, a page on a busy host gets them only after some
  // frames. So only a fault that stays counts.
  for (let repeats = 3; ; repeats -= 1) {
    await painted(page);
    const result = await page.evaluate(`axe.run(${TESTED}, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`);
    const faults = result as readonly string[]; // the script above makes texts
    if (faults.length === 0 || repeats === 0) return faults;
  }
}

/** Widths of a desktop, a tablet and a phone. */
export const WIDTHS = [1440, 900, 375];

/**
 * Saves pictures of a page at three widths in both themes to the folder in `RACKLESS_SCREENSHOTS`. Then sets the light
 * theme and 1440 × 900 pixels. Does nothing if the variable is not set.
 */
export async function takePictures(page: Page, name: string): Promise<void> {
  const folder = process.env['RACKLESS_SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1440, height: 900 });
}
