/** `racklessctl watch` */
import { CommandFailure, exitCode, usageFailure } from '../failure.js';
import { eventsBetween, type MachineEvent } from '../machines/events.js';
import type { Machine } from '../machines/machine.js';
import { WatchedMachines } from '../machines/watched-machines.js';
import { plainLine } from '@rackless/daemon/text/plain-text.js';
import { NoEventStreamError, readEvents } from '../redfish/event-stream.js';
import { linkAt, textAt } from '../redfish/resource.js';
import { wait } from '../redfish/wait.js';
import { defineCommand, type Call } from './command.js';
import { eachService } from './each-service.js';
import { shownMachinesArgument, unreadLines, withServices, type OpenedService } from './remote.js';

const DEFAULT_INTERVAL_SECONDS = 5;

/** Prints events. After `--count` events, aborts its signal, which ends the command. */
class EventPrinter {
  readonly #call: Call;
  readonly #end = new AbortController();
  /** Aborts when the user interrupts the command, or after the last event of `--count`. */
  readonly signal: AbortSignal;
  #left: number;

  constructor(call: Call) {
    this.#call = call;
    this.#left = call.number('count') ?? Infinity;
    this.signal = AbortSignal.any([call.signal, this.#end.signal]);
  }

  /** Whether the command has printed as many events as `--count` says. */
  get isDone(): boolean {
    return this.#end.signal.aborted;
  }

  print(event: MachineEvent, context: string | undefined, labelOf: (machine: Machine) => string): void {
    if (this.isDone) return;
    const { machines, ...rest } = event;
    const { time, severity = '-', origin = '-', message } = rest;
    // Only an event about exactly one machine shows a name. Other events, for example about the chassis of several
    // machines, show the URI of their resource.
    const machine = machines.length === 1 ? machines[0] : undefined;
    const source = machine === undefined ? origin : labelOf(machine);
    const label = plainLine(context === undefined ? source : `${context}/${source}`);
    if (this.#call.flag('json')) this.#call.terminal.printJsonLine({ context, machine: machine?.name, ...rest });
    else
      this.#call.terminal.print(
        `${plainLine(time).padEnd(25)}  ${plainLine(severity).padEnd(8)}  ${label}: ${plainLine(message)}`,
      );
    this.#left -= 1;
    if (this.#left <= 0) this.#end.abort();
  }

  /** Prints a message that is not an event. */
  complain(text: string): void {
    this.#call.terminal.complain(`racklessctl: ${text}`);
  }
}

/**
 * Prints the events of one service. Never returns.
 * @throws the reason of the printer's signal when it aborts.
 * @throws {CommandFailure} if the first read of the machines, the read of the event service or the first connection to
 *   the stream fails, if a pattern selects no machine, or if the service rejects the credentials at any time.
 */
async function watchService(
  call: Call,
  opened: OpenedService,
  printer: EventPrinter,
  showsContext: boolean,
): Promise<void> {
  const { service, connection } = opened;
  const context = showsContext ? connection.name : undefined;
  const watched = await WatchedMachines.read({ service, context: connection.name, patterns: call.list('machines') });
  for (const line of unreadLines(watched.shownUnread())) printer.complain(line);
  const show = (event: MachineEvent): void => {
    if (watched.shows(event)) printer.print(event, context, (machine) => watched.labelOf(machine));
  };
  const stream = call.flag('poll') ? undefined : await streamUriOf(opened);
  if (stream !== undefined) {
    try {
      const onInterruption = (reason: string): void => printer.complain(`${reason}; connecting again`);
      for await (const body of readEvents(service, stream, { signal: printer.signal, onInterruption }))
        for (const event of await watched.eventsIn(body)) show(event);
    } catch (error) {
      if (!(error instanceof NoEventStreamError)) throw error;
    }
  }
  if (!call.flag('poll'))
    printer.complain(`${service.origin.origin} has no stream of events: reading its machines again and again`);
  await poll(call, watched, printer, show);
}

async function streamUriOf({ service }: OpenedService): Promise<string | undefined> {
  const uri = linkAt(service.root, 'EventService');
  const events = uri === undefined ? undefined : await service.find(uri);
  return textAt(events, 'ServerSentEventUri');
}

/**
 * Reads the machines of a service at an interval, and prints what has changed between two reads. Never returns. If a
 * read fails, reports only the first of several failures in a row, and continues.
 * @throws the reason of the printer's signal when it aborts.
 * @throws {CommandFailure} if the service rejects the credentials.
 */
async function poll(
  call: Call,
  watched: WatchedMachines,
  printer: EventPrinter,
  show: (event: MachineEvent) => void,
): Promise<void> {
  const interval = call.milliseconds('interval') ?? DEFAULT_INTERVAL_SECONDS * 1000;
  let before = watched.all;
  // URIs of machines that no read has returned yet. The first successful read of such a machine is not an event.
  let unseen = watched.unreadUris();
  let reported = unseen;
  const link = { isLost: false };
  for (;;) {
    await wait(interval, printer.signal);
    try {
      const after = await watched.readAgain();
      link.isLost = false;
      for (const event of eventsBetween(before, after, unseen, new Date().toISOString())) show(event);
      before = after;
      const unread = watched.unreadUris();
      // Removes each machine that was read, or that no longer exists. If its URI appears again later, the machine
      // is new.
      unseen = new Set([...unseen].filter((uri) => unread.has(uri)));
      const failing = watched.shownUnread().filter(({ uri }) => !reported.has(uri));
      for (const line of unreadLines(failing)) printer.complain(line);
      reported = unread;
    } catch (error) {
      const isTemporary = error instanceof CommandFailure && error.code !== exitCode.denied && !printer.signal.aborted;
      if (!isTemporary) throw error;
      if (!link.isLost) printer.complain(`${error.message}; trying again`);
      link.isLost = true;
    }
  }
}

/** Prints events as they happen. */
export const watchCommand = defineCommand({
  name: 'watch',
  summary: 'Show events as they happen, until Ctrl-C',
  description: [
    'Reads the stream of events of the service (Server-Sent Events), and connects again after an interruption. ' +
      'If the service has no stream, reads the machines again and again: shows new and removed machines, and ' +
      'changes of power state, health, state and name.',
  ],
  arguments: [shownMachinesArgument],
  options: [
    { name: 'count', letter: 'n', value: 'number', summary: 'end after this number of events' },
    { name: 'poll', summary: 'compare the machines, even if the service has a stream of events' },
    {
      name: 'interval',
      value: 'seconds',
      summary: 'pause between two comparisons',
      default: String(DEFAULT_INTERVAL_SECONDS),
    },
  ],
  isRemote: true,
  examples: [
    { command: 'racklessctl watch', effect: 'all events of the service' },
    { command: "racklessctl watch 'web-*' --json | jq .message", effect: 'one line of JSON for each event' },
  ],
  run: async (call) => {
    const count = call.number('count');
    if (count !== undefined && !Number.isInteger(count)) throw usageFailure('--count must be a whole number');
    await withServices(call, async (opened) => {
      const printer = new EventPrinter(call);
      await eachService(call, opened, Infinity, async (each) => {
        try {
          await watchService(call, each, printer, opened.length > 1);
        } catch (error) {
          if (!printer.isDone) throw error;
        }
      });
    });
  },
});
