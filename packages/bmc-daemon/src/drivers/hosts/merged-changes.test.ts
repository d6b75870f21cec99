import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { arriving, migrated, type MachineChange, type MachineChangeKind } from '../machine-change.js';
import type { HostMember } from './host-member.js';
import { KnownMachines } from './known-machines.js';
import { MachineIndex } from './machine-index.js';
import { MergedChanges } from './merged-changes.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/**
 * Starts three hosts without machines.
 * @returns the index of machines and the reported changes, and functions that change the hosts.
 */
function startHosts() {
  const members = ['a', 'b', 'c'].map((name) => ({
    name,
    known: new KnownMachines(name, []),
    watch: { loss: null as object | null },
  }));
  const hosts = members as unknown as readonly HostMember[]; // the parts that the index uses
  const index = new MachineIndex({ members: () => hosts, onMoved: (change) => merged.publish(change) });
  const merged = new MergedChanges({ index, look: () => undefined, isListIncomplete: () => false });
  const reportedChanges: MachineChange[] = [];
  merged.onChange((change) => reportedChanges.push(change));
  const send = (host: number, kind: MachineChangeKind, uuid: string, reason?: string): void => {
    const member = hosts[host];
    if (member !== undefined)
      merged.handle(member, { kind, uuid, name: uuid, ...(reason === undefined ? {} : { reason }) });
  };
  const toggleLoss = (host: number): void => {
    const watch = members[host]?.watch;
    if (watch !== undefined) watch.loss = watch.loss === null ? { reason: 'no answer', since: new Date() } : null;
  };
  const isLost = (host: number): boolean => members[host]?.watch.loss !== null;
  const list = (host: number, uuid: string): void => members[host]?.known.add({ uuid, name: uuid });
  const kinds = (uuid: string): readonly string[] =>
    reportedChanges.filter((change) => change.uuid === uuid).map(({ kind }) => kind);
  return { index, send, list, toggleLoss, isLost, kinds };
}

describe('the changes of several hosts', () => {
  it('include the start of a new copy that the service has not read yet', () => {
    const { send, kinds } = startHosts();
    send(0, 'defined', 'm');
    send(1, 'defined', 'm');
    send(1, 'started', 'm');
    expect(kinds('m')).toEqual(['defined', 'moved', 'started']);
  });

  it('do not include the end of QEMU on the host that a machine has left', () => {
    const { send, kinds } = startHosts();
    send(0, 'defined', 'm');
    send(0, 'started', 'm');
    send(1, 'started', 'm', arriving);
    send(1, 'resumed', 'm');
    send(0, 'shuttingDown', 'm', 'requested by the host');
    send(0, 'stopped', 'm', migrated);
    send(0, 'undefined', 'm');
    expect(kinds('m')).toEqual(['defined', 'started', 'moved']);
    send(1, 'shuttingDown', 'm', 'requested by the guest');
    expect(kinds('m')).toEqual(['defined', 'started', 'moved', 'shuttingDown']);
  });

  it('include a shutdown while a lost host has a copy that ran', () => {
    const { send, toggleLoss, kinds } = startHosts();
    send(1, 'defined', 'm');
    send(1, 'started', 'm');
    toggleLoss(1);
    send(0, 'defined', 'm');
    send(0, 'started', 'm');
    send(0, 'shuttingDown', 'm');
    expect(kinds('m').at(-1)).toBe('shuttingDown');
  });

  it('include a shutdown while another host has a copy that was listed but not read', () => {
    const { send, list, kinds } = startHosts();
    send(0, 'defined', 'm');
    send(0, 'started', 'm');
    list(1, 'm');
    send(0, 'shuttingDown', 'm');
    expect(kinds('m')).toEqual(['defined', 'started', 'shuttingDown']);
  });

  it('do not include the end of QEMU while the machine still arrives on its new host', () => {
    const { send, kinds } = startHosts();
    send(0, 'defined', 'm');
    send(0, 'started', 'm');
    send(1, 'started', 'm', arriving);
    send(0, 'shuttingDown', 'm');
    expect(kinds('m')).toEqual(['defined', 'started']);
  });

  it('include a shutdown after a migration to another host has failed', () => {
    const { send, kinds } = startHosts();
    send(0, 'defined', 'm');
    send(0, 'started', 'm');
    send(1, 'started', 'm', arriving);
    send(1, 'stopped', 'm');
    send(0, 'shuttingDown', 'm');
    expect(kinds('m')).toEqual(['defined', 'started', 'shuttingDown']);
  });

  it('include a shutdown while another host has a copy that is off', () => {
    const { send, kinds } = startHosts();
    send(0, 'defined', 'm');
    send(1, 'defined', 'm');
    send(0, 'started', 'm');
    send(0, 'shuttingDown', 'm');
    expect(kinds('m')).toEqual(['defined', 'started', 'shuttingDown']);
  });

  it('agree with the machines that exist and run, whatever happens to copies and hosts', () => {
    const first = Number(process.env['RACKLESS_SEED'] ?? Math.floor(Math.random() * 1e9));
    for (let run = 0; run < 200; run += 1) expect(disagreements(first + run)).toEqual([]);
  });
});

