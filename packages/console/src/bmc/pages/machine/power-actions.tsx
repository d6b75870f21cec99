/** The buttons for power: the usual actions as buttons, all others in a menu. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/confirm-dialog.js';
import { Menu } from '../../../ui/frame/menu.js';
import { messageOf } from '../../../ui/states.js';
import { showToast } from '../../../ui/frame/toast.js';
import { post } from '../../redfish/client.js';
import { readMachineAgain, type Machine } from '../../redfish/machines.js';
import { may } from '../../redfish/session.js';
import { completeTask } from '../../redfish/tasks.js';
import { powerTexts, resets } from '../../../texts/index.js';

/** The actions that get a button of their own, by power state. */
const usual: Readonly<Record<string, readonly string[]>> = {
  Off: ['On'],
  On: ['GracefulShutdown', 'GracefulRestart'],
  Paused: ['Resume', 'ForceOff'],
};
/** The actions for a machine that is not off. */
const needsPower = new Set([
  ...['GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'PowerCycle', 'FullPowerCycle'],
  ...['Pause', 'Resume', 'Suspend', 'Nmi', 'ForceOff'],
]);
/** The actions that can lose data of the guest, because it does not shut down first. Their menu entries are red. */
const dangerous = new Set(['ForceRestart', 'PowerCycle', 'FullPowerCycle', 'ForceOff', 'Nmi']);
/** The actions for a machine that is off. */
const needsOff = new Set(['On', 'ForceOn']);

const isOffered = (type: string, state: Machine['PowerState'] | undefined): boolean => {
  if (type === 'Resume') return state === 'Paused';
  if (state === 'Off') return !needsPower.has(type);
  return !needsOff.has(type) && (type !== 'Pause' || state !== 'Paused');
};

/**
 * The buttons. The service names the actions that the machine supports. Without such actions, or without the privilege
 * ConfigureComponents, there are no buttons.
 */
export function PowerActions({ machine }: { readonly machine: Machine }) {
  const asked = useSignal<string | null>(null);
  const running = useSignal<string | null>(null);
  const reset = machine.Actions?.['#ComputerSystem.Reset'];
  if (reset === undefined || !may('ConfigureComponents')) return null;

  const perform = async (type: string): Promise<void> => {
    const label = resets[type]?.label ?? type;
    running.value = type;
    try {
      // A power-on that waits for an image is a task.
      await completeTask(await post(reset.target, { ResetType: type }), () => undefined);
      showToast('good', powerTexts.done(label, machine.Name));
    } finally {
      running.value = null;
      readMachineAgain(machine.Id);
    }
  };
  const choose = (type: string): void => {
    if (resets[type]?.question !== undefined || resets[type] === undefined) asked.value = type;
    else {
      perform(type).catch((error: unknown) => {
        showToast('bad', powerTexts.failed(resets[type]?.label ?? type, messageOf(error)));
      });
    }
  };

  const allowed = (reset['ResetType@Redfish.AllowableValues'] ?? []).filter((type) =>
    isOffered(type, machine.PowerState),
  );
  const order = Object.keys(resets);
  const sorted = [...allowed].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const first = (usual[machine.PowerState ?? ''] ?? []).filter((type) => allowed.includes(type));
  const question = asked.value;
  return (
    <div class="row power-actions">
      {first.map((type) => (
        <Button
          key={type}
          kind={type === 'On' || type === 'Resume' ? 'primary' : 'plain'}
          isBusy={running.value === type}
          onClick={() => choose(type)}
        >
          {resets[type]?.label ?? type}
        </Button>
      ))}
      <ActionMenu types={sorted.filter((type) => !first.includes(type))} onChoose={choose} />
      {question === null ? null : (
        <ConfirmDialog
          title={resets[question]?.question?.(machine.Name) ?? `${question}: ${machine.Name}?`}
          lost={resets[question]?.lost ?? []}
          confirmLabel={resets[question]?.label ?? question}
          onConfirm={() => perform(question)}
          onClose={() => {
            asked.value = null;
          }}
        />
      )}
    </div>
  );
}

/** The menu of the rarer actions. */
function ActionMenu({
  types,
  onChoose,
}: {
  readonly types: readonly string[];
  readonly onChoose: (type: string) => void;
}) {
  if (types.length === 0) return null;
  return (
    <Menu label={powerTexts.more} class="action-menu" listClass="action-list">
      {(close) =>
        types.map((type) => (
          <Button
            key={type}
            kind={dangerous.has(type) ? 'danger' : 'quiet'}
            onClick={() => {
              close();
              onChoose(type);
            }}
          >
            {resets[type]?.label ?? type}
          </Button>
        ))
      }
    </Menu>
  );
}
