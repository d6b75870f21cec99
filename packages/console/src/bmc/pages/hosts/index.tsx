/** The hosts of the machines: health, hypervisor, capacity and load. */
import { Badge } from '../../../ui/states.js';
import { Meter } from '../../../ui/charts/meter.js';
import type { Column } from '../../../ui/table/columns.js';
import { byText, CollectionPage, useMembers, type Member } from '../../collection.js';
import { HealthBadge } from '../../machine-view.js';
import { hostsTexts as texts } from '../../../texts/index.js';

/** A Chassis of Redfish. */
interface Chassis extends Member {
  readonly Id: string;
  readonly Name: string;
  readonly Description?: string;
  readonly PowerState?: string | null;
  readonly Status?: { readonly State?: string | null; readonly Health?: 'OK' | 'Warning' | 'Critical' | null };
  readonly Links?: { readonly 'ComputerSystems@odata.count'?: number };
}

/** A Sensor of Redfish. */
interface Sensor extends Member {
  readonly Id: string;
  readonly Reading: number | null;
}

/** A Processor of Redfish. */
interface Processor extends Member {
  readonly TotalThreads?: number | null;
}

/** A Memory of Redfish. */
interface Memory extends Member {
  readonly CapacityMiB?: number | null;
}

/** The page reads the hosts at this interval, because the load changes without an event. */
const POLL_MS = 15_000;
/** The filter of the request. It leaves out the chassis of machines. */
const filter = "ChassisType eq 'Enclosure'";

/** Returns whether a chassis is a host. The chassis of EMULATOR_CHASSIS are enclosures too, but have other names. */
const isHost = ({ Id, Name }: Chassis): boolean => Name === `Host ${Id}`;
/** The service describes a host as `A host of virtual machines with QEMU 7.2.0 and libvirt 9.0.0`. */
const hypervisorOf = ({ Description = '' }: Chassis): string => / with (.*)/.exec(Description)?.[1] ?? '–';

/** The page Hosts. */
export default function HostsPage() {
  const view = useMembers<Chassis>('/redfish/v1/Chassis', { filter, pollMs: POLL_MS });
  return (
    <CollectionPage
      title={texts.title}
      columns={columns}
      sorting={{ column: 'name', isAscending: true }}
      view={view}
      isShown={isHost}
      empty={texts.empty}
      emptyHint={texts.emptyHint}
    />
  );
}

function Processors({ host }: { readonly host: string }) {
  const { rows } = useMembers<Processor>(`${host}/Processors`);
  return <>{rows === null ? '–' : rows.reduce((sum, { TotalThreads: threads }) => sum + (threads ?? 0), 0)}</>;
}

function MemorySize({ host }: { readonly host: string }) {
  const { rows } = useMembers<Memory>(`${host}/Memory`);
  if (rows === null) return <>–</>;
  const mib = rows.reduce((sum, { CapacityMiB: capacity }) => sum + (capacity ?? 0), 0);
  return <>{texts.gib(Math.round(mib / 102.4) / 10)}</>;
}

function Load({ host }: { readonly host: string }) {
  const { rows } = useMembers<Sensor>(`${host}/Sensors`, { pollMs: POLL_MS });
  return (
    <>
      {(rows ?? []).map(({ Id, Reading }) =>
        Reading === null ? null : (
          <Meter key={Id} label={texts.sensors[Id] ?? Id} value={Reading / 100} text={texts.load(Id, Reading)} />
        ),
      )}
    </>
  );
}

const columns: readonly Column<Chassis>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, isRowHeader: true },
    render: ({ Id }) => Id,
    compare: byText(({ Id }) => Id),
  },
  {
    ...{ id: 'state', title: texts.columns.state },
    render: ({ PowerState, Status }) =>
      PowerState === 'On' ? <HealthBadge status={Status} /> : <Badge kind="bad">{texts.unreachable}</Badge>,
    compare: byText(({ PowerState }) => PowerState),
  },
  {
    id: 'hypervisor',
    title: texts.columns.hypervisor,
    class: 'wide',
    render: hypervisorOf,
    compare: byText(hypervisorOf),
  },
  {
    ...{ id: 'machines', title: texts.columns.machines, class: 'number wide' },
    render: ({ Links }) => Links?.['ComputerSystems@odata.count'] ?? '–',
    compare: (a, b) =>
      (a.Links?.['ComputerSystems@odata.count'] ?? 0) - (b.Links?.['ComputerSystems@odata.count'] ?? 0),
  },
  {
    ...{ id: 'processors', title: texts.columns.processors, class: 'number wide' },
    render: (host) => <Processors host={host['@odata.id']} />,
  },
  {
    ...{ id: 'memory', title: texts.columns.memory, class: 'number wide' },
    render: (host) => <MemorySize host={host['@odata.id']} />,
  },
  { id: 'load', title: texts.columns.load, render: (host) => <Load host={host['@odata.id']} /> },
];
