/** The list of all machines, live. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { compareNames, type Column, type Sorting } from '../../../ui/table/columns.js';
import { hrefOf } from '../../../ui/frame/router.js';
import { PageHeader } from '../../../ui/frame/shell.js';
import { EmptyState, ErrorState, Loading } from '../../../ui/states.js';
import { VirtualTable } from '../../../ui/table/virtual-table.js';
import { bootText, HealthBadge, PowerBadge } from '../../machine-view.js';
import { machines, machinesState, readMachines, type Machine } from '../../redfish/machines.js';
import { machinesTexts } from '../../texts/en/machines.js';

const { columns: titles } = machinesTexts;
const ROW_HEIGHT = 38;

const columns: readonly Column<Machine>[] = [
  {
    id: 'name',
    title: titles.name,
    isRowHeader: true,
    compare: (a, b) => compareNames(a.Name, b.Name),
    render: ({ Id, Name }) => <a href={hrefOf(`systems/${encodeURIComponent(Id)}`)}>{Name}</a>,
  },
  {
    id: 'power',
    title: titles.power,
    compare: (a, b) => compareNames(a.PowerState ?? '', b.PowerState ?? ''),
    render: ({ PowerState }) => <PowerBadge state={PowerState} />,
  },
  {
    id: 'health',
    title: titles.health,
    compare: (a, b) => compareNames(a.Status?.Health ?? '', b.Status?.Health ?? ''),
    render: ({ Status }) => <HealthBadge status={Status} />,
  },
  {
    id: 'boot',
    title: titles.boot,
    class: 'wide',
    compare: (a, b) => compareNames(bootText(a.Boot), bootText(b.Boot)),
    render: ({ Boot }) => bootText(Boot),
  },
  {
    id: 'processors',
    title: titles.processors,
    class: 'number wide',
    compare: (a, b) => (a.ProcessorSummary?.Count ?? 0) - (b.ProcessorSummary?.Count ?? 0),
    render: ({ ProcessorSummary }) => ProcessorSummary?.Count ?? '',
  },
  {
    id: 'memory',
    title: titles.memory,
    class: 'number wide',
    compare: (a, b) => memory(a) - memory(b),
    render: (machine) => machinesTexts.gib(memory(machine)),
  },
];

const memory = ({ MemorySummary }: Machine): number => MemorySummary?.TotalSystemMemoryGiB ?? 0;

/** The page. */
export default function MachinesPage() {
  const sorting = useSignal<Sorting>({ column: 'name', isAscending: true });
  const all = machines.value;
  const rows = useMemo(() => [...all.values()], [all]);
  const { isComplete, error } = machinesState.value;
  return (
    <div class="fill">
      <PageHeader title={machinesTexts.title} subtitle={isComplete ? machinesTexts.count(rows.length) : undefined} />
      {error === null ? null : (
        <ErrorState title={machinesTexts.failed} message={error} onRetry={() => void readMachines()} />
      )}
      {rows.length > 0 ? (
        <VirtualTable
          label={machinesTexts.table}
          columns={columns}
          rows={rows}
          keyOf={({ Id }) => Id}
          rowHeight={ROW_HEIGHT}
          sorting={sorting.value}
          onSort={(next) => {
            sorting.value = next;
          }}
        />
      ) : isComplete ? (
        <EmptyState title={machinesTexts.empty}>{machinesTexts.emptyHint}</EmptyState>
      ) : (
        <Loading />
      )}
    </div>
  );
}
