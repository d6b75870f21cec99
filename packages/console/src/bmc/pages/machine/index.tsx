/** The page of one machine: its name, its state, and its tabs. */
import { Guarded, Lazy, type PageProps } from '../../../ui/frame/pages.js';
import { hrefOf } from '../../../ui/frame/router.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { EmptyState, ErrorState, Loading } from '../../../ui/states.js';
import { Tabs } from '../../../ui/frame/tabs.js';
import { HealthBadge, PowerBadge } from '../../machine-view.js';
import { machines, machinesState, readMachines } from '../../redfish/machines.js';
import { machinesTexts, machineTexts } from '../../../texts/index.js';
import { LastCommand } from './last-command.js';
import { PowerActions } from './power-actions.js';
import { tabs } from './tabs.js';

/** The page of the machine whose id is in the address. */
export default function MachinePage({ parameters }: PageProps) {
  const id = parameters['id'] ?? '';
  const machine = machines.value.get(id);
  const { isComplete, error } = machinesState.value;
  if (machine === undefined) {
    if (error !== null) {
      return (
        <>
          <PageHeader title={machinesTexts.failed} />
          <ErrorState message={error} onRetry={() => void readMachines()} />
        </>
      );
    }
    if (!isComplete) return <Loading />;
    return (
      <PageHeader
        title={machineTexts.gone}
        subtitle={
          <>
            {machineTexts.goneHint} <a href={hrefOf('')}>{machineTexts.all}</a>
          </>
        }
      />
    );
  }
  const base = `systems/${encodeURIComponent(id)}`;
  const pathOf = (tab: string): string => (tab === '' ? base : `${base}/${tab}`);
  const offered = tabs.filter(({ isOffered }) => isOffered?.(machine) ?? true);
  const current = offered.find(({ path }) => path === (parameters['*'] ?? ''));
  return (
    <div class="fill">
      <PageHeader
        title={machine.Name}
        subtitle={
          <span class="row">
            <PowerBadge state={machine.PowerState} />
            <HealthBadge status={machine.Status} />
          </span>
        }
        actions={<PowerActions machine={machine} />}
      />
      <Tabs
        label={machineTexts.tabs}
        tabs={offered.map(({ path, label }) => ({ path: pathOf(path), label }))}
        current={pathOf(parameters['*'] ?? '')}
      />
      {current === undefined ? (
        <EmptyState title={machineTexts.noTab}>{machineTexts.noTabHint}</EmptyState>
      ) : (
        <Guarded key={`${id} ${current.path}`}>
          <Lazy load={current.load} properties={{ machine }} />
        </Guarded>
      )}
      <LastCommand id={id} />
    </div>
  );
}
