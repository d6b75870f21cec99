/** The serial console of a machine. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ErrorState } from '../../../../ui/states.js';
import { Loaded } from '../../../loaded.js';
import { useResource } from '../../../resource.js';
import { serialTexts as texts } from '../../../../texts/index.js';
import type { TabProps } from '../tab.js';
import { SerialLink } from './serial-link.js';
import { SerialStatus } from './serial-status.js';
import { SerialTools, type OpenedSerial } from './serial-tools.js';
import { openTerminal } from './terminal.js';

/** The part of a ComputerSystem that this tab reads. */
interface SystemWithConsole {
  readonly SerialConsole?: { readonly WebSocket?: { readonly ServiceEnabled: boolean; readonly ConsoleURI: string } };
}

/** The tab Serial. */
export default function SerialTab({ machine }: TabProps) {
  const resource = useResource<SystemWithConsole>(machine['@odata.id']);
  return (
    <Loaded resource={resource}>
      {({ SerialConsole: { WebSocket: socket } = {} }) =>
        socket?.ServiceEnabled === true ? (
          <SerialView machine={machine['@odata.id']} name={machine.Name} path={socket.ConsoleURI} />
        ) : (
          <ErrorState message={texts.absent} />
        )
      }
    </Loaded>
  );
}

/** The terminal with its tools. */
function SerialView({
  machine,
  name,
  path,
}: {
  readonly machine: string;
  readonly name: string;
  readonly path: string;
}) {
  const host = useRef<HTMLDivElement>(null);
  const tools = useRef<HTMLDivElement>(null);
  /** The text below the terminal. It gets the focus when the user leaves the terminal forward. */
  const hint = useRef<HTMLElement>(null);
  const opened = useSignal<OpenedSerial | null>(null);
  const dropped = useSignal<string | null>(null);
  useEffect(() => {
    if (host.current === null) return;
    const terminal = openTerminal({
      parent: host.current,
      label: texts.terminal,
      onInput: (bytes) => link.type(bytes),
      onLeave: (direction) => {
        const tool = tools.current?.querySelector<HTMLElement>('button, input');
        (direction === 'back' ? tool : hint.current)?.focus();
      },
    });
    const link = new SerialLink({
      machine,
      path,
      onBegin: () => {
        terminal.clear();
        dropped.value = null;
      },
      onOutput: (bytes, processed) => terminal.write(bytes, processed),
      onNotice: (text) => terminal.note(text),
      onDropped: (bytes, why) => (dropped.value = texts.dropped(bytes, why)),
    });
    // A terminal also answers queries of the guest. It must not answer while another client has the keyboard.
    const stop = link.keyboard.subscribe(({ holder, yours }) => {
      terminal.setWritable(yours || holder === null);
      if (yours) dropped.value = null;
    });
    opened.value = { terminal, link };
    terminal.focus();
    return () => {
      opened.value = null;
      stop();
      link.close();
      terminal.dispose();
    };
  }, [machine, path]);
  return (
    <div class="serial">
      <div class="tools" role="group" aria-label={texts.tools} ref={tools}>
        {opened.value === null ? null : <SerialTools machine={machine} name={name} opened={opened.value} />}
      </div>
      {opened.value === null ? null : <SerialStatus link={opened.value.link} dropped={dropped.value} />}
      <div class="serial-screen" ref={host} />
      <small class="quiet" tabIndex={-1} ref={hint}>
        {texts.leave}
      </small>
    </div>
  );
}
