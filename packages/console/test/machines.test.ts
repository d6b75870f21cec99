/** The list of machines in Chromium: filters, groups, actions on many machines, hostile names. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { logIn, machineRow as row, startBmc, type Bmc, type User } from './harness/bmc.js';
import { accessibilityFaults, browserFixture, takePictures, type OpenedPage } from './harness/browser.js';

/**
 * Names that harm a careless page: markup, an address, templates, and a character that reverses the direction of
 * writing.
 */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  `"><svg onload=alert(2)>-7`,
  'javascript:alert(3)',
  '${alert(4)}{{5*5}}',
  '\u202eevil%2e%2e?#&',
];
const MACHINES = `
machines:
- {name: "node-{n}", count: 40, overrides: {node-2: {power_state: "On"}}}
- {name: "db-{n}", count: 2, failures: [{effect: error, operation: power_on, calls: 1}]}
- {name: "web-{n}", count: 3, boot_device: Pxe}
${HOSTILE.map((name) => `- {name: ${JSON.stringify(name)}}`).join('\n')}
`;

const { open } = browserFixture();
let folder: string;
let bmc: Bmc;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-console-list-'));
  const file = join(folder, 'lab.yaml');
  writeFileSync(file, MACHINES);
  bmc = await startBmc({ users: true, args: ['--fake', '--fake-machines', file] });
});
afterAll(async () => {
  await bmc.stop();
  rmSync(folder, { recursive: true });
});

const openList = async (user: User, query = ''): Promise<OpenedPage> => {
  const opened = await open(`${bmc.address}/ui/${query}`);
  await logIn(opened.page, user);
  await opened.page.getByText('50 machines').waitFor();
  return opened;
};
const names = (page: Page): Promise<readonly string[]> => page.locator('tbody th a').allInnerTexts();
const summary = (page: Page, text: string): Promise<void> =>
  page.locator('.summary').getByText(text, { exact: true }).waitFor();
const bar = (page: Page): Locator => page.getByRole('region', { name: 'Actions for the selected machines' });
const dialog = (page: Page): Locator => page.getByRole('dialog');
const select = (page: Page, name: string): Promise<void> => page.getByRole('checkbox', { name, exact: true }).check();

