/** The English texts of the page of a machine. */
export const machineTexts = {
  tabs: 'Parts of this machine',
  tab: { overview: 'Overview', serial: 'Serial', json: 'JSON' },
  gone: 'This machine does not exist',
  goneHint: 'It was removed, or its address has an error.',
  noTab: 'This part of the machine is not available',
  noTabHint: 'The address has an error, or your role may not use this part.',
  all: 'All machines',
  model: 'Model',
  vendor: 'Manufacturer',
  serial: 'Serial number',
  uuid: 'UUID',
  curl: 'The last action as a command',
  resource: 'Resource',
  read: 'Read',
};
