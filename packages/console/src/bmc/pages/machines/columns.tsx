/** The columns of the list, and the user's choice of them. */
import { signal } from '@preact/signals';
import { compareNames, type Column } from '../../../ui/table/columns.js';
import { hrefOf } from '../../../ui/frame/router.js';
import { bootText, HealthBadge, PowerBadge } from '../../machine-view.js';
import { drives } from '../../redfish/drives.js';
import { imageNames } from '../../redfish/machine-facts.js';
import type { Machine } from '../../redfish/machines.js';
import { machinesTexts } from '../../../texts/index.js';
import { healthOf, hostOf, overrideOf, powerOf } from './filter.js';

const { columns: titles } = machinesTexts;

/** Columns that the user can hide. */
export const optionalColumns = ['health', 'boot', 'media', 'host', 'asset', 'processors', 'memory'] as const;

/** A column that the user can hide. */
type OptionalColumn = (typeof optionalColumns)[number];

const KEY = 'rackless.machines.hidden';

/** The columns that the user has hidden. The browser stores them. */
export const hiddenColumns = signal<ReadonlySet<string>>(storedColumns());

/** Hides or shows a column. */
export function showColumn(id: OptionalColumn, isShown: boolean): void {
  const hidden = new Set(hiddenColumns.value);
  if (isShown) hidden.delete(id);
  else hidden.add(id);
  hiddenColumns.value = hidden;
  try {
    localStorage.setItem(KEY, [...hidden].join(' '));
  } catch {
    // A browser without storage shows all columns after a reload.
  }
}

/** Health in the order of urgency: sorting descending shows the worst first. */
const HEALTHS = ['OK', 'unknown', 'Warning', 'Critical'];

/**
 * Returns the columns.
 * @param ranks the place of each machine in the natural order of names.
 * @param options `absent`: columns in which no machine has a value; `hidden`: columns that the user has hidden.
 */
export function machineColumns(
  ranks: ReadonlyMap<string, number>,
  { absent, hidden }: { readonly absent: ReadonlySet<string>; readonly hidden: ReadonlySet<string> },
): readonly Column<Machine>[] {
  const byName = (a: Machine, b: Machine): number => (ranks.get(a.Id) ?? 0) - (ranks.get(b.Id) ?? 0);
  const by =
    (valueOf: (machine: Machine) => string) =>
    (a: Machine, b: Machine): number => {
      const [first, second] = [valueOf(a), valueOf(b)];
      return first === second ? byName(a, b) : compareNames(first, second);
    };
  const columns: readonly Column<Machine>[] = [
    {
      id: 'name',
      title: titles.name,
      class: 'machine-name',
      isRowHeader: true,
      compare: byName,
      render: ({ Id, Name }) => (
        <a href={hrefOf(`systems/${encodeURIComponent(Id)}`)} title={Name}>
          {Name}
        </a>
      ),
    },
    {
      id: 'power',
      title: titles.power,
      class: 'power',
      compare: by(powerOf),
      render: (machine) => <PowerBadge state={machine.PowerState} />,
    },
    {
      id: 'health',
      title: titles.health,
      class: 'health',
      compare: (a, b) => HEALTHS.indexOf(healthOf(a)) - HEALTHS.indexOf(healthOf(b)) || byName(a, b),
      render: (machine) => <HealthBadge status={machine.Status} />,
    },
    {
      id: 'boot',
      title: titles.boot,
      class: 'wide boot',
      compare: by(({ Boot }) => bootText(Boot)),
      render: (machine) => (
        <span class={overrideOf(machine) === '' ? 'quiet' : undefined}>{bootText(machine.Boot)}</span>
      ),
    },
    { id: 'media', title: titles.media, class: 'wide media', render: (machine) => <Images id={machine.Id} /> },
    { id: 'host', title: titles.host, class: 'wide host', compare: by(hostOf), render: hostOf },
    {
      id: 'asset',
      title: titles.asset,
      class: 'wide asset',
      compare: by(({ AssetTag }) => AssetTag ?? ''),
      render: ({ AssetTag }) => <span title={AssetTag ?? ''}>{AssetTag}</span>,
    },
    {
      id: 'processors',
      title: titles.processors,
      class: 'number wide',
      compare: (a, b) => (a.ProcessorSummary?.Count ?? 0) - (b.ProcessorSummary?.Count ?? 0) || byName(a, b),
      render: ({ ProcessorSummary }) => ProcessorSummary?.Count ?? '',
    },
    {
      id: 'memory',
      title: titles.memory,
      class: 'number wide',
      compare: (a, b) => memoryOf(a) - memoryOf(b) || byName(a, b),
      render: (machine) => machinesTexts.gib(memoryOf(machine)),
    },
  ];
  return columns.filter(({ id }) => !hidden.has(id) && !absent.has(id));
}

/** The inserted images of a machine. The list reads them while it shows the machine. */
function Images({ id }: { readonly id: string }) {
  const known = drives.value.get(id);
  if (known === undefined) return <span class="quiet">…</span>;
  const names = imageNames(known).join(', ');
  return names === '' ? <span class="quiet">–</span> : <span title={names}>{names}</span>;
}

const memoryOf = ({ MemorySummary }: Machine): number => MemorySummary?.TotalSystemMemoryGiB ?? 0;

function storedColumns(): ReadonlySet<string> {
  try {
    return new Set((localStorage.getItem(KEY) ?? '').split(' ').filter((id) => id !== ''));
  } catch {
    return new Set();
  }
}
