/** Power actions in front of a cloud that answers late, or not at all. */
import { expect, it } from '@jest/globals';
import { waitFor } from '../../daemon/process.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Body } from '../../support/served-resources.js';

const cloud = servedCloud();
const systemOf = (index: number): string => `/redfish/v1/Systems/${idOf(index)}`;

it('shows the task of an action as soon as Nova has accepted it, although no listing answers', async () => {
  for (const index of [1, 2, 3, 4, 5, 6]) cloud.servers.put(index);
  const served = await cloud.serve();
  let isHanging = false;
  let accept: (() => void) | undefined;
  cloud.answer((request, response, path) => {
    if (path.startsWith('/servers/detail')) return isHanging;
    if (!path.endsWith('/action')) return false;
    const id = path.split('/')[2] ?? '';
    const answer = (): void => {
      cloud.servers.put(Number(id.slice(-12)), { 'OS-EXT-STS:task_state': 'powering-off' });
      response.writeHead(202).end();
    };
    if (id === idOf(1)) accept = answer;
    request.resume().on('end', () => (id === idOf(1) ? undefined : answer()));
    return true;
  });
  const powerOf = async (index: number): Promise<unknown> => (await served.get(systemOf(index)))['PowerState'];
  const listed = async (): Promise<unknown> => {
    const { Members: members } = await served.get('/redfish/v1/Systems?$expand=.');
    return (members as Body[]).find(({ Id: id }) => id === idOf(1))?.['PowerState']; // a collection has objects
  };
  // Many operations share their listings, so none of them reads its own server after its action.
  const ended = Promise.allSettled([1, 2, 3, 4, 5, 6].map((index) => served.driver.power(idOf(index), 'destroy')));
  const release = await waitFor(
    () => Promise.resolve(accept),
    () => 'Nova never gets the action',
  );
  // The daemon has just read the server, so it does not ask Nova again at once.
  expect(await powerOf(1)).toBe('On');
  isHanging = true;
  release();
  // The daemon gets this answer after that of the action.
  expect(await powerOf(2)).toBe('PoweringOff');
  expect(await Promise.all([powerOf(1), listed()])).toEqual(['PoweringOff', 'PoweringOff']);
  await served.driver.close();
  await ended;
});
