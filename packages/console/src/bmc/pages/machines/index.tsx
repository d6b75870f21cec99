/** The list of all machines, live. */
import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Button } from '../../../ui/button.js';
import { navigate, place } from '../../../ui/frame/router.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { EmptyState, ErrorState, Loading } from '../../../ui/states.js';
import type { Grouping } from '../../../ui/table/groups.js';
import { sortRows } from '../../../ui/table/columns.js';
import { VirtualTable } from '../../../ui/table/virtual-table.js';
import { drives, startDrives, wantDrives, wantVisibleDrives } from '../../redfish/drives.js';
import { machines, machinesState, readMachines, type Machine } from '../../redfish/machines.js';
import { may } from '../../redfish/session.js';
import { bulkTexts, machinesTexts as texts } from '../../../texts/index.js';
import { BulkBar } from './bulk/bulk-bar.js';
import { JobDialog } from './bulk/job-dialog.js';
import { countOutcomes, isJobShown, job } from './bulk/job.js';
import { hiddenColumns, machineColumns } from './columns.js';
import {
  filterMachines,
  filterNames,
  hostOf,
  noFilters,
  patternOf,
  queryOf,
  ranksOf,
  valuesOf,
  viewOf,
  type View,
} from './filter.js';
import { Toolbar } from './toolbar.js';

/** Height of a row in pixels. */
const ROW_HEIGHT = 34;

/** The page Machines: the search, the list, and the actions for selected machines. */
export default function MachinesPage() {
  const view = useComputed(() => viewOf(place.value.query)).value;
  const setView = (next: View): void => navigate(queryOf(next), { isReplaced: true });
  const search = useRef<HTMLInputElement>(null);
  // Moves the focus to the search, because the button that calls this disappears together with the filters.
  const clearFilters = (): void => {
    search.current?.focus();
    setView({ ...view, filters: noFilters });
  };
  const all = machines.value;
  const { isComplete, error } = machinesState.value;
  const names = useMemo(() => Array.from(all.values(), ({ Id, Name }) => `${Id} ${Name}`).join('\n'), [all]);
  const ranks = useMemo(() => ranksOf(all), [names]);
  const { hosts, absentColumns } = useValues(all);
  const columns = useMemo(
    () => machineColumns(ranks, { absent: absentColumns, hidden: hiddenColumns.value }),
    [ranks, absentColumns, hiddenColumns.value],
  );
  // A filter keeps the order, so a key press in the search sorts nothing.
  const { column, isAscending } = view.sorting;
  const sorted = useMemo(
    () => sortRows([...all.values()], columns, { column, isAscending }),
    [all, columns, column, isAscending],
  );
  const rows = useShown(all, sorted, view);

  const selected = useSignal<ReadonlySet<string>>(new Set());
  const chosen = useMemo(() => rows.filter(({ Id }) => selected.value.has(Id)), [rows, selected.value]);
  const known = [...selected.value].filter((id) => all.has(id)).length;
  const mayAct = may('ConfigureComponents') || may('ConfigureManager');
  return (
    <div class="fill machines">
      <PageHeader
        title={texts.title}
        subtitle={
          <Summary
            all={all}
            shown={rows.length}
            isComplete={isComplete}
            onClear={hasFilter(view) ? clearFilters : null}
          />
        }
        actions={<JobButton />}
      />
      {error === null ? null : <ErrorState title={texts.failed} message={error} onRetry={() => void readMachines()} />}
      {all.size === 0 ? null : <Toolbar machines={all} {...{ hosts, absentColumns, view, search }} onView={setView} />}
      <List
        {...{ all, rows, columns, view, isComplete, onView: setView, onClear: clearFilters }}
        selection={
          mayAct
            ? {
                selected: selected.value,
                onSelect: (next: ReadonlySet<string>) => {
                  selected.value = next;
                },
                nameOf: ({ Name }: Machine) => Name,
              }
            : undefined
        }
      />
      {mayAct ? (
        <BulkBar
          chosen={chosen}
          hidden={known - chosen.length}
          onClear={() => {
            selected.value = new Set();
          }}
        />
      ) : null}
      <JobDialog
        onSelect={(ids) => {
          selected.value = ids;
          setView({ ...view, filters: noFilters });
        }}
      />
    </div>
  );
}

/** Returns the hosts of the machines, and the columns in which no machine has a value. */
function useValues(all: ReadonlyMap<string, Machine>): {
  readonly hosts: readonly string[];
  readonly absentColumns: ReadonlySet<string>;
} {
  const hostList = useMemo(() => valuesOf(all.values(), hostOf), [all]).join('\n');
  const hasTags = useMemo(() => [...all.values()].some(({ AssetTag: tag }) => (tag ?? '') !== ''), [all]);
  return useMemo(() => {
    const hosts = hostList.split('\n').filter((host) => host !== '');
    const absent = [...(hosts.length === 0 ? ['host'] : []), ...(hasTags ? [] : ['asset'])];
    return { hosts, absentColumns: new Set(absent) };
  }, [hostList, hasTags]);
}

