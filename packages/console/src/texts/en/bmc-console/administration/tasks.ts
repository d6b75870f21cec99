/** The English texts of the tasks. */
export const tasksTexts = {
  title: 'Tasks',
  running: (count: number) => (count === 1 ? '1 task is running' : `${count} tasks are running`),
  columns: {
    name: 'Task',
    target: 'Target',
    state: 'State',
    begun: 'Started',
    messages: 'Messages',
    actions: 'Actions',
  },
  /** States that need other words than those of Redfish. */
  states: { Exception: 'Failed' } as Readonly<Record<string, string>>,
  empty: 'No tasks',
  emptyHint: 'Operations that take longer, such as the insertion of a large image, appear here.',
  progressOf: (name: string) => `Progress of ${name}`,
  cancel: 'Cancel',
  cancelTask: 'Cancel the task',
  keepTask: 'Keep the task',
  cancelOf: (name: string) => `Cancel ${name}`,
  confirm: (name: string) => `Cancel ${name}?`,
  lost: 'The work of the task so far',
  cancelled: (name: string) => `${name}: cancelled.`,
  forget: 'Remove',
  forgetOf: (name: string) => `Remove ${name} from the list`,
};
