/** The English texts of the tasks. */
export const tasksTexts = {
  title: 'Tasks',
  running: (count: number) => (count === 1 ? '1 task is running' : `${count} tasks are running`),
  columns: {
    name: 'Task',
    target: 'Target',
    state: 'State',
    progress: 'Progress',
    begun: 'Begun',
    messages: 'Messages',
    actions: 'Actions',
  },
  empty: 'No tasks',
  emptyHint: 'Operations that take longer, such as the insertion of a large image, appear here.',
  progressOf: (name: string) => `Progress of ${name}`,
  cancel: 'Cancel',
  cancelOf: (name: string) => `Cancel ${name}`,
  confirm: (name: string) => `Cancel ${name}?`,
  lost: 'The work of the task so far.',
  cancelled: (name: string) => `${name}: cancelled.`,
  forget: 'Remove',
  forgetOf: (name: string) => `Remove ${name} from the list`,
};
