/** The tools of a serial console: search, copy, download, break, size, and the mode for screen readers. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { copyText } from '../../../../ui/copy.js';
import { saveFile } from '../../../../ui/download.js';
import { messageOf } from '../../../../ui/states.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { RedfishFailure } from '../../../redfish/wire.js';
import { serialTexts as texts } from '../../../../texts/index.js';
import type { SerialLink } from './serial-link.js';
import { readBootLog } from './serial-log.js';
import type { SerialTerminal } from './terminal.js';

/** A terminal in the page, and its connection to the serial port. */
export interface OpenedSerial {
  readonly terminal: SerialTerminal;
  readonly link: SerialLink;
}

interface ToolsProps {
  /** The machine's URI. */
  readonly machine: string;
  /** The machine's name. */
  readonly name: string;
  readonly opened: OpenedSerial;
}

/** The tools above a terminal. Those that send something to the guest are disabled while this client may not type. */
export function SerialTools({ machine, name, opened: { terminal, link } }: ToolsProps) {
  const isLoading = useSignal(false);
  const isReader = useSignal(false);
  const { columns, rows } = terminal.size;
  const isOpen = link.connection.state.value.kind === 'open';
  const mayType = isOpen && (link.keyboard.value.yours || link.keyboard.value.holder === null);

  const download = async (): Promise<void> => {
    isLoading.value = true;
    try {
      const log = await readBootLog(machine).catch((error: unknown) => {
        // The service records no output. The code below saves the text of the terminal instead.
        if (error instanceof RedfishFailure && error.status === 404) return null;
        throw error;
      });
      saveFile(`${name}-serial.log`, log ?? new Blob([terminal.text()], { type: 'text/plain' }));
    } catch (error) {
      showToast('bad', messageOf(error));
    } finally {
      isLoading.value = false;
    }
  };
  const sendSize = (): void => {
    const { size } = terminal;
    link.type(new TextEncoder().encode(`stty columns ${size.columns} rows ${size.rows}\r`));
    terminal.focus();
  };

  return (
    <>
      <Search terminal={terminal} />
      <Button title={texts.copyHint} onClick={() => void copyText(terminal.text())}>
        {texts.copy}
      </Button>
      <Button title={texts.downloadHint} isBusy={isLoading.value} onClick={() => void download()}>
        {texts.download}
      </Button>
      <Button disabled={!mayType} onClick={() => link.sendBreak()}>
        {texts.sendBreak}
      </Button>
      <Button disabled={!mayType} title={texts.sendSizeHint(columns, rows)} onClick={sendSize}>
        {texts.sendSize}
      </Button>
      <Button
        aria-pressed={isReader.value}
        title={texts.readerHint}
        onClick={() => {
          isReader.value = !isReader.value;
          terminal.setScreenReader(isReader.value);
        }}
      >
        {texts.reader}
      </Button>
    </>
  );
}

function Search({ terminal }: { readonly terminal: SerialTerminal }) {
  const text = useSignal('');
  const hasMatch = useSignal(true);
  const find = (direction: 'next' | 'previous'): void => {
    hasMatch.value = text.value === '' || terminal.find(text.value, direction);
  };
  return (
    <>
      <input
        type="search"
        aria-label={texts.search}
        placeholder={texts.search}
        value={text.value}
        aria-invalid={!hasMatch.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onKeyDown={({ key, shiftKey }) => {
          if (key === 'Enter') find(shiftKey ? 'previous' : 'next');
        }}
      />
      <Button aria-label={texts.previous} title={texts.previous} onClick={() => find('previous')}>
        ↑
      </Button>
      <Button aria-label={texts.next} title={texts.next} onClick={() => find('next')}>
        ↓
      </Button>
      <span role="status">{hasMatch.value ? '' : texts.noMatch}</span>
    </>
  );
}
