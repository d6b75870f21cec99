/** The dialog with the progress of an action, and with the result of each machine. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import type { Column } from '../../../../ui/table/columns.js';
import { Dialog } from '../../../../ui/dialog.js';
import { Checkbox } from '../../../../ui/field.js';
import { useNarrow } from '../../../../ui/frame/narrow.js';
import { Progress } from '../../../../ui/progress.js';
import { Badge, EmptyState } from '../../../../ui/states.js';
import { VirtualTable } from '../../../../ui/table/virtual-table.js';
import { PowerBadge } from '../../../machine-view.js';
import { machines } from '../../../redfish/machines.js';
import { bulkTexts } from '../../../../texts/index.js';
import { countOutcomes, isJobShown, job, startJob, stopJob, type Job, type Outcome } from './job.js';

const { job: texts, verbs } = bulkTexts;
/** Height of a row without a reason, in pixels. */
const ROW_HEIGHT = 34;
/** Height of each line of a reason, in pixels. */
const REASON_LINE_HEIGHT = 18;
/** Maximum number of lines of a reason. The style sheet has the same number. */
const MAX_REASON_LINES = 8;

const KINDS = {
  waiting: 'neutral',
  running: 'warn',
  done: 'good',
  failed: 'bad',
  skipped: 'neutral',
  stopped: 'neutral',
} as const;

/** Failures first, then the running machines. Machines in the same state are in natural order. */
const ORDER = { failed: 0, running: 1, stopped: 2, waiting: 3, skipped: 4, done: 5 } as const;

/**
 * Returns a function that returns the height of a row.
 * @param characters the number of characters in a line of the reason.
 * @param beside the number of characters of the longest reason that fits beside the state.
 */
const heightIn =
  (characters: number, beside: number) =>
  ({ text }: Outcome): number => {
    if (text.length <= beside) return ROW_HEIGHT;
    return ROW_HEIGHT + REASON_LINE_HEIGHT * Math.min(MAX_REASON_LINES, Math.ceil(text.length / characters));
  };
/** The approximate characters of a line in the narrowest dialog with three columns, and on the narrowest phone. */
const heights = { wide: heightIn(60, 24), narrow: heightIn(33, 0) };

const columns: readonly Column<Outcome>[] = [
  {
    id: 'machine',
    title: texts.machine,
    isRowHeader: true,
    render: ({ machine: { Name } }) => <span title={Name}>{Name}</span>,
  },
  { id: 'result', title: texts.result, class: 'result', render: (outcome) => <Result of={outcome} /> },
  {
    id: 'now',
    title: texts.now,
    render: ({ machine }) => <PowerBadge state={machines.value.get(machine.Id)?.PowerState} />,
  },
];
/** On phones, the reason has the whole width. */
const narrowColumns: readonly Column<Outcome>[] = [
  {
    id: 'machine',
    title: texts.machine,
    class: 'result',
    isRowHeader: true,
    render: (outcome) => <Result of={outcome} name={outcome.machine.Name} />,
  },
];

/** The state of a machine, and the reason. @param name the name of the machine, if it has no column. */
function Result({ of: { state, text }, name }: { readonly of: Outcome; readonly name?: string }) {
  return (
    <span class="outcome" title={text}>
      {name === undefined ? null : <span class="who">{name}</span>}
      <Badge kind={KINDS[state]}>{texts.states[state]}</Badge>
      {text === '' ? null : <span class="quiet reason">{text}</span>}
    </span>
  );
}

/** The dialog. It renders nothing while it is closed, or if there was no action yet. */
export function JobDialog({ onSelect }: { readonly onSelect: (ids: ReadonlySet<string>) => void }) {
  const current = job.value;
  if (current === null || !isJobShown.value) return null;
  return <Results current={current} onSelect={onSelect} />;
}

interface ResultsProps {
  readonly current: Job;
  readonly onSelect: (ids: ReadonlySet<string>) => void;
}

const close = (): void => {
  isJobShown.value = false;
};

function Results({ current, onSelect }: ResultsProps) {
  const isFailedOnly = useSignal(false);
  const isNarrow = useNarrow();
  const { action, outcomes, isRunning, isStopping } = current;
  const rows = useMemo(
    () =>
      [...outcomes.values()]
        .filter(({ state }) => !isFailedOnly.value || state === 'failed')
        .sort((a, b) => ORDER[a.state] - ORDER[b.state]),
    [outcomes, isFailedOnly.value],
  );
  const counts = countOutcomes(current);
  const all = outcomes.size - counts.skipped;
  const done = counts.done + counts.failed + counts.stopped;
  return (
    <Dialog title={texts.title(verbs[action], outcomes.size)} isWide onClose={close}>
      <div class="job">
        <Progress
          label={texts.progress}
          value={all === 0 ? 1 : done / all}
          detail={texts.progressDetail(done, all, counts.failed)}
        />
        <p role="status" class="quiet">
          {isRunning ? (isStopping ? texts.stopHint : '') : texts.finished(counts.done, counts.failed, counts.skipped)}
        </p>
        <Checkbox
          label={texts.failedOnly}
          isChecked={isFailedOnly.value}
          onChange={(value) => {
            isFailedOnly.value = value;
          }}
        />
        {rows.length === 0 ? (
          <EmptyState title={texts.noFailed} />
        ) : (
          <VirtualTable
            label={texts.table}
            columns={isNarrow ? narrowColumns : columns}
            rows={rows}
            keyOf={({ machine }) => machine.Id}
            rowHeight={ROW_HEIGHT}
            heightOf={isNarrow ? heights.narrow : heights.wide}
          />
        )}
        <ResultActions current={current} onSelect={onSelect} />
      </div>
    </Dialog>
  );
}

/** The buttons below the results. */
function ResultActions({ current, onSelect }: ResultsProps) {
  const { action, outcomes, boot, isRunning, isStopping } = current;
  const failed = [...outcomes.values()].filter(({ state }) => state === 'failed').map(({ machine }) => machine);
  return (
    <div class="actions">
      {failed.length > 0 && !isRunning ? (
        <>
          <Button
            onClick={() => {
              onSelect(new Set(failed.map(({ Id }) => Id)));
              close();
            }}
          >
            {texts.selectFailed}
          </Button>
          <Button onClick={() => void startJob(action, { changed: failed, skipped: [] }, boot)}>
            {texts.retry(failed.length)}
          </Button>
        </>
      ) : null}
      {isRunning ? (
        <Button kind="danger" disabled={isStopping} onClick={stopJob}>
          {texts.stop}
        </Button>
      ) : null}
      <Button kind="primary" autofocus onClick={close}>
        {isRunning ? texts.background : texts.close}
      </Button>
    </div>
  );
}
