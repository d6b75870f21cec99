/** The recorded output of a machine's serial port, boot by boot. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { saveFile } from '../../../../ui/download.js';
import { Checkbox, Select } from '../../../../ui/field.js';
import { formatBytes, formatTime } from '../../../../ui/format.js';
import { EmptyState, ErrorState, Loading, messageOf } from '../../../../ui/states.js';
import { useMembers, type Member } from '../../../collection.js';
import { openStream } from '../../../redfish/client.js';
import { anyOf, RedfishFailure } from '../../../redfish/wire.js';
import { logsTexts } from '../../../../texts/index.js';
import type { TabProps } from '../tab.js';
import { plainLines } from './plain-text.js';

const { console: texts } = logsTexts;

/** A LogEntry of Redfish: a boot, whose output is at `AdditionalDataURI`. */
interface Entry extends Member {
  readonly Id: string;
  readonly Name: string;
  readonly Created: string;
  readonly AdditionalDataURI?: string;
  readonly AdditionalDataSizeBytes?: number;
}

/** Output causes no event, so the tab reads the boots at this interval. */
const POLL_MS = 5000;
/** Deadline for the text of a boot. */
const READ_MS = 60_000;
/** Maximum number of lines that the tab shows. It cuts off the first lines of a longer text. */
const MAX_LINES = 10_000;

/** The tab Console log. It shows the latest boot until the user selects another one. */
export default function ConsoleLogTab({ machine }: TabProps) {
  const entries = `${machine['@odata.id']}/LogServices/ConsoleLog/Entries`;
  const filter = "OemRecordFormat eq 'Boot on a serial console'";
  const { rows, error, reload } = useMembers<Entry>(entries, { pollMs: POLL_MS, filter });
  const selected = useSignal('');
  if (error instanceof RedfishFailure && error.status === 404)
    return <EmptyState title={texts.absent}>{texts.absentHint}</EmptyState>;
  if (rows === null)
    return error === null ? <Loading /> : <ErrorState message={messageOf(error)} onRetry={() => void reload()} />;
  const boots = rows.filter(({ AdditionalDataURI: uri }) => uri !== undefined).reverse();
  const boot = boots.find(({ Id }) => Id === selected.value) ?? boots[0];
  if (boot === undefined) return <EmptyState title={texts.empty}>{texts.emptyHint}</EmptyState>;
  return (
    <BootText
      key={boot.Id}
      name={machine.Name}
      boot={boot}
      choice={
        <Select
          aria-label={texts.boot}
          value={boot.Id}
          onValue={(value) => (selected.value = value)}
          options={boots.map(({ Id, Name, Created, AdditionalDataSizeBytes: size = 0 }) => [
            Id,
            texts.bootOf(Name, formatTime(Created), formatBytes(size)),
          ])}
        />
      }
    />
  );
}

/** The text of one boot, read again when it grows and when `retry` is called. */
function useText({ AdditionalDataURI: uri = '', AdditionalDataSizeBytes: size }: Entry) {
  const state = useSignal<{ readonly text: string | null; readonly error: unknown }>({ text: null, error: null });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const signal = anyOf([abort.signal, AbortSignal.timeout(READ_MS)]);
    openStream(uri, { signal })
      .then((response) => response.text())
      .then(
        (text) => {
          if (!abort.signal.aborted) state.value = { text, error: null };
        },
        (error: unknown) => {
          if (!abort.signal.aborted) state.value = { ...state.value, error };
        },
      );
    return () => abort.abort();
  }, [uri, size, attempt]);
  return { ...state.value, retry: () => setAttempt(attempt + 1) };
}

interface BootTextProps {
  readonly name: string;
  readonly boot: Entry;
  /** The control that selects the boot. */
  readonly choice: ComponentChildren;
}

function BootText({ name, boot, choice }: BootTextProps) {
  const { text, error, retry } = useText(boot);
  const search = useSignal('');
  const follows = useSignal(true);
  const output = useRef<HTMLPreElement>(null);
  const lines = useMemo(() => plainLines(text ?? ''), [text]);
  const wanted = search.value.toLowerCase();
  const shown = wanted === '' ? lines : lines.filter((line) => line.toLowerCase().includes(wanted));
  useEffect(() => {
    if (follows.value && output.current !== null) output.current.scrollTop = output.current.scrollHeight;
  }, [shown.length, follows.value]);
  const failure = error === null ? null : <ErrorState message={messageOf(error)} onRetry={retry} />;
  if (text === null) return failure ?? <Loading />;
  return (
    <>
      {failure}
      <div class="row tools" role="group" aria-label={texts.label}>
        {choice}
        <input
          class="input"
          type="search"
          aria-label={texts.search}
          placeholder={texts.search}
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
        <span class="quiet grow" role="status">
          {texts.lines(shown.length, lines.length)}
        </span>
        <Checkbox label={texts.follow} isChecked={follows.value} onChange={(value) => (follows.value = value)} />
        <Button onClick={() => saveFile(`${name}-${boot.Name}.log`, new Blob([text], { type: 'text/plain' }))}>
          {texts.download}
        </Button>
      </div>
      <pre class="card output" tabIndex={0} role="log" aria-label={texts.label} aria-live="off" ref={output}>
        {shown.slice(-MAX_LINES).join('\n')}
      </pre>
    </>
  );
}
