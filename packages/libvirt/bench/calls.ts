/**
 * Measures the cost of a call, `domain.getXmlDesc`, with 1, 8 and 64 parallel calls. Compares
 * the client on a private libvirtd, the client on a peer that returns the same bytes, and a bare
 * socket on that peer. The callers run in this process, so that their CPU times can be compared.
 *
 *     npm run bench -w @rackless/libvirt
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Link } from '../src/link/link.js';
import { openLink } from '../src/link/open-link.js';
import { authProcedures, AuthType } from '../src/protocol/auth.js';
import { connectProcedures } from '../src/protocol/connect.js';
import { domainProcedures } from '../src/protocol/domain.js';
import { MessageStatus, MessageType, openMessage } from '../src/protocol/message.js';
import type { DomainRef } from '../src/protocol/object.js';
import type { Procedure } from '../src/protocol/procedure.js';
import { XdrWriter } from '../src/xdr.js';
import type { Codec } from '../src/codec.js';
import { startLibvirtd } from '../test/harness/libvirtd.js';

const CALLS = Number(process.argv[2] ?? 30_000);
const ROUNDS = 3;
const IN_FLIGHT = [1, 8, 64];

/**
 * Result of a measurement: calls per second, and CPU time of this process per call in microseconds.
 */
interface Cost {
  readonly perSecond: number;
  readonly cpuUs: number;
}

function bytesOf<T>(procedure: Procedure<never, unknown>, type: number, codec: Codec<T>, value: T): Buffer {
  const writer = new XdrWriter();
  const { program, number } = procedure;
  openMessage(writer, { program, procedure: number, type, serial: 1, status: MessageStatus.ok });
  codec.encode(writer, value);
  writer.closeFrame();
  return Buffer.from(writer.finish());
}

const replyOf = <A, R>(procedure: Procedure<A, R>, value: R): Buffer =>
  bytesOf(procedure as unknown as Procedure<never, unknown>, MessageType.reply, procedure.result, value);

async function measure(work: () => Promise<void>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: CALLS / seconds, cpuUs: (user + system) / CALLS };
}

/** Makes all calls with the client, `inFlight` in parallel. */
async function byClient(link: Link, args: DomainRef, inFlight: number): Promise<void> {
  const call = xmlArgs(args);
  let left = CALLS;
  const worker = async (): Promise<void> => {
    for (; left > 0; left -= 1) await link.call(domainProcedures.getXmlDesc, call);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

const xmlArgs = (domain: DomainRef): { domain: DomainRef; flags: number } => ({ domain, flags: 0 });

/**
 * Makes the same traffic without the client: writes request bytes and counts replies by their
 * length words.
 */
async function byBareSocket(path: string, request: Buffer, inFlight: number): Promise<void> {
  const socket = connect(path);
  await once(socket, 'connect');
  let sent = inFlight;
  let answered = 0;
  /**
   * Start of the next message, relative to the start of the next chunk. A length word may be split.
   */
  let next = 0;
  let rest: Buffer = Buffer.alloc(0);
  await new Promise<void>((resolve) => {
    socket.on('data', (received: Buffer) => {
      const chunk = rest.length === 0 ? received : Buffer.concat([rest, received]);
      let answers = 0;
      for (; chunk.length - next >= 4; next += chunk.readUInt32BE(next)) answers += 1;
      rest = next < chunk.length ? chunk.subarray(next) : Buffer.alloc(0);
      next = Math.max(0, next - chunk.length);
      answered += answers;
      const more = Math.min(answers, CALLS - sent);
      sent += more;
      if (more > 0) socket.write(Buffer.concat(Array.from({ length: more }, () => request)));
      if (answered >= CALLS) resolve();
    });
    socket.write(Buffer.concat(Array.from({ length: inFlight }, () => request)));
  });
  socket.destroy();
}

const median = (costs: readonly Cost[]): Cost => {
  const middle = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[costs.length >> 1] ?? 0;
  return { perSecond: middle(costs.map((cost) => cost.perSecond)), cpuUs: middle(costs.map((cost) => cost.cpuUs)) };
};
const show = ({ perSecond, cpuUs }: Cost): string => `${Math.round(perSecond)}/s ${cpuUs.toFixed(1)} us`.padEnd(20);

const dir = await mkdtemp(join(tmpdir(), 'rackless-bench-'));
const daemon = await startLibvirtd({ driver: 'test' });
const link = openLink(daemon.uri);
const { domains } = await link.call(connectProcedures.listAllDomains, { needResults: 1, flags: 0 });
const [domain] = domains;
if (domain === undefined) throw new Error('the test driver has no domain');
const xml = await link.call(domainProcedures.getXmlDesc, xmlArgs(domain));

const echo = join(dir, 'echo');
const peer = fork(fileURLToPath(new URL('echo-peer.js', import.meta.url)), [
  echo,
  replyOf(domainProcedures.getXmlDesc, xml).toString('hex'),
  ...[
    replyOf(authProcedures.list, [AuthType.NONE]),
    replyOf(connectProcedures.supportsFeature, 1),
    replyOf(connectProcedures.open, undefined),
  ].map((bytes) => `${bytes.readUInt32BE(12)}:${bytes.toString('hex')}`),
]);
await once(peer, 'message');
const echoLink = openLink(`test+unix:///default?socket=${echo}`);
const { getXmlDesc } = domainProcedures;
const request = bytesOf(
  getXmlDesc as unknown as Procedure<never, unknown>,
  MessageType.call,
  getXmlDesc.args,
  xmlArgs(domain),
);

console.log(
  `${CALLS} calls of getXmlDesc, ${xml.length} bytes of XML, median of ${ROUNDS}; CPU is this process's, per call`,
);
console.log(
  'in flight  client, libvirtd     client, echo peer    bare socket, echo    ratio of calls/s on the echo peer',
);
for (const inFlight of IN_FLIGHT) {
  const real: Cost[] = [];
  const client: Cost[] = [];
  const bare: Cost[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    real.push(await measure(() => byClient(link, domain, inFlight)));
    client.push(await measure(() => byClient(echoLink, domain, inFlight)));
    bare.push(await measure(() => byBareSocket(echo, request, inFlight)));
  }
  const ratio = (median(client).perSecond / median(bare).perSecond).toFixed(2);
  console.log(
    `${String(inFlight).padEnd(10)} ${[real, client, bare].map((costs) => show(median(costs))).join(' ')} ${ratio}`,
  );
}
await Promise.all([link.close(), echoLink.close()]);
peer.kill();
await daemon.stop();
await rm(dir, { recursive: true });