const hasFilter = ({ filters }: View): boolean => filterNames.some((name) => filters[name] !== '');

/** Returns the machines that pass the filters. A filter for media reads the drives of all machines. */
function useShown(
  all: ReadonlyMap<string, Machine>,
  sorted: readonly Machine[],
  { filters }: View,
): readonly Machine[] {
  useEffect(startDrives, []);
  useEffect(() => {
    if (filters.media !== '') wantDrives(all.keys());
  }, [filters.media, all]);
  const readsDrives = filters.media !== '' || filters.search !== '';
  const known = readsDrives ? drives.value : null;
  const shown = useMemo(
    () => filterMachines(sorted, filters, known ?? new Map()),
    [sorted, JSON.stringify(filters), known],
  );
  // Often a further letter excludes no machine. The list then stays the same object, and the table is not rendered.
  const last = useRef(shown);
  const isSame =
    shown.length === last.current.length && shown.every((machine, index) => machine === last.current[index]);
  if (!isSame) last.current = shown;
  return last.current;
}

interface ListProps {
  readonly all: ReadonlyMap<string, Machine>;
  readonly rows: readonly Machine[];
  readonly columns: ReturnType<typeof machineColumns>;
  readonly view: View;
  readonly isComplete: boolean;
  readonly onView: (view: View) => void;
  readonly onClear: () => void;
  readonly selection: Parameters<typeof VirtualTable<Machine>>[0]['selection'];
}

/** The table, or the reason why there is none. */
function List({ all, rows, columns, view, isComplete, onView, onClear, selection }: ListProps) {
  const closed = useSignal<ReadonlySet<string>>(new Set());
  const grouping = useMemo(
    (): Grouping<Machine> => ({
      groupOf: ({ Name }) => patternOf(Name),
      nameOf: (group) => (group === '' ? texts.otherNames : group),
      detailOf: (members) =>
        texts.group(members.length, members.filter(({ PowerState }) => PowerState === 'On').length),
      closed: closed.value,
      onToggle: (group) => {
        const next = new Set(closed.value);
        if (!next.delete(group)) next.add(group);
        closed.value = next;
      },
    }),
    [closed.value],
  );
  if (rows.length > 0) {
    return (
      <VirtualTable
        label={texts.table}
        columns={columns}
        rows={rows}
        keyOf={({ Id }) => Id}
        rowHeight={ROW_HEIGHT}
        sorting={view.sorting}
        onSort={(sorting) => onView({ ...view, sorting })}
        grouping={view.isGrouped ? grouping : undefined}
        onVisible={(visible) => {
          if (columns.some(({ id }) => id === 'media')) wantVisibleDrives(visible.map(({ Id }) => Id));
        }}
        selection={selection}
      />
    );
  }
  if (!isComplete) return <Loading />;
  if (all.size === 0) return <EmptyState title={texts.empty}>{texts.emptyHint}</EmptyState>;
  return (
    <EmptyState title={texts.noMatch}>
      <Button onClick={onClear}>{texts.filters.clear}</Button>
    </EmptyState>
  );
}

/**
 * The numbers below the heading. Screen readers announce them when a filter changes them. The button beside them moves
 * nothing when it appears, so a key in the search costs no new layout of the page.
 */
function Summary({
  all,
  shown,
  isComplete,
  onClear,
}: {
  readonly all: ReadonlyMap<string, Machine>;
  readonly shown: number;
  /** Whether the service has sent all machines. */
  readonly isComplete: boolean;
  /** Clears the filters. null: there are none. */
  readonly onClear: (() => void) | null;
}) {
  const [on, unhealthy] = useMemo(() => {
    let poweredOn = 0;
    let bad = 0;
    for (const { PowerState, Status } of all.values()) {
      if (PowerState === 'On') poweredOn += 1;
      if (Status?.Health === 'Warning' || Status?.Health === 'Critical') bad += 1;
    }
    return [poweredOn, bad];
  }, [all]);
  return (
    <span class="summary">
      {isComplete ? (
        <>
          <span role="status">{shown === all.size ? texts.count(shown) : texts.shown(shown, all.size)}</span>
          <span>{texts.on(on)}</span>
          {unhealthy === 0 ? null : <span class="unhealthy">{texts.unhealthy(unhealthy)}</span>}
        </>
      ) : (
        <span>{texts.reading(all.size)}</span>
      )}
      {onClear === null ? null : (
        <button type="button" class="link" onClick={onClear}>
          {texts.filters.clear}
        </button>
      )}
    </span>
  );
}

/** Opens the results of the last action again. */
function JobButton() {
  if (job.value === null) return null;
  const { action, isRunning, outcomes } = job.value;
  const { waiting, running, skipped } = countOutcomes(job.value);
  const all = outcomes.size - skipped;
  return (
    <Button
      onClick={() => {
        isJobShown.value = true;
      }}
    >
      {isRunning ? <span class="spinner" aria-hidden="true" /> : null}
      {bulkTexts.job.show(bulkTexts.verbs[action], all - waiting - running, all)}
    </Button>
  );
}
