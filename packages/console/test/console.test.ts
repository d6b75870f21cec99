/** The web console in Chromium: its login, its live list, its use with a keyboard, and its themes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { logIn, machineRow as row, startBmc, type Bmc } from './harness/bmc.js';
import { accessibilityFaults, browserFixture } from './harness/browser.js';

const SESSIONS = '/redfish/v1/SessionService/Sessions';

const { open } = browserFixture();
let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc({ users: true });
});
afterAll(() => bmc.stop());

const machineUri = async (name: string): Promise<string> => {
  const answer = await bmc.ask('GET', `/redfish/v1/Systems?$filter=Name eq '${name}'`);
  // The answer is a collection.
  const { Members } = (await answer.json()) as { readonly Members: readonly { readonly '@odata.id': string }[] };
  return Members[0]?.['@odata.id'] ?? '';
};
const reset = async (name: string, ResetType: string): Promise<void> => {
  const uri = `${await machineUri(name)}/Actions/ComputerSystem.Reset`;
  expect((await bmc.ask('POST', uri, { ResetType })).ok).toBe(true);
};
const endSessions = async (): Promise<void> => {
  const { Members } = (await (await bmc.ask('GET', SESSIONS)).json()) as {
    readonly Members: readonly { readonly '@odata.id': string }[]; // a collection
  };
  for (const member of Members) await bmc.ask('DELETE', member['@odata.id']);
};

describe('the login', () => {
  it('rejects a wrong password, then shows the machines', async () => {
    const { page, faults } = await open(`${bmc.address}/`);
    const dialog = page.getByRole('dialog', { name: 'Log in to bmc-daemon' });
    await dialog.getByLabel('User').fill('admin');
    await dialog.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await dialog.getByText('The user name or the password is wrong.').waitFor();
    expect(await page.getByRole('row').count()).toBe(0);
    await logIn(page, 'admin');
    await row(page, 'node-1').waitFor();
    expect(page.url()).toBe(`${bmc.address}/ui/`);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('survives a reload, reaches a second tab, and ends in both', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    await logIn(page, 'admin');
    await page.reload();
    await row(page, 'node-1').waitFor();
    expect(await page.evaluate(() => sessionStorage.length + document.cookie.length)).toBe(0);
    const second = await page.context().newPage();
    await second.goto(`${bmc.address}/ui/`);
    await row(second, 'node-1').waitFor();
    await second.getByRole('button', { name: 'Log out' }).click();
    for (const each of [page, second]) {
      await each.getByRole('dialog', { name: 'Log in to bmc-daemon' }).waitFor();
      expect(await each.getByRole('row').count()).toBe(0);
    }
    await page.context().close();
  });

  it('appears over the page when the session ends, and the page continues after the login', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    await logIn(page, 'admin');
    await row(page, 'node-1').getByRole('link').click();
    await page.getByText('Serial number').waitFor();
    await endSessions();
    await page.getByRole('link', { name: 'JSON' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended. Log in again' });
    await dialog.waitFor();
    expect(await page.getByRole('heading', { name: 'node-1', includeHidden: true }).count()).toBe(1);
    await logIn(page, 'admin');
    // The request that failed was repeated.
    await page.getByText('"@odata.type": "#ComputerSystem').waitFor();
    await page.context().close();
  });

  it('is not needed without a password file, and the page says so', async () => {
    const unprotected = await startBmc();
    const { page } = await open(`${unprotected.address}/ui/`);
    await row(page, 'node-1').waitFor();
    await page.getByText('This service has no password file').waitFor();
    expect(await page.getByRole('button', { name: 'Log out' }).count()).toBe(0);
    await page.context().close();
    await unprotected.stop();
  });
});

describe('the list of machines', () => {
  it('follows power changes of other clients', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    await logIn(page, 'rick');
    await page.getByText('Live').waitFor();
    const off = row(page, 'node-2').getByText('Off', { exact: true });
    expect(await off.count()).toBe(0);
    await reset('node-2', 'ForceOff');
    await off.waitFor();
    await reset('node-2', 'On');
    await row(page, 'node-2').getByText('On', { exact: true }).waitFor();
    await page.context().close();
  });

  it('can be sorted with the keyboard', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    await logIn(page, 'rick');
    await row(page, 'node-1').waitFor();
    const names = () => page.getByRole('rowheader').allInnerTexts();
    const sorted = await names();
    await page.getByRole('button', { name: 'Name' }).focus();
    await page.keyboard.press('Enter');
    expect(await names()).toEqual([...sorted].reverse());
    await page.context().close();
  });
});

describe.each(['light', 'dark'] as const)('the %s theme', (colorScheme) => {
  it.each([1440, 375])('has no fault that axe finds at a width of %i', async (width) => {
    const { page, faults } = await open(`${bmc.address}/ui/`, { colorScheme, viewport: { width, height: 700 } });
    await page.getByRole('dialog').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await logIn(page, 'admin');
    await row(page, 'node-1').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await row(page, 'node-1').getByRole('link').click();
    await page.getByText('Serial number').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
