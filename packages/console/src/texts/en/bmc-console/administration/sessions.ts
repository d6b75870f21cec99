/** The English texts of the sessions. */
export const sessionsTexts = {
  title: 'Sessions',
  count: (count: number) => (count === 1 ? '1 session is open' : `${count} sessions are open`),
  columns: { user: 'User', address: 'Address', type: 'Type', created: 'Started', actions: 'Actions' },
  types: { Redfish: 'Redfish', HostConsole: 'Serial console' } as Readonly<Record<string, string>>,
  own: 'this console',
  empty: 'No session is open',
  emptyHint: 'Requests with a user name and a password in their header have no session.',
  end: 'End',
  endOf: (user: string, address: string) => `End the session of ${user} at ${address}`,
  confirm: (user: string) => `End a session of ${user}?`,
  lost: (user: string, address: string) => `The login of ${user} at ${address}, with its open consoles`,
  lostOwn: 'Your own login: this console asks for the password again',
  endOthers: 'End all others',
  confirmOthers: 'End all other sessions?',
  lostOthers: (count: number) => `${count === 1 ? '1 login' : `${count} logins`}, with their open consoles`,
  ended: (count: number) => (count === 1 ? '1 session ended.' : `${count} sessions ended.`),
};
