/** The tasks of the service: long operations that run, and those that have ended. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/confirm-dialog.js';
import { formatTime } from '../../../ui/format.js';
import { hrefOf } from '../../../ui/frame/router.js';
import { showToast } from '../../../ui/frame/toast.js';
import { Progress } from '../../../ui/progress.js';
import { Badge, messageOf } from '../../../ui/states.js';
import type { Column } from '../../../ui/table/columns.js';
import { byText, CollectionPage, useMembers, type Member } from '../../collection.js';
import { remove } from '../../redfish/client.js';
import { machines } from '../../redfish/machines.js';
import { may } from '../../redfish/session.js';
import { tasksTexts as texts } from '../../../texts/index.js';

/** A Task of Redfish. */
interface Task extends Member {
  readonly Name: string;
  readonly TaskState: string;
  readonly TaskStatus: 'OK' | 'Warning' | 'Critical';
  readonly StartTime: string;
  readonly EndTime?: string;
  readonly PercentComplete?: number | null;
  readonly Payload?: { readonly TargetUri?: string };
  readonly Messages?: readonly { readonly Message?: string }[];
}

/** The progress of a task changes without an event, so the page reads the tasks at this interval. */
const POLL_MS = 2000;

const kinds = { OK: 'good', Warning: 'warn', Critical: 'bad' } as const;
const isRunning = ({ EndTime }: Task): boolean => EndTime === undefined;

/** The page Tasks. It reads the tasks every two seconds, while the user attends to the page. */
export default function TasksPage() {
  const view = useMembers<Task>('/redfish/v1/TaskService/Tasks', { pollMs: POLL_MS });
  const cancelling = useSignal<Task | null>(null);
  const task = cancelling.value;
  const forget = (ended: Task): void => {
    remove(ended['@odata.id']).then(view.reload, (error: unknown) => showToast('bad', messageOf(error)));
  };
  return (
    <CollectionPage
      title={texts.title}
      subtitle={view.rows === null ? undefined : texts.running(view.rows.filter(isRunning).length)}
      columns={columnsOf((next) => (cancelling.value = next), forget)}
      sorting={{ column: 'begun', isAscending: false }}
      view={view}
      empty={texts.empty}
      emptyHint={texts.emptyHint}
    >
      {task === null ? null : (
        <ConfirmDialog
          title={texts.confirm(task.Name)}
          lost={[texts.lost]}
          confirmLabel={texts.cancelTask}
          dismissLabel={texts.keepTask}
          onConfirm={async () => {
            await remove(task['@odata.id']);
            showToast('good', texts.cancelled(task.Name));
            await view.reload();
          }}
          onClose={() => (cancelling.value = null)}
        />
      )}
    </CollectionPage>
  );
}

/** The machine that a task changes, as a link. If the console knows no such machine: the URI of the task's request. */
function Target({ task }: { readonly task: Task }) {
  const uri = task.Payload?.TargetUri ?? '';
  const id = /^\/redfish\/v1\/(?:Systems|Managers)\/([^/]+)/.exec(uri)?.[1];
  const machine = id === undefined ? undefined : machines.value.get(id);
  if (machine === undefined) return <code>{uri}</code>;
  return <a href={hrefOf(`systems/${encodeURIComponent(machine.Id)}`)}>{machine.Name}</a>;
}

/** The state of a task. While the task runs, the progress is below it. */
function State({ task }: { readonly task: Task }) {
  const { Name, TaskState, TaskStatus, PercentComplete } = task;
  return (
    <>
      <Badge kind={kinds[TaskStatus]}>{texts.states[TaskState] ?? TaskState}</Badge>
      {isRunning(task) ? (
        <Progress
          label={texts.progressOf(Name)}
          value={typeof PercentComplete === 'number' ? PercentComplete / 100 : null}
          isLabelHidden
        />
      ) : null}
    </>
  );
}

function columnsOf(onCancel: (task: Task) => void, onForget: (task: Task) => void): readonly Column<Task>[] {
  const { columns } = texts;
  return [
    {
      ...{ id: 'name', title: columns.name, isRowHeader: true },
      render: ({ Name }) => Name,
      compare: byText(({ Name }) => Name),
    },
    { id: 'target', title: columns.target, class: 'uri', render: (task) => <Target task={task} /> },
    {
      ...{ id: 'state', title: columns.state },
      render: (task) => <State task={task} />,
      compare: byText(({ TaskState }) => TaskState),
    },
    {
      ...{ id: 'begun', title: columns.begun, class: 'wide' },
      render: ({ StartTime }) => <time dateTime={StartTime}>{formatTime(StartTime)}</time>,
      compare: byText(({ StartTime }) => StartTime),
    },
    {
      ...{ id: 'messages', title: columns.messages, class: 'wide uri' },
      render: ({ Messages = [] }) => Messages.map(({ Message = '' }) => Message).join(' '),
    },
    {
      ...{ id: 'actions', title: columns.actions },
      render: (task) => {
        if (!may('ConfigureManager')) return null;
        const [text, label, act] = isRunning(task)
          ? [texts.cancel, texts.cancelOf(task.Name), onCancel]
          : [texts.forget, texts.forgetOf(task.Name), onForget];
        return (
          <Button kind="quiet" aria-label={label} onClick={() => act(task)}>
            {text}
          </Button>
        );
      },
    },
  ];
}