describe('the filters', () => {
  it('select machines, and the address contains the filters', async () => {
    const { page, faults } = await openList('olga');
    const sorted = await names(page);
    expect(sorted.indexOf('node-10') - sorted.indexOf('node-9')).toBe(1);
    await page.keyboard.press('/');
    await page.keyboard.type('WEB');
    await summary(page, '3 of 50 machines');
    await page.getByRole('combobox', { name: 'Filter by boot override' }).selectOption('With an override');
    await page.getByRole('combobox', { name: 'Filter by power' }).selectOption('Off');
    await page.waitForURL(/\?search=WEB&power=Off&boot=any$/);
    await page.reload();
    await summary(page, '3 of 50 machines');
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await page.getByRole('combobox', { name: 'Filter by name pattern' }).selectOption('db-*');
    await summary(page, '2 of 50 machines');
    expect(await names(page)).toEqual(['db-1', 'db-2']);
    await page.getByRole('searchbox').fill('no such machine');
    await page.getByText('No machine matches the filters').waitFor();
    expect([await accessibilityFaults(page), faults]).toEqual([[], []]);
    await page.context().close();
  });

  it('write the address only once for many key presses, but always before the user leaves the list', async () => {
    const { page, faults } = await openList('rick');
    const written = await page.evaluate(async () => {
      const replace = history.replaceState.bind(history);
      const addresses: string[] = [];
      history.replaceState = (data, unused, address) => {
        addresses.push(String(address));
        replace(data, unused, address);
      };
      const input = document.querySelector<HTMLInputElement>('input[type=search]');
      const type = (text: string): void => {
        if (input !== null) input.value = text;
        input?.dispatchEvent(new Event('input', { bubbles: true }));
      };
      for (const text of ['n', 'no', 'node-1']) type(text);
      while (addresses.length === 0) await new Promise(requestAnimationFrame);
      type('node-12');
      document.querySelector<HTMLElement>('a[title=node-12]')?.click();
      return addresses;
    });
    expect(written).toEqual(['/ui/?search=node-1', '/ui/?search=node-12']);
    await page.getByRole('heading', { level: 1, name: 'node-12' }).waitFor();
    await page.goBack();
    await summary(page, '1 of 50 machines');
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('reuse the rows of the table for other machines, and do not move the table', async () => {
    const { page, faults } = await openList('olga');
    const top = () => page.getByRole('table').evaluate((table) => table.getBoundingClientRect().top);
    const before = await top();
    await page.evaluate(() => {
      const body = document.querySelector('tbody');
      const added: string[] = [];
      Object.assign(window, { added });
      new MutationObserver((records) => {
        for (const { addedNodes } of records) for (const node of addedNodes) added.push(node.nodeName);
      }).observe(body ?? document, { childList: true });
    });
    await page.getByRole('searchbox').fill('node-3');
    await summary(page, '11 of 50 machines');
    expect(await names(page)).toContain('node-39');
    expect(await page.evaluate('added')).toEqual([]);
    expect(await top()).toBe(before);
    // The button disappears, and the focus goes to the search.
    await page.getByRole('button', { name: 'Clear the filters' }).press('Enter');
    await summary(page, '50 machines');
    expect(await page.getByRole('searchbox').evaluate((field) => field === document.activeElement)).toBe(true);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('show no other machine in a row while a control of this row has the focus', async () => {
    const { page, faults } = await openList('olga', '?search=node-3');
    const checkbox = page.getByRole('checkbox', { name: 'Select node-33', exact: true });
    await checkbox.focus();
    await page.evaluate(() => {
      const held = document.activeElement;
      Object.assign(window, { held });
      const input = document.querySelector<HTMLInputElement>('input[type=search]');
      if (input !== null) input.value = 'node-33';
      input?.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await summary(page, '1 of 50 machines');
    expect(
      await checkbox.evaluate((field) => [field === document.activeElement, field === Reflect.get(window, 'held')]),
    ).toEqual([true, true]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('change no width of a column', async () => {
    const { page, faults } = await openList('rick');
    const widths = () =>
      page.getByRole('columnheader').evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().width));
    const before = await widths();
    await page.getByRole('searchbox').fill('web');
    await summary(page, '3 of 50 machines');
    expect(await widths()).toEqual(before);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('find an asset tag, which has a column as soon as a machine has a tag', async () => {
    const { page, faults } = await openList('rick');
    const titles = page.getByRole('columnheader', { name: 'Asset tag' });
    expect(await titles.count()).toBe(0);
    const [path] = await page
      .getByRole('link', { name: 'node-7', exact: true })
      // The elements of this role are anchors.
      .evaluateAll((links) => links.map((link) => new URL((link as HTMLAnchorElement).href).pathname));
    const machine = `/redfish/v1/Systems/${path?.split('/').at(-1) ?? ''}`;
    await bmc.ask('PATCH', machine, { AssetTag: 'Lent to Ada <b>' });
    await titles.waitFor();
    await row(page, 'node-7').getByText('Lent to Ada <b>').waitFor();
    await page.getByRole('searchbox').fill('ada lent');
    await summary(page, '1 of 50 machines');
    expect(await names(page)).toEqual(['node-7']);
    await bmc.ask('PATCH', machine, { AssetTag: null });
    await titles.waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('can be combined with groups of machines, which the user can close', async () => {
    const { page, faults } = await openList('rick', '?by=name&search=-');
    const group = page.getByRole('button', { name: 'node-*' });
    await page.getByText('40 machines, 1 on').waitFor();
    await group.focus();
    await page.keyboard.press('Enter');
    await row(page, 'node-1').waitFor({ state: 'detached' });
    await row(page, 'web-1').waitFor();
    expect(await group.getAttribute('aria-expanded')).toBe('false');
    await takePictures(page, 'machines-groups');
    expect([await accessibilityFaults(page), faults]).toEqual([[], []]);
    await page.context().close();
  });
});

describe('an action on many machines', () => {
  it('names what gets lost, skips machines that need no change, and shows the result of each', async () => {
    const { page, faults } = await openList('olga', '?search=-');
    for (const name of ['Select node-1', 'Select node-2', 'Select db-1', 'Select db-2']) await select(page, name);
    await bar(page).getByText('4 selected').waitFor();
    await takePictures(page, 'machines-selected');
    // Messages at the edge of the window do not cover the buttons of the bar.
    for (const width of [1440, 900, 375]) {
      await page.setViewportSize({ width, height: 900 });
      const messages = await page.locator('.toasts').evaluate((element) => element.getBoundingClientRect().bottom);
      expect([width, messages <= ((await bar(page).boundingBox())?.y ?? NaN)]).toEqual([width, true]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await bar(page).getByRole('button', { name: 'Start', exact: true }).click();
    await dialog(page).getByText('Start 3 machines?').waitFor();
    await dialog(page).getByText('1 machine skipped: already on').waitFor();
    await takePictures(page, 'machines-confirm');
    await dialog(page).getByRole('button', { name: 'Start', exact: true }).click();
    await dialog(page).getByText('Finished: 1 done, 2 failed, 1 skipped.').waitFor();
    // The dialog lists failures first.
    expect(await dialog(page).getByRole('rowheader').allInnerTexts()).toEqual(['db-1', 'db-2', 'node-2', 'node-1']);
    await dialog(page)
      .getByRole('row', { name: /^db-1 Failed .+/ })
      .waitFor();
    await takePictures(page, 'machines-results');
    expect(await accessibilityFaults(page)).toEqual([]);
    // The second power-on succeeds.
    await dialog(page).getByRole('button', { name: 'Try 2 machines again' }).click();
    await dialog(page).getByText('Finished: 2 done, 0 failed, 0 skipped.').waitFor();
    await dialog(page).getByRole('button', { name: 'Close' }).last().click();

    await bar(page).getByRole('button', { name: 'Force off' }).click();
    await dialog(page).getByText('Force 4 machines off?').waitFor();
    await dialog(page).getByRole('listitem').getByText('Unsaved work in these guests').waitFor();
    // The focus begins at the button that changes nothing.
    await page.keyboard.press('Enter');
    await dialog(page).waitFor({ state: 'detached' });
    await row(page, 'db-2').getByText('On', { exact: true }).waitFor();
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('sets the boot override, but not of a selected machine that the filters hide', async () => {
    const { page, faults } = await openList('olga', '?sort=-name');
    for (const name of ['Select web-1', 'Select web-2', 'Select node-40']) await select(page, name);
    await page.getByRole('searchbox').fill('web');
    await bar(page).getByText('1 more hidden by the filters').waitFor();
    await bar(page).getByRole('button', { name: 'Boot override' }).click();
    await dialog(page).getByLabel('Boot from').selectOption('Cd');
    await dialog(page).getByText('The current boot override of 2 machines').waitFor();
    await dialog(page).getByRole('button', { name: 'Apply' }).click();
    await dialog(page).getByText('Finished: 2 done').waitFor();
    await dialog(page).getByRole('button', { name: 'Close' }).last().click();
    await row(page, 'web-1').getByText('CD or virtual media, once').waitFor();
    await row(page, 'web-3').getByText('Network (PXE)').waitFor();
    await page.getByRole('searchbox').fill('node-40');
    await row(page, 'node-40').getByText('Disk').waitFor();
    expect(await row(page, 'node-40').getByText('Cd').count()).toBe(0);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('is not offered to a role that may only read', async () => {
    const { page } = await openList('rick');
    expect(await page.getByRole('checkbox', { name: /^Select/ }).count()).toBe(0);
    await page.context().close();
  });
});

describe('a machine that the service cannot read', () => {
  it('breaks no list, keeps its last state, and is counted in a message', async () => {
    const file = join(folder, 'unreadable.yaml');
    const broken = '{name: broken, failures: [{effect: error, operation: read}]}';
    writeFileSync(file, `machines: [${broken}, {name: "node-{n}", count: 3}]\n`);
    const other = await startBmc({ args: ['--fake', '--fake-machines', file] });
    try {
      const { page, faults } = await open(`${other.address}/ui/`);
      await page.getByText('The service could not read 1 machine.').waitFor();
      await summary(page, '3 machines');
      expect(await names(page)).toEqual(['node-1', 'node-2', 'node-3']);
      // In the next answer, the member of node-2 is only a link.
      await page.route(/Systems\?/, async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as { Members: { '@odata.id': string; Name?: string }[] };
        const cut = body.Members.map((member) =>
          member.Name === 'node-2' ? { '@odata.id': member['@odata.id'] } : member,
        );
        await route.fulfill({ response, json: { ...body, Members: cut } });
      });
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('The service could not read 2 machines.').waitFor();
      expect(await names(page)).toEqual(['node-1', 'node-2', 'node-3']);
      expect([await accessibilityFaults(page), faults]).toEqual([[], []]);
      await page.context().close();
    } finally {
      await other.stop();
    }
  });
});

/** Returns a name as the console shows it. */
const shown = (name: string): string => name.replaceAll('\u202e', '[U+202E]');

describe('hostile names', () => {
  it('are texts in the list, in dialogs, in the title and on the pages of their machines', async () => {
    const { page, faults } = await openList('admin', '?by=name');
    for (const name of HOSTILE) {
      await page.getByRole('searchbox').fill(name);
      await page.getByRole('link', { name: shown(name), exact: true }).waitFor();
      await select(page, `Select ${shown(name)}`);
    }
    await page.getByRole('searchbox').fill('');
    await bar(page).getByRole('button', { name: 'Start', exact: true }).click();
    for (const name of HOSTILE) await dialog(page).getByText(shown(name), { exact: true }).waitFor();
    await dialog(page).getByRole('button', { name: 'Start', exact: true }).click();
    await dialog(page).getByText('Finished: 5 done').waitFor();
    await dialog(page).getByRole('button', { name: 'Close' }).last().click();
    for (const name of HOSTILE) {
      await page.getByRole('searchbox').fill(name);
      await page.getByRole('link', { name: shown(name), exact: true }).click();
      await page.getByRole('heading', { name: shown(name), exact: true, level: 1 }).waitFor();
      // The page sets its title only after it shows the heading.
      await page.waitForFunction((text) => document.title.includes(text), shown(name));
      for (const tab of ['Boot', 'Storage', 'Network', 'Media', 'Screen', 'Events', 'Console log', 'JSON']) {
        await page.getByRole('link', { name: tab, exact: true }).click();
        await page.waitForFunction(() => document.querySelector('main .spinner') === null);
      }
      await page.getByText('More actions').click();
      await page.locator('.page-header').getByRole('button', { name: 'Force off' }).click();
      await dialog(page)
        .getByText(`Force ${shown(name)} off?`)
        .waitFor();
      await dialog(page).getByRole('button', { name: 'Force off' }).click();
      await page.getByText(`${shown(name)} accepted “Force off”.`).waitFor();
      await page.getByRole('link', { name: 'Machines', exact: true }).click();
    }
    expect(await page.locator('img, svg[onload]').count()).toBe(0);
    expect(new URL(page.url()).origin).toBe(bmc.address);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