/** Makes random changes. @returns where the events or the list differ from the hosts, with the seed. */
function disagreements(seed: number): readonly string[] {
  let random = seed;
  const randomBelow = (limit: number): number => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (random >> 8) % limit;
  };
  const { index, send, toggleLoss, isLost, kinds } = startHosts();
  const hosts = [0, 1, 2].map(() => new Map<string, boolean>());
  const faults: string[] = [];
  for (let step = 0; step < 30; step += 1) {
    const [host, uuid, action] = [randomBelow(3), `m${randomBelow(2)}`, randomBelow(6)];
    const machines = hosts[host] ?? new Map<string, boolean>();
    const isOn = machines.get(uuid);
    if (action === 0) toggleLoss(host);
    if (action === 1) jest.advanceTimersByTime(20_000);
    if (action < 2 || isLost(host)) continue;
    const kind = nextChange(isOn, action);
    if (kind === 'undefined') machines.delete(uuid);
    else machines.set(uuid, kind === 'started');
    send(host, kind, uuid);
    const expected = [...new Set(hosts.flatMap((each) => [...each.keys()]))].sort();
    const listed = index.list().map((ref) => ref.uuid);
    if (listed.toSorted().join() !== expected.join()) faults.push(`seed ${seed}, step ${step}: lists ${listed.join()}`);
  }
  jest.advanceTimersByTime(20_000);
  for (const uuid of ['m0', 'm1']) {
    const exists = hosts.some((machines) => machines.has(uuid));
    const reportedChanges = kinds(uuid);
    const wasDefined = reportedChanges.findLast((kind) => kind === 'defined' || kind === 'undefined') === 'defined';
    if (exists !== wasDefined) faults.push(`seed ${seed}: ${uuid} exists: ${exists}; ${reportedChanges.join()}`);
    const owner = ['a', 'b', 'c'].indexOf(index.owner(uuid)?.name ?? '');
    const isOn = hosts[owner]?.get(uuid) ?? false;
    const last = reportedChanges.findLast((kind) => ['started', 'stopped', 'undefined'].includes(kind));
    if (isOn !== (last === 'started')) faults.push(`seed ${seed}: ${uuid} runs: ${isOn}; ${reportedChanges.join()}`);
  }
  return faults;
}

/** Returns a change that a machine can have. @param isOn undefined: there is no such machine. */
function nextChange(isOn: boolean | undefined, action: number): MachineChangeKind {
  if (isOn === undefined) return 'defined';
  if (isOn) return 'stopped';
  return action % 2 === 0 ? 'started' : 'undefined';
}
