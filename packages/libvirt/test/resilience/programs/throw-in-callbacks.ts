/**
 * Throws in a stream reader and in a warning handler, with a fake daemon. Prints the uncaught
 * errors, the received data and the state of the client.
 */
import { openLink } from '../../../src/link/open-link.js';
import { domainEvents } from '../../../src/protocol/event.js';
import { MessageStatus } from '../../../src/protocol/message.js';
import { storageVolumeProcedures } from '../../../src/protocol/storage.js';
import { eventMessage, type FakeCall, FakeLibvirtd } from '../../fake/fake-libvirtd.js';
import { until } from '../../fake/until.js';

const { download } = storageVolumeProcedures;
const transfer = { volume: { pool: 'p', name: 'v', key: '/v' }, offset: 0, length: 0, flags: 0 };
const uncaught: string[] = [];
process.on('uncaughtException', (error) => uncaught.push(error.message));

const fake = await FakeLibvirtd.start();
let peer: FakeCall | undefined;
fake.on(download, (_args, call) => {
  peer = call;
  return undefined;
});
const link = openLink(fake.uri, {
  onWarning: () => {
    throw new Error('from the warning');
  },
});

const stream = await link.openStream(download, transfer);
let received = '';
let failure: Error | null = null;
stream.on('error', (error) => (failure = error));
stream.on('data', (chunk: Buffer) => {
  received += chunk.toString();
  if (received === 'one') throw new Error('from the reader');
});
for (const part of ['one', 'two']) {
  peer?.client.stream(download, peer.serial, MessageStatus.continue, Buffer.from(part));
}
await until('the data', () => received === 'onetwo' || failure !== null);
stream.destroy();

link.onEvent(domainEvents.reboot, () => undefined);
const event = eventMessage(domainEvents.reboot, { callbackId: 0, domain: { name: 'vm', uuid: '0'.repeat(32), id: 1 } });
// The length of the name exceeds the message.
event.writeUInt32BE(1_000_000, 32);
fake.clients[0]?.write(event);
await until('the warning', () => uncaught.length === 2 || link.state !== 'connected');

process.stdout.write(JSON.stringify({ uncaught, received, failure: String(failure), state: link.state }));
await link.close();
await fake.stop();
