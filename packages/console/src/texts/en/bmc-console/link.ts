/** The English texts of connections. */
export const linkTexts = {
  connecting: 'Connecting …',
  lost: (reason: string, seconds: number) =>
    `${reason === '' ? 'The connection is lost.' : reason} Next attempt in ${seconds} s.`,
  connectNow: 'Connect now',
  connectAgain: 'Connect again',
};
