/** The English texts of the serial console. */
export const serialTexts = {
  terminal: 'Serial console',
  tools: 'Tools of the serial console',
  absent: 'This machine has no serial port that a client can use.',
  state: (state: string) =>
    ({ open: 'Connected', closed: 'Closed', taken: 'In use', absent: 'No serial port' })[state] ?? state,
  free: 'The keyboard is free. Type to get it.',
  yours: 'You have the keyboard.',
  holder: (name: string) => `${name} has the keyboard.`,
  take: 'Ask for the keyboard',
  asked: (name: string, seconds: number) => `Asked ${name}. You get the keyboard in ${seconds} s at the latest.`,
  asks: (name: string, seconds: number) =>
    `${name} asks for the keyboard, and gets it after ${seconds} s, or when you hand it over.`,
  askedAlready: (name: string) => `${name} has already asked for the keyboard.`,
  release: 'Hand over',
  dropped: (bytes: number, why: string) => `${bytes} bytes of your input were dropped: ${why}.`,
  search: 'Search the output',
  next: 'Next match',
  previous: 'Previous match',
  noMatch: 'No match',
  copy: 'Copy',
  copyHint: 'Copies the selection. Without a selection, copies everything.',
  download: 'Download log',
  downloadHint: 'Saves the recorded output of this boot as a file.',
  sendBreak: 'Send break',
  sendSize: 'Set the size',
  sendSizeHint: (columns: number, rows: number) =>
    `A serial line does not transfer the size of the terminal. This button types “stty columns ${columns} rows ${rows}”.`,
  reader: 'Screen reader',
  readerHint: 'Announces new output to screen readers.',
  leave:
    'To move the focus out of the terminal, press Ctrl+F6 (to the buttons above it) or Ctrl+Shift+F6 (to this text). Links in the output do not open.',
};
